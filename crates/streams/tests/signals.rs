//! Signals for events at a stream (I_SETSIG): their numbers, events and receivers.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::users::{NOBODY, become_user, is_root, started};
use common::{alone, calm, child, joined, within};
use headwater_streams::{Errno, Options, Policy, Priority, SignalEvents, Stream};

static POLLS: AtomicU32 = AtomicU32::new(0);
static URGENT: AtomicU32 = AtomicU32::new(0);

/// Counts the signals of this process, and of those that are forked from it.
fn counting() -> std::sync::MutexGuard<'static, ()> {
    extern "C" fn count(number: libc::c_int) {
        let counter = if number == libc::SIGURG { &URGENT } else { &POLLS };
        counter.fetch_add(1, Ordering::Relaxed);
    }
    let alone = alone();
    for number in [libc::SIGPOLL, libc::SIGURG] {
        // SAFETY: the handler changes an atomic, and nothing else.
        unsafe { libc::signal(number, count as extern "C" fn(libc::c_int) as usize) };
    }
    taken();
    alone
}

/// The numbers of SIGPOLL and SIGURG since the last call. The kernel gives them to any thread, which takes a moment.
fn taken() -> (u32, u32) {
    std::thread::sleep(Duration::from_millis(2));
    (POLLS.swap(0, Ordering::Relaxed), URGENT.swap(0, Ordering::Relaxed))
}

/// As [`taken`], for expected signals.
fn taken_like(expected: (u32, u32)) -> (u32, u32) {
    let start = Instant::now();
    let there = || (POLLS.load(Ordering::Relaxed), URGENT.load(Ordering::Relaxed));
    while expected != (0, 0) && there() == (0, 0) && start.elapsed() < Duration::from_secs(2) {
        std::thread::yield_now();
    }
    taken()
}

fn polls_within(time: Duration) -> u32 {
    let start = Instant::now();
    while start.elapsed() < time && POLLS.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    taken().0
}

