use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use headwater_os::fence::Fence;
use headwater_os::memory::SharedMemory;
use headwater_shm::{CachePadded, MEMBERS, Member, Members, Membership, Placed, Window};

use super::reader::{LaneFront, LaneReader, ReaderGuard};
use super::writer::{LaneWriter, Open, Quick, WriterGuard};
use super::{Kept, Record};
use crate::error::{Errno, Result};
use crate::layout::{LaneWords, RecordHeader};
use crate::limits::{CUT_MAX, PIECE, RECORDS};
use crate::message::kind::{Kind, MessageHeader};

mod hostile;
mod model;

/// Sizes of a lane, bytes.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    window: usize,
    message_max: usize,
    hiwat: u32,
    lowat: u32,
}

const SMALL: Sizes = Sizes { window: 64, message_max: 24, hiwat: 40, lowat: 20 };
/// The fast path is open.
const LARGE: Sizes = Sizes { window: 32 << 10, message_max: PIECE, hiwat: 20_000, lowat: 10_000 };

/// Memory with a table of members and one lane in it.
struct Room {
    memory: Arc<SharedMemory>,
    sizes: Sizes,
}

const LANE_AT: usize = MEMBERS * size_of::<CachePadded<Member>>();
const MARKS_AT: usize = LANE_AT + size_of::<LaneWords>();
/// Bytes before and behind the window, which no call may touch.
const GUARD: usize = 4096;
const WINDOW_AT: usize = MARKS_AT + RECORDS * size_of::<RecordHeader>() + GUARD;

impl Room {
    fn new(sizes: Sizes) -> Room {
        let memory = Arc::new(SharedMemory::create("lane-test", WINDOW_AT + sizes.window + GUARD).expect("memory"));
        let room = Room { memory, sizes };
        let words = room.words();
        words.flow.0.hiwat.store(sizes.hiwat, Ordering::Relaxed);
        words.flow.0.lowat.store(sizes.lowat, Ordering::Relaxed);
        words.flow.0.maxpsz.store(sizes.message_max as u32, Ordering::Relaxed);
        room
    }

    fn words(&self) -> Placed<LaneWords> {
        Placed::at(&self.memory, LANE_AT).expect("inside")
    }

    fn records(&self) -> Placed<[RecordHeader]> {
        Placed::slice_at(&self.memory, MARKS_AT, RECORDS).expect("inside")
    }

    fn window(&self) -> Window {
        Window::at(&self.memory, WINDOW_AT, self.sizes.window).expect("inside")
    }

    fn join(&self) -> Membership {
        let table = Members::fixed(Placed::slice_at(&self.memory, 0, MEMBERS).expect("inside"));
        let words = self.words();
        Membership::join(&table, Fence::best(), &[&words.writer_lock.0, &words.reader_lock.0]).expect("a slot")
    }

    fn writer(&self) -> Writer {
        let (me, fence) = (self.join(), Fence::best());
        let message_max = self.sizes.message_max as u64;
        let lane = LaneWriter::new(self.words(), self.records(), self.window(), message_max, fence, 0);
        Writer { me, lane, coalescing: true }
    }

    fn reader(&self) -> Reader {
        let (me, fence) = (self.join(), Fence::best());
        Reader { me, lane: LaneReader::new(self.words(), self.records(), self.window(), fence, 1) }
    }

    /// Publishes a mark without its bytes, as a writer that dies between the two.
    fn publish_mark_alone(&self, len: u32) {
        let words = self.words();
        let (at, records) = (words.tail.0.bytes.load(Ordering::Relaxed), words.tail.0.records.load(Ordering::Relaxed));
        let slot = &self.records()[records as usize % RECORDS];
        Record::write(slot, at, MessageHeader::of(Kind::Proto), Some(len), None);
        words.tail.0.records.store(records + 1, Ordering::Relaxed);
    }

    /// Whether the bytes around the window are unchanged.
    fn guards_stand(&self) -> bool {
        let untouched = |at: usize| (at..at + GUARD).all(|at| byte(&self.memory, at) == 0);
        untouched(WINDOW_AT - GUARD) && untouched(WINDOW_AT + self.sizes.window)
    }
}

fn byte(memory: &SharedMemory, at: usize) -> u8 {
    memory.get::<AtomicU8>(at).expect("inside").load(Ordering::Relaxed)
}

struct Writer {
    me: Membership,
    lane: LaneWriter,
    coalescing: bool,
}

