//! Shared parts of the reliability tests: a seeded generator, a watchdog, and the count of what a process has open.

#![allow(dead_code, unused_macros, unused_imports, reason = "each test program uses its part")]

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_os::clock::now_ns;
use headwater_streams::{Access, Fifo, FifoOptions, Result, Stream};

mod own_process;
pub mod stopwatch;
pub mod users;

pub use own_process::{alone, run_in_own_process};

/// A small generator whose seed repeats a failure (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// True in one of `cases` cases.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }
}

/// A number from the environment, or the default: which selects the long forms of these tests.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// How many rounds, seconds or milliseconds a test takes: `brief`, unless the variable `name` says it, or `HEADWATER_TIMES` is set,
/// which multiplies it. `cargo xtask ci --long` sets that.
pub fn extent(name: &str, brief: u64) -> u64 {
    setting(name, brief * setting("HEADWATER_TIMES", 1))
}

/// The first line of a test that forks: the rest runs in a process of its own, beside other tests. A forked child has copies of its
/// parent's descriptors and keeps their ends open, so that no other test may run in its parent.
macro_rules! in_own_process {
    () => {
        let _alone = match $crate::common::run_in_own_process() {
            Some(alone) => alone,
            None => return,
        };
    };
}
pub(crate) use in_own_process;

/// The memories of this process's streams.
pub fn memories() -> Vec<std::fs::File> {
    let link = |found| headwater_os::descriptors::link(found).unwrap_or_default();
    let own = headwater_os::descriptors::own().expect("/proc").into_iter();
    let found = own.filter(|found| link(*found).to_string_lossy().starts_with("/memfd:headwater-"));
    found.map(|found| headwater_os::descriptors::duplicate(found.number).expect("dup").into()).collect()
}

/// What a read of a text of at most 64 bytes gets.
pub fn reads(stream: &Stream) -> String {
    let mut text = [0; 64];
    let count = stream.read(&mut text).expect("no error");
    String::from_utf8_lossy(&text[..count]).into_owned()
}

/// The events that poll(2) reports for a descriptor within `timeout`; [`Duration::MAX`] is no bound.
pub fn polled(fd: impl AsFd, wanted: i16, timeout: Duration) -> i16 {
    let mut polled = libc::pollfd { fd: fd.as_fd().as_raw_fd(), events: wanted, revents: 0 };
    // SAFETY: one valid pollfd.
    let done = unsafe { libc::poll(&mut polled, 1, i32::try_from(timeout.as_millis()).unwrap_or(-1)) };
    assert!(done >= 0, "poll: {}", std::io::Error::last_os_error());
    polled.revents
}

static DEADLINE_NS: AtomicU64 = AtomicU64::new(u64::MAX);
static DOING: Mutex<String> = Mutex::new(String::new());

/// Ends the whole program, saying what it was doing, unless [`calm`] or another [`within`] is called in time. Children
/// die with it.
pub fn within(time: Duration, doing: String) {
    static STARTED: std::sync::Once = std::sync::Once::new();
    STARTED.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(100));
                if now_ns() > DEADLINE_NS.load(Ordering::Relaxed) {
                    let doing = DOING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    eprintln!("HANG: {doing}");
                    if std::env::var_os("HEADWATER_HANG").is_some() {
                        eprintln!("process {} waits for a debugger", std::process::id());
                        std::thread::sleep(Duration::from_secs(600));
                    }
                    std::process::abort();
                }
            }
        });
    });
    *DOING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = doing;
    DEADLINE_NS.store(now_ns() + time.as_nanos() as u64, Ordering::Relaxed);
}

/// Ends the time limit of [`within`].
pub fn calm() {
    DEADLINE_NS.store(u64::MAX, Ordering::Relaxed);
}

/// How many descriptors this process has, and how many mappings of streams.
pub fn open_things() -> (usize, usize) {
    let descriptors = headwater_os::descriptors::own().expect("/proc").len();
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc");
    (descriptors, maps.lines().filter(|line| line.contains("/memfd:headwater-")).count())
}

/// Nothing more than `before` is open.
///
/// It waits for that: a thread of the library that serves an end at this moment lets go of it when it has finished.
#[track_caller]
pub fn expect_nothing_left(before: (usize, usize)) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let now = open_things();
        if now.0 <= before.0 && now.1 <= before.1 {
            return;
        }
        assert!(Instant::now() < deadline, "{now:?} descriptors and mappings are open, {before:?} were before");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A directory of this user alone, for devices.
pub fn private_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("own");
    directory
}

