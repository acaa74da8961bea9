//! Every order in which the members of a small lane can run, with the orderings of the language and not of one
//! processor.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p headwater-streams --release --lib loom`

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use headwater_shm::loom_model;
use headwater_shm::sync::{AtomicU32, AtomicU64, Fence, Ordering};
use headwater_shm::{CachePadded, Members, Membership, Placed, Window};
use loom::thread;

use super::reader::{LaneFront, LaneReader};
use super::writer::{LaneWriter, Open, Quick, WriterGuard};
use super::{Part, Record};
use crate::layout::{Flow, LaneWords, ReadPosition as Taken, RecordHeader, Side, Tail};
use crate::limits::PIECE;
use crate::message::kind::{Kind, MessageHeader};

/// Runs the model over all orders with at most `preemptions` forced switches.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // Three members that poll take more steps than loom's 1000.
    builder.max_branches = 20_000;
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let orders = orders.load(Ordering::Relaxed);
    assert!(orders > 10, "only {orders} orders were tried: loom does not see what depends on what");
}

/// Bytes of the window in use at most: as many as are above hiwat are one message.
const CELLS: usize = 8;
const HIWAT: u32 = 3;

/// A lane and a table of members.
#[derive(Clone)]
struct Room {
    members: Members,
    words: Placed<LaneWords>,
    records: Placed<[RecordHeader]>,
    window: Window,
}

impl Room {
    fn new() -> Room {
        Room::with(CELLS, HIWAT)
    }

    fn with(cells: usize, hiwat: u32) -> Room {
        Room {
            members: loom_model::members(3),
            words: Placed::new(lane_words(hiwat)),
            // As many of the 2048 of a real lane as the tests use.
            records: Placed::from_vec((0..4).map(|_| record()).collect()),
            window: Window::new(4 * PIECE as u64, cells),
        }
    }

    fn join(&self) -> Membership {
        let locks = [&self.words.writer_lock.0, &self.words.reader_lock.0];
        Membership::join(&self.members, Fence, &locks).expect("a slot")
    }

    fn writer(&self) -> Writer {
        let (words, records, window) = (self.words.clone(), self.records.clone(), self.window.clone());
        Writer { me: self.join(), lane: LaneWriter::new(words, records, window, PIECE as u64, Fence, 0) }
    }

    fn reader(&self) -> Reader {
        let (words, records, window) = (self.words.clone(), self.records.clone(), self.window.clone());
        Reader { me: self.join(), lane: LaneReader::new(words, records, window, Fence, 1) }
    }
}

fn lane_words(hiwat: u32) -> LaneWords {
    let word = |value| AtomicU32::new(value);
    let position = || AtomicU64::new(0);
    let side = || CachePadded(Side { sleep: word(0), wanted: word(0) });
    LaneWords {
        tail: CachePadded(Tail { bytes: position(), records: position(), origin: position() }),
        head: CachePadded(Taken { bytes: position(), records: position(), early: AtomicU64::new(0) }),
        writer_lock: CachePadded(loom_model::lock()),
        reader_lock: CachePadded(loom_model::lock()),
        store_lock: CachePadded(loom_model::lock()),
        writer: side(),
        reader: side(),
        flow: CachePadded(Flow { hiwat: word(hiwat), lowat: word(2), maxpsz: word(8), minpsz: word(0), full: word(0) }),
    }
}

fn record() -> RecordHeader {
    let word = || AtomicU64::new(0);
    RecordHeader { at: word(), lengths: word(), header: word(), taken: word() }
}

/// A result of reading a lane: plain data with the plain data behind it appended, or control and data.
#[derive(Debug, PartialEq, Eq)]
enum Got {
    Plain(Vec<u8>),
    Message(Vec<u8>, Vec<u8>),
}

struct Writer {
    me: Membership,
    lane: LaneWriter,
}

