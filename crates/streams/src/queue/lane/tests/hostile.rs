//! Garbage in every word, written by a peer that breaks the protocol: no call panics, hangs, or touches memory outside
//! the window; each succeeds or fails with `EPROTO`.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use headwater_shm::Limit;

use super::*;

/// Longer than all rounds of a test take.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Fails if `body` is not over in time, instead of hanging.
fn watched(body: impl FnOnce() + Send + 'static) {
    let (over, watch) = mpsc::channel();
    let worker = thread::spawn(move || {
        body();
        let _ = over.send(());
    });
    if watch.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("a call loops for ever");
    }
    worker.join().expect("no call panics");
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() >> 11) as usize % count
    }
}

/// The words that are corrupted.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// Positions, water marks and the contents of the marks.
    Lane,
    /// Also locks and members.
    All,
}

/// A lock's state that never makes a live member wait for another live one: that is in
/// `a_lock_that_is_not_given_back_is_waited_for_as_long_as_the_call_may`.
fn lock_lock(random: &mut Random) -> u64 {
    // The members of these tests have the numbers 1 to 4; 5 to 64 are free and 65 up are none.
    let none = 65 + random.below(1 << 20) as u64;
    let holder = [0, 5 + random.below(60) as u64, none.min((1 << 20) - 1)][random.below(3)];
    let victim = random.below(256) as u64;
    let states = [
        0,
        holder,
        BIASED | holder,
        BIASED | (1 + random.below(4) as u64),
        HELD | holder,
        SEIZING | holder | victim << 32,
        BIASED | HELD | holder,
        HELD | SEIZING | 1,
        BIASED | HELD | SEIZING,
        WAITERS,
        u64::MAX,
    ];
    // Notices, and tags.
    let more = (random.next() as u32 & 0xff) as u64;
    states[random.below(states.len())] | [more << 24, more << 52, 0, 0][random.below(4)]
}

/// The states in a lock's word.
const BIASED: u64 = 1 << 20;
const HELD: u64 = 1 << 21;
const SEIZING: u64 = 1 << 22;
const WAITERS: u64 = 1 << 23;

/// Writes garbage into one word.
fn spoil(room: &Room, target: Target, random: &mut Random) {
    let words = room.words();
    let (tail, head) = (&words.tail.0, &words.head.0);
    let words_64 = [&tail.bytes, &tail.records, &head.bytes, &head.records, &head.early];
    let near = words_64[random.below(words_64.len())].load(Ordering::Relaxed);
    let value = match random.below(8) {
        0 => 0,
        1 => u64::MAX - random.below(3) as u64,
        2 => random.next() >> random.below(64),
        3 => 1 << random.below(64),
        4 => near.wrapping_sub(1 + random.below(4) as u64),
        5 => near.wrapping_add(room.sizes.window as u64).wrapping_sub(random.below(3) as u64),
        6 => near.wrapping_sub(room.sizes.window as u64).wrapping_add(random.below(3) as u64),
        _ => near.wrapping_add(random.below(room.sizes.window) as u64),
    };
    let lane = |random: &mut Random| match random.below(3) {
        0 => words_64[random.below(4)].store(value, Ordering::Relaxed),
        1 => {
            let flow = &words.flow.0;
            let words_32 = [&flow.hiwat, &flow.lowat, &flow.full, &words.reader.0.sleep, &words.writer.0.sleep];
            words_32[random.below(5)].store(value as u32, Ordering::Relaxed);
        }
        _ => {
            // The first mark unread, or the last published, or one near them.
            let at = words_64[1 + 2 * random.below(2)].load(Ordering::Relaxed);
            let at = at.wrapping_add(random.below(3) as u64).wrapping_sub(1);
            let record = &room.records()[at as usize % RECORDS];
            let part = random.below(64) as u64 | (random.below(64) as u64) << 32;
            match random.below(6) {
                0 => record.at.store(value, Ordering::Relaxed),
                1 => record.lengths.store(value, Ordering::Relaxed),
                2 => record.lengths.store(part, Ordering::Relaxed),
                3 => record.taken.store(value, Ordering::Relaxed),
                4 => record.taken.store(part, Ordering::Relaxed),
                _ => record.header.store(value, Ordering::Relaxed),
            }
        }
    };
    match (target, random.below(8)) {
        (Target::Lane, _) | (_, 0..4) => lane(random),
        (Target::All, 4 | 5) => {
            let lock = [&words.writer_lock.0, &words.reader_lock.0][random.below(2)];
            // The words of a lock are its own; here they are the first of its line.
            let at = address(room, lock) + 8 * random.below(2);
            let word = room.memory.get::<AtomicU64>(at).expect("inside");
            let is_lock = (at - LANE_AT).is_multiple_of(128);
            word.store(if is_lock { lock_lock(random) } else { value }, Ordering::Relaxed);
        }
        _ => {
            // The process of a live member may be corrupted, but not its busy word: see `lock_lock`.
            let (slot, word) = if random.below(2) == 0 { (random.below(4), 0) } else { (4 + random.below(60), 8) };
            let at = slot * size_of::<CachePadded<Member>>() + word;
            room.memory.get::<AtomicU64>(at).expect("inside").store(value, Ordering::Relaxed);
        }
    }
}

