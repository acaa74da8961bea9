//! From the bytes of a stream's memory to its [`State`]. It reads each word once and follows no link, so no contents can make
//! it loop; a number selects something only after it has been checked.

use std::mem::offset_of;

use headwater_shm::{BiasedLockWords, CachePadded, MEMBERS, MEMBERS_MAX, Member as MemberWords, SeenLock, SeenMember};

use super::copy::{Source, Words};
use super::state::{Band, Direction, Driver, End, Lock, Member, Module, Queue, Side, State};
use crate::flags::{BELL, FUTEX, RINGING, SERVICE, UNMET};
use crate::head::state::{HUNG_UP, LINKED, READ_ERROR, WRITE_ERROR};
use crate::layout::queue_of;
use crate::layout::{
    Band as BandWords, DRIVER, DeviceWords, EndWords, Fixed, Flow, Header, LaneWords, LinkWords, MAGIC, Offsets,
    Plumbing, QueueWords, ReadPosition, Side as SideWords, Slot, StoreWords, Tail, VERSION,
};
use crate::limits::NAME_MAX;
use crate::limits::{LINKS, NSTRPUSH};
use crate::options::head::{ErrorOptions, ReadOptions, WriteOptions};
use crate::policy::Policy;
use crate::process::end::{READS, WRITES};
use crate::process::region::Sizes;
use crate::queue::{flow, store};

/// What a memory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decoded {
    Stream(Box<State>, Cookies),
    /// A stream of another version of the library.
    OtherVersion(u32),
    /// Something else, or a stream that contradicts itself.
    Unreadable(&'static str),
}

/// By which files the descriptors of a stream are known: cookies of sockets, of a FIFO the inode of its pipe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cookies {
    pub ends: [u64; 2],
    pub witness: [u64; 2],
    pub shared_files: [u64; 2],
}

/// Reads a memory.
pub(super) fn decode(source: &dyn Source) -> Decoded {
    let header = offset_of!(Fixed, header);
    let Some(start) = Words::read(source, header, offset_of!(Header, fence)) else {
        return Decoded::Unreadable("it is shorter than a header");
    };
    match (start.double(offset_of!(Header, magic)), start.word(offset_of!(Header, version))) {
        (MAGIC, VERSION) => {}
        (MAGIC, version) => return Decoded::OtherVersion(version),
        (0, _) => return Decoded::Unreadable("its maker has not filled it in yet"),
        _ => return Decoded::Unreadable("it is no stream"),
    }
    let Some(fixed) = Words::read(source, 0, size_of::<Fixed>()) else {
        return Decoded::Unreadable("it is shorter than a stream");
    };
    let at = |field: usize| fixed.word(header + field);
    let sizes = Sizes {
        strmsgsz: at(offset_of!(Header, strmsgsz)),
        strctlsz: at(offset_of!(Header, strctlsz)),
        nstrpush: at(offset_of!(Header, nstrpush)),
        window: fixed.double(header + offset_of!(Header, window)),
        pages: at(offset_of!(Header, pages)),
        instance: fixed.double(header + offset_of!(Header, instance)),
    };
    let Some(offsets) = sizes.offsets().filter(|offsets| offsets.region() as u64 <= source.len()) else {
        return Decoded::Unreadable("its header and its size disagree");
    };
    let Some(policy) = Policy::from_bits(at(offset_of!(Header, policy))) else {
        return Decoded::Unreadable("its policy has bits that this version does not know");
    };
    let mut decoder = Decoder { source, fixed, offsets, contradictions: Vec::new() };
    let (members, slots) = decoder.members();
    let state = State {
        policy,
        strmsgsz: sizes.strmsgsz,
        strctlsz: sizes.strctlsz,
        nstrpush: sizes.nstrpush,
        window: sizes.window,
        ends: [0, 1].map(|end| decoder.end(end)),
        directions: [0, 1].map(|direction| decoder.direction(direction, &slots)),
        driver: decoder.driver(),
        members,
        contradictions: decoder.contradictions.clone(),
    };
    let device = offset_of!(Fixed, device);
    let cookies = Cookies {
        ends: decoder.fixed.doubles(header + offset_of!(Header, cookies)),
        witness: decoder.fixed.doubles(device + offset_of!(DeviceWords, witness)),
        shared_files: decoder.fixed.doubles(device + offset_of!(DeviceWords, shared_files)),
    };
    Decoded::Stream(Box::new(state), cookies)
}