impl Writer {
    fn hold(&mut self) -> Result<WriterGuard<'_>> {
        let (mut lane, _) = self.lane.hold(&self.me)?;
        lane.set_flow(self.coalescing);
        Ok(lane)
    }

    /// Calls `act` under the lock, and opens the fast path.
    fn held<T>(&mut self, act: impl FnOnce(&mut WriterGuard<'_>) -> Result<T>) -> Result<T> {
        let mut lane = self.hold()?;
        let done = act(&mut lane);
        lane.open(Open::Direct);
        done
    }

    fn has_room(&mut self) -> bool {
        self.held(|lane| lane.has_room()).expect("has_room")
    }

    fn plain(&mut self, bytes: &[u8]) {
        self.held(|lane| lane.append_plain(bytes)).expect("append_plain");
    }

    fn message(&mut self, kind: Kind, control: Option<&[u8]>, data: Option<&[u8]>) {
        self.held(|lane| lane.append(MessageHeader::of(kind), control, data)).expect("append");
    }
}

struct Reader {
    me: Membership,
    lane: LaneReader,
}

impl Reader {
    fn held<T>(&mut self, act: impl FnOnce(&mut ReaderGuard<'_>) -> Result<T>) -> Result<T> {
        let (mut lane, _) = self.lane.hold(&self.me)?;
        let done = act(&mut lane);
        lane.open(true);
        done
    }

    fn front(&mut self) -> Option<LaneFront> {
        self.held(|lane| lane.find().and_then(|()| lane.front())).expect("front")
    }

    /// Takes the message at the front whole.
    fn message(&mut self) -> (Kind, Option<Vec<u8>>, Option<Vec<u8>>) {
        let Some(LaneFront::Record(message)) = self.front() else { panic!("no message at the front") };
        self.held(|lane| {
            let mut control = message.control.map(|part| vec![0; part.left()]);
            let mut data = message.data.map(|part| vec![0; part.left()]);
            lane.copy_control(&message, control.as_deref_mut().unwrap_or_default());
            lane.copy_data(&message, data.as_deref_mut().unwrap_or_default());
            lane.take_parts(&message, None, None, true)?;
            Ok((message.header.kind, control, data))
        })
        .expect("take_parts")
    }

    fn plain(&mut self, most: usize) -> Vec<u8> {
        let mut buffer = vec![0; most];
        let Some(LaneFront::Plain(_)) = self.front() else { panic!("no plain data at the front") };
        let taken = self.held(|lane| Ok(lane.take_plain(&mut buffer))).expect("hold");
        buffer.truncate(taken);
        buffer
    }
}

#[test]
fn messages_keep_their_boundaries_and_plain_data_flows_between_them() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    assert!(reader.front().is_none());
    writer.plain(b"ab");
    writer.plain(b"cd");
    writer.message(Kind::Proto, Some(b"control"), Some(b"data"));
    writer.message(Kind::Data, None, Some(b""));
    writer.plain(b"ef");
    assert_eq!(reader.plain(9), b"abcd");
    assert_eq!(reader.message(), (Kind::Proto, Some(b"control".to_vec()), Some(b"data".to_vec())));
    assert_eq!(reader.message(), (Kind::Data, None, Some(Vec::new())));
    assert_eq!(reader.plain(9), b"ef");
    assert!(reader.front().is_none());
}

#[test]
fn without_coalescing_each_write_is_a_message() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.coalescing = false;
    writer.plain(b"ab");
    writer.plain(b"cd");
    assert_eq!(writer.lane.quick(&writer.me, b"ef"), Quick::Refused);
    assert_eq!(reader.message(), (Kind::Data, None, Some(b"ab".to_vec())));
    assert_eq!(reader.message(), (Kind::Data, None, Some(b"cd".to_vec())));
    assert_eq!(writer.lane.coalesced(), 0);
}

#[test]
fn full_strictly_above_hiwat_and_open_again_below_lowat() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.plain(&[0; 20]);
    writer.plain(&[0; 20]);
    assert!(writer.has_room(), "40 bytes are not above hiwat");
    writer.plain(&[0; 1]);
    assert!(!writer.has_room());
    assert_eq!(reader.plain(21).len(), 21);
    assert!(!writer.has_room() && !writer.lane.may_go_on() && !reader.lane.is_low(), "20 bytes are not below lowat");
    assert_eq!(reader.plain(1).len(), 1);
    assert!(writer.lane.may_go_on() && reader.lane.is_low() && writer.has_room());
    // And closed again not at lowat, but above hiwat.
    writer.plain(&[0; 21]);
    assert!(writer.has_room());
}