/// The offset of a part in the lane's memory.
fn address<T>(room: &Room, part: &T) -> usize {
    let lane = room.words();
    LANE_AT + (std::ptr::from_ref(part).addr() - std::ptr::from_ref(&*lane).addr())
}

/// Members that do not wait for others.
fn hasty_writer(room: &Room) -> Writer {
    let writer = room.writer();
    writer.me.set_limit(Limit::Now);
    writer
}

fn hasty_reader(room: &Room) -> Reader {
    let reader = room.reader();
    reader.me.set_limit(Limit::Now);
    reader
}

fn fine<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            // An error that another member holds a lock may be true.
            assert!(error.errno() == Errno::Proto || error.is_held(), "{error}");
            None
        }
    }
}

/// A writer and a reader, with `rain` between their calls, which writes garbage.
struct Ends<Rain> {
    writer: Writer,
    reader: Reader,
    random: Random,
    rain: Rain,
    len_max: usize,
    /// A lock could not be taken.
    refused: bool,
}

impl<Rain: FnMut(&mut Random)> Ends<Rain> {
    fn write(&mut self) -> Option<()> {
        let Ends { writer, random, rain, len_max, refused, .. } = self;
        let bytes = vec![7; random.below(*len_max + 1)];
        if random.below(2) == 0 {
            writer.lane.quick(&writer.me, &bytes);
            rain(random);
        }
        let held = writer.hold();
        *refused |= held.is_err();
        let mut lane = fine(held)?;
        let done = write_held(&mut lane, random, rain, &bytes);
        rain(random);
        lane.open(if random.below(4) != 0 { Open::Direct } else { Open::Closed });
        drop(lane);
        writer.lane.may_go_on();
        writer.lane.coalesced();
        writer.lane.reader_sleeps();
        done
    }

    fn read(&mut self) -> Option<()> {
        let Ends { reader: Reader { me, lane }, random, rain, len_max, refused, .. } = self;
        let mut buffer = vec![0; random.below(2 * *len_max)];
        if random.below(2) == 0 {
            lane.quick(me, &mut buffer);
            rain(random);
        }
        let held = lane.hold(me);
        *refused |= held.is_err();
        let (mut held, _) = fine(held)?;
        let done = read_held(&mut held, random, rain, &mut buffer);
        rain(random);
        held.open(random.below(4) != 0);
        drop(held);
        lane.bytes_there();
        lane.is_low();
        lane.writer_sleeps();
        done
    }
}