struct Decoder<'a> {
    source: &'a dyn Source,
    fixed: Words,
    offsets: Offsets,
    contradictions: Vec<String>,
}

/// The locks of a lane, as bits of a member's busy word count them: three a direction.
const LOCKS: usize = 3;
/// How often the positions of a lane are read until a reader has not moved in between.
const TRIES: usize = 8;

impl Decoder<'_> {
    fn note(&mut self, contradiction: impl Into<String>) {
        self.contradictions.push(contradiction.into());
    }

    /// The members, and what is known of each slot.
    fn members(&self) -> (Vec<Member>, Vec<Option<SeenMember>>) {
        const SLOT: usize = size_of::<CachePadded<MemberWords>>();
        let first = self.fixed.part(offset_of!(Fixed, members), MEMBERS * SLOT);
        // As many as the memory has, whatever the count of chunks says.
        let chunks = self.fixed.word(offset_of!(Fixed, member_chunks)).min(MEMBERS_MAX.ilog2() - MEMBERS.ilog2());
        let (at, len) = (self.offsets.member_chunks(), ((MEMBERS << chunks) - MEMBERS) * SLOT);
        let is_there = chunks > 0 && (at + len) as u64 <= self.source.len();
        let more = is_there.then(|| Words::read(self.source, at, len)).flatten();
        let more = more.as_ref().map_or(&[][..], |more| more.part(0, len));
        let slots: Vec<_> = first.chunks(SLOT).chain(more.chunks(SLOT)).map(SeenMember::decode).collect();
        let member = |seen: &SeenMember| Member {
            pid: seen.process.pid(),
            is_visible: seen.process.is_visible(),
            has_ended: seen.process.has_ended(),
            end: seen.side,
        };
        (slots.iter().flatten().map(member).collect(), slots)
    }

    fn end(&mut self, end: usize) -> End {
        let base = offset_of!(Fixed, ends) + end * size_of::<CachePadded<EndWords>>();
        let word = |field: usize| self.fixed.word(base + field);
        let state = word(offset_of!(EndWords, state));
        let shut = word(offset_of!(EndWords, shut));
        let error = |bit: u32, field: usize| (state & bit != 0).then(|| word(field));
        let seen = End {
            modules: Vec::new(),
            is_hung_up: state & HUNG_UP != 0,
            read_error: error(READ_ERROR, offset_of!(EndWords, read_error)),
            write_error: error(WRITE_ERROR, offset_of!(EndWords, write_error)),
            is_linked: state & LINKED != 0,
            is_shut_to_write: shut & WRITES != 0,
            is_shut_to_read: shut & READS != 0,
            read_options: ReadOptions::from_word(word(offset_of!(EndWords, read_options))).ok(),
            write_options: WriteOptions::from_bits(word(offset_of!(EndWords, write_options))).ok(),
            error_options: ErrorOptions::from_bits(word(offset_of!(EndWords, error_options))),
            handles: word(offset_of!(EndWords, joined)),
            opens: word(offset_of!(EndWords, opened)),
            closes: word(offset_of!(EndWords, closes)),
            asked: word(offset_of!(EndWords, arms)),
            packets_sent: word(offset_of!(EndWords, sent)),
            packets_taken: word(offset_of!(EndWords, taken)),
            ioctls: word(offset_of!(EndWords, ioctls)),
            ioctl: Some(word(offset_of!(EndWords, ioctl))).filter(|number| *number != 0),
            files_sent: word(offset_of!(EndWords, files)),
            files_received: word(offset_of!(EndWords, files_taken)),
            signals: self.fixed.double(base + offset_of!(EndWords, signals)),
            close_ms: word(offset_of!(EndWords, close_ms)),
        };
        End { modules: self.modules(end), ..seen }
    }

    /// The modules of an end, the one next to the head first.
    fn modules(&mut self, end: usize) -> Vec<Module> {
        let base = offset_of!(Fixed, plumbing) + end * size_of::<Plumbing>();
        let count = self.fixed.word(base + offset_of!(Plumbing, count)) as usize;
        if count > NSTRPUSH {
            self.note(format!("end {end}: {count} modules"));
            return Vec::new();
        }
        let order = self.fixed.part(base + offset_of!(Plumbing, order), count).to_vec();
        let mut modules = Vec::new();
        for slot in order.into_iter().map(usize::from) {
            if slot >= NSTRPUSH {
                self.note(format!("end {end}: a module in slot {slot}"));
                continue;
            }
            let place = offset_of!(Fixed, slots) + (end * NSTRPUSH + slot) * size_of::<Slot>();
            let name = self.name(place);
            let [write, read] = [end, 1 - end].map(|direction| self.queue(direction, queue_of(end, slot)));
            modules.push(Module { name, write, read });
        }
        // As `chain` has them: the first pushed first.
        modules.reverse();
        modules
    }

    fn name(&mut self, slot: usize) -> String {
        let bytes = self.fixed.part(slot + offset_of!(Slot, name), NAME_MAX);
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let printable = |text: &&str| text.chars().all(|character| !character.is_control());
        match std::str::from_utf8(bytes).ok().filter(printable) {
            Some(name) => name.to_owned(),
            None => {
                self.note("the name of a module or driver");
                String::new()
            }
        }
    }

    fn driver(&mut self) -> Option<Driver> {
        let base = offset_of!(Fixed, device);
        let name = self.name(base + offset_of!(DeviceWords, driver));
        if name.is_empty() {
            return None;
        }
        let [write, read] = [0, 1].map(|direction| self.queue(direction, queue_of(1, DRIVER)));
        let word = |field: usize| self.fixed.word(base + field);
        let links = (0..LINKS).map(|link| base + offset_of!(DeviceWords, links) + link * size_of::<LinkWords>());
        let links = links.map(|link| {
            let id = self.fixed.word(link + offset_of!(LinkWords, id));
            (id, self.fixed.double(link + offset_of!(LinkWords, stream)))
        });
        Some(Driver {
            name,
            minor: word(offset_of!(DeviceWords, minor)),
            opens: word(offset_of!(DeviceWords, opens)),
            is_closed: word(offset_of!(DeviceWords, closed)) != 0,
            lock_file: Some(self.fixed.doubles(base + offset_of!(DeviceWords, lock_file)))
                .filter(|file| *file != [0; 2]),
            has_partner: self.fixed.double(base + offset_of!(DeviceWords, partner)) != 0,
            links: links.filter(|(id, _)| *id != 0).collect(),
            write,
            read,
        })
    }

    fn direction(&mut self, direction: usize, slots: &[Option<SeenMember>]) -> Direction {
        let base = offset_of!(Fixed, lanes) + direction * size_of::<LaneWords>();
        let [written, read, messages_written, messages_read] = self.positions(base, direction);
        let word = |field: usize| self.fixed.word(base + field);
        let flow = offset_of!(LaneWords, flow);
        let locks =
            [offset_of!(LaneWords, writer_lock), offset_of!(LaneWords, reader_lock), offset_of!(LaneWords, store_lock)];
        let mut index = 0;
        let locks = locks.map(|field| {
            let lock =
                SeenLock::decode(self.fixed.part(base + field, size_of::<BiasedLockWords>())).unwrap_or_default();
            index += 1;
            lock_of(lock, LOCKS * direction + index - 1, slots)
        });
        let (hiwat, lowat) = (word(flow + offset_of!(Flow, hiwat)), word(flow + offset_of!(Flow, lowat)));
        let mut seen = Direction {
            lane_written: written,
            lane_read: read,
            lane_messages_written: messages_written,
            lane_messages_read: messages_read,
            stored: Queue::default(),
            hiwat,
            lowat,
            maxpsz: word(flow + offset_of!(Flow, maxpsz)),
            minpsz: word(flow + offset_of!(Flow, minpsz)),
            is_full: word(flow + offset_of!(Flow, full)) != 0,
            blocks: 0,
            pages: 0,
            pages_max: self.offsets.pages as u32,
            writer: self.side(base + offset_of!(LaneWords, writer)),
            reader: self.side(base + offset_of!(LaneWords, reader)),
            locks,
        };
        seen.stored = Queue { hiwat, lowat, ..self.queue(direction, store::HEAD) };
        let taken = offset_of!(StoreWords, blocks_taken);
        if let Some(words) = Words::read(self.source, self.offsets.store(direction), taken + 8) {
            seen.blocks = words.word(taken);
            seen.pages = words.word(offset_of!(StoreWords, pages_taken));
        }
        seen
    }

    /// Bytes and messages written to a lane, and read from it: read again while the reader moves, so that they fit together.
    fn positions(&mut self, base: usize, direction: usize) -> [u64; 4] {
        let (tail, head) = (offset_of!(LaneWords, tail), offset_of!(LaneWords, head));
        let len = head + size_of::<ReadPosition>();
        let of = |words: &Words, base: usize| {
            [
                words.double(base + tail + offset_of!(Tail, bytes)),
                words
                    .double(base + head + offset_of!(ReadPosition, bytes))
                    .wrapping_add(words.double(base + head + offset_of!(ReadPosition, early))),
                words.double(base + tail + offset_of!(Tail, records)),
                words.double(base + head + offset_of!(ReadPosition, records)),
            ]
        };
        let mut seen = of(&self.fixed, base);
        for _ in 0..TRIES {
            let Some(words) = Words::read(self.source, base, len) else { break };
            let again = of(&words, 0);
            let is_still = seen[1] == again[1] && seen[3] == again[3];
            seen = again;
            if is_still {
                break;
            }
        }
        let [mut written, read, mut messages_written, messages_read] = seen;
        let (left, messages_left) = (written.wrapping_sub(read), messages_written.wrapping_sub(messages_read));
        // A reader that was faster than all tries looks like one that has read more than was written.
        if left > self.offsets.window_bytes as u64 {
            if left < 1 << 63 {
                self.note(format!("direction {direction}: more bytes than its window has"));
            }
            written = read;
        }
        if messages_left > crate::limits::RECORDS as u64 {
            if messages_left < 1 << 63 {
                self.note(format!("direction {direction}: more messages than a lane has"));
            }
            messages_written = messages_read;
        }
        [written, read, messages_written, messages_read]
    }

    fn side(&self, base: usize) -> Side {
        let flags = self.fixed.word(base + offset_of!(SideWords, sleep));
        Side {
            is_asleep: flags & FUTEX != 0,
            awaits_descriptor: flags & (BELL | RINGING) != 0,
            wanted: self.fixed.word(base + offset_of!(SideWords, wanted)),
            is_unmet: flags & UNMET != 0,
            awaits_service: flags & SERVICE != 0,
        }
    }

    /// A queue of a direction's store.
    fn queue(&mut self, direction: usize, queue: usize) -> Queue {
        let place = self.offsets.store(direction) + offset_of!(StoreWords, queues) + queue * size_of::<QueueWords>();
        let Some(words) = Words::read(self.source, place, size_of::<QueueWords>()) else { return Queue::default() };
        let flags = words.word(offset_of!(QueueWords, flags));
        let messages = words.word(offset_of!(QueueWords, messages));
        let highest = store::highest_band(flags);
        let band = |band: u8| {
            let base = offset_of!(QueueWords, bands) + usize::from(band) * size_of::<BandWords>();
            let flags = words.word(base + offset_of!(BandWords, flags));
            Band {
                band,
                bytes: words.word(base + offset_of!(BandWords, count)),
                is_full: flags & flow::FULL != 0,
                is_wanted: flags & flow::WANTED != 0,
            }
        };
        let is_used = |band: &Band| band.band == 0 || band.bytes > 0 || band.is_full || band.is_wanted;
        let bands: Vec<Band> = (0..=highest).map(band).filter(is_used).collect();
        if messages as usize > crate::limits::BLOCKS {
            self.note(format!("direction {direction}: a queue of {messages} messages"));
        }
        Queue {
            messages,
            bytes: bands.iter().map(|band| u64::from(band.bytes)).sum(),
            messages_put: words.double(offset_of!(QueueWords, messages_put)),
            bytes_put: words.double(offset_of!(QueueWords, bytes_put)),
            hiwat: words.word(offset_of!(QueueWords, hiwat)),
            lowat: words.word(offset_of!(QueueWords, lowat)),
            bands,
            is_enabled: flags & store::ENABLED != 0,
            has_put_back: flags & store::PUT_BACK != 0,
            is_disabled: flags & store::DISABLED != 0,
            wants_memory: flags & store::WANTS_MEMORY != 0,
        }
    }
}

fn lock_of(seen: SeenLock, index: usize, slots: &[Option<SeenMember>]) -> Lock {
    let member = seen.member.and_then(|slot| *slots.get(slot)?);
    let is_inside = seen.is_held || seen.is_biased && member.is_some_and(|member| member.busy >> index & 1 != 0);
    Lock {
        pid: member.map(|member| member.process).filter(|process| process.is_visible()).map(|process| process.pid()),
        is_held: is_inside,
        is_biased: seen.is_biased,
        is_awaited: seen.is_awaited,
        seizures: seen.seizures,
    }
}
