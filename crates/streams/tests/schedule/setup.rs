//! The setup of a round, derived from the forms and the seed: also in a process that has executed itself.

use headwater_streams::Options;

use crate::common::Random;
use crate::form::{FORMS, Form};

/// The event of one process in the middle of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Nothing,
    /// SIGKILL, at a random time or, with the feature `probes`, between two stores.
    Kill,
    /// SIGSTOP, and SIGCONT some time later.
    Freeze,
    /// It becomes another program, which carries on.
    Exec,
    /// Its child uses the end, too, or just keeps it open.
    Fork,
}

/// How the users of an end share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    One,
    /// One process with two handles in two threads.
    Threads,
    /// Two processes.
    Processes,
}

/// A worker: one handle in one thread, by its number on the board.
#[derive(Debug, Clone, Copy)]
pub struct Worker {
    pub number: usize,
    pub form: Form,
    /// Words to be written. 0 for none.
    pub words: u64,
    pub reads: bool,
}

#[derive(Debug)]
pub struct Setup {
    pub seed: u64,
    /// Of end 0, which writes; of end 1.
    pub forms: [Form; 2],
    /// The stream is a FIFO and no pipe: end 0 is its writer.
    pub fifo: bool,
    /// Both ends write and read.
    pub duplex: bool,
    pub sharing: [Sharing; 2],
    pub event: Event,
    /// The process with the event.
    pub victim: usize,
    /// The time of the event, and its duration.
    pub after_us: u64,
    pub for_us: u64,
    /// The place between two stores at which it is killed, if there are such places.
    pub place: Option<u64>,
    pub hiwat: u32,
    /// Second workers of an end wait in a form of their own.
    mixed: Option<Form>,
    words: u64,
}

/// The end of a process: each end has two.
pub fn side_of(process: usize) -> usize {
    process / 2
}

pub fn name([writer, reader]: [Form; 2]) -> String {
    format!("{}/{}", writer.name(), reader.name())
}

impl Setup {
    pub fn of(forms: [Form; 2], seed: u64) -> Setup {
        let mut random = Random(seed.wrapping_mul(0x1234_5677).wrapping_add(forms[0] as u64 * 6 + forms[1] as u64));
        let ways = [Sharing::One, Sharing::Threads, Sharing::Processes];
        let sharing = [random.one_of(&ways), random.one_of(&ways)];
        let event = random.one_of(&[Event::Nothing, Event::Kill, Event::Kill, Event::Freeze, Event::Exec, Event::Fork]);
        let fifo = random.one_in(3);
        Setup {
            seed,
            forms,
            fifo,
            duplex: random.one_in(2) && !fifo,
            sharing,
            event,
            victim: random.one_of(&[0, 2]),
            after_us: random.next() % random.one_of(&[300, 3000, 3000, 30_000]),
            for_us: random.next() % random.one_of(&[1000, 20_000, 100_000]),
            place: (cfg!(feature = "probes") && random.one_in(2)).then(|| random.next() % 3000),
            hiwat: random.one_of(&[200, 1000, 5000]),
            mixed: random.one_in(2).then(|| random.one_of(&FORMS)),
            words: random.one_of(&[300, 1500, 4000]),
        }
    }

    pub fn options(&self) -> Options {
        Options::new().hiwat(self.hiwat).lowat(self.hiwat / 2)
    }

    /// The name under which it is counted.
    pub fn label(&self) -> String {
        let whom = if self.victim == 0 { "writer" } else { "reader" };
        let kind = if self.fifo { "FIFO: " } else { "" };
        match (self.event, self.duplex) {
            (Event::Nothing, _) => format!("{kind}nothing"),
            (event, true) => format!("{event:?} of either"),
            (event, false) => format!("{kind}{event:?} of {whom}"),
        }
    }

    /// The processes of the round.
    pub fn processes(&self) -> Vec<usize> {
        (0..4).filter(|process| process % 2 == 0 || self.sharing[side_of(*process)] == Sharing::Processes).collect()
    }

    /// The workers of a process.
    pub fn workers(&self, process: usize) -> Vec<Worker> {
        let side = side_of(process);
        let threads = if self.sharing[side] == Sharing::Threads { 2 } else { 1 };
        (0..threads).map(|thread| self.worker(side, process % 2 + thread)).collect()
    }

    /// The worker in a child that the victim forks. It starts no thread: the standard library cannot in a child that was forked
    /// while another thread starts.
    pub fn extra(&self) -> Worker {
        let worker = self.worker(side_of(self.victim), 2);
        let form = if self.duplex && worker.form == Form::Blocking { Form::Poll } else { worker.form };
        Worker { words: worker.words / 8, form, ..worker }
    }

    fn worker(&self, side: usize, number: usize) -> Worker {
        let form = self.mixed.filter(|_| number > 0).unwrap_or(self.forms[side]);
        let writes = self.duplex || side == 0;
        let words = if writes { self.words } else { 0 };
        Worker { number: side * 4 + number, form, words, reads: self.duplex || side == 1 }
    }

    /// Whether all processes at an end may be gone before the others have written all words.
    pub fn may_lose(&self, side: usize) -> bool {
        self.event == Event::Kill && side_of(self.victim) == side && self.sharing[side] != Sharing::Processes
    }

    /// Whether words of this worker may have been in hand of a reader that was killed or replaced.
    pub fn may_drop(&self, worker: usize) -> bool {
        let hit = matches!(self.event, Event::Kill | Event::Exec);
        hit && self.workers(self.victim).iter().any(|hit| hit.number == worker)
    }
}
