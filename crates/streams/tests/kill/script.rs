//! The calls of a process at its end: a list of operations made from a seed, how a writer plays it, and how a reader
//! takes the messages.

use std::time::{Duration, Instant};

use headwater_streams::{DirectStream, Errno, Error, MessageFilter, Priority, Result, Stream};

use crate::board::{Board, Who, bytes, words};
use crate::common::Random;

/// One call of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Write,
    /// putmsg without a control part.
    Data,
    /// putmsg with one.
    Proto,
    Band(u8),
    HighPriority,
    /// A place that is filled in and sent.
    Reserve,
    Push(&'static str),
    Pop,
}

/// A call, and its words.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub call: Call,
    pub first: u64,
    pub control: usize,
    pub data: usize,
}

impl Operation {
    pub fn words(&self) -> std::ops::Range<u64> {
        self.first..self.first + (self.control + self.data) as u64
    }

    /// A call of which a part may arrive although it did not return: longer than the bytes that are published at a
    /// time.
    pub fn may_come_in_part(&self) -> bool {
        self.call == Call::Write && self.data * 8 > headwater_streams::limits::PIECE
    }

    /// Messages of one class arrive in their order.
    fn class(&self) -> usize {
        match self.call {
            Call::HighPriority => 256,
            Call::Band(band) => usize::from(band),
            _ => 0,
        }
    }
}

/// The kinds of calls in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Plain writes.
    Plain,
    /// Writes and messages of band 0.
    Lane,
    /// All kinds but high priority.
    Bands,
    /// All kinds.
    All,
    /// All kinds but those of [`Call::Reserve`], between push and pop.
    Pushed,
}

pub fn script(random: &mut Random, flavour: Flavour, operations: usize, first: u64, long: bool) -> Vec<Operation> {
    let mut next = first;
    let mut script: Vec<Operation> = Vec::new();
    let mut add = |call: Call, control: usize, data: usize| {
        script.push(Operation { call, first: next, control, data });
        next += (control + data) as u64;
    };
    let sizes: &[usize] =
        if long { &[1, 2, 8, 31, 32, 33, 100, 512, 700, 1500, 2500] } else { &[1, 2, 8, 31, 32, 33, 100, 512, 700] };
    if flavour == Flavour::Pushed {
        add(Call::Push("srvmod"), 0, 0);
    }
    for number in 0..operations {
        let data = random.one_of(sizes);
        let control = random.one_of(&[1, 2, 40]);
        match (flavour, random.below(10)) {
            (Flavour::Plain, _) | (_, 0..=3) => add(Call::Write, 0, data),
            (_, 4) => add(Call::Data, 0, data),
            (_, 5) => add(Call::Proto, control, data),
            (Flavour::Lane, 6) => add(Call::Reserve, 0, data),
            (Flavour::Lane, _) => add(Call::Write, 0, data),
            (_, 6 | 7) => add(Call::Band(1), control, data),
            (_, 8) => add(Call::Band(random.one_of(&[0, 2, 255])), control, random.one_of(&[1, 30, 700])),
            (Flavour::Bands, _) => add(Call::Band(7), control, data),
            _ => add(Call::HighPriority, control, data),
        }
        if flavour == Flavour::Pushed && number == operations / 2 {
            add(Call::Pop, 0, 0);
            add(Call::Push("nullmod"), 0, 0);
            add(Call::Push("srvmod"), 0, 0);
        }
    }
    if flavour == Flavour::Pushed {
        add(Call::Pop, 0, 0);
    }
    assert!(next - first < crate::board::SECOND);
    script
}

/// Plays a script to its end, or to the other end's.
pub fn write(stream: &Stream, script: &[Operation], board: &Board, who: Who) -> Result<()> {
    (0..script.len()).try_for_each(|number| write_one(stream, script, number, board, who))
}

/// Plays one operation of a script.
pub fn write_one(stream: &Stream, script: &[Operation], number: usize, board: &Board, who: Who) -> Result<()> {
    let operation = &script[number];
    // A second message of high priority would be discarded, and so would be messages in a popped module.
    if matches!(operation.call, Call::HighPriority | Call::Pop) && !settle(board, &script[..number], who) {
        assert!(who == Who::Survivor, "what was written does not arrive");
        return Ok(());
    }
    board.begin(who, number);
    call(stream, operation)?;
    board.returned(who, number);
    Ok(())
}

/// Waits until all of it has arrived. False if no process takes it.
fn settle(board: &Board, script: &[Operation], who: Who) -> bool {
    let start = Instant::now();
    // Words that a killed reader took never arrive.
    let patience = Duration::from_millis(if who == Who::Survivor { 20 } else { 3000 });
    while !script.iter().all(|operation| operation.words().all(|word| board.has(word))) {
        if start.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    true
}

fn call(stream: &Stream, operation: &Operation) -> Result<()> {
    let control = bytes(operation.first, operation.control);
    let data = bytes(operation.first + operation.control as u64, operation.data);
    match operation.call {
        Call::Write => {
            assert_eq!(stream.write(&data)?, data.len());
            Ok(())
        }
        Call::Data => stream.putmsg(None, Some(&data)),
        Call::Proto => stream.putmsg(Some(&control), Some(&data)),
        Call::Band(band) => stream.putpmsg(Some(&control), Some(&data), band),
        Call::HighPriority => stream.putpmsg(Some(&control), Some(&data), Priority::High),
        Call::Reserve => {
            let mut direct = stream.direct();
            let mut place = direct.reserve(data.len())?;
            place.fill(0, &data);
            place.commit()
        }
        Call::Push(name) => stream.push(name),
        Call::Pop => stream.pop(),
    }
}

/// Takes messages, in many ways, and checks them.
#[derive(Debug)]
pub struct Reader<'s> {
    board: &'s Board,
    who: Who,
    scripts: &'s [&'s [Operation]],
    random: Random,
    /// The last word that came, by script, class and part.
    last: std::collections::HashMap<(usize, usize, bool), u64>,
    control: Vec<u8>,
    data: Vec<u8>,
}