fn ends(policy: Policy) -> (Stream, Stream) {
    let options = Options::new().hiwat(1000).lowat(500).policy(policy);
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

#[test]
fn a_registration_is_set_got_and_ended() {
    let _alone = counting();
    let (near, far) = ends(Policy::DEFAULT);
    let errno = |done: headwater_streams::Result<()>| done.expect_err("refused").errno();
    let none = SignalEvents::default();
    assert_eq!(errno(near.signals().set(none)), Errno::Inval);
    assert_eq!(errno(near.signals().get().map(drop)), Errno::Inval);
    assert_eq!(errno(near.signals().set(SignalEvents::from_bits_retain(0x400))), Errno::Inval);
    near.signals().set(SignalEvents::INPUT | SignalEvents::ERROR).expect("room");
    assert_eq!(near.signals().get().expect("it is"), SignalEvents::INPUT | SignalEvents::ERROR);
    assert_eq!(errno(far.signals().get().map(drop)), Errno::Inval, "each end has its own");
    near.signals().set(SignalEvents::HIPRI).expect("instead");
    assert_eq!(near.clone().signals().get().expect("it is the process's"), SignalEvents::HIPRI);
    assert_eq!(near.signals().get_for(std::process::id() as i32).expect("by number"), SignalEvents::HIPRI);
    far.write(b"x").expect("room");
    assert_eq!(taken(), (0, 0));
    near.signals().set(none).expect("it ends");
    assert_eq!(errno(near.signals().set(none)), Errno::Inval);
    far.putpmsg(Some(b"c"), None, Priority::High).expect("always");
    assert_eq!(taken(), (0, 0));
}

#[test]
fn what_comes_is_told_by_its_own_event() {
    let _alone = counting();
    let plain = |stream: &Stream| stream.write(b"x").map(drop);
    let message = |stream: &Stream| stream.putmsg(Some(b"c"), Some(b"d"));
    let band = |stream: &Stream| stream.putpmsg(Some(b"c"), None, 3);
    let high = |stream: &Stream| stream.putpmsg(Some(b"c"), None, Priority::High);
    let zero = |stream: &Stream| stream.direct().reserve(1).and_then(|place| place.commit());
    type Send<'s> = &'s dyn Fn(&Stream) -> headwater_streams::Result<()>;
    let normal = SignalEvents::INPUT | SignalEvents::RDNORM;
    let urgent = SignalEvents::RDBAND | SignalEvents::BANDURG;
    let cases: [(SignalEvents, Send, (u32, u32)); 15] = [
        (SignalEvents::INPUT, &plain, (1, 0)),
        (SignalEvents::RDNORM, &plain, (1, 0)),
        (normal, &message, (1, 0)),
        (normal, &high, (0, 0)),
        (SignalEvents::INPUT, &band, (1, 0)),
        (SignalEvents::RDNORM, &band, (0, 0)),
        (SignalEvents::RDBAND, &band, (1, 0)),
        (SignalEvents::RDBAND, &plain, (0, 0)),
        (urgent, &band, (0, 1)),
        (urgent | SignalEvents::INPUT, &band, (0, 1)),
        (urgent | SignalEvents::INPUT, &plain, (1, 0)),
        (SignalEvents::BANDURG, &band, (0, 0)),
        (SignalEvents::HIPRI, &high, (1, 0)),
        (SignalEvents::HIPRI, &plain, (0, 0)),
        (SignalEvents::OUTPUT | SignalEvents::ERROR | SignalEvents::MSG, &message, (0, 0)),
    ];
    for policy in [Policy::DEFAULT, Policy::EAGER] {
        for module in [None, Some("nullmod"), Some("srvmod")] {
            for (at, (events, send, expected)) in cases.iter().enumerate() {
                let (near, mut far) = ends(policy);
                module.iter().for_each(|module| far.push(module).expect("known"));
                // The fast path is open by then.
                (0..3).for_each(|_| plain(&mut far).expect("room"));
                near.signals().set(*events).expect("room");
                taken();
                // Some of the writes would use the fast path.
                for round in 0..10 {
                    send(&mut far).expect("room");
                    // A second message of high priority is discarded.
                    let expected = if round > 0 && *events == SignalEvents::HIPRI { (0, 0) } else { *expected };
                    assert_eq!(taken_like(expected), expected, "{policy:?} {module:?}, case {at}, round {round}");
                }
            }
        }
    }
    let (near, mut far) = ends(Policy::DEFAULT);
    near.signals().set(SignalEvents::RDNORM).expect("room");
    zero(&mut far).expect("room");
    assert_eq!(taken_like((1, 0)), (1, 0), "a message that was filled in where it lies");
}

#[test]
fn room_is_told_to_who_was_refused_and_for_its_band_alone() {
    let _alone = counting();
    for (policy, module) in [(Policy::DEFAULT, None), (Policy::EAGER, None), (Policy::DEFAULT, Some("srvmod"))] {
        for (band, other, own) in
            [(0, SignalEvents::WRBAND, SignalEvents::OUTPUT), (2, SignalEvents::OUTPUT, SignalEvents::WRBAND)]
        {
            for (events, expected) in [(own, 1), (other, 0)] {
                let (near, far) = ends(policy);
                module.iter().for_each(|module| near.push(module).expect("known"));
                near.signals().set(events).expect("room");
                while near.putpmsg(Some(&[0; 100]), None, band).is_ok() {}
                assert_eq!(taken().0, 0);
                let mut buffer = [0; 200];
                let mut count = 0;
                while far.getmsg(Some(&mut buffer), None).is_ok() {
                    count += 1;
                }
                assert!(count > 10);
                assert_eq!(taken_like((expected, 0)).0, expected, "{module:?} {policy:?} band {band}, {events:?}");
            }
        }
    }
}

#[test]
fn who_asked_whether_there_is_room_is_told_when_there_is() {
    let _alone = counting();
    let (near, far) = ends(Policy::DEFAULT);
    near.signals().set(SignalEvents::OUTPUT).expect("room");
    while near.can_put(0).expect("no error") {
        near.write(&[0; 100]).expect("room");
    }
    assert_eq!(taken().0, 0);
    while far.read(&mut [0; 300]).is_ok() {}
    assert_eq!(taken_like((1, 0)).0, 1);
}

#[test]
fn what_modules_raise_is_told() {
    let _alone = counting();
    let raised = [
        ("error 5 0", SignalEvents::ERROR),
        ("hangup", SignalEvents::HANGUP),
        ("pcsignal 29", SignalEvents::MSG),
        ("signal 29", SignalEvents::MSG),
        ("signal 10", SignalEvents::default()),
    ];
    for (request, own) in raised {
        for events in [SignalEvents::ERROR, SignalEvents::HANGUP, SignalEvents::MSG] {
            let (near, _far) = ends(Policy::DEFAULT);
            near.push("testmod").expect("known");
            near.signals().set(events).expect("room");
            // The end before this one was closed.
            taken();
            near.putmsg(Some(request.as_bytes()), None).expect("room");
            assert_eq!(taken_like((u32::from(events == own), 0)).0, u32::from(events == own), "{request} {events:?}");
        }
    }
    // It waits its turn behind data.
    let (near, far) = ends(Policy::DEFAULT);
    near.push("testmod").expect("known");
    near.signals().set(SignalEvents::MSG).expect("room");
    far.write(b"data").expect("room");
    near.putmsg(Some(b"signal 29"), None).expect("room");
    assert_eq!(taken().0, 0);
    near.read(&mut [0; 4]).expect("data");
    assert_eq!((near.read(&mut [0; 4]).expect_err("nothing").errno(), taken_like((1, 0)).0), (Errno::Again, 1));
}

#[test]
fn the_close_of_the_other_end_is_a_hang_up() {
    let _alone = counting();
    let (near, far) = ends(Policy::DEFAULT);
    near.signals().set(SignalEvents::HANGUP).expect("room");
    let other = far.direct();
    drop(far);
    assert_eq!(taken().0, 0);
    drop(other);
    assert_eq!(taken_like((1, 0)).0, 1);
}

/// Each process is registered for itself, and one that has died is signalled no more.
#[test]
fn processes_are_told_apart() {
    let _alone = counting();
    within(Duration::from_secs(20), "signals of processes".into());
    let (near, far) = ends(Policy::DEFAULT);
    let theirs = near.clone();
    let mut registered = started(|ready| {
        theirs.signals().set(SignalEvents::INPUT)?;
        taken();
        ready();
        assert_eq!(polls_within(Duration::from_secs(10)), 1);
        theirs.read(&mut [0; 4])?;
        ready();
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    assert_eq!(near.signals().get().expect_err("that is the child's").errno(), Errno::Inval);
    far.write(b"x").expect("room");
    let near = near;
    while near.nread().expect("no error").0 != 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(taken(), (0, 0), "it is for the child alone");
    registered.kill();
    registered.wait().expect("wait");
    far.write(b"x").expect("no error");
    // A writer of another process signals us.
    near.signals().set(SignalEvents::INPUT).expect("room");
    joined(child(|| far.write(b"x").map(drop)));
    assert_eq!(taken_like((1, 0)), (1, 0));
    calm();
}

#[test]
fn places_of_the_dead_are_taken_and_no_more_than_there_are() {
    let _alone = counting();
    within(Duration::from_secs(60), "many processes are registered".into());
    let (near, _far) = ends(Policy::DEFAULT);
    let sleeper = || {
        child(|| {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        })
    };
    let mut children: Vec<_> = (0..headwater_streams::limits::LISTENERS).map(|_| sleeper()).collect();
    for child in &children {
        near.signals().set_for(child.id() as i32, SignalEvents::HIPRI).expect("a place is free");
        near.signals().set_for(child.id() as i32, SignalEvents::MSG).expect("it has one");
        assert_eq!(near.signals().get_for(child.id() as i32).expect("it is"), SignalEvents::MSG);
    }
    assert_eq!(near.signals().set(SignalEvents::INPUT).expect_err("full").errno(), Errno::Again);
    let mut last = children.pop().expect("some");
    last.kill();
    last.wait().expect("wait");
    near.signals().set(SignalEvents::INPUT).expect("the dead one's");
    assert_eq!(near.signals().set_for(last.id() as i32, SignalEvents::INPUT).expect_err("gone").errno(), Errno::Srch);
    calm();
}

/// A process that writes to the memory may name any process there: one that does not use the stream gets no signal.
#[test]
fn a_process_that_does_not_use_the_stream_is_not_signalled() {
    let _alone = counting();
    let (near, far) = ends(Policy::DEFAULT);
    // Either signal would end it.
    let mut stranger = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
    std::thread::sleep(Duration::from_millis(50));
    near.signals().set_for(stranger.id() as i32, SignalEvents::INPUT).expect("we may");
    far.write(b"x").expect("room");
    std::thread::sleep(Duration::from_millis(50));
    assert!(stranger.try_wait().expect("wait").is_none(), "it was signalled");
    stranger.kill().expect("ours");
    stranger.wait().expect("wait");
}

#[test]
fn a_process_group_is_told_as_long_as_who_registered_it_lives() {
    let _alone = counting();
    within(Duration::from_secs(20), "signals of a group".into());
    let (near, far) = ends(Policy::DEFAULT);
    let mut member = started(|ready| {
        // SAFETY: no memory.
        unsafe { libc::setpgid(0, 0) };
        taken();
        ready();
        for _ in 0..2 {
            assert_eq!(polls_within(Duration::from_secs(10)), 1);
        }
        Ok(())
    });
    near.signals().set_for(-(member.id() as i32), SignalEvents::INPUT).expect("we may");
    assert_eq!(near.signals().get_for(-(member.id() as i32)).expect("it is"), SignalEvents::INPUT);
    far.write(b"x").expect("room");
    assert_eq!(taken(), (0, 0));
    // Another writer, which has registered nothing.
    std::thread::sleep(Duration::from_millis(100));
    joined(child(|| far.write(b"x").map(drop)));
    assert!(member.wait().expect("wait").success());
    calm();
}

/// The process that is registered signals itself, so the writer needs no right to do it.
#[test]
fn a_writer_of_another_user_has_the_signal_raised() {
    let _alone = counting();
    if !is_root() {
        return;
    }
    let (near, far) = ends(Policy::DEFAULT);
    near.signals().set(SignalEvents::INPUT).expect("room");
    joined(child(|| {
        become_user(NOBODY);
        far.write(b"x").map(drop)
    }));
    assert_eq!((taken_like((1, 0)), near.read(&mut [0; 4]).expect("it has come")), ((1, 0), 1));
}

/// A process that may not signal any more what it has registered writes all the same.
#[test]
fn what_the_kernel_refuses_is_no_failure_of_the_write() {
    let _alone = counting();
    if !is_root() {
        return;
    }
    within(Duration::from_secs(20), "a refused signal".into());
    let (near, far) = ends(Policy::DEFAULT);
    let mut theirs = near.direct();
    let member = started(|ready| {
        theirs.attach()?;
        taken();
        ready();
        assert_eq!(polls_within(Duration::from_millis(300)), 0);
        Ok(())
    });
    let registers = near.clone();
    joined(child(|| {
        registers.signals().set_for(member.id() as i32, SignalEvents::INPUT)?;
        become_user(NOBODY);
        far.write(b"x").map(drop)
    }));
    joined(member);
    let (near, _far) = ends(Policy::DEFAULT);
    assert_eq!(near.signals().set_for(1 << 30, SignalEvents::INPUT).expect_err("nobody").errno(), Errno::Srch);
    calm();
}

#[test]
fn numbers_by_which_kill_means_more_than_one_group_are_refused() {
    let _alone = counting();
    let (near, _far) = ends(Policy::DEFAULT);
    for number in [0, -1, i32::MIN] {
        assert_eq!(
            near.signals().set_for(number, SignalEvents::INPUT).expect_err("refused").errno(),
            Errno::Inval,
            "{number}"
        );
    }
}

#[test]
fn a_hang_up_is_told_once_when_the_last_of_an_end_is_closed() {
    let _alone = counting();
    // Clones are left, and handles that were never used.
    let (near, far) = headwater_streams::pipe().expect("pipe");
    near.signals().set(SignalEvents::HANGUP).expect("room");
    let (clone, by_hand) = (far.clone(), far.clone());
    far.write(b"x").expect("room");
    far.close().expect("close");
    assert_eq!(taken_like((1, 0)), (1, 0), "at the close");
    drop((clone, by_hand));
    assert_eq!(taken(), (0, 0), "not again");
    // Another endpoint of the same process.
    let (near, far) = headwater_streams::pipe().expect("pipe");
    near.signals().set(SignalEvents::HANGUP).expect("room");
    let other = Stream::from_number(number(&far)).expect("the same end");
    drop(far);
    assert_eq!(taken(), (0, 0), "the other one is open");
    other.write(b"x").expect("room");
    drop(other);
    assert_eq!(taken_like((1, 0)), (1, 0), "the last one");
    // Another process.
    let (near, far) = headwater_streams::pipe().expect("pipe");
    near.signals().set(SignalEvents::HANGUP).expect("room");
    let (go, wait) = headwater_streams::pipe().expect("pipe");
    let mut child = child(|| {
        far.write(b"x")?;
        wait.read(&mut [0])?;
        Ok(())
    });
    assert_eq!(near.read(&mut [0]).expect("from the child"), 1);
    drop(far);
    assert_eq!(taken(), (0, 0), "the child has it");
    go.write(b"!").expect("room");
    child.wait().expect("wait");
    // A child that ends has its copies closed by the kernel, and sends no signal.
    drop(near);
    taken();
}

#[test]
fn a_registration_stays_as_long_as_the_process_has_the_end() {
    let _alone = counting();
    let (near, far) = headwater_streams::pipe().expect("pipe");
    let other = Stream::from_number(number(&near)).expect("the same end");
    for keeps in [other, near] {
        keeps.signals().set(SignalEvents::INPUT).expect("room");
        let another = Stream::from_number(number(&keeps)).expect("the same end");
        another.attach().expect("room");
        drop(another);
        far.write(b"x").expect("room");
        assert_eq!(taken_like((1, 0)), (1, 0));
    }
    assert_eq!(far.signals().get().expect_err("none").errno(), Errno::Inval);
}

fn number(end: &Stream) -> u32 {
    use std::os::fd::{AsFd, AsRawFd};
    end.as_fd().as_raw_fd().unsigned_abs()
}
