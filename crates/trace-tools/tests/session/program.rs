//! The traced program: this test's own executable, started again in one of these roles.

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
use crate::test_session::logs;

headwater_trace::events! {
    /// Event `number` of `writer`; `check` is computed from both.
    step("test:step") { writer: u64, number: u64, check: u64 }
    /// Like `step`, with a text of varying length.
    long_step("test:long_step") { writer: u64, number: u64, check: u64, text: &str }
    /// Two texts, and a number that has its place behind them.
    texts("test:texts") { first: &str, second: &str, behind: u32 }
    /// Not recorded by any session.
    silent("other:silent") { number: u64 }
}

/// Returns a checksum by which a complete record is recognised.
pub fn check(writer: u64, number: u64) -> u64 {
    (writer << 48 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the text of a long step. It must not allocate, because signal handlers call it too.
pub fn text(number: u64) -> &'static str {
    const LONGEST: [u8; 90] = [b'x'; 90];
    std::str::from_utf8(&LONGEST[..(number % 90) as usize]).expect("ASCII")
}

/// Emits one step of a writer; every seventh is a long one.
pub fn emit(writer: u64, number: u64) {
    if number.is_multiple_of(7) {
        long_step(writer, number, check(writer, number), text(number));
    } else {
        step(writer, number, check(writer, number));
    }
    silent(number);
}

/// The number of emitted events of each writer, in a file that outlives the program.
pub struct Progress(SharedMemory);

impl Progress {
    /// The most writers.
    const WRITERS: usize = 16;

    /// Creates the file beside that of a session.
    pub fn create(session: &Path) -> Progress {
        Progress(SharedMemory::create_file(&Progress::path(session), Progress::WRITERS * 8).expect("a file"))
    }

    fn open(session: &Path) -> Progress {
        Progress(SharedMemory::open_file(&Progress::path(session), Progress::WRITERS * 8).expect("a file"))
    }

    fn path(session: &Path) -> PathBuf {
        session.with_extension("progress")
    }

    /// Returns the counter of one writer.
    pub fn emitted(&self, writer: u64) -> &AtomicU64 {
        self.0.get(writer as usize * 8).expect("it has room")
    }
}

const ROLE: &str = "HEADWATER_TEST_ROLE";
const COUNT: &str = "HEADWATER_TEST_COUNT";

/// Starts the program in a session, in a role.
pub fn start(role: &str, count: u64, session: &Path, own_logs: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("an executable"));
    command.args(["--exact", "the_program", "--nocapture", "--test-threads", "1"]);
    command.env(ROLE, role).env(COUNT, count.to_string());
    if !session.as_os_str().is_empty() {
        command.env("HEADWATER_TRACE", session);
    }
    if own_logs {
        command.env("HEADWATER_TRACE_LOGS", "thread");
    }
    command.stdout(std::process::Stdio::null());
    command.spawn().expect("it starts")
}

/// Runs the role that the environment names, if it names one.
pub fn run_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let count: u64 = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).expect("a count");
    if role != "race" {
        headwater_trace::init().expect("the session can be joined");
    }
    match role.as_str() {
        "one" => (0..count).for_each(|number| emit(1, number)),
        "paced" => paced(count),
        "halves" => halves(count),
        "threads" => threads(count),
        "kinds" => kinds(count),
        "texts" => of_length(count as usize),
        "storm" => storm(count),
        "signals" => signals(count),
        "counted_signals" => {
            signals(count);
            let progress = Progress::open(Path::new(&std::env::var_os("HEADWATER_TRACE").expect("a session")));
            progress.emitted(2).store(IN_HANDLER.load(Ordering::Relaxed), Ordering::Release);
        }
        "first" => first_in_handlers(count),
        "race" => race(count),
        "counted" => {
            counted(count, &Progress::open(Path::new(&std::env::var_os("HEADWATER_TRACE").expect("a session"))))
        }
        "carry" => carry(),
        "listen" => listening(count),
        "fork" => forked(count),
        "exec" => {
            (0..count).for_each(|number| emit(1, number));
            let mut again = Command::new(std::env::current_exe().expect("an executable"));
            again.args(["--exact", "the_program", "--nocapture", "--test-threads", "1"]).env(ROLE, "second");
            panic!("exec failed: {}", again.exec());
        }
        "second" => (0..count).for_each(|number| emit(2, number)),
        other => panic!("there is no role {other}"),
    }
    std::process::exit(0);
}

/// Emits three events of each of `count` types.
fn kinds(count: u64) {
    for number in 0..count {
        let event = Event::make(&format!("test:kind{number}"), &[], None).expect("a name and no fields");
        (0..3).for_each(|_| event.write([0; 2], HEAD));
    }
}

/// Returns a text that ends with a character of two bytes.
pub fn text_of(len: usize) -> String {
    "x".repeat(len - 2) + "é"
}

