//! The results of ioctls.

use std::time::{Duration, Instant};

use headwater_streams::modules::testmod::ioctl::{
    COUNT_FAILED_COPIES, DELAY, DELAY_COPY, FAIL, IGNORE, MISTAKE, REFUSE, REVERSE,
};
use headwater_streams::{Access, Errno, FifoOptions, IoctlTimeout, Options, Policy, pipe};

use super::common::{self, Interruptible, calm, child, in_own_process, within};
use super::{LONG, SHORT, answering, ask};

#[test]
fn a_pipe_s_far_head_refuses_at_once() {
    let (mut near, mut far) = pipe().expect("pipe");
    let start = Instant::now();
    for stream in [&mut near, &mut far] {
        for modules in [0, 1, 2] {
            assert_eq!(ask(stream, REVERSE, b"abc", IoctlTimeout::Never), Err(Errno::Inval), "{modules} modules");
            stream.push("srvmod").expect("known");
        }
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn a_fifo_refuses_at_once() {
    let (_directory, path) = common::fifo();
    let open = |access| FifoOptions::new().nonblocking(true).open(&path, access);
    let mut reader = open(Access::Read).expect("open");
    assert_eq!(ask(&reader, REVERSE, b"abc", IoctlTimeout::Never), Err(Errno::Inval));
    let mut writer = open(Access::Write).expect("open");
    for stream in [&mut reader, &mut writer] {
        assert_eq!(ask(stream, REVERSE, b"abc", IoctlTimeout::Never), Err(Errno::Inval));
    }
}

#[test]
fn data_go_there_and_come_back() {
    let of = |policy| Options::new().policy(policy);
    let small = Options::new().strctlsz(1).strmsgsz(4096).maxpsz(4096);
    for options in [of(Policy::DEFAULT), of(Policy::EAGER), small] {
        let (near, far) = options.pipe().expect("pipe");
        for module in ["testmod", "srvmod", "nullmod"] {
            near.push(module).expect("known");
        }
        // O_NONBLOCK has no effect.
        near.set_nonblocking(true).expect("set");
        let most = options.strmsgsz as usize;
        for len in [0, 1, 3, 1000, most] {
            let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let reversed: Vec<u8> = data.iter().rev().copied().collect();
            assert_eq!(ask(&near, REVERSE, &data, LONG), Ok((len as i32, reversed)), "{len} bytes");
        }
        assert_eq!(ask(&near, REVERSE, &vec![0; most + 1], LONG), Err(Errno::Inval));
        // It did not arrive as data.
        assert_eq!(near.read(&mut [0]).expect_err("nothing").errno(), Errno::Again);
        far.set_nonblocking(true).expect("set");
        assert_eq!(far.read(&mut [0]).expect_err("nothing").errno(), Errno::Again);
    }
}

#[test]
fn an_answer_names_its_error() {
    let (near, _far) = answering();
    let mut data = b"\x0dkept".to_vec();
    assert_eq!(near.ioctl(REFUSE, &mut data, LONG).expect_err("refused").errno(), Errno::Acces);
    assert_eq!(near.ioctl(FAIL, &mut data, LONG).expect_err("failed").errno(), Errno::Acces);
    assert_eq!(data, b"\x0dkept");
    // A refusal without an error.
    assert_eq!(ask(&near, REFUSE, b"\0", LONG), Err(Errno::Inval));
    assert_eq!(ask(&near, FAIL, b"\0", LONG), Ok((0, Vec::new())));
    assert_eq!(ask(&near, 1, b"", LONG), Err(Errno::Inval), "a command that nobody knows");
}

#[test]
fn the_time_is_what_was_asked_for() {
    assert_eq!(IoctlTimeout::from_seconds(0).expect("usual"), IoctlTimeout::Usual);
    assert_eq!(IoctlTimeout::from_seconds(-1).expect("never"), IoctlTimeout::Never);
    assert_eq!(IoctlTimeout::from_seconds(7).expect("a time"), IoctlTimeout::After(Duration::from_secs(7)));
    for bad in [-2, i32::MIN] {
        assert_eq!(IoctlTimeout::from_seconds(bad).expect_err("no time").errno(), Errno::Inval);
    }
    let (near, _far) = answering();
    let start = Instant::now();
    assert_eq!(ask(&near, IGNORE, b"", SHORT), Err(Errno::Time));
    let took = start.elapsed();
    assert!((Duration::from_millis(60)..Duration::from_secs(2)).contains(&took), "{took:?}");
    assert_eq!(ask(&near, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
}

#[test]
fn an_answer_that_comes_too_late_is_of_no_account() {
    let (near, _far) = answering();
    assert_eq!(ask(&near, DELAY, b"", SHORT), Err(Errno::Time));
    // The delayed answer comes before that of this one.
    assert_eq!(ask(&near, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
    assert_eq!(ask(&near, MISTAKE, b"", SHORT), Err(Errno::Time));
    assert_eq!(ask(&near, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
}

#[test]
fn a_request_to_copy_that_comes_too_late_is_told_so() {
    let (near, _far) = answering();
    assert_eq!(ask(&near, DELAY_COPY, b"", SHORT), Err(Errno::Time));
    assert_eq!(ask(&near, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
    assert_eq!(ask(&near, COUNT_FAILED_COPIES, b"", LONG), Ok((1, Vec::new())));
}

#[test]
fn a_signal_ends_the_wait_for_an_answer() {
    in_own_process!();
    within(Duration::from_secs(20), "a signal for an ioctl".into());
    let (near, _far) = answering();
    let waiter = Interruptible::start(move || (ask(&near, IGNORE, b"", IoctlTimeout::Never), near));
    let (answer, near) = waiter.end(Duration::from_millis(30));
    assert_eq!(answer, Err(Errno::Intr));
    assert_eq!(ask(&near, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
    calm();
}

/// An error or hang-up ends an ioctl that is under way at once.
#[test]
fn a_hang_up_or_an_error_ends_the_wait_for_an_answer() {
    in_own_process!();
    within(Duration::from_secs(20), "a hang-up for an ioctl".into());
    let mut fastest = Duration::MAX;
    for (request, errno) in [("hangup", Errno::Nxio), ("error 0 71", Errno::Proto), ("error 5 0", Errno::Io)] {
        let (near, _far) = answering();
        let other = near.clone();
        let waiting = near.clone();
        let waiter = std::thread::spawn(move || ask(&waiting, IGNORE, b"", IoctlTimeout::Never));
        // At the beginning of one of its sleeps.
        std::thread::sleep(Duration::from_millis(170));
        assert!(!waiter.is_finished(), "{request}");
        let start = Instant::now();
        other.putmsg(Some(request.as_bytes()), None).expect("room");
        assert_eq!(waiter.join().expect("no panic"), Err(errno), "{request}");
        fastest = fastest.min(start.elapsed());
        assert_eq!(ask(&other, REVERSE, b"ab", LONG), Err(errno), "{request}");
    }
    assert!(fastest < Duration::from_millis(30), "it is woken, and does not find out by itself: {fastest:?}");
    calm();
}

#[test]
fn the_end_of_the_other_end_ends_the_wait_for_an_answer() {
    in_own_process!();
    within(Duration::from_secs(20), "an ioctl whose peer goes".into());
    for killed in [false, true] {
        let (near, far) = answering();
        let waiting = near.clone();
        let peer = child(|| {
            far.attach()?;
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        });
        let waiter = std::thread::spawn(move || ask(&waiting, IGNORE, b"", IoctlTimeout::Never));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiter.is_finished());
        if killed {
            drop(far);
            let mut peer = peer;
            peer.kill();
            peer.wait().expect("wait");
        } else {
            let mut peer = peer;
            peer.kill();
            peer.wait().expect("wait");
            drop(far);
        }
        assert_eq!(waiter.join().expect("no panic"), Err(Errno::Nxio));
    }
    calm();
}
