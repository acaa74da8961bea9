//! Messages stay whole and in order, and what does not fit is refused. Each test removes its queue, also by panic.

use super::*;

/// A queue that is removed with the test.
struct Removed(Queue);

impl Removed {
    fn new() -> Removed {
        Removed(Queue::create().expect("a queue"))
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}

#[test]
fn messages_stay_whole_and_in_order() {
    let queue = Removed::new();
    let mut envelope = Envelope::new(20);
    let messages = [&b"first"[..], b"", b"exactly twenty bytes"];
    for message in messages {
        queue.0.send(message, &mut envelope, true).expect("room for it");
    }
    let mut buffer = [0; 64];
    for message in messages {
        let count = queue.0.receive(&mut buffer, &mut envelope, true).expect("a message");
        assert_eq!(&buffer[..count], message);
    }
}

#[test]
fn a_full_and_an_empty_queue_refuse_when_not_to_block() {
    let queue = Removed::new();
    let mut envelope = Envelope::new(1000);
    let empty = queue.0.receive(&mut [0; 8], &mut envelope, true).expect_err("nothing was sent");
    assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
    let full = (0..1_000_000).find_map(|_| queue.0.send(&[7; 1000], &mut envelope, true).err());
    assert_eq!(full.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
}

#[test]
fn what_does_not_fit_is_refused_and_not_cut() {
    let queue = Removed::new();
    let mut envelope = Envelope::new(16);
    let error = queue.0.send(&[0; 17], &mut envelope, true).expect_err("longer than the envelope");
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    queue.0.send(&[7; 16], &mut envelope, true).expect("room for it");
    let error = queue.0.receive(&mut [0; 15], &mut envelope, true).expect_err("longer than the buffer");
    assert_eq!(error.raw_os_error(), Some(libc::E2BIG));
    let mut buffer = [0; 16];
    assert_eq!(queue.0.receive(&mut buffer, &mut envelope, true).expect("still there"), 16);
    assert_eq!(buffer, [7; 16]);
}

#[test]
fn a_removed_queue_is_gone() {
    let queue = Queue::create().expect("a queue");
    queue.remove().expect("it is ours");
    let error = queue.send(b"x", &mut Envelope::new(1), true).expect_err("it is gone");
    assert!(matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIDRM)), "{error}");
}
