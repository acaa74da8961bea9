//! From the kernel's pages to packets of records, with nothing forgotten: for each CPU, records + lost = what the kernel says
//! has happened.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek};

use super::capture::{Capture, Pages};
use super::page::{Layout, Missed, Page};
use super::plan::Plan;
use super::stats::Stats;
use crate::ctf::{self, Writer};

/// A packet ends at the first page that brings it to so many bytes.
const PACKET_BYTES: usize = 64 << 10;

/// Records of one CPU that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The CPU.
    pub ring: u32,
    /// Time of its first record; of the last packet's end if it has none.
    pub begin: u64,
    /// Time of its last record.
    pub end: u64,
    /// Events of this CPU that were lost before `end`, since the session began. It never goes down.
    pub discarded: u64,
    /// In the form of [`crate::record`]; may be empty, to say what was lost after the last record.
    pub records: &'a [u8],
}

/// What became of the events of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The CPU.
    pub cpu: u32,
    /// Records that were given out.
    pub records: u64,
    /// Why others were not.
    pub lost: Loss,
    /// Times that went back and were set to the time before.
    pub backward: u64,
}

/// Events that are not in the trace, by cause. Each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loss {
    /// Overwritten by later ones.
    pub overwritten: u64,
    /// Found no room.
    pub discarded: u64,
    /// Found no room in an interrupt.
    pub nested: u64,
    /// Were recorded but are not in the file, or not readable there.
    pub unsaved: u64,
    /// Of a kind that nobody asked for.
    pub unknown: u64,
    /// Older than what was asked for.
    pub older: u64,
}

