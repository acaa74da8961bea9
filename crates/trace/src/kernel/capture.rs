//! What a session has recorded: the kernel's pages, one file for each CPU, and all that is needed to read them.

use std::fs::{self, File};
use std::path::PathBuf;

use super::drain::Mark;
use super::page::Layout;
use super::plan::Plan;
use super::stats::Stats;
use super::{Clock, Error};
use crate::schema::{EventKind, StreamKind};

/// A session that has ended. Its files go when it is dropped.
#[derive(Debug)]
pub struct Capture {
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
    pub marks: Vec<Mark>,
    pub stats: Stats,
    /// Why the file holds less than was recorded.
    pub error: Option<Error>,
}

/// A file of pages; it goes when it is dropped.
#[derive(Debug)]
pub(super) struct Store {
    pub file: File,
    /// Where it lies; None if it has no name.
    pub path: Option<PathBuf>,
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

    /// What the kernel has counted for each CPU, ascending.
    pub fn stats(&self) -> impl Iterator<Item = (u32, Stats)> {
        self.cpus.iter().map(|pages| (pages.cpu, pages.stats))
    }

    /// What went wrong while pages were carried to files, such as a full disk. What was lost by it is counted as
    /// [`super::convert::Loss::unsaved`].
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.cpus.iter().filter_map(|pages| pages.error.as_ref())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}
