//! A worker: one handle in one thread, which writes its words, reads arriving words, and waits in its form.

use std::time::Duration;

use headwater_streams::{AsyncStream, DirectStream, Errno, Error, Result, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::board::{self, Board, Cell, WORKERS};
use crate::common::Random;
use crate::form::{Form, Waiter};
use crate::setup::{Setup, Worker};

/// The text of a refusal because of another user of the same end that was stopped in the middle of a call.
const HELD: &str = "in the middle of a call";
const HELD_PAUSE: Duration = Duration::from_millis(1);

/// The state of a worker.
#[derive(Debug)]
struct Hands<'b> {
    board: &'b Board,
    worker: Worker,
    random: Random,
    /// All processes at the other end may be killed.
    may_lose: bool,
    /// The next word, and the bytes of a write that was begun.
    next: u64,
    pending: Vec<u8>,
    writes: bool,
    reads: bool,
    /// It often writes nothing more until what it has written was read.
    settles: bool,
    buffer: Vec<u8>,
    last: [Option<u64>; WORKERS],
}

/// Runs a worker until its words are written, and the end of the stream is read.
pub fn work(setup: &Setup, board: &Board, worker: Worker, stream: Stream) {
    let mut hands = Hands::new(setup, board, worker);
    match worker.form {
        Form::Tokio => hands.select(stream),
        Form::Blocking if hands.reads && hands.writes => {
            let mut reading = Hands::new(setup, board, Worker { words: 0, ..worker });
            hands.reads = false;
            let handle = stream.clone();
            std::thread::scope(|scope| {
                scope.spawn(move || reading.block(handle));
                hands.block(stream);
            });
        }
        Form::Blocking => hands.block(stream),
        _ => hands.pump(&stream),
    }
}