impl Writer {
    /// Calls `append` under the lock as soon as there is room.
    fn append(&mut self, append: impl Fn(&mut WriterGuard<'_>)) {
        loop {
            let (mut lane, _) = self.lane.hold(&self.me).expect("hold");
            lane.set_flow(true);
            let room = lane.has_room().expect("has_room");
            if room {
                append(&mut lane);
            }
            lane.open(Open::Direct);
            drop(lane);
            if room {
                return;
            }
            while !self.lane.may_go_on() {
                thread::yield_now();
            }
        }
    }

    fn plain(&mut self, bytes: &[u8]) {
        if self.lane.quick(&self.me, bytes) == Quick::Refused {
            self.append(|lane| lane.append_plain(bytes).expect("short"));
        }
    }

    fn message(&mut self, control: &[u8], data: &[u8]) {
        self.append(|lane| lane.append(MessageHeader::of(Kind::Proto), Some(control), Some(data)).expect("short"));
    }
}

struct Reader {
    me: Membership,
    lane: LaneReader,
}

impl Reader {
    /// Takes the front of the lane, if it is not empty; at most two bytes of plain data.
    fn take(&mut self) -> Option<Got> {
        let mut byte = [0; 1];
        if self.lane.quick(&self.me, &mut byte) != Quick::Refused {
            return Some(Got::Plain(byte.to_vec()));
        }
        let (mut lane, _) = self.lane.hold(&self.me).expect("hold");
        lane.find().expect("look");
        let got = lane.front().expect("front").map(|front| match front {
            LaneFront::Plain(_) => {
                let mut bytes = [0; 2];
                let count = lane.take_plain(&mut bytes);
                Got::Plain(bytes[..count].to_vec())
            }
            LaneFront::Record(message) => {
                let (mut control, mut data) = (part(message.control), part(message.data));
                lane.copy_control(&message, &mut control);
                lane.copy_data(&message, &mut data);
                lane.take_parts(&message, Some(control.len()), Some(data.len()), false).expect("take_parts");
                Got::Message(control, data)
            }
        });
        lane.open(true);
        got
    }

