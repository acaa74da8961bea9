//! Messages stay whole and in order, limits are refused by their own error, and no name is left behind.

use super::*;

#[test]
fn messages_stay_whole_and_in_order() {
    let (sender, receiver) = pair(4, 64, true).expect("a small queue");
    for message in [&b"first"[..], b"", b"the third is longer"] {
        sender.send(message).expect("room for it");
    }
    let mut buffer = [0; 64];
    for message in [&b"first"[..], b"", b"the third is longer"] {
        let count = receiver.receive(&mut buffer).expect("a message");
        assert_eq!(&buffer[..count], message);
    }
}

#[test]
fn a_full_and_an_empty_queue_refuse_when_nonblocking() {
    let (sender, receiver) = pair(2, 8, true).expect("a small queue");
    let empty = receiver.receive(&mut [0; 8]).expect_err("nothing was sent");
    assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
    sender.send(b"1").expect("room for it");
    sender.send(b"2").expect("room for it");
    let full = sender.send(b"3").expect_err("two messages fill it");
    assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_message_that_is_too_long_and_a_buffer_that_is_too_short_are_refused() {
    let (sender, receiver) = pair(2, 8, true).expect("a small queue");
    let error = sender.send(&[0; 9]).expect_err("the queue takes 8 bytes");
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
    sender.send(b"1").expect("room for it");
    let error = receiver.receive(&mut [0; 7]).expect_err("the buffer must hold 8 bytes");
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
}

#[test]
fn no_name_is_left_behind() {
    let _kept = pair(1, 8, true).expect("a small queue");
    for number in 0..64 {
        let name = CString::new(format!("/headwater-{}-{number}", std::process::id())).expect("no NUL in it");
        // Another test may hold a name for the time of two system calls; a name that stays is a fault.
        let gone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            open(&name, libc::O_RDONLY, ptr::null_mut()).is_err()
        });
        assert!(gone, "{name:?} is still there");
    }
}

#[test]
fn a_queue_beyond_the_resource_limit_is_refused_as_such() {
    // 16 MiB is the most that the kernel ever allows for one message; ten of them exceed every usual RLIMIT_MSGQUEUE.
    let Some(limit) = crate::limits::get("msgqueue").and_then(|limit| limit.soft) else { return };
    if limit < 160 << 20 {
        let error = pair(10, 16 << 20, true).expect_err("more than the limit");
        // EINVAL where fs.mqueue.msgsize_max is looked at first, EMFILE from RLIMIT_MSGQUEUE.
        assert!(matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EMFILE)), "{error}");
    }
}