fn write_held(
    lane: &mut WriterGuard<'_>,
    random: &mut Random,
    rain: &mut impl FnMut(&mut Random),
    bytes: &[u8],
) -> Option<()> {
    rain(random);
    if !fine(lane.has_room())? {
        return None;
    }
    rain(random);
    let (control, data) = bytes.split_at(bytes.len() / 3);
    match random.below(5) {
        0 | 1 => fine(lane.append_plain(bytes)),
        2 => fine(lane.append(MessageHeader::of(Kind::Proto), Some(control), Some(data))),
        3 => fine(lane.append(MessageHeader::of(Kind::Data), None, Some(data))),
        _ => {
            let part = lane.place(&Kept(()), bytes.len());
            assert_eq!(part[0].len() + part[1].len(), bytes.len());
            lane.record(MessageHeader::of(Kind::Proto), Some(bytes.len() as u32), None);
            Some(())
        }
    }
}

fn read_held(
    lane: &mut ReaderGuard<'_>,
    random: &mut Random,
    rain: &mut impl FnMut(&mut Random),
    buffer: &mut [u8],
) -> Option<()> {
    rain(random);
    if random.below(10) == 0 {
        return fine(lane.flush());
    }
    if random.below(4) == 0 {
        fine(lane.look())?;
        rain(random);
    }
    let front = fine(lane.find().and_then(|()| lane.front()))?;
    rain(random);
    match front? {
        LaneFront::Plain(_) => {
            lane.peek_plain(buffer);
            flat(lane.plain_in_place(&Kept(()), buffer.len()));
            if buffer.len().is_multiple_of(3) {
                lane.drop_plain(buffer.len());
            } else {
                lane.take_plain(buffer);
            }
            Some(())
        }
        LaneFront::Record(message) => {
            let control = lane.copy_control(&message, buffer);
            let data = lane.copy_data(&message, buffer);
            flat(lane.data_in_place(&Kept(()), &message));
            let all = random.below(3) == 0;
            fine(lane.take_parts(&message, Some(control), Some(data), all))
        }
    }
}

fn flat(parts: [&[AtomicU8]; 2]) -> u8 {
    parts.into_iter().flatten().fold(0, |sum, byte| sum ^ byte.load(Ordering::Relaxed))
}

/// Rounds on fresh lanes: first some regular work, then garbage between all calls.
fn rounds(seeds: std::ops::Range<u64>, sizes: Sizes, target: Target) {
    watched(move || {
        let (mut wrote, mut read) = (0, 0);
        for seed in seeds {
            let room = Arc::new(Room::new(sizes));
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let (writers, readers) = ([(); 2].map(|()| hasty_writer(&room)), [(); 2].map(|()| hasty_reader(&room)));
            let honest = random.below(20);
            let every = 1 + random.below(12);
            let mut calls = 0;
            let spoilt = Arc::clone(&room);
            let rain = move |random: &mut Random| {
                calls += 1;
                if calls > 6 * honest && random.below(every) == 0 {
                    spoil(&spoilt, target, random);
                }
            };
            let ([writer, mut other_writer], [reader, mut other_reader]) = (writers, readers);
            let mut ends = Ends { writer, reader, random, rain, len_max: sizes.message_max, refused: false };
            for _ in 0..100 {
                // Every further call may fail after 10 ms.
                if ends.refused && matches!(target, Target::All) {
                    break;
                }
                wrote += u32::from(ends.write().is_some());
                read += u32::from(ends.read().is_some());
                if ends.random.below(8) == 0 {
                    std::mem::swap(&mut ends.writer, &mut other_writer);
                }
                if ends.random.below(8) == 0 {
                    std::mem::swap(&mut ends.reader, &mut other_reader);
                }
            }
            assert!(room.guards_stand(), "seed {seed}");
        }
        assert!(wrote > 1000 && read > 1000, "all calls failed: {wrote} wrote, {read} read");
    });
}

#[test]
fn garbage_in_a_small_lane_is_harmless() {
    rounds(1..1500, SMALL, Target::Lane);
}

#[test]
fn garbage_in_a_lane_with_the_quick_way_is_harmless() {
    rounds(1..200, LARGE, Target::Lane);
}

#[test]
fn garbage_in_tokens_and_members_is_harmless() {
    rounds(1..600, SMALL, Target::All);
}

