//! What a session has recorded: the kernel's pages, one file for each CPU, and all that is needed to read them.

use std::ops::Range;

use super::drain::Mark;
use super::page::Layout;
use super::pages::Store;
use super::plan::Plan;
use super::stats::Stats;
use super::{Clock, Error};
use crate::schema::{EventKind, StreamKind};

/// A session that has ended, or what one held at a moment. The files of one that has ended go when this is dropped.
#[derive(Debug)]
pub struct Capture {
    /// Goes first: without it the others are known to be of no more use. None if the files are somebody else's, or in memory.
    pub(super) description: Option<Store>,
    pub(super) cpus: Vec<Pages>,
    pub(super) layout: Layout,
    pub(super) kinds: Vec<(EventKind, Plan)>,
    pub(super) clock: Clock,
}

/// The pages of one CPU.
#[derive(Debug)]
pub(super) struct Pages {
    pub cpu: u32,
    pub store: Store,
    /// What of the file is meant, bytes: what is before is older than what was asked for, what is behind came later.
    pub range: Range<u64>,
    pub marks: Vec<Mark>,
    /// None if the kernel was not asked in time: then no more is known than what the pages say.
    pub stats: Option<Stats>,
    /// Why the file holds less than was recorded.
    pub error: Option<Error>,
}

impl Pages {
    /// All of a file.
    pub fn new(cpu: u32, store: Store, marks: Vec<Mark>, stats: Option<Stats>, error: Option<Error>) -> Pages {
        Pages { cpu, store, range: 0..u64::MAX, marks, stats, error }
    }
}

impl Capture {
    /// What its records are.
    pub fn stream(&self) -> StreamKind {
        StreamKind { name: "kernel".to_owned(), events: self.kinds.iter().map(|(kind, _)| kind.clone()).collect() }
    }

    /// The clock of its time stamps.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What the kernel has counted for each CPU, ascending; nothing where it was not asked in time.
    pub fn stats(&self) -> impl Iterator<Item = (u32, Stats)> {
        self.cpus.iter().map(|pages| (pages.cpu, pages.stats.unwrap_or_default()))
    }

    /// Whether the kernel has told what was lost; otherwise losses are those of which pages tell, and may be more.
    pub fn is_counted(&self) -> bool {
        self.cpus.iter().all(|pages| pages.stats.is_some())
    }

    /// Lets the files stay, for [`super::recover`] to find.
    pub fn keep(mut self) {
        let pages = self.cpus.iter_mut().map(|pages| &mut pages.store);
        pages.chain(&mut self.description).for_each(|store| store.path = None);
    }

    /// What went wrong while pages were carried to files, such as a full disk. What was lost by it is counted as
    /// [`super::convert::Loss::unsaved`].
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.cpus.iter().filter_map(|pages| pages.error.as_ref())
    }
}
