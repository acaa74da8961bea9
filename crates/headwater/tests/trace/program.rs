//! The traced program: this test's executable once more. It emits so many events, says in a file how many it has emitted, and
//! then does as it is told.

use headwater_os_tools::handler::{Handler, install};
use rustix::process::Signal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::memory::SharedMemory;

headwater_trace::events! {
    /// The `number`th.
    step("test:step") { number: u64 }
    /// Another kind.
    other("test:other") { number: u64 }
}

/// What the program does: the count of events, and what comes then.
const PART: &str = "HEADWATER_TEST_PART";

/// The arguments that make the executable the program.
pub const ARGUMENTS: [&str; 5] = ["--exact", "the_program", "--nocapture", "--test-threads", "1"];

/// The file in which it says how many events it has emitted.
pub struct Board(SharedMemory);

impl Board {
    const NAME: &str = "board";

    /// A new one in a directory.
    pub fn create(directory: &Path) -> Board {
        Board(SharedMemory::create_file(&directory.join(Board::NAME), 8).expect("a file"))
    }

    /// Events whose call has returned.
    pub fn emitted(&self) -> u64 {
        self.count().load(Ordering::Acquire)
    }

    fn count(&self) -> &AtomicU64 {
        self.0.get(0).expect("it has room")
    }
}

/// The environment that makes it emit `count` events and then `end`: with a number as its exit status, `kill` by a signal,
/// `wait` for being killed.
pub fn part(count: u64, end: &str) -> (&'static str, String) {
    (PART, format!("{count} {end}"))
}

/// Plays the part that the environment names, if one does.
pub fn play() {
    let Ok(part) = std::env::var(PART) else { return };
    let (count, end) = part.split_once(' ').expect("two words");
    let count: u64 = count.parse().expect("a count");
    // A shell that runs the tests in the background ignores the signal, and programs inherit that.
    install(Signal::INT, Handler::Default).expect("it can be handled");
    let board = Board(SharedMemory::open_file(Path::new(Board::NAME), 8).expect("a file"));
    for number in 0..count {
        if number % 4 == 3 {
            other(number);
        } else {
            step(number);
        }
        board.count().store(number + 1, Ordering::Release);
        if number % 1000 == 999 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    match end {
        "kill" => headwater_os::child::kill_self(),
        "wait" => std::thread::sleep(Duration::from_secs(60)),
        status => std::process::exit(status.parse().expect("a status")),
    }
}
