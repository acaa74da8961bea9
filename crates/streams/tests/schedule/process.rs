//! A process of a round: its workers in threads, and its event while they work.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use headwater_os::child::{Child, kill_self};
use headwater_streams::Stream;

use crate::board::{Board, Cell};
use crate::form::FORMS;
use crate::setup::{Event, Setup};
use crate::worker::work;

/// Names the round to a process that executes itself.
const VARIABLE: &str = "HEADWATER_SCHEDULE";

/// Runs a process from the beginning.
pub fn run(setup: &Setup, board: &Board, process: usize, stream: Stream) {
    let hit = setup.victim == process;
    #[cfg(feature = "probes")]
    if let Some(place) = setup.place.filter(|_| hit && setup.event == Event::Kill) {
        headwater_shm::probe::arm(place, None);
    }
    std::thread::scope(|scope| {
        for worker in setup.workers(process) {
            let handle = stream.clone();
            scope.spawn(move || work(setup, board, worker, handle));
        }
        let mut child = if hit { happen(setup, board, process, &stream) } else { None };
        drop(stream);
        if let Some(child) = &mut child {
            assert!(child.wait().expect("wait").success(), "a forked child failed");
        }
    });
}

/// After exec: the workers do the rest, without the words that they had in hand.
pub fn carry_on(setup: &Setup, board: &Board, process: usize, stream: Stream) {
    std::thread::scope(|scope| {
        for worker in setup.workers(process) {
            let handle = stream.clone();
            let in_hand = board.get(worker.number, Cell::InHand);
            board.set(worker.number, Cell::Lost, in_hand);
            board.set(worker.number, Cell::Gone, 1);
            let (returned, begun) = (board.get(worker.number, Cell::Returned), board.get(worker.number, Cell::Begun));
            board.set(worker.number, Cell::Skipped, begun << 32 | returned);
            if begun >= worker.words {
                board.set(worker.number, Cell::Finished, 1);
            }
            scope.spawn(move || work(setup, board, worker, handle));
        }
        drop(stream);
    });
}

/// In the main thread, while the workers are under way.
fn happen(setup: &Setup, board: &Board, process: usize, stream: &Stream) -> Option<Child> {
    let after = Duration::from_micros(setup.after_us);
    match setup.event {
        Event::Nothing | Event::Freeze => None,
        // The probe does it.
        Event::Kill if setup.place.is_some() => None,
        Event::Kill => {
            std::thread::sleep(after);
            kill_self()
        }
        Event::Exec => {
            std::thread::sleep(after);
            stream.set_inheritable(true).expect("a descriptor");
            let forms = setup.forms.map(|form| form as usize);
            let number = stream.as_fd().as_raw_fd();
            let words = [setup.seed, forms[0] as u64, forms[1] as u64, process as u64, number as u64];
            let words: Vec<String> = words.iter().map(u64::to_string).collect();
            let error = Command::new("/proc/self/exe")
                .args(["--exact", "carries_on_after_exec", "--nocapture"])
                .env(VARIABLE, format!("{} {}", words.join(" "), board.number()))
                .stdout(std::process::Stdio::null())
                .exec();
            panic!("exec: {error}");
        }
        Event::Fork => {
            std::thread::sleep(after);
            let extra = setup.extra();
            let child = Child::fork(|| {
                if setup.seed.is_multiple_of(3) {
                    // It does not use the library, and only holds the descriptors for a while.
                    board.set(extra.number, Cell::Finished, 1);
                    std::thread::sleep(Duration::from_micros(setup.for_us));
                } else {
                    work(setup, board, extra, stream.clone());
                }
                0
            });
            Some(child.expect("fork"))
        }
    }
}

/// The state of a process that was just executed, if it was executed for a round.
pub fn of_environment() -> Option<(Setup, Board, usize, Stream)> {
    let text = std::env::var(VARIABLE).ok()?;
    let words: Vec<usize> = text.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [seed, writer, reader, process, number, board] = words[..] else { panic!("{text}") };
    let setup = Setup::of([FORMS[writer], FORMS[reader]], seed as u64);
    let stream = Stream::from_number(number as u32).expect("it came through exec");
    // No handle has the number itself any more.
    // SAFETY: nothing else in this program uses it.
    unsafe { libc::close(number as i32) };
    Some((setup, Board::of_number(board as i32), process, stream))
}