impl<'s> Reader<'s> {
    pub fn new(board: &'s Board, who: Who, scripts: &'s [&'s [Operation]], random: Random) -> Reader<'s> {
        let (control, data) = (vec![0; 48 * 8], vec![0; 4096 * 8]);
        Reader { board, who, scripts, random, last: std::collections::HashMap::new(), control, data }
    }

    /// Takes some bytes or a message. False at the end of the stream.
    pub fn step(&mut self, stream: &Stream) -> Result<bool> {
        let (control_words, data_words) = (self.random.one_of(&[1, 48]), self.random.one_of(&[2, 40, 512, 4096]));
        let (mut control, mut data) = (std::mem::take(&mut self.control), std::mem::take(&mut self.data));
        let taken = self.take(stream, &mut control[..control_words * 8], &mut data[..data_words * 8]);
        if let Ok((control_len, data_len, split)) = taken {
            words(&control[..control_len]).for_each(|word| self.check(word, Part::Control));
            words(&data[..data_len]).for_each(|word| self.check(word, if split { Part::Data } else { Part::Either }));
        }
        if self.who == Who::Victim {
            self.board.take_in_hand(0);
        }
        (self.control, self.data) = (control, data);
        taken.map(|(control, data, _)| control + data > 0)
    }

    /// Bytes of control and data, and whether they came apart.
    fn take(&mut self, stream: &Stream, control: &mut [u8], data: &mut [u8]) -> Result<(usize, usize, bool)> {
        let way = self.random.below(8);
        if self.who == Who::Victim {
            self.board.take_in_hand((control.len() + data.len()) / 8);
        }
        let select = match way {
            0..=3 => return Ok((0, stream.read(data)?, false)),
            4 => MessageFilter::Band(1),
            5 => {
                let mut direct = stream.direct();
                if let Some(borrowed) = borrow(&mut direct)? {
                    let bytes = borrowed.to_vec();
                    let count = bytes.len().min(data.len());
                    data[..count].copy_from_slice(&bytes[..count]);
                    borrowed.consume(count)?;
                    return Ok((0, count, false));
                }
                MessageFilter::Any
            }
            _ => MessageFilter::Any,
        };
        // A message in a band may never come: this call does not wait for it.
        let waits = !stream.is_nonblocking();
        let got = if select == MessageFilter::Any {
            stream.getpmsg(Some(control), Some(data), select)
        } else {
            let mut apart = stream.direct();
            apart.set_nonblocking(true)?;
            apart.getpmsg(Some(control), Some(data), select)
        };
        match got {
            Ok(got) => Ok((got.control.unwrap_or(0), got.data.unwrap_or(0), true)),
            Err(error) if error.errno() == Errno::Badmsg => Ok((0, stream.read(data)?, false)),
            Err(error) if error.errno() == Errno::Again && waits => Ok((0, stream.read(data)?, false)),
            Err(error) => Err(error),
        }
    }

    fn check(&mut self, word: u64, part: Part) {
        let found = self.scripts.iter().enumerate().find_map(|(number, script)| {
            let at = script.partition_point(|operation| operation.words().end <= word);
            script.get(at).filter(|operation| operation.words().contains(&word)).map(|operation| (number, operation))
        });
        let (number, operation) = found.unwrap_or_else(|| panic!("word {word} is of no script"));
        let is_control = word < operation.first + operation.control as u64;
        assert!(part == Part::Either || is_control == (part == Part::Control), "word {word} came in the wrong part");
        let key = (number, operation.class(), is_control);
        let last = self.last.insert(key, word);
        assert!(last.is_none_or(|last| last < word), "word {word} came after {last:?}");
        self.board.arrived(word);
    }

    /// Takes all until the end of the stream.
    pub fn read_all(&mut self, stream: &Stream) -> Result<()> {
        while self.step(stream)? {}
        Ok(())
    }
}

/// Which part of a message words came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Control,
    Data,
    /// A read does not tell.
    Either,
}

/// The message at the front, if it is one that can be borrowed.
fn borrow(stream: &mut DirectStream) -> Result<Option<headwater_streams::ReadGrant<'_>>> {
    match stream.borrow() {
        Err(error) if error.errno() == Errno::Badmsg => Ok(None),
        done => done,
    }
}

/// The errors with which a script may end: the other end is gone.
pub fn is_gone(error: &Error) -> bool {
    error.errno() == Errno::Pipe
}
