//! Converts the kernel's pages to packets of records. For each CPU, the records and the losses together are the number
//! of events that the kernel reports.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::capture::{Capture, Pages};
use super::page::{Layout, Missed, Page};
use super::plan::Plan;
use super::stacks::{Stacks, Waiting};
use super::stats::Stats;
use crate::ctf::{self, Writer};
use crate::schema::EventKind;

/// A packet ends at the first page with which it has this many bytes.
const PACKET_BYTES: usize = 64 << 10;

/// Consecutive records of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The CPU.
    pub ring: u32,
    /// Time of the first record; without records, the end of the previous packet.
    pub begin: u64,
    /// Time of the last record.
    pub end: u64,
    /// Events of this CPU that were lost before `end`, since the session began. Never decreases.
    pub discarded: u64,
    /// The records in the form of [`crate::record`]. May be empty, to report losses after the last record.
    pub records: &'a [u8],
    /// Event types that are not in [`Capture::stream`] and that no earlier packet had: those of system calls.
    pub kinds: &'a [&'a EventKind],
}

/// The totals for the events of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The CPU.
    pub cpu: u32,
    /// Records in packets.
    pub records: u64,
    /// Events that are not in packets, by cause.
    pub lost: Loss,
    /// Time stamps that went backwards and were replaced by the previous one.
    pub backward: u64,
}

/// Events that are not in the trace, by cause. Each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// Overwritten by later events.
    pub overwritten: u64,
    /// Discarded because the buffer was full.
    pub discarded: u64,
    /// Discarded in an interrupt that had interrupted another writer.
    pub nested: u64,
    /// Recorded, but missing or unreadable in the file.
    pub unsaved: u64,
    /// Of an event type that was not requested.
    pub unknown: u64,
    /// Older than requested.
    pub older: u64,
}