#[test]
fn a_lowat_of_zero_opens_an_empty_queue() {
    let room = Room::new(Sizes { lowat: 0, ..SMALL });
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.plain(&[0; 24]);
    writer.plain(&[0; 17]);
    assert!(!writer.has_room());
    assert_eq!(reader.plain(40).len(), 40);
    assert!(!writer.has_room() && !writer.lane.may_go_on());
    assert_eq!(reader.plain(1).len(), 1);
    assert!(writer.lane.may_go_on() && writer.has_room());
}

/// A writer that waits for [`LaneWriter::may_go_on`] must not be told to continue again and again while there is no
/// room.
#[test]
fn who_may_go_on_has_room() {
    for lowat in [0, 20, 39, 40, 41, 1000, u32::MAX] {
        for hiwat in [0, 1, 40, 1000, u32::MAX] {
            let room = Room::new(Sizes { hiwat, lowat, ..SMALL });
            let (mut writer, mut reader) = (room.writer(), room.reader());
            while writer.has_room() {
                writer.plain(&[0; 3]);
            }
            loop {
                assert!(!writer.lane.may_go_on(), "hiwat {hiwat} lowat {lowat}");
                assert_eq!(reader.plain(1).len(), 1);
                let (may, is_low) = (writer.lane.may_go_on(), reader.lane.is_low());
                assert!(is_low || !may, "hiwat {hiwat} lowat {lowat}: nobody would wake the writer");
                if writer.has_room() {
                    assert!(may, "hiwat {hiwat} lowat {lowat}");
                    break;
                }
            }
        }
    }
}

#[test]
fn without_marks_for_another_call_the_queue_is_full() {
    let room = Room::new(LARGE);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    for _ in 0..=RECORDS - CUT_MAX {
        assert!(writer.has_room());
        writer.message(Kind::Proto, Some(b"c"), None);
    }
    assert!(!writer.has_room() && !writer.lane.may_go_on());
    assert_eq!(reader.message().0, Kind::Proto);
    assert!(writer.has_room() && writer.lane.may_go_on());
    // As many as one call sends.
    for _ in 0..CUT_MAX {
        writer.message(Kind::Proto, Some(b"c"), None);
    }
    let error =
        writer.held(|lane| lane.append(MessageHeader::of(Kind::Proto), Some(b"no"), None)).expect_err("no mark left");
    assert_eq!(error.errno(), Errno::Nosr);
    assert_eq!(reader.message().0, Kind::Proto);
    writer.message(Kind::Proto, Some(b"last"), None);
    for _ in 1..RECORDS {
        assert_eq!(reader.message().1.as_deref(), Some(&b"c"[..]));
    }
    assert_eq!(reader.message().1.as_deref(), Some(&b"last"[..]));
    assert!(reader.front().is_none());
}

#[test]
fn the_quick_way_carries_plain_data_and_keeps_to_hiwat() {
    if !Fence::best().is_asymmetric() {
        return;
    }
    let room = Room::new(LARGE);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.plain(&[1; 10]);
    assert_eq!(writer.lane.quick(&writer.me, &[]), Quick::Refused);
    assert_eq!(writer.lane.quick(&writer.me, &[2; PIECE + 1]), Quick::Refused);
    assert_eq!(writer.lane.quick(&writer.me, &[2; PIECE]), Quick::Done);
    while writer.lane.quick(&writer.me, &[3; 100]) == Quick::Done {}
    // Sometimes it reads the reader's position.
    while writer.has_room() {
        writer.plain(&[3; 100]);
        while writer.lane.quick(&writer.me, &[3; 100]) == Quick::Done {}
    }
    let count = u64::from(LARGE.hiwat) + 100;
    assert!((count - 99..=count).contains(&reader.lane.bytes_there()), "{}", reader.lane.bytes_there());
    assert!(!writer.has_room());

    let mut buffer = [0; 10];
    assert_eq!(reader.lane.quick(&reader.me, &mut buffer), Quick::Refused);
    assert_eq!(reader.plain(10), [1; 10]);
    assert_eq!(reader.lane.quick(&reader.me, &mut buffer), Quick::Done);
    assert_eq!(buffer, [2; 10]);
    assert_eq!(reader.lane.quick(&reader.me, &mut []), Quick::Refused);
    room.words().writer.0.sleep.store(1, Ordering::Relaxed);
    assert_eq!(reader.lane.quick(&reader.me, &mut buffer), Quick::Attend);
}

