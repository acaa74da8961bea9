//! Waiting for a message of high priority, or of a band, while others lie in front: it is woken by such a message, by the end of the
//! stream and by a signal, and by nothing else (SUSv3 getmsg, getpmsg).

use std::net::Shutdown;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use headwater_os::child;
use headwater_streams::{Errno, Events, MessageFilter, Priority, Received, Stream, pipe};

use crate::common::{Interruptible, child as start_child, in_own_process};

/// Longer than a waiter stays on the futex.
const PAUSE: Duration = Duration::from_millis(120);
const SOON: Duration = Duration::from_secs(5);

/// The ways to wait for a message, and one that each waits for.
const WANTED: [(MessageFilter, Events, Priority); 4] = [
    (MessageFilter::HighPriority, Events::PRI, Priority::High),
    (MessageFilter::Band(2), Events::RDBAND, Priority::Band(2)),
    (MessageFilter::Band(2), Events::RDBAND, Priority::Band(9)),
    (MessageFilter::Band(2), Events::PRI, Priority::High),
];

fn get(stream: &Stream, filter: MessageFilter) -> headwater_streams::Result<(Vec<u8>, Received)> {
    let (mut control, mut data) = ([0; 16], [0; 16]);
    let got = stream.getpmsg(Some(&mut control), Some(&mut data), filter)?;
    Ok((control[..got.control.unwrap_or(0)].to_vec(), got))
}

/// A stream with messages of a lower priority in front.
fn with_others_in_front() -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    near.putpmsg(Some(b"band 1"), None, 1).expect("room");
    near.putmsg(Some(b"ordinary"), None).expect("room");
    near.write(b"bytes").expect("room");
    (near, far)
}

/// A thread that waits for a message; what it gets arrives at the channel.
fn waiter(stream: &Stream, filter: MessageFilter) -> mpsc::Receiver<headwater_streams::Result<(Vec<u8>, Received)>> {
    let own = stream.clone();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(get(&own, filter)));
    receive
}

#[test]
fn a_call_without_wait_fails_with_eagain_and_takes_nothing() {
    let (_near, far) = with_others_in_front();
    far.set_nonblocking(true).expect("arm");
    for (filter, ..) in WANTED {
        assert_eq!(get(&far, filter).expect_err("not at the front").errno(), Errno::Again);
    }
    assert_eq!(get(&far, MessageFilter::Band(1)).expect("there").0, b"band 1");
    assert_eq!(get(&far, MessageFilter::Band(1)).expect_err("the band is empty").errno(), Errno::Again);
    assert_eq!(get(&far, MessageFilter::Any).expect("there").0, b"ordinary");
}

#[test]
fn a_waiter_gets_the_message_that_comes_to_the_front() {
    // On the futex, and at the descriptor.
    for pause in [Duration::ZERO, Duration::from_millis(3), PAUSE] {
        for (filter, _, priority) in WANTED {
            let (near, far) = with_others_in_front();
            let got = waiter(&far, filter);
            std::thread::sleep(pause);
            near.putpmsg(Some(b"wanted"), None, priority).expect("room");
            let (control, received) = got.recv_timeout(SOON).expect("woken").expect("a message");
            assert_eq!((control, received.priority), (b"wanted".to_vec(), priority), "{filter:?}");
            assert_eq!(get(&far, MessageFilter::Any).expect("there").0, b"band 1", "the others are left");
        }
    }
}

