//! The traced program: this test's own executable once more, which then plays one of these parts.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::memory::SharedMemory;
use headwater_os_tools::shared::Shared;
use headwater_trace::event::{Event, Type};
use headwater_trace::region::Region;
use headwater_trace_tools::consumer::Consumer;
use headwater_trace_tools::record::HEAD;

use crate::forbid::in_handler;

headwater_trace::events! {
    /// The `number`th of this `writer`; `check` is both mixed.
    step("test:step") { writer: u64, number: u64, check: u64 }
    /// As `step`, longer and of a length of its own.
    told("test:told") { writer: u64, number: u64, check: u64, text: &str }
    /// Nobody records it.
    silent("other:silent") { number: u64 }
}

/// What makes a record recognisable as whole.
pub fn check(writer: u64, number: u64) -> u64 {
    (writer << 48 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The text of a told step. Nothing is allocated for it: signal handlers tell steps too.
pub fn text(number: u64) -> &'static str {
    const LONGEST: [u8; 90] = [b'x'; 90];
    std::str::from_utf8(&LONGEST[..(number % 90) as usize]).expect("ASCII")
}

/// One step of a writer; each seventh is told.
pub fn emit(writer: u64, number: u64) {
    if number.is_multiple_of(7) {
        told(writer, number, check(writer, number), text(number));
    } else {
        step(writer, number, check(writer, number));
    }
    silent(number);
}

/// How far each writer has come, in a file that outlives the program: so many of its events have been emitted.
pub struct Board(SharedMemory);

impl Board {
    /// Writers that it has room for.
    const WRITERS: usize = 16;

    /// A new one beside a session.
    pub fn create(session: &Path) -> Board {
        Board(SharedMemory::create_file(&Board::path(session), Board::WRITERS * 8).expect("a file"))
    }

    fn open(session: &Path) -> Board {
        Board(SharedMemory::open_file(&Board::path(session), Board::WRITERS * 8).expect("a file"))
    }

    fn path(session: &Path) -> PathBuf {
        session.with_extension("board")
    }

    /// Of one writer.
    pub fn emitted(&self, writer: u64) -> &AtomicU64 {
        self.0.get(writer as usize * 8).expect("it has room")
    }
}

const PART: &str = "HEADWATER_TEST_PART";
const COUNT: &str = "HEADWATER_TEST_COUNT";

/// Starts the program in a session, to play a part.
pub fn start(part: &str, count: u64, session: &Path, own_logs: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("an executable"));
    command.args(["--exact", "the_program", "--nocapture", "--test-threads", "1"]);
    command.env(PART, part).env(COUNT, count.to_string());
    if !session.as_os_str().is_empty() {
        command.env("HEADWATER_TRACE", session);
    }
    if own_logs {
        command.env("HEADWATER_TRACE_LOGS", "thread");
    }
    command.stdout(std::process::Stdio::null());
    command.spawn().expect("it starts")
}

/// Plays the part that the environment names, if one does.
pub fn play() {
    let Ok(part) = std::env::var(PART) else { return };
    let count: u64 = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).expect("a count");
    if part != "race" {
        headwater_trace::init().expect("the session can be joined");
    }
    match part.as_str() {
        "one" => (0..count).for_each(|number| emit(1, number)),
        "paced" => paced(count),
        "threads" => threads(count),
        "kinds" => kinds(count),
        "storm" => storm(count),
        "signals" => signals(count),
        "first" => first_in_handlers(count),
        "race" => race(count),
        "counted" => counted(count, &Board::open(Path::new(&std::env::var_os("HEADWATER_TRACE").expect("a session")))),
        "carry" => carry(),
        "listen" => listening(count),
        "fork" => forked(count),
        "exec" => {
            (0..count).for_each(|number| emit(1, number));
            let mut again = Command::new(std::env::current_exe().expect("an executable"));
            again.args(["--exact", "the_program", "--nocapture", "--test-threads", "1"]).env(PART, "second");
            panic!("exec failed: {}", again.exec());
        }
        "second" => (0..count).for_each(|number| emit(2, number)),
        other => panic!("there is no part {other}"),
    }
    std::process::exit(0);
}

/// A million events a second.
/// So many kinds of events, each three times.
fn kinds(count: u64) {
    for number in 0..count {
        let event = Event::make(&format!("test:kind{number}"), &[], None).expect("a name and no fields");
        (0..3).for_each(|_| event.write([0; 2], HEAD));
    }
}

fn paced(count: u64) {
    let start = std::time::Instant::now();
    for number in 0..count {
        emit(1, number);
        if number % 100 == 99 {
            while start.elapsed().as_micros() < u128::from(number) {
                std::hint::spin_loop();
            }
        }
    }
}

fn threads(count: u64) {
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || (0..count).for_each(|number| emit(writer, number)));
        }
    });
}

