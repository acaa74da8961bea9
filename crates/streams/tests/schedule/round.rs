//! One round: starts the processes, causes an event in one of them, and watches the board.

use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::{Access, FifoOptions, Stream};

use crate::board::{Board, Cell, WORKERS};
use crate::common::fifo;
use crate::process;
use crate::setup::{Event, Setup, side_of};
use crate::threads::Threads;

/// The longest time without progress while a process could make some. A sleeper without a notification looks after a
/// second.
const BOUND: Duration = Duration::from_secs(3);
/// A tick that lasts longer was the machine's load, and does not count beyond this.
const TICK: Duration = Duration::from_millis(4);

/// The result of a round.
#[derive(Debug)]
pub struct Outcome {
    pub words: u64,
    /// The longest time without progress.
    pub longest: Duration,
}

#[derive(Debug)]
struct Member {
    process: usize,
    child: Child,
    over: bool,
    killed: bool,
}

/// # Panics
/// If a process hangs or fails, or a word is lost or comes twice.
pub fn run(setup: &Setup, board: &Board) -> Outcome {
    board.clear();
    let (near, far) = if setup.fifo { ends_of_fifo(setup) } else { setup.options().pipe().expect("pipe") };
    let mut ends = [Some(near), Some(far)];
    let mut members: Vec<Member> = Vec::new();
    for process in setup.processes() {
        let side = side_of(process);
        let child = Child::fork(|| {
            drop(ends[1 - side].take());
            process::run(setup, board, process, ends[side].take().expect("one a process"));
            0
        });
        members.push(Member { process, child: child.expect("fork"), over: false, killed: false });
    }
    if !setup.duplex {
        // The end of the stream is seen when the writers have gone.
        ends = [None, None];
    }
    let longest = watch(setup, board, &mut members, &mut ends);
    check_words(setup, board, &members);
    Outcome { words: board.count(), longest }
}

fn ends_of_fifo(setup: &Setup) -> (Stream, Stream) {
    let (_directory, path) = fifo();
    let open = |access| {
        let stream =
            FifoOptions::new().nonblocking(true).stream(setup.options()).open(&path, access).expect("it is ours");
        stream.set_nonblocking(false).expect("nobody else uses it");
        stream
    };
    let reader = open(Access::Read);
    (open(Access::Write), reader)
}

/// Until all processes have ended. Returns the longest time without progress.
fn watch(setup: &Setup, board: &Board, members: &mut [Member], ends: &mut [Option<Stream>; 2]) -> Duration {
    let (mut still, mut longest, mut progress) = (Duration::ZERO, Duration::ZERO, 0);
    let mut starved: Option<Threads> = None;
    let mut freezer = Freezer::of(setup);
    let mut last = Instant::now();
    loop {
        std::thread::sleep(Duration::from_micros(500));
        let tick = last.elapsed();
        last = Instant::now();
        let frozen = freezer.attend(members);
        let mut moved = false;
        for member in members.iter_mut().filter(|member| !member.over) {
            let Some(status) = member.child.try_wait().expect("wait") else { continue };
            (moved, member.over, member.killed) = (true, true, !status.success());
            if member.killed {
                setup.workers(member.process).iter().for_each(|worker| board.set(worker.number, Cell::Gone, 1));
            }
            let expected = status.success() || setup.event == Event::Kill && setup.victim == member.process;
            assert!(expected && status.code().is_none_or(|code| code == 0), "{status}: {setup:?}");
        }
        if members.iter().all(|member| member.over) {
            return longest;
        }
        for (side, end) in ends.iter_mut().enumerate() {
            moved |= close(setup, board, members, side, end);
        }
        let now = board.progress();
        still = if moved || frozen || now != progress { Duration::ZERO } else { still + tick.min(TICK) };
        progress = now;
        longest = longest.max(still);
        if still >= BOUND {
            let before = starved.replace(threads_of(members));
            let is_starved = starved.as_ref().is_some_and(|now| now.want_to_run(before.as_ref()));
            assert!(is_starved, "nothing moves: {}\n{setup:?}", describe(setup, board, members));
            still = Duration::ZERO;
        } else if still.is_zero() {
            starved = None;
        }
    }
}