impl Loss {
    /// Returns their sum.
    pub fn all(&self) -> u64 {
        [self.overwritten, self.discarded, self.nested, self.unsaved, self.unknown, self.older]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl Capture {
    /// Passes the records of one CPU after the other to `sink`, in the order of time within a CPU. Returns the totals
    /// for each CPU, ascending.
    ///
    /// # Errors
    /// Errors of reading the pages, and those of `sink`.
    pub fn convert(&mut self, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<Vec<Totals>> {
        let plans: HashMap<u16, &Plan> = self.kinds.iter().map(|(kind, plan)| (kind.id, plan)).collect();
        let layout = self.layout;
        let mut seen = HashSet::new();
        let mut shared = Shared { plans: &plans, seen: &mut seen, stacks: &mut self.stacks };
        self.cpus.iter().map(|pages| one_cpu(pages, &layout, &mut shared, sink)).collect()
    }
}

impl Capture {
    /// Writes the records into stream `stream` of a trace whose schema has [`Capture::stream`] there, with a ring for
    /// each CPU.
    ///
    /// # Errors
    /// As [`Capture::convert`], and those of [`Writer::packet`].
    pub fn write(&mut self, writer: &mut Writer, stream: usize) -> io::Result<Vec<Totals>> {
        let mut positions = HashMap::<u32, u64>::new();
        self.convert(&mut |packet| {
            let Packet { ring, begin, end, discarded, records, kinds } = packet;
            writer.add_events(stream, kinds.iter().map(|kind| (*kind).clone())).map_err(io::Error::other)?;
            let position = positions.entry(ring).or_default();
            *position += records.len() as u64;
            let (position, parts) = (*position, &[records][..]);
            let packet = ctf::Packet { stream, ring, cpu: ring, begin, end, discarded, position, parts };
            writer.packet(packet).map(drop).map_err(io::Error::other)
        })
    }
}

/// What the conversions of all CPUs use, one after the other.
struct Shared<'s, 'a> {
    plans: &'s HashMap<u16, &'a Plan>,
    /// The ids of system calls' types that any packet had.
    seen: &'s mut HashSet<u16>,
    stacks: &'s mut Stacks,
}

fn one_cpu<'a>(
    pages: &Pages,
    layout: &Layout,
    shared: &mut Shared<'_, 'a>,
    sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>,
) -> io::Result<Totals> {
    let counts = pages.counts();
    let total = counts.map(|stats| stats.overwritten);
    let mut overwritten = Overwritten::read(pages, layout, total)?;
    let mut file = pages.reader()?;
    let mut bytes = vec![0; layout.page_bytes()];
    let mut builder = PacketBuilder::new(pages.cpu);
    let mut position = pages.begin.bytes;
    let lost_before = pages.begin.stats.discarded.saturating_add(pages.begin.stats.nested);
    let mut marks = pages.marks.iter().peekable();
    let mut unseen = 0;
    while whole(&mut file, &mut bytes)? {
        let Some(page) = Page::new(&bytes, layout) else { break };
        overwritten.add(pages.missed(&page, position));
        // Losses before a mark occurred before the pages that were copied after it.
        while let Some(mark) = marks.next_if(|mark| mark.bytes <= position) {
            unseen = mark.lost.saturating_sub(lost_before);
        }
        let lost = overwritten.so_far.saturating_add(unseen).min(counts.map_or(u64::MAX, |stats| stats.lost()));
        builder.lost(lost.saturating_add(builder.older), sink)?;
        if position < pages.range.start {
            builder.older += page.events().count() as u64;
        } else {
            builder.page(&page, shared);
        }
        // The stack of a page's last event is in the next one.
        let collected = builder.records.len();
        let is_ready = builder.waiting.is_settled(collected) || collected >= 4 * PACKET_BYTES;
        if collected >= PACKET_BYTES && is_ready {
            builder.flush(sink)?;
        }
        position += bytes.len() as u64;
    }
    builder.flush(sink)?;
    let totals = builder.totals(pages, overwritten.so_far);
    builder.discarded = builder.discarded.max(totals.lost.all());
    if builder.discarded > builder.reported {
        builder.packet(sink)?;
    }
    Ok(totals)
}

/// The overwritten events that the flags of pages report. A full page has no room for the count, and reports only that
/// there were some. The kernel's total tells how many these pages have together.
struct Overwritten {
    so_far: u64,
    /// Remaining pages without a count, and the sum of their losses.
    uncounted: (u64, u64),
    most: u64,
}

impl Overwritten {
    /// Reads the flags of all pages. `total` is the kernel's total; without it, a page without a count is taken to
    /// report one event.
    fn read(pages: &Pages, layout: &Layout, total: Option<u64>) -> io::Result<Overwritten> {
        let (mut without, mut counted) = (0, 0u64);
        if total != Some(0) {
            let mut bytes = vec![0; layout.page_bytes()];
            let (mut file, mut position) = (pages.reader()?, pages.begin.bytes);
            while whole(&mut file, &mut bytes)? {
                let missed = Page::new(&bytes, layout).map(|page| pages.missed(&page, position));
                position += bytes.len() as u64;
                match missed {
                    Some(Missed::Some) => without += 1,
                    Some(Missed::Counted(count)) => counted = counted.saturating_add(count),
                    _ => {}
                }
            }
        }
        let all = total.unwrap_or(counted.saturating_add(without));
        Ok(Overwritten { so_far: 0, uncounted: (without, all.saturating_sub(counted)), most: all })
    }

    fn add(&mut self, missed: Missed) {
        let count = match missed {
            Missed::Nothing => 0,
            Missed::Counted(count) => count,
            Missed::Some => {
                let (pages, events) = &mut self.uncounted;
                // At least one event per page; the last such page gets the rest.
                let count = if *pages == 1 { *events } else { 1.min(*events) };
                (*pages, *events) = (pages.saturating_sub(1), *events - count);
                count
            }
        };
        self.so_far = self.so_far.saturating_add(count).min(self.most);
    }
}

impl Pages {
    /// Returns a reader from the beginning of the part to its end, or to the end of what counts.
    fn reader(&self) -> io::Result<impl Read> {
        let mut file = &self.store.file;
        let end = self.end.map_or(self.range.end, |end| end.bytes);
        file.seek(SeekFrom::Start(self.begin.bytes))?;
        Ok(BufReader::with_capacity(1 << 20, file).take(end.saturating_sub(self.begin.bytes)))
    }

    /// Returns what was lost before a page of the part. The part before may have counted what was lost before the first;
    /// only the kernel's counts tell.
    fn missed(&self, page: &Page<'_>, position: u64) -> Missed {
        let is_unclear = position > 0 && position == self.begin.bytes && self.counts().is_none();
        if is_unclear { Missed::Nothing } else { page.missed }
    }
}

/// Reads exactly `bytes.len()` bytes. Returns false at the end of the file; an incomplete page at the end is ignored.
fn whole(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Collects the records of one CPU and makes packets of them.
struct PacketBuilder<'a> {
    cpu: u32,
    /// Events of this packet without their stacks so far.
    waiting: Waiting,
    /// The types of system calls that this packet is the first to have.
    kinds: Vec<&'a EventKind>,
    records: Vec<u8>,
    begin: u64,
    end: u64,
    discarded: u64,
    /// The number of lost events in the last packet.
    reported: u64,
    count: u64,
    /// Records of stacks, which are in those of events.
    stacks: u64,
    unknown: u64,
    older: u64,
    backward: u64,
}

impl<'a> PacketBuilder<'a> {
    fn new(cpu: u32) -> PacketBuilder<'a> {
        let records = Vec::with_capacity(PACKET_BYTES * 2);
        PacketBuilder {
            cpu,
            waiting: Waiting::default(),
            kinds: Vec::new(),
            records,
            begin: 0,
            end: 0,
            discarded: 0,
            reported: 0,
            count: 0,
            stacks: 0,
            unknown: 0,
            older: 0,
            backward: 0,
        }
    }

    /// Sets the number of lost events. If it has grown, the records so far become a packet of their own, because they
    /// precede the loss.
    fn lost(&mut self, discarded: u64, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<()> {
        if discarded > self.discarded {
            self.flush(sink)?;
            self.discarded = discarded;
        }
        Ok(())
    }

    fn page(&mut self, page: &Page<'_>, shared: &mut Shared<'_, 'a>) {
        for (time, content) in page.events() {
            let id = content.first_chunk::<2>().map(|id| u16::from_le_bytes(*id));
            if let Some(format) = shared.stacks.format.filter(|format| id == Some(format.id)) {
                self.waiting.stack(format, content, &mut self.records, &mut shared.stacks.addresses);
                self.stacks += 1;
                continue;
            }
            let plan = id.and_then(|id| shared.plans.get(&id));
            let Some(mut plan) = plan.copied() else {
                self.unknown += 1;
                continue;
            };
            if let Some((kind, own)) = plan.call(content) {
                plan = own;
                if shared.seen.insert(kind.id) {
                    self.kinds.push(kind);
                }
            }
            self.backward += u64::from(time < self.end);
            self.end = self.end.max(time);
            if self.records.is_empty() {
                self.begin = self.end;
            }
            if plan.has_stack() {
                self.waiting.event(content, self.records.len());
            }
            plan.append(self.end, content, &mut self.records);
            self.count += 1;
        }
    }

    /// Makes a packet of the collected records, if there are any.
    fn flush(&mut self, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<()> {
        if self.records.is_empty() { Ok(()) } else { self.packet(sink) }
    }

    fn packet(&mut self, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<()> {
        let begin = if self.records.is_empty() { self.end } else { self.begin };
        let (ring, end, discarded) = (self.cpu, self.end, self.discarded);
        sink(Packet { ring, begin, end, discarded, records: &self.records, kinds: &self.kinds })?;
        self.kinds.clear();
        self.reported = discarded;
        self.records.clear();
        self.waiting.clear();
        Ok(())
    }

    /// Returns the totals. `flagged` is the number of overwritten events according to the flags of pages.
    fn totals(&self, pages: &Pages, flagged: u64) -> Totals {
        let seen = self.count + self.stacks + self.unknown + self.older;
        let stats = pages.counts().unwrap_or(Stats { read: seen, overwritten: flagged, ..Stats::default() });
        let lost = Loss {
            overwritten: stats.overwritten,
            discarded: stats.discarded,
            nested: stats.nested,
            unsaved: stats.read.saturating_add(stats.unread).saturating_sub(seen),
            unknown: self.unknown,
            older: self.older,
        };
        Totals { cpu: self.cpu, records: self.count, lost, backward: self.backward }
    }
}

#[cfg(test)]
mod tests;