#[test]
fn the_quick_way_is_open_at_hiwat_and_closed_above() {
    if !Fence::best().is_asymmetric() {
        return;
    }
    let room = Room::new(LARGE);
    let mut writer = room.writer();
    for len in [8000, 8000, 3999, 1] {
        assert!(writer.has_room());
        writer.plain(&vec![0; len]);
    }
    assert_eq!(writer.lane.quick(&writer.me, &[0]), Quick::Done);
    assert_eq!(writer.lane.quick(&writer.me, &[0]), Quick::Refused);
}

#[test]
fn an_empty_lane_begins_at_the_beginning_of_its_window() {
    let room = Room::new(LARGE);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    let origin = || room.words().tail.0.origin.load(Ordering::Relaxed);
    let mut passed = 0;
    for round in 0..200 {
        let bytes = vec![round as u8; 1000];
        assert!(writer.has_room());
        writer.plain(&bytes);
        passed += 1000;
        assert_eq!(reader.plain(1000), bytes);
        writer.lane.distrust_reader();
        assert!(passed - origin() <= (4 << 10) + 1000, "{passed} bytes have passed, and it begins at {}", origin());
    }
    // While the lane is not empty its origin stays. All of the window is used.
    let mut began = origin();
    let mut unread = VecDeque::new();
    for round in 0..200u32 {
        let bytes = round.to_le_bytes().repeat(250);
        assert!(writer.has_room());
        writer.plain(&bytes);
        unread.push_back(bytes);
        if round < 2 {
            began = origin();
        } else {
            assert_eq!(Some(reader.plain(1000)), unread.pop_front());
        }
        assert_eq!(origin(), began);
    }
    // Another writer and another reader know it.
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.message(Kind::Proto, Some(b"control"), Some(b"data"));
    for bytes in unread {
        assert_eq!(reader.plain(1000), bytes);
    }
    assert_eq!(reader.message().1.as_deref(), Some(&b"control"[..]));
    assert!(room.guards_stand());
}

/// The room behind hiwat is one message long, and the fast path writes every short message.
#[test]
fn the_quick_way_takes_nothing_longer_than_maxpsz() {
    let room = Room::new(SMALL);
    let mut writer = room.writer();
    writer.plain(&[1; 10]);
    assert_eq!(writer.lane.quick(&writer.me, &[2; 65]), Quick::Refused);
    assert_eq!(writer.lane.quick(&writer.me, &[2; 25]), Quick::Refused);
    assert_ne!(writer.lane.quick(&writer.me, &[2; 24]), Quick::Refused);
    assert!(room.guards_stand());
}

#[test]
fn coalesced_bytes_are_those_that_joined_others() {
    let room = Room::new(LARGE);
    let (mut writer, mut other) = (room.writer(), room.writer());
    writer.plain(b"");
    writer.plain(b"abc");
    assert_eq!(writer.lane.coalesced(), 0);
    writer.plain(b"de");
    assert_eq!(writer.lane.coalesced(), 2);
    writer.message(Kind::Proto, Some(b"x"), Some(b"yz"));
    other.plain(b"1234");
    other.plain(b"5");
    writer.plain(b"f");
    assert_eq!((writer.lane.coalesced(), other.lane.coalesced()), (2, 1));
    writer.plain(b"gh");
    assert_eq!(writer.lane.coalesced(), 4);
    writer.message(Kind::Proto, None, Some(b""));
    writer.plain(b"ij");
    assert_eq!(writer.lane.coalesced(), 4);
}

#[test]
fn a_message_longer_than_the_stream_allows_is_refused_and_leaves_nothing() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    for (control, data) in [(0, 25), (25, 0), (20, 5)] {
        let (control, data) = (vec![0; control], vec![0; data]);
        let refused = writer.held(|lane| lane.append(MessageHeader::of(Kind::Proto), Some(&control), Some(&data)));
        assert_eq!(refused.expect_err("too long").errno(), Errno::Range);
    }
    assert_eq!(writer.held(|lane| lane.append_plain(&[0; 25])).expect_err("too long").errno(), Errno::Range);
    assert!(reader.front().is_none());
}