/// Three threads that say how far they have come.
fn counted(count: u64, board: &Board) {
    std::thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || {
                for number in 0..count {
                    emit(writer, number);
                    board.emitted(writer).store(number + 1, Ordering::Release);
                }
            });
        }
    });
}

/// Runs until it is traced, and emits so many events from its start on.
fn listening(count: u64) {
    (0..100).for_each(|number| emit(1, number));
    headwater_trace::listen().expect("it listens");
    for number in 100..count {
        emit(1, number);
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

/// The consumer, until it is killed.
fn carry() {
    let session = PathBuf::from(std::env::var_os("HEADWATER_TRACE").expect("a session"));
    let region = Region::open(&session).expect("a session");
    let mut consumer = Consumer::begin(region, &session.with_file_name("trace"), Vec::new()).expect("a trace");
    loop {
        consumer.carry().expect("carried");
    }
}

/// Threads that come and go.
fn storm(count: u64) {
    for round in 0..count {
        std::thread::scope(|scope| {
            for writer in 0..10 {
                scope.spawn(move || emit(writer, round));
            }
        });
    }
}

static IN_HANDLER: AtomicU64 = AtomicU64::new(0);

/// A signal handler writes events while the program does.
fn signals(count: u64) {
    extern "C" fn handler(_: libc::c_int) {
        in_handler(|| {
            let number = IN_HANDLER.load(Ordering::Relaxed);
            emit(2, number);
            IN_HANDLER.store(number + 1, Ordering::Relaxed);
        });
    }
    emit(2, 0);
    IN_HANDLER.store(1, Ordering::Relaxed);
    let done = AtomicU64::new(0);
    // SAFETY: the handler does what a handler may: its events were hit before, and join nothing any more. The thread that
    // is signalled is this one, which waits for the signaller.
    let this = unsafe {
        libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t);
        libc::pthread_self()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while done.load(Ordering::Relaxed) == 0 {
                // SAFETY: as above.
                unsafe { libc::pthread_kill(this, libc::SIGUSR1) };
                std::thread::sleep(std::time::Duration::from_micros(20));
            }
        });
        (0..count).for_each(|number| emit(1, number));
        done.store(1, Ordering::Relaxed);
    });
}

/// In each of so many threads, one after the other, the first event of the thread stands in a signal handler, and is the first
/// of its place in the program.
fn first_in_handlers(count: u64) {
    static ROUND: AtomicU64 = AtomicU64::new(0);
    extern "C" fn handler(_: libc::c_int) {
        in_handler(|| {
            // No seventh: it would have to be told.
            let number = ROUND.load(Ordering::Relaxed) * 7 + 1;
            let kind = Type::Unsigned(8);
            let fields = [("writer", kind), ("number", kind), ("check", kind)];
            let event = Event::make("test:step", &fields, None).expect("there is memory");
            event.write_made(&mut [0, 0, 3, number, check(3, number)], HEAD + 24);
        });
    }
    // SAFETY: the handler does what a handler may, which is what is tested.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    for round in 0..count {
        ROUND.store(round, Ordering::Relaxed);
        // SAFETY: a signal to this thread.
        let raised = std::thread::spawn(|| unsafe { libc::raise(libc::SIGUSR1) });
        assert_eq!(raised.join().expect("it ends"), 0);
    }
}

/// Children that a writer forks beside another thread's first event, with which the program joins the session.
pub const CHILDREN: u64 = 12;

fn race(count: u64) {
    let all = |writer| (0..count).for_each(|number| emit(writer, number));
    std::thread::scope(|scope| {
        scope.spawn(|| all(0));
        let children = (1..=CHILDREN).map(|writer| {
            let child = headwater_os::child::Child::fork(|| {
                all(writer);
                0
            });
            child.expect("fork")
        });
        let mut children: Vec<_> = children.collect();
        children.iter_mut().for_each(|child| assert!(child.wait().expect("wait").success()));
    });
}

/// Children, and children of theirs, go on in the same session.
fn forked(count: u64) {
    let ends = Shared::new(AtomicU64::new(0)).expect("memory");
    emit(1, 0);
    let mut children: Vec<_> = (2..5)
        .map(|writer| {
            headwater_os::child::Child::fork(|| {
                (0..count).for_each(|number| emit(writer, number));
                let mut child = headwater_os::child::Child::fork(|| {
                    (0..count).for_each(|number| emit(writer + 10, number));
                    0
                })
                .expect("fork");
                let done = child.wait().expect("wait").success();
                ends.fetch_add(u64::from(done), Ordering::Relaxed);
                0
            })
            .expect("fork")
        })
        .collect();
    (1..count).for_each(|number| emit(1, number));
    children.iter_mut().for_each(|child| assert!(child.wait().expect("wait").success()));
    assert_eq!(ends.load(Ordering::Relaxed), 3);
}