/// Garbage is written also during the calls.
#[test]
fn garbage_that_falls_at_any_time_is_harmless() {
    for sizes in [SMALL, LARGE] {
        watched(move || {
            // A corrupt lane stays so: many short rounds find more than few long ones.
            for seed in 1..=250u64 {
                let room = Arc::new(Room::new(sizes));
                let over = AtomicBool::new(false);
                let (writer, reader) = (hasty_writer(&room), hasty_reader(&room));
                let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
                let mut ends = Ends {
                    writer,
                    reader,
                    random,
                    rain: |_: &mut Random| {},
                    len_max: sizes.message_max,
                    refused: false,
                };
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let mut random = Random(seed);
                        while !over.load(Ordering::Relaxed) {
                            (0..random.below(20_000)).for_each(|_| std::hint::spin_loop());
                            spoil(&room, Target::Lane, &mut random);
                        }
                    });
                    let end = Instant::now() + Duration::from_millis(2);
                    while Instant::now() < end {
                        ends.write();
                        ends.read();
                    }
                    over.store(true, Ordering::Relaxed);
                });
                assert!(room.guards_stand());
            }
        });
    }
}

/// The number of a live member that does not hold the lock.
#[test]
fn a_lock_that_is_not_given_back_is_waited_for_as_long_as_the_call_may() {
    watched(|| {
        let room = Room::new(SMALL);
        let (mut writer, reader) = (hasty_writer(&room), room.reader());
        let lock = room.memory.get::<AtomicU64>(address(&room, &room.words().writer_lock.0)).expect("inside");
        lock.store(HELD | 2, Ordering::Relaxed);
        assert_eq!(writer.hold().expect_err("not given back").errno(), Errno::Again);
        writer.me.set_limit(Limit::Until(headwater_os::clock::now_ns() + 20_000_000));
        assert_eq!(writer.hold().expect_err("not given back").errno(), Errno::Time);
        // Or biased to one that is busy all the time.
        writer.me.set_limit(Limit::Now);
        let busy = size_of::<CachePadded<Member>>() + 24;
        room.memory.get::<AtomicU32>(busy).expect("inside").store(u32::MAX, Ordering::Relaxed);
        lock.store(BIASED | 2, Ordering::Relaxed);
        assert_eq!(writer.hold().expect_err("not given back").errno(), Errno::Again);
        // A member that has left does not hold it.
        drop(reader);
        writer.hold().expect("free");
    });
}

/// A corrupt word stays an error as long as it stands, and a waiter that relies on the same words does not spin.
#[test]
fn what_is_corrupt_is_noticed_by_both_sides() {
    type Spoil = fn(&LaneWords);
    let spoilt: [(Spoil, bool, bool); 8] = [
        (|words| words.tail.0.bytes.store(8 + 65, Ordering::Relaxed), true, true),
        (|words| words.tail.0.bytes.store(7, Ordering::Relaxed), true, true),
        (|words| words.tail.0.records.store(1 << 40, Ordering::Relaxed), true, true),
        (|words| words.head.0.bytes.store(7, Ordering::Relaxed), false, true),
        (|words| words.head.0.bytes.store(1 << 40, Ordering::Relaxed), true, true),
        (|words| words.head.0.bytes.store(u64::MAX, Ordering::Relaxed), true, true),
        (|words| words.head.0.records.store(1, Ordering::Relaxed), false, true),
        (|words| words.head.0.records.store(1 << 40, Ordering::Relaxed), false, true),
    ];
    for (at, (spoil, writer_sees, reader_sees)) in spoilt.into_iter().enumerate() {
        let room = Room::new(Sizes { hiwat: 20, ..SMALL });
        let (mut writer, mut reader) = (room.writer(), room.reader());
        writer.plain(&[0; 18]);
        writer.plain(&[0; 18]);
        assert_eq!(reader.plain(8).len(), 8);
        assert!(reader.front().is_some());
        spoil(&room.words());
        for _ in 0..2 {
            let found = writer.held(|lane| lane.has_room());
            assert_eq!(found.is_err_and(|error| error.errno() == Errno::Proto), writer_sees, "writer, {at}");
            let found = reader.held(|lane| lane.look());
            assert_eq!(found.is_err_and(|error| error.errno() == Errno::Proto), reader_sees, "reader, {at}");
        }
    }
}