/// Both ends write and read: a direction is shut down when all of it was written. Returns whether it just was.
fn close(setup: &Setup, board: &Board, members: &[Member], side: usize, end: &mut Option<Stream>) -> bool {
    let Some(stream) = end else { return false };
    let mut here = members.iter().filter(|member| side_of(member.process) == side);
    if here.clone().all(|member| member.over) {
        *end = None;
        return true;
    }
    let is_finished = |worker: usize| board.get(worker, Cell::Finished) != 0;
    let finished = here.all(|member| {
        let forks = setup.event == Event::Fork && setup.victim == member.process;
        let extra = forks.then(|| setup.extra().number);
        member.over || setup.workers(member.process).iter().map(|worker| worker.number).chain(extra).all(is_finished)
    });
    // A handle that stays open afterwards is no reason to wait.
    if finished {
        stream.shutdown(std::net::Shutdown::Write).expect("shutdown");
        *end = None;
    }
    finished
}

/// Stops the victim, and lets it continue.
#[derive(Debug)]
struct Freezer {
    start: Instant,
    stop: Option<Duration>,
    go_on: Option<Duration>,
    victim: usize,
}

impl Freezer {
    fn of(setup: &Setup) -> Freezer {
        let stop = (setup.event == Event::Freeze).then(|| Duration::from_micros(setup.after_us));
        let go_on = stop.map(|stop| stop + Duration::from_micros(setup.for_us));
        Freezer { start: Instant::now(), stop, go_on, victim: setup.victim }
    }

    /// Whether it is stopped.
    fn attend(&mut self, members: &[Member]) -> bool {
        let elapsed = self.start.elapsed();
        let victim = members.iter().find(|member| member.process == self.victim).expect("there is one");
        let signal = |number: i32| {
            if !victim.over {
                // SAFETY: it is our own child, and not reaped.
                unsafe { libc::kill(victim.child.id() as i32, number) };
            }
        };
        if self.stop.take_if(|stop| elapsed >= *stop).is_some() {
            signal(libc::SIGSTOP);
        }
        if self.go_on.take_if(|go_on| elapsed >= *go_on).is_some() {
            signal(libc::SIGCONT);
        }
        self.stop.is_none() && self.go_on.is_some()
    }
}

/// Only words that a reader had in hand when it was killed or replaced may be lost.
fn check_words(setup: &Setup, board: &Board, members: &[Member]) {
    let mut lost = [0; 2];
    for worker in 0..WORKERS {
        lost[worker / 4] += board.missing(worker);
    }
    for (side, lost) in lost.into_iter().enumerate() {
        // There may have been no reader left.
        let readers = members.iter().filter(|member| side_of(member.process) != side);
        if setup.may_lose(1 - side) && readers.clone().all(|member| member.killed) {
            continue;
        }
        let dropped = (0..WORKERS).filter(|worker| setup.may_drop(*worker) && worker / 4 != side);
        let may: u64 = dropped.map(|worker| board.get(worker, Cell::InHand) + board.get(worker, Cell::Lost)).sum();
        assert!(lost <= may, "{lost} words of end {side} are lost, {may} may be: {setup:?}");
    }
}

fn describe(setup: &Setup, board: &Board, members: &[Member]) -> String {
    let workers = members.iter().flat_map(|member| {
        let extra = (setup.event == Event::Fork && setup.victim == member.process).then(|| setup.extra());
        setup.workers(member.process).into_iter().chain(extra).map(|worker| {
            let get = |cell| board.get(worker.number, cell);
            format!(
                "\nworker {} of process {} ({}): {:?}, {} of {} words written, {} begun, waits to read {}, to write {}",
                worker.number,
                member.child.id(),
                if member.over { "ended" } else { "runs" },
                worker.form,
                get(Cell::Returned),
                worker.words,
                get(Cell::Begun),
                get(Cell::Reading),
                get(Cell::Writing),
            )
        })
    });
    workers.collect::<String>() + &threads_of(members).describe() + &format!("\n{} words have arrived", board.count())
}

/// The threads of the processes that have not ended.
fn threads_of(members: &[Member]) -> Threads {
    Threads::of(members.iter().filter(|member| !member.over).map(|member| member.child.id()))
}
