//! The traced program: this test's executable, started again. It emits events, publishes their number in a file, and
//! then ends as instructed.

use headwater_os_tools::handler::{Handler, install};
use rustix::process::Signal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::memory::SharedMemory;

headwater_trace::events! {
    /// The event with this number.
    step("test:step") { number: u64 }
    /// An event of another kind.
    other("test:other") { number: u64 }
}

/// The variable with the instructions: the number of events, and how to end.
const INSTRUCTIONS: &str = "HEADWATER_TEST_PROGRAM";

/// The arguments that make the executable run the program.
pub const ARGUMENTS: [&str; 5] = ["--exact", "the_program", "--nocapture", "--test-threads", "1"];

/// The file in which the program publishes the number of its events.
pub struct Progress(SharedMemory);

impl Progress {
    const NAME: &str = "progress";

    /// Creates the file in a directory.
    pub fn create(directory: &Path) -> Progress {
        Progress(SharedMemory::create_file(&directory.join(Progress::NAME), 8).expect("a file"))
    }

    /// Returns the number of events whose call has returned.
    pub fn emitted(&self) -> u64 {
        self.count().load(Ordering::Acquire)
    }

    fn count(&self) -> &AtomicU64 {
        self.0.get(0).expect("it has room")
    }
}

/// Returns the environment variable that makes the program emit `count` events and then `end`: a number is its exit
/// status, with `kill` it kills itself, with `wait` it waits to be killed, with `seek` it makes numbered system calls until it is
/// killed, with `move` it emits further events until it is killed, and moves from CPU to CPU.
pub fn instructions(count: u64, end: &str) -> (&'static str, String) {
    (INSTRUCTIONS, format!("{count} {end}"))
}

/// Runs the program if the environment has instructions.
pub fn run_if_instructed() {
    let Ok(part) = std::env::var(INSTRUCTIONS) else { return };
    let (count, end) = part.split_once(' ').expect("two words");
    let count: u64 = count.parse().expect("a count");
    // A shell that runs the tests in the background ignores SIGINT, and child processes inherit that.
    install(Signal::INT, Handler::Default).expect("it can be handled");
    let progress = Progress(SharedMemory::open_file(Path::new(Progress::NAME), 8).expect("a file"));
    for number in 0..count {
        if number % 4 == 3 {
            other(number);
        } else {
            step(number);
        }
        progress.count().store(number + 1, Ordering::Release);
        if number % 1000 == 999 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    match end {
        "kill" => headwater_os::child::kill_self(),
        "wait" => std::thread::sleep(Duration::from_secs(60)),
        "seek" => seek(progress.count()),
        "move" => step_on_all_cpus(count, progress.count()),
        status => std::process::exit(status.parse().expect("a status")),
    }
}

/// Calls lseek(2) with the offsets 0, 1, 2 and so on, for a minute at most, and publishes their number. All calls are made on
/// one CPU, because the parts of a kernel's trace end at different times on different CPUs.
fn seek(count: &AtomicU64) {
    let cpu = headwater_os::cpu::allowed().expect("a list")[0];
    headwater_os::cpu::bind(cpu).expect("it is allowed");
    let file = std::fs::File::open(Progress::NAME).expect("a file");
    let start = std::time::Instant::now();
    for number in 0.. {
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(number)).expect("a file can be sought");
        count.store(number + 1, Ordering::Release);
        if number % 25 == 24 {
            std::thread::sleep(Duration::from_millis(1));
            if start.elapsed() > Duration::from_secs(60) {
                return;
            }
        }
    }
}

/// Emits events with the numbers from `first` on, for a minute at most, and moves to the next CPU after every few of them.
fn step_on_all_cpus(first: u64, count: &AtomicU64) {
    let cpus = headwater_os::cpu::allowed().expect("a list");
    let start = std::time::Instant::now();
    for number in first.. {
        step(number);
        count.store(number + 1, Ordering::Release);
        if number % 10 == 9 {
            let cpu = cpus[(number / 10) as usize % cpus.len()];
            headwater_os::cpu::bind(cpu).expect("it is allowed");
        }
        if number % 1000 == 999 && start.elapsed() > Duration::from_secs(60) {
            return;
        }
    }
}