#[test]
fn other_messages_do_not_end_the_wait_and_cost_no_busy_loop() {
    in_own_process!();
    let (near, far) = with_others_in_front();
    let got = waiter(&far, MessageFilter::HighPriority);
    std::thread::sleep(PAUSE);
    let before = cpu_time();
    let begin = Instant::now();
    // More than the socket of the descriptor takes notifications.
    for _ in 0..100 {
        near.write(b"x").expect("room");
        near.putpmsg(Some(b"band"), None, 3).expect("room");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
    let (used, lasted) = (cpu_time() - before, begin.elapsed());
    assert!(used < lasted / 10, "{used:?} of processor time in {lasted:?}");
    assert!(got.try_recv().is_err(), "nothing of high priority has come");
    near.putpmsg(Some(b"wanted"), None, Priority::High).expect("room");
    assert_eq!(got.recv_timeout(SOON).expect("woken").expect("a message").0, b"wanted");
}

fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn a_waiter_waits_on_when_another_takes_what_is_in_front() {
    in_own_process!();
    let (near, far) = with_others_in_front();
    let got = waiter(&far, MessageFilter::HighPriority);
    std::thread::sleep(PAUSE);
    // A thread, and a process.
    assert_eq!(get(&far, MessageFilter::Any).expect("there").0, b"band 1");
    let mut peer = start_child(|| {
        let far = far.clone();
        assert_eq!(get(&far, MessageFilter::Any)?.0, b"ordinary");
        assert_eq!(far.read(&mut [0; 9])?, 5);
        // The first of two messages: the waiter of this process's parent gets the second.
        Ok(())
    });
    assert!(peer.wait().expect("wait").success());
    std::thread::sleep(PAUSE);
    assert!(got.try_recv().is_err(), "the queue is empty");
    near.write(b"more").expect("room");
    std::thread::sleep(PAUSE);
    assert!(got.try_recv().is_err(), "ordinary bytes are not wanted");
    near.putpmsg(Some(b"wanted"), None, Priority::High).expect("room");
    assert_eq!(got.recv_timeout(SOON).expect("woken").expect("a message").0, b"wanted");
}

#[test]
fn each_of_two_waiters_gets_one_of_two_messages() {
    for pause in [Duration::ZERO, PAUSE] {
        let (near, far) = with_others_in_front();
        let waiters = [0; 2].map(|_| waiter(&far, MessageFilter::Band(5)));
        std::thread::sleep(pause);
        near.putpmsg(Some(b"one"), None, 5).expect("room");
        std::thread::sleep(pause);
        near.putpmsg(Some(b"two"), None, 6).expect("room");
        let mut got = waiters.map(|got| got.recv_timeout(SOON).expect("woken").expect("a message").0);
        got.sort();
        assert_eq!(got, [b"one", b"two"]);
    }
}

#[test]
fn a_message_of_another_process_wakes_the_waiter() {
    in_own_process!();
    let (near, far) = with_others_in_front();
    for pause in [Duration::from_millis(2), PAUSE] {
        let got = waiter(&far, MessageFilter::HighPriority);
        let mut peer = start_child(|| {
            std::thread::sleep(pause);
            near.clone().putpmsg(Some(b"wanted"), None, Priority::High)
        });
        assert_eq!(got.recv_timeout(SOON).expect("woken").expect("a message").0, b"wanted");
        assert!(peer.wait().expect("wait").success());
    }
}

#[test]
fn a_signal_handler_ends_the_wait_with_eintr() {
    in_own_process!();
    let (_near, far) = with_others_in_front();
    for pause in [Duration::from_millis(2), PAUSE] {
        let own = far.clone();
        let waiter = Interruptible::start(move || get(&own, MessageFilter::HighPriority).map(drop));
        std::thread::sleep(pause);
        let ended = waiter.end(Duration::from_millis(20));
        assert_eq!(ended.expect_err("interrupted").errno(), Errno::Intr);
    }
}

#[test]
fn the_end_of_the_stream_ends_the_wait_and_leaves_what_is_there() {
    in_own_process!();
    type End = fn(Stream);
    let ends: [(&str, End); 3] = [
        ("close", drop),
        ("shutdown", |near| {
            near.shutdown(Shutdown::Write).expect("shutdown");
            std::mem::forget(near);
        }),
        ("death", |near| {
            let mut peer = start_child(|| {
                std::thread::sleep(Duration::from_millis(20));
                child::kill_self()
            });
            drop(near);
            peer.wait().expect("wait");
        }),
    ];
    for (name, end) in ends {
        for pause in [Duration::ZERO, PAUSE] {
            let (near, far) = with_others_in_front();
            let got = waiter(&far, MessageFilter::HighPriority);
            std::thread::sleep(pause);
            end(near);
            let (control, received) =
                got.recv_timeout(SOON).unwrap_or_else(|_| panic!("{name}: woken")).expect("the end");
            assert_eq!((control, received.control, received.data), (vec![], Some(0), Some(0)), "{name}");
            assert_eq!(get(&far, MessageFilter::Any).expect("there").0, b"band 1", "{name}");
        }
    }
}

#[test]
fn poll_agrees_with_getmsg() {
    for pause in [Duration::ZERO, PAUSE] {
        for (filter, wanted, priority) in WANTED {
            let (near, far) = with_others_in_front();
            // The band in front is reported.
            assert_eq!(get(&far, MessageFilter::Any).expect("there").0, b"band 1");
            assert_eq!(far.poll(wanted, Some(Duration::ZERO)).expect("poll"), Events::default());
            let mut own = far.direct();
            let (send, receive) = mpsc::channel();
            std::thread::spawn(move || send.send(own.poll(wanted, Some(SOON))));
            std::thread::sleep(pause);
            near.putpmsg(Some(b"wanted"), None, priority).expect("room");
            assert_eq!(receive.recv_timeout(SOON).expect("woken").expect("poll"), wanted, "{filter:?}");
            far.set_nonblocking(true).expect("arm");
            assert_eq!(get(&far, filter).expect("poll has said so").0, b"wanted");
        }
    }
}