/// Runs in a forked child and must succeed there.
pub fn child(body: impl FnOnce() -> Result<()>) -> Child {
    Child::fork(|| match body() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("child: {error}");
            1
        }
    })
    .expect("fork")
}

/// A thread whose calls are interrupted: by SIGUSR2, whose handler does nothing and which nothing else in the tests uses.
pub struct Interruptible<T> {
    thread: std::thread::JoinHandle<T>,
    number: libc::pthread_t,
    /// Its number for the kernel.
    task: libc::pid_t,
}

/// Runs of the handler of [`Interruptible`].
static HANDLED: AtomicU64 = AtomicU64::new(0);

impl<T: Send + 'static> Interruptible<T> {
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> Interruptible<T> {
        extern "C" fn count(_: libc::c_int) {
            HANDLED.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: installs a handler that only adds to an atomic word.
        unsafe { libc::signal(libc::SIGUSR2, count as extern "C" fn(libc::c_int) as usize) };
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // SAFETY: no arguments, always succeed.
            tell.send(unsafe { (libc::pthread_self(), libc::gettid()) }).expect("the test waits");
            work()
        });
        let (number, task) = told.recv().expect("it runs");
        Interruptible { thread, number, task }
    }

    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub fn interrupt(&self) {
        // SAFETY: the thread has not been joined, so its number is valid.
        unsafe { libc::pthread_kill(self.number, libc::SIGUSR2) };
    }

    /// Interrupts it while it sleeps. Returns whether the signal was lost: the handler has run, and the thread has slept since for `pause`.
    /// A thread that waits for a CPU has lost nothing yet, however long it waits.
    pub fn has_slept_on(&self, pause: Duration) -> bool {
        while !self.is_finished() && !self.sleeps() {
            std::thread::yield_now();
        }
        let before = HANDLED.load(Ordering::Relaxed);
        self.interrupt();
        let mut slept_since = None;
        while !self.is_finished() {
            let slept = HANDLED.load(Ordering::Relaxed) != before && self.sleeps();
            match slept_since {
                Some(since) if slept && Instant::now() - since >= pause => return true,
                Some(_) if slept => {}
                _ => slept_since = slept.then(Instant::now),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn sleeps(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.task)).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
    }

    pub fn join(self) -> T {
        self.thread.join().expect("no panic")
    }

    /// Interrupts it again and again until it has ended.
    pub fn end(self, every: Duration) -> T {
        while !self.is_finished() {
            std::thread::sleep(every);
            self.interrupt();
        }
        self.join()
    }
}

pub fn joined(mut child: Child) {
    assert!(child.wait().expect("wait").success());
}

pub fn read_all(stream: &Stream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer).expect("no error") {
            0 => return all,
            count => all.extend(&buffer[..count]),
        }
    }
}

/// A sign by which several children begin at the same time.
pub struct Start(std::io::PipeReader, Mutex<Option<std::io::PipeWriter>>);

impl Start {
    pub fn new() -> Start {
        let (waits, gives) = std::io::pipe().expect("pipe");
        Start(waits, Mutex::new(Some(gives)))
    }

    /// In a child: waits for it.
    pub fn wait(&self) {
        drop(self.1.lock().expect("nobody has panicked").take());
        let _ = std::io::Read::read(&mut &self.0, &mut [0]);
    }

    /// In the parent: all its copies of the writing end are closed.
    pub fn give(&self) {
        drop(self.1.lock().expect("nobody has panicked").take());
    }
}

/// Four writers and a reader open a FIFO at the same time, and all of them must find the same stream.
pub fn meet_at_the_same_time(path: &Path) {
    const WRITERS: usize = 4;
    within(Duration::from_secs(20), format!("{WRITERS} writers and a reader open a FIFO at the same time"));
    let start = Start::new();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            child(|| {
                start.wait();
                Fifo::open(path, Access::Write)?.write(b"x").map(drop)
            })
        })
        .collect();
    start.give();
    let reader = Fifo::open(path, Access::Read).expect("they meet");
    let mut count = 0;
    // A writer that finds another stream than the reader's waits for ever. When all writers have left, the stream ends.
    while count < WRITERS {
        count += read_all(&reader).len();
        std::thread::sleep(Duration::from_micros(100));
    }
    writers.into_iter().for_each(joined);
    calm();
}

/// A FIFO that only this user may open.
pub fn fifo() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("fifo");
    Fifo::create(&path, 0o600).expect("mkfifo");
    (directory, path)
}

/// Opens it without waiting.
pub fn open(path: &Path, access: Access) -> Result<Stream> {
    FifoOptions::new().nonblocking(true).open(path, access)
}