impl<'b> Hands<'b> {
    fn new(setup: &Setup, board: &'b Board, worker: Worker) -> Hands<'b> {
        // After an exec the write that it has ended is left out.
        let next = board.get(worker.number, Cell::Begun);
        let random = Random(setup.seed ^ (worker.number as u64) << 32 ^ worker.words ^ next << 40);
        Hands {
            board,
            worker,
            random,
            may_lose: setup.may_lose(1 - worker.number / 4),
            next,
            pending: Vec::new(),
            writes: next < worker.words,
            reads: worker.reads,
            settles: !setup.duplex && setup.seed.is_multiple_of(2),
            buffer: Vec::new(),
            last: [None; WORKERS],
        }
    }

    fn note(&self, cell: Cell, value: u64) {
        self.board.set(self.worker.number, cell, value);
    }

    /// Now and then it does something else for a while: until the others spin, sleep on the futex, or on the descriptor.
    fn pause(&mut self) {
        let pause_us = match self.random.below(100) {
            0 => 11_000,
            1..=3 => 1000,
            4..=9 => 60,
            _ => return,
        };
        std::thread::sleep(Duration::from_micros(self.random.next() % pause_us));
    }

    /// Makes up the bytes of the next write, unless it has them.
    fn prepare_to_write(&mut self) {
        if self.pending.is_empty() && self.writes {
            let words = self.random.one_of(&[1, 1, 3, 8, 30, 100, 300]).min(self.worker.words - self.next);
            self.pending = board::bytes(self.worker.number, self.next, words);
            self.note(Cell::Begun, self.next + words);
        }
    }

    /// Handles the result of a write. False if it is to be tried again later.
    fn wrote(&mut self, done: Result<usize>) -> bool {
        match done {
            Ok(count) => {
                assert_eq!(count % 8, 0, "a part of {count} bytes was written");
                drop(self.pending.drain(..count));
                self.next += count as u64 / 8;
                self.note(Cell::Returned, self.next);
                if self.next == self.worker.words && self.pending.is_empty() {
                    self.stop_writing();
                } else if self.settles && self.random.one_in(8) {
                    self.settle();
                }
                true
            }
            Err(error) if self.may_lose && error.errno() == Errno::Pipe => {
                self.stop_writing();
                true
            }
            Err(error) => self.is_refused(&error),
        }
    }

    /// Waits until what it has written was read: none of its later calls wakes a reader without a notification.
    fn settle(&self) {
        let reader = |number: &usize| number / 4 != self.worker.number / 4;
        let is_lost = || (0..WORKERS).filter(reader).any(|number| self.board.get(number, Cell::Gone) != 0);
        while !self.board.has(self.worker.number, self.next - 1) && !is_lost() {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    fn stop_writing(&mut self) {
        self.writes = false;
        self.pending.clear();
        self.note(Cell::Finished, 1);
    }

    fn is_refused(&self, error: &Error) -> bool {
        match error.errno() {
            // There is no notification when the other user leaves: try again after a while.
            Errno::Again if error.to_string().contains(HELD) => {
                std::thread::sleep(HELD_PAUSE);
                true
            }
            Errno::Again => false,
            Errno::Intr => true,
            _ => panic!("worker {}: {error}", self.worker.number),
        }
    }

    fn prepare_to_read(&mut self) {
        let words = self.random.one_of(&[1, 4, 40, 512]);
        self.buffer.resize(words * 8, 0);
        self.note(Cell::InHand, words as u64);
    }

    /// Handles the result of a read. False if it is to be tried again later.
    fn read(&mut self, done: Result<usize>) -> bool {
        let again = match done {
            Ok(0) => {
                self.reads = false;
                true
            }
            Ok(count) => {
                let buffer = std::mem::take(&mut self.buffer);
                board::words(&buffer[..count]).for_each(|word| self.check(word));
                self.buffer = buffer;
                true
            }
            Err(error) => self.is_refused(&error),
        };
        self.note(Cell::InHand, 0);
        again
    }

    fn check(&mut self, word: u64) {
        let (writer, number) = board::of_word(word);
        assert_ne!(writer / 4, self.worker.number / 4, "word {number} of worker {writer} came back to its own end");
        let last = self.last[writer].replace(number);
        assert!(last.is_none_or(|last| last < number), "word {number} of worker {writer} came after {last:?}");
        self.board.arrived(word);
    }

    /// Calls that wait, in one direction.
    fn block(&mut self, stream: Stream) {
        stream.set_nonblocking(false).expect("no error");
        while self.reads || self.writes {
            self.pause();
            if self.reads {
                self.prepare_to_read();
                self.note(Cell::Reading, 1);
                let mut buffer = std::mem::take(&mut self.buffer);
                let done = stream.read(&mut buffer);
                self.buffer = buffer;
                assert!(self.read(done), "a blocking read was refused");
                self.note(Cell::Reading, 0);
            } else {
                self.prepare_to_write();
                self.note(Cell::Writing, 1);
                let done = stream.write(&self.pending);
                assert!(self.wrote(done), "a blocking write was refused");
                self.note(Cell::Writing, 0);
            }
        }
    }

    /// Calls that do not wait, and waits for either direction in between.
    fn pump(&mut self, stream: &Stream) {
        // The end's O_NONBLOCK stays off: another worker of the process may block.
        let mut stream = stream.direct();
        stream.set_nonblocking(true).expect("no error");
        let mut waiter = Waiter::new(self.worker.form, &stream);
        while self.reads || self.writes {
            self.pause();
            // A level-triggered worker may poll before it tries; an edge-triggered one has to try until it is refused.
            let asks_first = self.worker.form != Form::Edge && self.random.one_in(4);
            if asks_first || !self.try_both(&mut stream) {
                self.note(Cell::Reading, u64::from(self.reads));
                self.note(Cell::Writing, u64::from(self.writes));
                waiter.wait(&mut stream, self.reads, self.writes, &mut self.random);
                self.note(Cell::Reading, 0);
                self.note(Cell::Writing, 0);
            }
        }
    }

    /// False if everything was refused.
    fn try_both(&mut self, stream: &mut DirectStream) -> bool {
        let mut done = false;
        if self.reads {
            self.prepare_to_read();
            let mut buffer = std::mem::take(&mut self.buffer);
            let count = stream.read(&mut buffer);
            self.buffer = buffer;
            done |= self.read(count);
        }
        if self.writes {
            self.prepare_to_write();
            let count = stream.write(&self.pending);
            done |= self.wrote(count);
        }
        done
    }

    /// A task that waits for the first of both events.
    fn select(&mut self, stream: Stream) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (mut from, mut to) = tokio::io::split(AsyncStream::new(stream).expect("a descriptor"));
            while self.reads || self.writes {
                self.pause();
                self.prepare_to_write();
                if self.reads {
                    self.prepare_to_read();
                }
                self.note(Cell::Reading, u64::from(self.reads));
                self.note(Cell::Writing, u64::from(self.writes));
                let mut buffer = std::mem::take(&mut self.buffer);
                let (read, wrote) = tokio::select! {
                    count = from.read(&mut buffer), if self.reads => (Some(count), None),
                    count = to.write(&self.pending), if self.writes => (None, Some(count)),
                };
                self.buffer = buffer;
                self.note(Cell::Reading, 0);
                self.note(Cell::Writing, 0);
                read.into_iter().for_each(|done| assert!(self.read(done.map_err(Error::from)), "a task was refused"));
                wrote.into_iter().for_each(|done| assert!(self.wrote(done.map_err(Error::from)), "a task was refused"));
            }
        });
    }
}