    /// Reads until `count` bytes have come, and joins plain data that follows plain data.
    fn take_bytes(&mut self, count: usize) -> Vec<Got> {
        let mut all: Vec<Got> = Vec::new();
        let mut taken = 0;
        while taken < count {
            let Some(got) = self.take() else {
                thread::yield_now();
                continue;
            };
            taken += match &got {
                Got::Plain(bytes) => bytes.len(),
                Got::Message(control, data) => control.len() + data.len(),
            };
            match (all.last_mut(), got) {
                (Some(Got::Plain(run)), Got::Plain(bytes)) => run.extend(bytes),
                (_, got) => all.push(got),
            }
        }
        all
    }
}

fn part(part: Option<Part>) -> Vec<u8> {
    vec![0; part.map_or(0, |part| part.left())]
}

fn plain(bytes: &[u8]) -> Got {
    Got::Plain(bytes.to_vec())
}

fn message(control: &[u8], data: &[u8]) -> Got {
    Got::Message(control.to_vec(), data.to_vec())
}

/// With the fast path, and with a queue that is full for a while.
#[test]
fn loom_bytes_and_messages_arrive_in_order_and_whole() {
    explore(2, || {
        let room = Room::new();
        let (mut writer, mut reader) = (room.writer(), room.reader());
        let other = thread::spawn(move || {
            writer.plain(&[1]);
            writer.plain(&[2]);
            writer.message(&[3], &[4, 5]);
            writer.plain(&[6]);
        });
        assert_eq!(reader.take_bytes(6), [plain(&[1, 2]), message(&[3], &[4, 5]), plain(&[6])]);
        assert!(reader.take().is_none());
        other.join().expect("writer");
    });
}

/// Longer than the window: what was read is overwritten, and not before.
#[test]
fn loom_room_is_used_again_after_it_was_read() {
    explore(2, || {
        let room = Room::with(4, 0);
        let (mut writer, mut reader) = (room.writer(), room.reader());
        let other = thread::spawn(move || {
            writer.message(&[1], &[2, 3]);
            writer.message(&[4], &[5, 6]);
        });
        assert_eq!(reader.take_bytes(6), [message(&[1], &[2, 3]), message(&[4], &[5, 6])]);
        other.join().expect("writer");
    });
}

/// A reader that sees the bytes of a message sees its record: they are never taken for plain data.
#[test]
fn loom_a_message_is_never_seen_without_its_mark() {
    explore(3, || {
        let room = Room::new();
        let (mut writer, mut reader) = (room.writer(), room.reader());
        let other = thread::spawn(move || {
            writer.plain(&[1]);
            writer.message(&[2], &[3]);
        });
        for _ in 0..2 {
            let (mut lane, _) = reader.lane.hold(&reader.me).expect("hold");
            lane.look().expect("look");
            match lane.front().expect("front") {
                None => {}
                Some(LaneFront::Plain(count)) => assert_eq!(count, 1),
                Some(LaneFront::Record(_)) => panic!("out of order"),
            }
        }
        other.join().expect("writer");
        assert_eq!(reader.take_bytes(3), [plain(&[1]), message(&[2], &[3])]);
    });
}

/// Two writers: their messages come whole, in the order of each, also beside the fast path.
#[test]
fn loom_two_writers_interleave_whole_messages() {
    explore(3, || {
        let room = Room::new();
        let (mut one, mut two, mut reader) = (room.writer(), room.writer(), room.reader());
        let other = thread::spawn(move || {
            two.message(&[20], &[21]);
            two.lane.retire();
        });
        one.plain(&[10]);
        one.plain(&[11]);
        one.lane.retire();
        other.join().expect("writer");
        let got = reader.take_bytes(4);
        let order = [
            vec![message(&[20], &[21]), plain(&[10, 11])],
            vec![plain(&[10]), message(&[20], &[21]), plain(&[11])],
            vec![plain(&[10, 11]), message(&[20], &[21])],
        ];
        assert!(order.contains(&got), "{got:?}");
    });
}

/// The same while another thread reads.
#[test]
fn loom_two_writers_and_a_reader_agree() {
    explore(1, || {
        let room = Room::new();
        let (mut one, mut two, mut reader) = (room.writer(), room.writer(), room.reader());
        let other = thread::spawn(move || two.message(&[20], &[21]));
        let third = thread::spawn(move || one.message(&[10], &[11]));
        let got = reader.take_bytes(4);
        let (ten, twenty) = (message(&[10], &[11]), message(&[20], &[21]));
        assert!(got == [message(&[10], &[11]), message(&[20], &[21])] || got == [twenty, ten], "{got:?}");
        other.join().expect("writer");
        third.join().expect("writer");
    });
}

/// Two readers: each byte is read once, and on the fast path too.
#[test]
fn loom_two_readers_take_each_byte_once() {
    explore(3, || {
        let room = Room::new();
        let (mut writer, mut one, mut two) = (room.writer(), room.reader(), room.reader());
        writer.plain(&[1, 2, 3]);
        writer.message(&[4], &[]);
        let other = thread::spawn(move || {
            let got = two.take();
            two.lane.retire();
            got
        });
        let mut all = vec![one.take(), one.take()];
        one.lane.retire();
        all.push(other.join().expect("reader"));
        let mut bytes: Vec<u8> = all
            .into_iter()
            .flatten()
            .flat_map(|got| match got {
                Got::Plain(bytes) => bytes,
                Got::Message(control, _) => control,
            })
            .collect();
        bytes.sort();
        assert!(bytes == [1, 2, 3, 4], "{bytes:?}");
    });
}

/// A flush takes a message or leaves it, but never its mark alone.
#[test]
fn loom_a_flush_takes_whole_messages() {
    explore(3, || {
        let room = Room::new();
        let (mut writer, mut reader) = (room.writer(), room.reader());
        let other = thread::spawn(move || {
            writer.message(&[1], &[2]);
            writer.plain(&[3]);
        });
        let (mut lane, _) = reader.lane.hold(&reader.me).expect("hold");
        lane.flush().expect("flush");
        lane.open(true);
        drop(lane);
        other.join().expect("writer");
        let mut left = Vec::new();
        while let Some(got) = reader.take() {
            left.push(got);
        }
        let orders = [vec![message(&[1], &[2]), plain(&[3])], vec![plain(&[3])], vec![]];
        assert!(orders.contains(&left), "{left:?}");
    });
}

/// A writer died between the mark and its bytes. The next one uses the slot again, while the reader may still look at it.
#[test]
fn loom_a_mark_without_bytes_is_forgotten_under_the_reader() {
    explore(2, || {
        let room = Room::new();
        let (mut next, mut reader) = (room.writer(), room.reader());
        Record::write(&room.records[0], 0, MessageHeader::of(Kind::Proto), Some(3), None);
        room.words.tail.0.records.store(1, Ordering::Release);
        let other = thread::spawn(move || {
            next.plain(&[1]);
            next.message(&[2], &[]);
        });
        assert_eq!(reader.take_bytes(2), [plain(&[1]), message(&[2], &[])]);
        other.join().expect("writer");
    });
}

/// The reader announces that it sleeps and looks once more, while the writer publishes and looks whether it sleeps.
#[test]
fn loom_a_publication_is_seen_or_the_sleeper_is() {
    for quick in [false, true] {
        explore(4, move || {
            let room = Room::new();
            let (mut writer, mut reader) = (room.writer(), room.reader());
            writer.plain(&[1]);
            assert_eq!(reader.take(), Some(plain(&[1])));
            let other = thread::spawn(move || {
                if quick {
                    let done = writer.lane.quick(&writer.me, &[2]);
                    assert_ne!(done, Quick::Refused);
                    return done == Quick::Attend;
                }
                // Before the lock is released, whose fence would also suffice.
                let (mut lane, _) = writer.lane.hold(&writer.me).expect("hold");
                lane.append_plain(&[2]).expect("short");
                let asleep = lane.reader_sleeps();
                lane.open(Open::Direct);
                asleep
            });
            room.words.reader.0.sleep.store(1, Ordering::Relaxed);
            Fence.heavy().expect("fence");
            let seen = reader.lane.bytes_there() != 0;
            let woken = other.join().expect("writer");
            assert!(seen || woken);
        });
    }
}

/// The same with the sides changed: the writer waits for room.
#[test]
fn loom_room_is_seen_or_the_waiting_writer_is() {
    for quick in [false, true] {
        explore(4, move || {
            let room = Room::new();
            let (mut writer, mut reader) = (room.writer(), room.reader());
            writer.plain(&[1, 2, 3]);
            writer.plain(&[4]);
            assert!(!writer.lane.hold(&writer.me).expect("hold").0.has_room().expect("has_room"));
            assert_eq!(reader.take(), Some(plain(&[1, 2])));
            let other = thread::spawn(move || {
                if quick {
                    let done = reader.lane.quick(&reader.me, &mut [0; 1]);
                    assert_ne!(done, Quick::Refused);
                    return done == Quick::Attend;
                }
                let (mut lane, _) = reader.lane.hold(&reader.me).expect("hold");
                assert_eq!(lane.take_plain(&mut [0; 1]), 1);
                let asleep = lane.writer_sleeps();
                lane.open(true);
                asleep
            });
            room.words.writer.0.sleep.store(1, Ordering::Relaxed);
            Fence.heavy().expect("fence");
            let seen = writer.lane.may_go_on();
            let woken = other.join().expect("reader");
            assert!(seen || woken);
        });
    }
}