/// Emits events with texts of `len` bytes, as a signal handler does.
fn of_length(len: usize) {
    let text = text_of(len);
    in_handler(|| {
        texts(&text, "", 1);
        texts("", &text, 2);
        texts(&text, &text, 3);
    });
}

/// Emits a million events per second.
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

/// Fills half a log again and again, each time after most of it was copied. Emits a few events also while it waits: if the
/// recorder was copying while the half was filled, only the next event can find that the log is due.
fn halves(count: u64) {
    let region = Region::open(Path::new(&std::env::var_os("HEADWATER_TRACE").expect("a session"))).expect("a session");
    headwater_os::cpu::bind(headwater_os::cpu::allowed().expect("CPUs")[0]).expect("bound");
    emit(1, 0);
    let logs = logs(&region);
    let bytes = logs.iter().find(|log| log.head() > 0).expect("the first event is in a log").bytes();
    let mut number = 1;
    for _ in 0..count {
        let begin: u64 = logs.iter().map(|log| log.head()).sum();
        while logs.iter().map(|log| log.head()).sum::<u64>() < begin + bytes / 2 {
            emit(1, number);
            number += 1;
        }
        let start = std::time::Instant::now();
        while logs.iter().any(|log| log.head() - log.tail() > bytes / 4) {
            assert!(start.elapsed() < crate::wake::LONG / 2, "the recorder was not woken");
            std::thread::sleep(std::time::Duration::from_millis(10));
            emit(1, number);
            number += 1;
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

/// Three threads that publish how many events they have emitted.
fn counted(count: u64, progress: &Progress) {
    std::thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || {
                for number in 0..count {
                    emit(writer, number);
                    progress.emitted(writer).store(number + 1, Ordering::Release);
                }
            });
        }
    });
}

/// Waits until it is traced, and emits `count` events from its start on.
fn listening(count: u64) {
    (0..100).for_each(|number| emit(1, number));
    headwater_trace::listen().expect("it listens");
    for number in 100..count {
        emit(1, number);
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

/// The consumer; it runs until it is killed.
fn carry() {
    let session = PathBuf::from(std::env::var_os("HEADWATER_TRACE").expect("a session"));
    let region = Region::open(&session).expect("a session");
    let mut consumer = Consumer::begin(region, &session.with_file_name("trace"), Vec::new()).expect("a trace");
    loop {
        consumer.carry().expect("carried");
    }
}

/// Starts and ends threads.
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

/// Emits events in a signal handler and in the interrupted program, which waits for the handler a hundred times, so that it runs often
/// also on a busy machine.
fn signals(count: u64) {
    extern "C" fn handler(_: libc::c_int) {
        in_handler(|| {
            let number = IN_HANDLER.load(Ordering::Relaxed);
            emit(2, number);
            IN_HANDLER.store(number + 1, Ordering::Relaxed);
        });
    }
    // A long step and a short one: an event in a handler that interrupts the first event of its call site is lost, and counted.
    (0..2).for_each(|number| emit(2, number));
    IN_HANDLER.store(2, Ordering::Relaxed);
    let done = AtomicU64::new(0);
    // SAFETY: the handler does only what a handler may: its event sites are already registered, and it joins no
    // session. The signalled thread is this one, which waits for the sender.
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
        for number in 0..count {
            emit(1, number);
            while IN_HANDLER.load(Ordering::Relaxed) < number * 100 / count {
                std::hint::spin_loop();
            }
        }
        done.store(1, Ordering::Relaxed);
    });
}

/// In each of `count` successive threads, the first event of the thread is in a signal handler, and is also the first
/// event of its call site.
fn first_in_handlers(count: u64) {
    static ROUND: AtomicU64 = AtomicU64::new(0);
    extern "C" fn handler(_: libc::c_int) {
        in_handler(|| {
            // Not a multiple of seven: that would be a long step.
            let number = ROUND.load(Ordering::Relaxed) * 7 + 1;
            let kind = Type::Unsigned(8);
            let fields = [("writer", kind), ("number", kind), ("check", kind)];
            let event = Event::make("test:step", &fields, None).expect("there is memory");
            event.write_made(&mut [0, 0, 3, number, check(3, number)], HEAD + 24);
        });
    }
    // SAFETY: the handler may be called at any time, which is what this test checks.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    for round in 0..count {
        ROUND.store(round, Ordering::Relaxed);
        // SAFETY: a signal to this thread.
        let raised = std::thread::spawn(|| unsafe { libc::raise(libc::SIGUSR1) });
        assert_eq!(raised.join().expect("it ends"), 0);
    }
}

/// Number of children that are forked during another thread's first event, with which the program joins the session.
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

/// Forks children and grandchildren, which stay in the same session.
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
