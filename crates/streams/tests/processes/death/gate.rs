//! A writer that stays inside a module's put procedure, like one that is stopped there: the effects on other users of
//! its end and on the reader, and that all work is done when it leaves.

use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use headwater_streams::{
    Errno, Events, Message, Module, ModuleInfo, Options, Priority, Queue, Result, Stream, register,
};

use super::common::{Interruptible, calm, in_own_process, polled, within};

/// Where the writer is: [`OUTSIDE`], [`INSIDE`], or told to leave.
static PLACE: Mutex<u32> = Mutex::new(OUTSIDE);
static MOVED: Condvar = Condvar::new();
const OUTSIDE: u32 = 0;
const INSIDE: u32 = 1;
const LEAVING: u32 = 2;

/// A put procedure that keeps the sender of the control part `stay` until it is told to let go; the message is then
/// dropped.
#[derive(Debug)]
struct Gate;

impl Module for Gate {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("gate")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if message.control() != Some(b"stay") {
            return queue.put_next(message);
        }
        set_place(INSIDE);
        wait_until(|place| place == LEAVING);
        Ok(())
    }
}

fn set_place(place: u32) {
    *PLACE.lock().expect("no holder panics") = place;
    MOVED.notify_all();
}

fn wait_until(reached: impl Fn(u32) -> bool) {
    let place = PLACE.lock().expect("no holder panics");
    drop(MOVED.wait_while(place, |place| !reached(*place)).expect("no holder panics"));
}

/// A handle whose thread holds the writing side of its end until it is told to let go.
struct Held(JoinHandle<Stream>);

impl Held {
    /// The module is pushed already.
    fn by(stream: Stream) -> Held {
        set_place(OUTSIDE);
        // High priority does not wait for room.
        let writer = std::thread::spawn(move || {
            stream.putpmsg(Some(b"stay"), None, Priority::High).expect("the reader lives");
            stream
        });
        wait_until(|place| place == INSIDE);
        Held(writer)
    }

    fn let_go(self) -> Stream {
        set_place(LEAVING);
        self.0.join().expect("no panic")
    }
}

/// Two ends with small queues, of which the first has these modules, the gate among them.
fn ends(modules: &[&str]) -> (Stream, Stream) {
    static KNOWN: std::sync::Once = std::sync::Once::new();
    KNOWN.call_once(|| register(Gate).expect("a free name"));
    let (near, far) = Options::new().hiwat(1000).lowat(500).pipe().expect("pipe");
    modules.iter().for_each(|name| near.push(name).expect("known"));
    (near, far)
}

/// Writes until it is refused.
fn fill(stream: &Stream) -> usize {
    let (mut written, bytes) = (0, [1; 100]);
    stream.set_nonblocking(true).expect("set");
    loop {
        match stream.write(&bytes) {
            Ok(count) => written += count,
            Err(error) => {
                assert_eq!(error.errno(), Errno::Again);
                stream.set_nonblocking(false).expect("set");
                return written;
            }
        }
    }
}

/// Reads until it is refused.
fn drain(stream: &Stream) -> usize {
    let (mut read, mut buffer) = (0, [0; 300]);
    loop {
        match stream.read(&mut buffer) {
            Ok(count) => read += count,
            Err(error) => {
                assert_eq!(error.errno(), Errno::Again, "{error}");
                return read;
            }
        }
    }
}

#[test]
fn a_poll_behind_a_stopped_holder_waits_its_time_and_says_not_ready() {
    in_own_process!();
    within(Duration::from_secs(20), "a poll behind a stopped writer".into());
    let (near, far) = ends(&["gate"]);
    let other = near.clone();
    fill(&other);
    let held = Held::by(near);
    let time = Duration::from_millis(60);
    for wanted in [Events::OUT, Events::IN | Events::OUT, Events::OUT | Events::WRBAND] {
        let start = Instant::now();
        let ready = other.poll(wanted, Some(time)).unwrap_or_else(|error| panic!("{wanted:?}: {error}"));
        assert!(ready.is_empty(), "{wanted:?}: {ready:?}");
        assert!(start.elapsed() >= time, "{wanted:?}: {:?}", start.elapsed());
        let ready = other.poll(wanted, Some(Duration::ZERO)).unwrap_or_else(|error| panic!("{wanted:?}: {error}"));
        assert!(ready.is_empty(), "{wanted:?}: {ready:?}");
    }
    // The poll sees events that happen while it waits.
    let polling = std::thread::spawn(move || {
        let ready = other.poll(Events::OUT, Some(Duration::from_secs(10))).expect("no error");
        (ready, other)
    });
    std::thread::sleep(time);
    far.set_nonblocking(true).expect("set");
    drain(&far);
    drop(held.let_go());
    assert_eq!(polling.join().expect("no panic").0, Events::OUT);
    calm();
}

#[test]
fn a_signal_ends_a_poll_behind_a_stopped_holder() {
    in_own_process!();
    within(Duration::from_secs(20), "a signal for a poll behind a stopped writer".into());
    const POLLS: u32 = 16;
    let mut signals = 0;
    for round in 0..POLLS {
        let (near, _far) = ends(&["gate"]);
        let other = near.clone();
        fill(&other);
        let held = Held::by(near);
        let polling = Interruptible::start(move || other.poll(Events::OUT, None));
        while !polling.is_finished() {
            std::thread::sleep(Duration::from_micros(20_000 + 1_300 * u64::from(round)));
            signals += 1;
            polling.has_slept_on(Duration::from_millis(8));
        }
        assert_eq!(polling.join().expect_err("a handler ran").errno(), Errno::Intr);
        drop(held.let_go());
    }
    // A signal that comes while the thread does not sleep is lost, and half of them if a poll looks for the writer deaf
    // to signals.
    assert!(signals <= POLLS * 3 / 2, "{POLLS} polls were ended by {signals} signals");
    calm();
}

/// Messages in a module's queue behind a full head are passed on as soon as there is room: by the reader, and if a
/// writer is in the middle of a call, by that one when it comes out.
#[test]
fn a_writer_that_comes_out_runs_the_services_that_a_reader_could_not() {
    in_own_process!();
    within(Duration::from_secs(30), "a stopped writer that owes a service".into());
    for nonblocking in [true, false] {
        let (near, mut far) = ends(&["srvmod", "gate"]);
        let other = near.clone();
        let written = fill(&other);
        let held = Held::by(near);
        far.set_nonblocking(true).expect("set");
        let read = drain(&far);
        assert!((1..written).contains(&read), "{read} of {written} bytes were at the head");
        assert_eq!(polled(&far, libc::POLLIN, Duration::from_millis(50)), 0, "nobody can run the service");
        let writer = if nonblocking {
            let writer = held.let_go();
            // Neither the writer nor another user makes a further call.
            assert_eq!(polled(&far, libc::POLLIN, Duration::from_secs(5)), libc::POLLIN, "what waited was forgotten");
            writer
        } else {
            far.set_nonblocking(false).expect("set");
            let reading = std::thread::spawn(move || {
                assert!(far.read(&mut [0; 1]).expect("no error") == 1);
                far
            });
            std::thread::sleep(Duration::from_millis(50));
            let writer = held.let_go();
            far = reading.join().expect("no panic");
            writer
        };
        far.set_nonblocking(true).expect("set");
        let rest = drain(&far);
        assert_eq!(read + rest + usize::from(!nonblocking), written);
        drop(writer);
    }
    calm();
}
