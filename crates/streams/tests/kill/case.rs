//! A case: the processes and their scripts at each end; one run of it, with a victim that is killed; and the conditions
//! that must then hold.

#[cfg(feature = "probes")]
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
#[cfg(feature = "probes")]
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::{Errno, Options, Policy, Result, Stream};

use crate::board::{Board, SECOND, Who};
use crate::common::{self, Random};
use crate::meeting::Meeting;
use crate::script::{self, Flavour, Operation, Reader};

/// How long a survivor may take: to end, and to notice that the other end is gone.
const BOUND: Duration = Duration::from_secs(5);

/// The victim's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Writes,
    Reads,
    /// Both by turns, without waiting to read.
    Both,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub part: Part,
    pub flavour: Flavour,
    pub policy: Policy,
    /// Another process holds the victim's end too, and does the same.
    pub fellow: bool,
    /// The ends are of a FIFO, which each process opens by its name. Else they are of a pipe, and inherited.
    pub fifo: bool,
    /// Modules that are pushed beforehand: on the victim's end, on the survivor's.
    pub modules: [Option<&'static str>; 2],
    /// Water marks; small ones make writers wait.
    pub hiwat: u32,
    pub operations: usize,
}

impl Case {
    pub const fn new(name: &'static str, part: Part, flavour: Flavour) -> Case {
        let policy = Policy::DEFAULT;
        Case {
            name,
            part,
            flavour,
            policy,
            fellow: false,
            fifo: false,
            modules: [None; 2],
            hiwat: 6000,
            operations: 24,
        }
    }

    pub fn options(&self) -> Options {
        let defaults = Options::default();
        defaults.hiwat(self.hiwat).lowat(self.hiwat / 2).policy(self.policy)
    }

    /// Whether writes exceed the bytes that are published at a time; with a fellow, bytes of both would then be mixed.
    fn long(&self) -> bool {
        !self.fellow && self.part == Part::Writes
    }
}

/// How the victim dies.
#[derive(Debug)]
pub enum Death {
    /// At this one of the probes that it passes.
    #[cfg(feature = "probes")]
    At(u64, Arc<File>),
    /// After this time.
    After(Duration),
}

impl std::fmt::Display for Death {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            #[cfg(feature = "probes")]
            Death::At(place, _) => write!(formatter, "killed at place {place}"),
            Death::After(time) => write!(formatter, "killed after {time:?}"),
        }
    }
}

/// The scripts of a run.
#[derive(Debug)]
struct Scripts {
    victim: Vec<Operation>,
    fellow: Vec<Operation>,
    survivor: Vec<Operation>,
}

impl Scripts {
    fn of(case: &Case, random: &mut Random) -> Scripts {
        let mut script = |flavour, operations, first| script::script(random, flavour, operations, first, case.long());
        let none = Vec::new;
        match (case.part, case.fellow) {
            (Part::Writes, fellow) => Scripts {
                victim: script(case.flavour, case.operations, 0),
                // Two messages of high priority at a time would be one too many.
                fellow: if fellow { script(Flavour::Bands, case.operations * 2, SECOND) } else { none() },
                survivor: none(),
            },
            (Part::Reads, _) => {
                Scripts { victim: none(), fellow: none(), survivor: script(case.flavour, case.operations, 0) }
            }
            (Part::Both, _) => Scripts {
                victim: script(case.flavour, case.operations, 0),
                fellow: none(),
                survivor: script(Flavour::Bands, case.operations, SECOND),
            },
        }
    }
}

/// Runs a case once; returns whether the victim was killed before its end.
pub fn run(case: &Case, seed: u64, death: Death) -> bool {
    let doing = format!("{}, seed {seed}, {death}", case.name);
    common::within(2 * BOUND, doing.clone());
    let before = common::open_things();
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(case, seed, death)));
    let killed = killed.unwrap_or_else(|_| panic!("failed: {doing}"));
    common::expect_nothing_left(before);
    common::calm();
    killed
}

fn play(case: &Case, seed: u64, death: Death) -> bool {
    let mut random = Random(seed);
    let scripts = Scripts::of(case, &mut random);
    let board = Board::new();
    let mut meeting = Meeting::of(case);
    let (victim, after) = match death {
        #[cfg(feature = "probes")]
        Death::At(places, report) => {
            let child = fork(&mut || {
                meeting.leave_to_victim();
                headwater_shm::probe::arm(places, report.try_clone().ok());
                victim(case, &scripts, &board, meeting.victim()?, Random(seed ^ 1))
            });
            (child, None)
        }
        Death::After(time) => {
            let child = fork(&mut || {
                meeting.leave_to_victim();
                victim(case, &scripts, &board, meeting.victim()?, Random(seed ^ 1))
            });
            (child, Some(time))
        }
    };
    let near = meeting.fellow();
    let start = Instant::now();
    let status = std::thread::scope(|scope| {
        let meeting = &meeting;
        let killer = scope.spawn(move || {
            let status = kill(victim, after);
            meeting.victim_has_ended();
            status
        });
        let far = meeting.survivor().expect("opened");
        let fellow = near.map(|near| scope.spawn(|| fellow(case, &scripts, &board, near, Random(seed ^ 2))));
        let over = || killer.is_finished() && fellow.as_ref().is_none_or(|fellow| fellow.is_finished());
        survivor(case, &scripts, &board, &far, Random(seed ^ 3), over);
        if case.part == Part::Reads && case.fellow {
            // The fellow reads to our end.
            drop(far);
            fellow.into_iter().for_each(|fellow| fellow.join().expect("the fellow ends well"));
        } else {
            fellow.into_iter().for_each(|fellow| fellow.join().expect("the fellow ends well"));
            meeting.is_over(far);
        }
        killer.join().expect("the killer ends")
    });
    assert!(start.elapsed() < BOUND, "took {:?}", start.elapsed());
    meeting.leaves_nothing();
    let killed = status.signal() == Some(9);
    assert!(killed || status.success(), "the victim failed by itself: {status}");
    check(case, &scripts, &board, killed);
    killed
}

