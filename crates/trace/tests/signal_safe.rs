//! An event allocates nothing once the process has been asked to join its session, so that it may stand in a signal handler: the
//! first event of its kind, the first of a thread or of a forked child, one among many, one that finds no room. The allocator
//! ends the process when a handler calls it.
//!
//! Not allowed in a handler: `init`, `join` and `listen`, which map memory and start threads, and the layer for
//! `tracing`, like the crate `tracing` itself.

use std::os::unix::thread::JoinHandleExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use headwater_os::child::Child;
use headwater_os::refusing_allocator::{RefusingAllocator, in_handler};
use headwater_trace::event::{Event, Type};
use headwater_trace::region::{self, Region};
use headwater_trace::schema::Clock;
use headwater_trace::{WhenFull, session};

#[global_allocator]
static REFUSING: RefusingAllocator = RefusingAllocator;

headwater_trace::events! {
    short("safe:short") { number: u64 }
    long("safe:long") { number: u64, text: &str, fraction: f64 }
    first("safe:first") { number: u64 }
    alone("safe:alone") { number: u64, text: &str }
    unwanted("other:unwanted") { number: u64 }
}

fn emit(number: u64) {
    short(number);
    long(number, "a text of some length", 0.5);
    unwanted(number);
}

/// The sessions are state of the whole process, so one test runs at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A session's file, removed with it.
struct Session {
    path: PathBuf,
    region: Region,
}

impl Session {
    fn new(name: &str, cpu_bytes: usize) -> Session {
        let path = PathBuf::from(format!("/dev/shm/headwater-safe-{name}-{}", std::process::id()));
        let clock = Clock { name: "tsc".into(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
        let patterns = vec!["safe:*".to_owned()];
        let layout = region::Layout { patterns, when_full: WhenFull::Refuse, cpu_bytes, clock };
        let region = Region::create(&path, &layout).expect("a session");
        Session { path, region }
    }

    fn has_kind(&self, name: &str) -> bool {
        (0..self.region.kinds_end(0)).filter_map(|id| self.region.kind(id)).any(|kind| kind.name == name)
    }

    fn threads(&self) -> usize {
        self.region.greetings(0).flatten().count()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        headwater_trace::leave();
        let _ = std::fs::remove_file(&self.path);
    }
}

/// By CPU, and by thread as where there are no restartable sequences.
const WAYS_TO_JOIN: [fn(&std::path::Path) -> std::io::Result<()>; 2] = [headwater_trace::join, session::join_alone];

/// Runs `body` in new threads, one after the other, in a handler of SIGUSR1.
fn in_handlers_of_new_threads(count: usize, body: extern "C" fn(libc::c_int)) {
    // SAFETY: the handler does what this test is about.
    unsafe { libc::signal(libc::SIGUSR1, body as *const () as libc::sighandler_t) };
    for _ in 0..count {
        // SAFETY: a signal to this thread.
        let raised = std::thread::spawn(|| unsafe { libc::raise(libc::SIGUSR1) });
        assert_eq!(raised.join().expect("it ends"), 0);
    }
}

#[test]
fn the_first_event_of_its_kind_and_of_a_thread_allocates_nothing() {
    extern "C" fn handler(_: libc::c_int) {
        in_handler(|| {
            first(1);
            alone(2, "text");
            let fields = [("number", Type::Unsigned(8))];
            let made = Event::make("safe:made", &fields, None).expect("there is memory");
            made.write_made(&mut [0, 0, 3], 24);
        });
    }
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (number, join) in WAYS_TO_JOIN.into_iter().enumerate() {
        let session = Session::new(&format!("first-{number}"), 1 << 20);
        join(&session.path).expect("it can be joined");
        in_handlers_of_new_threads(5, handler);
        for name in ["safe:first", "safe:alone", "safe:made"] {
            assert!(session.has_kind(name), "{name} was not recorded");
        }
        assert_eq!((session.threads(), session.region.lost_outside()), (5, 0));
    }
}

#[test]
fn the_first_event_of_a_process_without_a_session_allocates_nothing() {
    const PART: &str = "HEADWATER_TEST_PART";
    if std::env::var_os(PART).is_some() {
        // No call of `init` before.
        in_handler(|| emit(1));
        return println!("emitted");
    }
    let mut again = std::process::Command::new(std::env::current_exe().expect("our own path"));
    again.args(["--exact", "the_first_event_of_a_process_without_a_session_allocates_nothing", "--nocapture"]);
    let output = again.env(PART, "1").env_remove(session::VARIABLE).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("emitted"), "{}: {said}", output.status);
}

#[test]
fn events_in_handlers_below_events_of_the_thread_allocate_nothing() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: libc::c_int) {
        in_handler(|| emit(CALLS.load(Ordering::Relaxed)));
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (number, join) in WAYS_TO_JOIN.into_iter().enumerate() {
        // Two sessions at once, of which one is soon full.
        let [large, small] = [("large", 8 << 20), ("small", 1 << 14)]
            .map(|(name, bytes)| Session::new(&format!("{name}-{number}"), bytes));
        join(&large.path).expect("it can be joined");
        session::join_beside(&small.path).expect("it can be joined");
        CALLS.store(0, Ordering::Relaxed);
        IS_OVER.store(false, Ordering::Relaxed);
        let thread = std::thread::spawn(|| {
            let mut number = 0;
            while !IS_OVER.load(Ordering::Relaxed) {
                in_handler(|| emit(number));
                number += 1;
            }
        });
        // SAFETY: the handler does what this test is about.
        unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
        for signal in 1..=200 {
            // SAFETY: the thread is joined below.
            unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
            while CALLS.load(Ordering::Relaxed) < signal {
                std::thread::yield_now();
            }
            if signal == 100 {
                // From now on an event that finds no room makes the process leave this session.
                small.region.end();
            }
        }
        IS_OVER.store(true, Ordering::Relaxed);
        thread.join().expect("no panic");
        assert!(large.threads() > 0 && small.threads() > 0);
    }
}

#[test]
fn the_first_event_of_a_forked_child_allocates_nothing() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let session = Session::new("child", 1 << 20);
    headwater_trace::join(&session.path).expect("it can be joined");
    emit(0);
    let before = session.threads();
    // A handler of fork(3) in the child is part of the call too.
    let mut child = in_handler(|| {
        Child::fork(|| {
            emit(1);
            0
        })
    })
    .expect("fork");
    assert!(child.wait().expect("wait").success());
    assert_eq!(session.threads() - before, 1);
}

#[test]
fn to_ask_and_to_leave_allocates_nothing() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let session = Session::new("ask", 1 << 20);
    headwater_trace::join(&session.path).expect("it can be joined");
    assert!(in_handler(|| short::EVENT.is_recorded() && !unwanted::EVENT.is_recorded()));
    in_handler(headwater_trace::leave);
    assert!(!in_handler(|| short::EVENT.is_recorded()));
}
