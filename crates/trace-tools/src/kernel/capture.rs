//! The result of a kernel session: the kernel's pages, one file for each CPU, and the facts needed to read them.

use std::ops::{Range, RangeInclusive};

use super::drain::LossMark;
use super::page::Layout;
use super::pages::Store;
use super::parts::{self, EndedParts, Place};
use super::plan::Plan;
use super::stacks::Stacks;
use super::stats::Stats;
use super::{Clock, Error};
use crate::consumer::parts::Removed;
use crate::schema::{EventKind, StreamKind};

/// The pages of an ended session, or of a snapshot. The files of an ended session are removed on drop.
#[derive(Debug)]
pub struct Capture {
    /// The session's description. It is removed first: without it, the other files are known to be obsolete. `None` for
    /// a snapshot, and for pages in memory.
    pub(super) description: Option<Store>,
    pub(super) cpus: Vec<Pages>,
    pub(super) layout: Layout,
    pub(super) kinds: Vec<(EventKind, Plan)>,
    pub(super) clock: Clock,
    /// The parts of the pages, if they have any.
    pub(super) parts: Option<EndedParts>,
    pub(super) stacks: Stacks,
}

/// The pages of one CPU.
#[derive(Debug)]
pub(super) struct Pages {
    pub cpu: u32,
    pub store: Store,
    /// The part of the file that counts, in bytes. Earlier pages are older than requested, later ones were written
    /// afterwards.
    pub range: Range<u64>,
    pub marks: Vec<LossMark>,
    /// The kernel's counts; `None` if they could not be read in time. Then only the flags of pages report losses.
    pub stats: Option<Stats>,
    /// The reason why the file has less than was recorded.
    pub error: Option<Error>,
    /// Where the part that is converted begins, and where it ends unless it is the last.
    pub begin: Place,
    pub end: Option<Place>,
}

impl Pages {
    /// Returns a CPU's pages, of which the whole file counts.
    pub fn new(cpu: u32, store: Store, marks: Vec<LossMark>, stats: Option<Stats>, error: Option<Error>) -> Pages {
        let (begin, end) = (Place::default(), None);
        Pages { cpu, store, range: 0..u64::MAX, marks, stats, error, begin, end }
    }
}

impl Pages {
    /// Returns the kernel's counts of what is converted.
    pub fn counts(&self) -> Option<Stats> {
        Some(self.end.map_or(self.stats, |end| Some(end.stats))?.since(&self.begin.stats))
    }
}

impl Capture {
    /// Returns the parts that have not been converted, ascending; `None` if the session has no parts.
    pub fn parts(&self) -> Option<RangeInclusive<u32>> {
        Some(self.parts.as_ref()?.file.there())
    }

    /// Returns what was removed with the oldest parts, and what has been converted.
    pub fn gone(&self) -> (Removed, Removed) {
        self.parts.as_ref().map_or_else(Default::default, |parts| (parts.file.removed, parts.file.converted))
    }

    /// Chooses the part that [`Capture::convert`] converts from now on.
    pub fn choose(&mut self, part: u32) {
        let Some(EndedParts { file, .. }) = &self.parts else { return };
        for pages in &mut self.cpus {
            pages.begin = file.begin(part, pages.cpu);
            pages.end = (part < *file.there().end()).then(|| file.begin(part + 1, pages.cpu));
        }
    }

    /// Removes the pages of the oldest part, which has been chosen and converted to so many events and losses.
    ///
    /// # Errors
    /// [`Error::File`]; then the part is there still.
    pub fn remove_converted(&mut self, events: u64, lost: u64) -> Result<(), Error> {
        let Some(EndedParts { directory, file }) = &mut self.parts else { return Ok(()) };
        let mut now = file.clone();
        now.note_converted(events, lost);
        now.write(directory)?;
        *file = now;
        // Where this is not possible, the pages are removed with all others.
        let ends = self.cpus.iter().filter_map(|pages| Some((&pages.store.file, pages.end?.bytes)));
        ends.for_each(|(file, end)| drop(parts::free(file, end)));
        Ok(())
    }

    /// Returns the description of its records.
    pub fn stream(&self) -> StreamKind {
        StreamKind { name: "kernel".to_owned(), events: self.kinds.iter().map(|(kind, _)| kind.clone()).collect() }
    }

    /// Returns the event type of functions of the kernel, `headwater:kernel_function`, and records of those that are in the stacks of what
    /// has been converted since the last call, which have this time, and their number. `None` if there are none.
    pub fn functions(&mut self, time: u64) -> Option<(EventKind, Vec<u8>, u64)> {
        let names = self.stacks.names(time);
        self.stacks.addresses.clear();
        names
    }

    /// Returns the clock of its time stamps.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the kernel's counts for each CPU, ascending; zeros if they could not be read in time.
    pub fn stats(&self) -> impl Iterator<Item = (u32, Stats)> {
        self.cpus.iter().map(|pages| (pages.cpu, pages.stats.unwrap_or_default()))
    }

    /// Whether the kernel's counts of losses are known. If not, losses are known only from the flags of pages, and
    /// there may be more.
    pub fn is_counted(&self) -> bool {
        self.cpus.iter().all(|pages| pages.stats.is_some())
    }

    /// Keeps the files, for [`super::recover`].
    pub fn keep(mut self) {
        let pages = self.cpus.iter_mut().map(|pages| &mut pages.store);
        pages.chain(&mut self.description).for_each(|store| store.path = None);
    }

    /// Returns the errors that occurred while pages were copied to files, such as a full disk. The resulting losses are
    /// counted as [`super::convert::Loss::unsaved`].
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.cpus.iter().filter_map(|pages| pages.error.as_ref())
    }
}