impl Loss {
    /// All of them.
    pub fn all(&self) -> u64 {
        [self.overwritten, self.discarded, self.nested, self.unsaved, self.unknown, self.older]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl Capture {
    /// Gives the records of one CPU after the other to `sink`, in the order of time within a CPU. For each CPU, ascending,
    /// what became of its events.
    ///
    /// # Errors
    /// What reading the pages reports, and what `sink` does.
    pub fn convert(&mut self, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<Vec<Totals>> {
        let plans: HashMap<u16, &Plan> = self.kinds.iter().map(|(kind, plan)| (kind.id, plan)).collect();
        let layout = self.layout;
        self.cpus.iter().map(|pages| one_cpu(pages, &layout, &plans, sink)).collect()
    }
}

impl Capture {
    /// Writes the records into stream `stream` of a trace whose schema has [`Capture::stream`] there; a ring for each CPU.
    ///
    /// # Errors
    /// As [`Capture::convert`]; what [`Writer::packet`] says.
    pub fn write(&mut self, writer: &mut Writer, stream: usize) -> io::Result<Vec<Totals>> {
        let mut positions = HashMap::<u32, u64>::new();
        self.convert(&mut |packet| {
            let Packet { ring, begin, end, discarded, records } = packet;
            let position = positions.entry(ring).or_default();
            *position += records.len() as u64;
            let (position, parts) = (*position, &[records][..]);
            let packet = ctf::Packet { stream, ring, cpu: ring, begin, end, discarded, position, parts };
            writer.packet(packet).map(drop).map_err(io::Error::other)
        })
    }
}

fn one_cpu(
    pages: &Pages,
    layout: &Layout,
    plans: &HashMap<u16, &Plan>,
    sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>,
) -> io::Result<Totals> {
    let told = pages.stats.map(|stats| stats.overwritten);
    let mut overwritten = Overwritten::look(pages, layout, told)?;
    let mut file = pages.reader()?;
    let mut bytes = vec![0; layout.page_bytes()];
    let mut gather = Gather::new(pages.cpu);
    let mut carried = 0u64;
    let mut marks = pages.marks.iter().peekable();
    let mut unseen = 0;
    while whole(&mut file, &mut bytes)? {
        let Some(page) = Page::new(&bytes, layout) else { break };
        overwritten.meet(page.missed);
        // What was lost before a mark was lost before what was carried after it.
        while let Some(mark) = marks.next_if(|mark| mark.bytes <= carried) {
            unseen = mark.lost;
        }
        let lost = overwritten.so_far.saturating_add(unseen).min(pages.stats.map_or(u64::MAX, |stats| stats.lost()));
        gather.lost(lost.saturating_add(gather.older), sink)?;
        if carried < pages.range.start {
            gather.older += page.events().count() as u64;
        } else {
            gather.page(&page, plans);
        }
        if gather.records.len() >= PACKET_BYTES {
            gather.give(sink)?;
        }
        carried += bytes.len() as u64;
    }
    gather.give(sink)?;
    let totals = gather.totals(pages, overwritten.so_far);
    gather.discarded = gather.discarded.max(totals.lost.all());
    if gather.discarded > gather.given {
        gather.packet(sink)?;
    }
    Ok(totals)
}

/// What the flags of pages say was overwritten before them. A full page has no room for the count, and then no more is
/// known than that there was something; but the kernel's count of all tells what these pages have together.
struct Overwritten {
    so_far: u64,
    /// Pages without a count that are still to come, and what they have together.
    uncounted: (u64, u64),
    most: u64,
}

impl Overwritten {
    /// `told` is the kernel's count of all. Without it pages that have none say one each.
    fn look(pages: &Pages, layout: &Layout, told: Option<u64>) -> io::Result<Overwritten> {
        let (mut without, mut counted) = (0, 0u64);
        if told != Some(0) {
            let mut bytes = vec![0; layout.page_bytes()];
            let mut file = pages.reader()?;
            while whole(&mut file, &mut bytes)? {
                match Page::new(&bytes, layout).map(|page| page.missed) {
                    Some(Missed::Some) => without += 1,
                    Some(Missed::Counted(count)) => counted = counted.saturating_add(count),
                    _ => {}
                }
            }
        }
        let all = told.unwrap_or(counted.saturating_add(without));
        Ok(Overwritten { so_far: 0, uncounted: (without, all.saturating_sub(counted)), most: all })
    }

    fn meet(&mut self, missed: Missed) {
        let count = match missed {
            Missed::Nothing => 0,
            Missed::Counted(count) => count,
            Missed::Some => {
                let (pages, events) = &mut self.uncounted;
                // One at least; the last of them says the rest.
                let count = if *pages == 1 { *events } else { 1.min(*events) };
                (*pages, *events) = (pages.saturating_sub(1), *events - count);
                count
            }
        };
        self.so_far = self.so_far.saturating_add(count).min(self.most);
    }
}

impl Pages {
    /// From the beginning of the file to what is meant of it.
    fn reader(&self) -> io::Result<impl Read> {
        let mut file = &self.store.file;
        file.rewind()?;
        Ok(BufReader::with_capacity(1 << 20, file).take(self.range.end))
    }
}

/// Fills `bytes`. Whether it could; what is left of a page whose end is missing says nothing.
fn whole(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Records on their way into a packet.
struct Gather {
    cpu: u32,
    records: Vec<u8>,
    begin: u64,
    end: u64,
    discarded: u64,
    /// What was said of it in the last packet.
    given: u64,
    count: u64,
    unknown: u64,
    older: u64,
    backward: u64,
}

impl Gather {
    fn new(cpu: u32) -> Gather {
        let records = Vec::with_capacity(PACKET_BYTES * 2);
        Gather { cpu, records, begin: 0, end: 0, discarded: 0, given: 0, count: 0, unknown: 0, older: 0, backward: 0 }
    }

    /// From here on so many were lost: the records so far were before that.
    fn lost(&mut self, discarded: u64, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<()> {
        if discarded > self.discarded {
            self.give(sink)?;
            self.discarded = discarded;
        }
        Ok(())
    }

    fn page(&mut self, page: &Page<'_>, plans: &HashMap<u16, &Plan>) {
        for (time, content) in page.events() {
            let plan = content.first_chunk::<2>().and_then(|id| plans.get(&u16::from_le_bytes(*id)));
            let Some(plan) = plan else {
                self.unknown += 1;
                continue;
            };
            self.backward += u64::from(time < self.end);
            self.end = self.end.max(time);
            if self.records.is_empty() {
                self.begin = self.end;
            }
            plan.append(self.end, content, &mut self.records);
            self.count += 1;
        }
    }

    /// Gives out the records so far, if there are any.
    fn give(&mut self, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<()> {
        if self.records.is_empty() { Ok(()) } else { self.packet(sink) }
    }

    fn packet(&mut self, sink: &mut impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<()> {
        let begin = if self.records.is_empty() { self.end } else { self.begin };
        let (ring, end, discarded) = (self.cpu, self.end, self.discarded);
        sink(Packet { ring, begin, end, discarded, records: &self.records })?;
        self.given = discarded;
        self.records.clear();
        Ok(())
    }

    /// `flagged` is what the pages say of what was overwritten.
    fn totals(&self, pages: &Pages, flagged: u64) -> Totals {
        let seen = self.count + self.unknown + self.older;
        let stats = pages.stats.unwrap_or(Stats { read: seen, overwritten: flagged, ..Stats::default() });
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