#[test]
fn a_reader_that_died_between_its_stores_loses_no_byte_and_repeats_none() {
    // Between what it noted in the mark and its position.
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.message(Kind::Proto, Some(b"control"), Some(b"data"));
    writer.plain(b"end");
    assert!(reader.front().is_some());
    room.records()[0].taken.store(7 | 3 << 32, Ordering::Relaxed);
    let mut next = room.reader();
    assert_eq!(next.message(), (Kind::Proto, Some(Vec::new()), Some(b"a".to_vec())));
    assert_eq!(room.words().head.0.bytes.load(Ordering::Relaxed), 11);
    assert_eq!(next.plain(9), b"end");

    // Between its position and the number of marks.
    writer.message(Kind::Proto, Some(b"gone"), None);
    writer.message(Kind::Proto, Some(b"next"), None);
    assert!(next.front().is_some());
    room.words().head.0.bytes.store(18, Ordering::Relaxed);
    let mut last = room.reader();
    assert_eq!(last.message().1.as_deref(), Some(&b"next"[..]));
    assert!(last.front().is_none());
    assert_eq!(room.words().head.0.records.load(Ordering::Relaxed), 3);
}

#[test]
fn a_mark_whose_bytes_never_came_is_forgotten() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.plain(b"before");
    room.publish_mark_alone(4);
    assert_eq!(reader.plain(9), b"before");
    assert!(reader.front().is_none());
    let mut next = room.writer();
    next.plain(b"after");
    assert_eq!(reader.plain(9), b"after");
    next.message(Kind::Proto, Some(b"whole"), None);
    assert_eq!(reader.message().1.as_deref(), Some(&b"whole"[..]));
}

/// A flush may fall between the writer's two stores. The mark belongs to bytes that it does not take.
#[test]
fn a_flush_leaves_a_mark_whose_bytes_are_still_to_come() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    writer.plain(b"gone");
    writer.message(Kind::Data, None, Some(b"gone too"));
    writer.plain(b"and this");
    let before = reader.lane.bytes_there();
    room.publish_mark_alone(4);
    reader.held(|lane| lane.flush()).expect("flush");
    assert!(reader.front().is_none());
    room.window().copy_in(before, b"late");
    room.words().tail.0.bytes.store(before + 4, Ordering::Release);
    assert_eq!(reader.message(), (Kind::Proto, Some(b"late".to_vec()), None));
}

#[test]
fn what_died_while_it_flushed_is_not_read_as_something_else() {
    let room = Room::new(SMALL);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    for text in [b"one", b"two"] {
        writer.message(Kind::Proto, Some(text), None);
    }
    assert!(reader.front().is_some());
    // All bytes are released, and no mark.
    room.words().head.0.bytes.store(6, Ordering::Relaxed);
    let mut next = room.reader();
    assert!(next.front().is_none());
    writer.plain(b"plain");
    assert_eq!(next.plain(9), b"plain");
}

/// Positions may wrap around.
#[test]
fn positions_wrap() {
    let room = Room::new(SMALL);
    let (words, start) = (room.words(), u64::MAX - 20);
    words.tail.0.bytes.store(start, Ordering::Relaxed);
    words.tail.0.records.store(u64::MAX, Ordering::Relaxed);
    words.head.0.bytes.store(start, Ordering::Relaxed);
    words.head.0.records.store(u64::MAX, Ordering::Relaxed);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    for round in 0..10u8 {
        writer.plain(&[round; 5]);
        writer.message(Kind::Proto, Some(&[round; 3]), Some(&[round; 4]));
        assert_eq!(reader.plain(9), [round; 5]);
        assert_eq!(reader.message(), (Kind::Proto, Some(vec![round; 3]), Some(vec![round; 4])));
    }
}

#[test]
fn the_quick_way_stays_closed_if_something_else_comes_first() {
    let room = Room::new(LARGE);
    let (mut writer, mut reader) = (room.writer(), room.reader());
    // The lock is then biased to the reader.
    assert!(reader.front().is_none());
    writer.plain(b"bytes");
    let mut buffer = [0; 5];
    assert_eq!(reader.lane.look_and_take(&reader.me, &mut buffer, || false).expect("sound"), Quick::Refused);
    assert_eq!(reader.lane.known(), 5, "it was asked after the look");
    assert_eq!(reader.lane.quick(&reader.me, &mut buffer), Quick::Refused);
    assert_eq!(reader.lane.look_and_take(&reader.me, &mut buffer, || true).expect("sound"), Quick::Done);
    assert_eq!(&buffer, b"bytes");
}