fn fork(body: &mut dyn FnMut() -> Result<()>) -> Child {
    Child::fork(|| match body() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("victim: {error}");
            1
        }
    })
    .expect("fork")
}

/// Waits for the victim, and kills it when its time has come.
fn kill(mut victim: Child, after: Option<Duration>) -> std::process::ExitStatus {
    if let Some(after) = after {
        std::thread::sleep(after);
        victim.kill();
    }
    victim.wait().expect("wait")
}

fn victim(case: &Case, scripts: &Scripts, board: &Board, near: Stream, random: Random) -> Result<()> {
    let read = [scripts.survivor.as_slice()];
    let mut reader = Reader::new(board, Who::Victim, &read, random);
    match case.part {
        Part::Writes => script::write(&near, &scripts.victim, board, Who::Victim)?,
        Part::Reads if case.fellow => reader.read_all(&near)?,
        Part::Reads => {
            // Not to the end: the survivor waits for our death, not we for its. Its writes after its script are no
            // words.
            let all_read = || scripts.survivor.iter().flat_map(Operation::words).all(|word| board.has(word));
            for _ in 0..scripts.survivor.len() {
                if all_read() || !reader.step(&near)? {
                    break;
                }
            }
        }
        Part::Both => {
            for number in 0..scripts.victim.len() {
                script::write_one(&near, &scripts.victim, number, board, Who::Victim)?;
                near.set_nonblocking(true)?;
                while match reader.step(&near) {
                    Err(error) if error.errno() == Errno::Again => false,
                    done => done?,
                } {}
                near.set_nonblocking(false)?;
            }
        }
    }
    drop(near);
    Ok(())
}

fn fellow(case: &Case, scripts: &Scripts, board: &Board, near: Stream, random: Random) {
    match case.part {
        Part::Writes => {
            script::write(&near, &scripts.fellow, board, Who::Fellow).expect("the survivor reads");
        }
        _ => {
            let read = [scripts.survivor.as_slice()];
            Reader::new(board, Who::Fellow, &read, random).read_all(&near).expect("no error");
        }
    }
}

/// The calls of the other end. `over`: no process of the victim's end is left.
fn survivor(case: &Case, scripts: &Scripts, board: &Board, far: &Stream, random: Random, over: impl Fn() -> bool) {
    let read = [scripts.victim.as_slice(), scripts.fellow.as_slice()];
    match case.part {
        Part::Writes => {
            let mut reader = Reader::new(board, Who::Survivor, &read, random);
            reader.read_all(far).expect("no error");
            // A FIFO does not end as long as other processes may open it.
            while case.fifo && !over() {
                std::thread::sleep(Duration::from_micros(100));
                reader.read_all(far).expect("no error");
            }
        }
        Part::Reads => {
            let done = script::write(far, &scripts.survivor, board, Who::Survivor);
            match (case.fellow, done) {
                (_, Ok(())) => {}
                (false, Err(error)) if script::is_gone(&error) => {}
                (_, Err(error)) => panic!("a survivor's write failed: {error}"),
            }
        }
        Part::Both => {
            let out = far.clone();
            std::thread::scope(|scope| {
                let writer = scope.spawn(move || match script::write(&out, &scripts.survivor, board, Who::Survivor) {
                    Err(error) if !script::is_gone(&error) => panic!("a survivor's write failed: {error}"),
                    _ => {}
                });
                Reader::new(board, Who::Survivor, &read, random).read_all(far).expect("no error");
                writer.join().expect("the writer ends well");
            });
        }
    }
}

fn check(case: &Case, scripts: &Scripts, board: &Board, killed: bool) {
    let mut expected = 0;
    if case.part == Part::Reads {
        if !case.fellow {
            return;
        }
        let (_, returned) = board.progress(Who::Survivor);
        let written: Vec<u64> = scripts.survivor[..returned].iter().flat_map(Operation::words).collect();
        assert_eq!(returned, scripts.survivor.len());
        let missing: Vec<u64> = written.into_iter().filter(|word| !board.has(*word)).collect();
        let most = if killed { board.in_hand() } else { 0 };
        assert!(missing.len() <= most, "the victim had {most} words in hand, and {} are missing", missing.len());
        return;
    }
    for (script, who) in [(&scripts.victim, Who::Victim), (&scripts.fellow, Who::Fellow)] {
        let (begun, returned) = board.progress(who);
        assert!(begun == returned || killed && who == Who::Victim);
        assert!(killed && who == Who::Victim || returned == script.len());
        for (number, operation) in script.iter().enumerate() {
            let there = operation.words().filter(|word| board.has(*word)).count();
            let all = operation.control + operation.data;
            expected += there;
            if number < returned {
                assert_eq!(there, all, "operation {number} of the {who:?} returned and was lost: {operation:?}");
            } else if number < begun {
                let whole = there == 0 || there == all || operation.may_come_in_part();
                assert!(whole, "operation {number} in flight came in part: {there} words of {operation:?}");
            } else {
                assert_eq!(there, 0, "operation {number} was never begun: {operation:?}");
            }
        }
    }
    let back = scripts.survivor.iter().flat_map(Operation::words).filter(|word| board.has(*word)).count();
    assert_eq!(board.count(), expected + back, "words of nobody");
}
