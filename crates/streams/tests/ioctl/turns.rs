//! One ioctl at a time: others of the same end wait for it, and not for one whose caller was killed. Nor does an ioctl wait
//! longer than its time for a process that is stopped in the middle of a call.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Once;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::modules::testmod::ioctl::{IGNORE, REVERSE};
use headwater_streams::{Errno, IoctlTimeout, Message, Module, ModuleInfo, Priority, Queue, Result, Stream, register};

use super::common::{calm, child, in_own_process, within};
use super::{LONG, SHORT, answering, ask};

#[test]
fn others_wait_their_turn_and_no_longer_than_their_time() {
    in_own_process!();
    within(Duration::from_secs(20), "ioctls take turns".into());
    let (near, _far) = answering();
    let (first, second, third) = (near.clone(), near.clone(), near.clone());
    let while_ns = Duration::from_millis(300);
    let first = std::thread::spawn(move || ask(&first, IGNORE, b"", IoctlTimeout::After(while_ns)));
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    assert_eq!(ask(&second, REVERSE, b"ab", SHORT), Err(Errno::Time), "the wait for its turn counts");
    assert!(start.elapsed() < Duration::from_millis(180), "{:?}", start.elapsed());
    assert_eq!(ask(&third, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
    assert_eq!(first.join().expect("no panic"), Err(Errno::Time));
    calm();
}

#[test]
fn many_threads_get_their_own_answers() {
    in_own_process!();
    within(Duration::from_secs(60), "many ioctls".into());
    let (near, _far) = answering();
    let threads: Vec<_> = (0..4u8)
        .map(|thread| {
            let stream = near.clone();
            std::thread::spawn(move || {
                for count in 0..200u8 {
                    let answer = ask(&stream, REVERSE, &[thread, count], LONG);
                    assert_eq!(answer, Ok((2, vec![count, thread])));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    calm();
}

/// Waits until a process is in an ioctl at the end.
fn until_taken(stream: &Stream) {
    while ask(stream, REVERSE, b"", SHORT).is_ok() {}
}

#[test]
fn nobody_waits_for_a_caller_that_was_killed() {
    in_own_process!();
    within(Duration::from_secs(30), "a caller of an ioctl is killed".into());
    for round in 0..5 {
        let (near, _far) = answering();
        let theirs = near.clone();
        let ours = near.clone();
        let mut caller = child(|| theirs.ioctl(IGNORE, &mut Vec::new(), IoctlTimeout::Never).map(drop));
        until_taken(&ours);
        caller.kill();
        if round % 2 == 0 {
            caller.wait().expect("wait");
        }
        let start = Instant::now();
        assert_eq!(ask(&ours, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        caller.wait().expect("wait");
    }
    calm();
}

/// A caller that is stopped keeps its turn; those behind it wait for their time.
#[test]
fn a_stopped_caller_keeps_its_turn() {
    in_own_process!();
    within(Duration::from_secs(30), "a caller of an ioctl is stopped".into());
    let (near, _far) = answering();
    let (theirs, ours) = (near.clone(), near.clone());
    let mut caller = child(|| theirs.ioctl(IGNORE, &mut Vec::new(), IoctlTimeout::Never).map(drop));
    until_taken(&ours);
    caller.stop().expect("our own child");
    for _ in 0..3 {
        assert_eq!(ask(&ours, REVERSE, b"", SHORT), Err(Errno::Time));
    }
    caller.kill();
    caller.wait().expect("wait");
    assert_eq!(ask(&ours, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
    calm();
}

/// A panic of a module in an ioctl leaves the turn to others.
#[test]
fn a_panic_of_a_module_ends_the_ioctl() {
    let (near, _far) = with_gate(answering());
    let (theirs, ours) = (near.clone(), near.clone());
    // Its handle stays in use.
    let ask_for_it = std::panic::AssertUnwindSafe(|| ask(&theirs, PANIC, b"", LONG));
    assert!(std::panic::catch_unwind(ask_for_it).is_err());
    assert_eq!(ask(&ours, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
}

/// A module that keeps the sender of the control part `stay` in its put procedure until its socket tells it to leave,
/// and panics when it is told to.
#[derive(Debug)]
struct Gate;

const PANIC: u32 = 0x1234;
/// The socket by which a process that stays is told to continue: its number in the processes of these tests.
static STAYS: std::sync::Mutex<Option<UnixStream>> = std::sync::Mutex::new(None);

impl Module for Gate {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("gate")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if let Ok(block) = headwater_streams::IoctlBlock::of(&message) {
            assert_ne!(block.command, PANIC, "as it was told to");
        }
        if message.control() != Some(b"stay") {
            return queue.put_next(message);
        }
        let control = STAYS.lock().expect("no panic");
        let control = control.as_ref().expect("it is set before");
        (&mut &*control).write_all(b"x").expect("the test listens");
        let _ = (&mut &*control).read(&mut [0]);
        Ok(())
    }
}

fn with_gate((near, far): (Stream, Stream)) -> (Stream, Stream) {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register(Gate).expect("a free name"));
    near.push("gate").expect("known");
    (near, far)
}

/// A process that stays in a module's put procedure, as a user of this end. A byte tells it to leave.
fn staying(stream: Stream) -> (Child, UnixStream) {
    let (here, there) = UnixStream::pair().expect("pair");
    let process = child(|| {
        *STAYS.lock().expect("no panic") = Some(there);
        stream.putpmsg(Some(b"stay"), None, Priority::High)
    });
    (&mut &here).read_exact(&mut [0]).expect("it stays");
    (process, here)
}

/// A process is stopped in a module on the path of the ioctl, or of its answer.
#[test]
fn a_process_that_is_stopped_in_a_module_is_not_waited_for_beyond_the_time() {
    in_own_process!();
    for answers_way in [false, true] {
        within(
            Duration::from_secs(30),
            format!("a process is stopped in a module; in the answer's way: {answers_way}"),
        );
        let (near, far) = with_gate(answering());
        let (mut process, control) = staying(if answers_way {
            // The gate is on the path of the other end's writes, too.
            far.clone()
        } else {
            near.clone()
        });
        process.stop().expect("our own child");
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(ask(&near, REVERSE, b"ab", SHORT), Err(Errno::Time));
        }
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        // The ioctl waits for a process that leaves in time.
        let other = near.clone();
        let waiter = std::thread::spawn(move || ask(&other, REVERSE, b"ab", LONG));
        std::thread::sleep(Duration::from_millis(100));
        assert!(!waiter.is_finished());
        process.resume();
        (&mut &control).write_all(b"x").expect("it listens");
        assert_eq!(waiter.join().expect("no panic"), Ok((2, b"ba".to_vec())));
        assert!(process.wait().expect("wait").success());
        assert_eq!(ask(&near, REVERSE, b"cd", LONG), Ok((2, b"dc".to_vec())));
        // It does not wait for one that is killed there.
        let (mut process, _control) = staying(if answers_way { far.clone() } else { near.clone() });
        process.stop().expect("our own child");
        assert_eq!(ask(&near, REVERSE, b"ab", SHORT), Err(Errno::Time));
        process.kill();
        assert_eq!(ask(&near, REVERSE, b"ef", LONG), Ok((2, b"fe".to_vec())));
        process.wait().expect("wait");
    }
    calm();
}
