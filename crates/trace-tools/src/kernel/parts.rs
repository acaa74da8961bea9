//! The pages of a session in parts, of which the oldest are removed. A part is a range of each CPU's file of pages: where
//! a part ends, nothing happens to the files, so that the readers, the guard and recovery append to them as always. The
//! space of removed parts is freed by holes at the beginning of the files.
//!
//! The file `kernel.parts` beside the directory of pages says where each part begins, and what is gone. It is replaced
//! before anything is removed: a killed process leaves at most pages that no longer count.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FallocateFlags, fallocate};

use super::Error;
use super::stats::Stats;
use crate::consumer::parts::{Removed, Rotation};
use crate::parts_file;

/// The first line of the file.
const SIGNATURE: &str = "headwater kernel parts 1";

/// A place in the pages of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Offset in the file of pages.
    pub bytes: u64,
    /// The kernel's counts when the pages before it had been read; none are unread.
    pub stats: Stats,
}

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartsFile {
    /// The number of the part that is being written, from 1.
    number: u32,
    /// What has been removed.
    pub removed: Removed,
    /// What has been converted; its pages are removed too.
    pub converted: Removed,
    /// Where parts begin, by part and CPU. The first one begins at the beginning.
    begins: BTreeMap<(u32, u32), Place>,
}

impl PartsFile {
    /// Reads the file of the session whose pages are, or were, in `directory`. `None` if it has no parts.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unreadable`].
    pub fn read(directory: &Path) -> Result<Option<PartsFile>, Error> {
        let path = beside(directory);
        let read = parts_file::read(&path).map_err(|error| Error::file("read", &path, error))?;
        let Some(text) = read else { return Ok(None) };
        match PartsFile::parse(&text) {
            Some(file) => Ok(Some(file)),
            None => Err(Error::Unreadable { what: text.lines().next().unwrap_or_default().to_owned(), path }),
        }
    }

    /// Removes the file of a session.
    pub fn remove(directory: &Path) {
        let _ = fs::remove_file(beside(directory));
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = beside(directory);
        parts_file::replace(&path, &self.to_text()).map_err(|source| Error::file("write", &path, source))
    }

    /// Returns the parts whose pages still count, ascending.
    pub(super) fn there(&self) -> RangeInclusive<u32> {
        (self.removed.parts + self.converted.parts) as u32 + 1..=self.number
    }

    /// Returns where a part begins on a CPU.
    pub(super) fn begin(&self, part: u32, cpu: u32) -> Place {
        self.begins.get(&(part, cpu)).copied().unwrap_or_default()
    }

    /// Notes that the oldest part has been converted to so many events and losses.
    pub(super) fn note_converted(&mut self, events: u64, lost: u64) {
        self.converted.parts += 1;
        self.converted.events += events;
        self.converted.lost += lost;
        self.forget();
    }

    /// Begins a part at these places of the CPUs, and gives up all but the newest parts.
    fn begin_part(&mut self, places: &[(u32, Place)], keep: Option<u32>) {
        self.number += 1;
        self.begins.extend(places.iter().map(|(cpu, place)| ((self.number, *cpu), *place)));
        let keep = keep.map_or(u32::MAX, |keep| keep.max(1));
        while self.there().count() as u64 > u64::from(keep) {
            let oldest = *self.there().start();
            let ended =
                places.iter().map(|(cpu, _)| self.begin(oldest + 1, *cpu).stats.since(&self.begin(oldest, *cpu).stats));
            let (events, lost) = ended.fold((0, 0), |sum, stats| (sum.0 + stats.read, sum.1 + stats.lost()));
            self.removed.parts += 1;
            self.removed.events += events;
            self.removed.lost += lost;
        }
        self.forget();
    }

    /// Forgets where parts began that are not there any more.
    fn forget(&mut self) {
        self.begins = self.begins.split_off(&(*self.there().start(), 0));
    }

    fn to_text(&self) -> String {
        let gone = |Removed { parts, events, lost }| vec![parts, events, lost];
        let head =
            [("part", vec![self.number.into()]), ("removed", gone(self.removed)), ("converted", gone(self.converted))];
        let begins = self.begins.iter().map(|((part, cpu), Place { bytes, stats })| {
            let Stats { read, overwritten, discarded, nested, .. } = *stats;
            ("begin", vec![(*part).into(), (*cpu).into(), *bytes, read, overwritten, discarded, nested])
        });
        parts_file::to_text(SIGNATURE, head.into_iter().chain(begins))
    }

    fn parse(text: &str) -> Option<PartsFile> {
        let mut file = PartsFile::default();
        for (what, numbers) in parts_file::parse(SIGNATURE, text)? {
            match (what, &numbers[..]) {
                ("part", &[number]) => file.number = u32::try_from(number).ok()?,
                ("removed", &[parts, events, lost]) => file.removed = Removed { parts, events, lost },
                ("converted", &[parts, events, lost]) => file.converted = Removed { parts, events, lost },
                ("begin", &[part, cpu, bytes, read, overwritten, discarded, nested]) => {
                    let stats = Stats { unread: 0, read, overwritten, discarded, nested };
                    let at = (u32::try_from(part).ok()?, u32::try_from(cpu).ok()?);
                    file.begins.insert(at, Place { bytes, stats });
                }
                _ => return None,
            }
        }
        file.is_sound().then_some(file)
    }

    /// Whether no more parts are gone than have been begun, and each that is there has begun somewhere: who converts them
    /// makes a trace of each.
    fn is_sound(&self) -> bool {
        let gone = self.removed.parts.checked_add(self.converted.parts);
        let has_begun = |part| part == 1 || self.begins.range((part, 0)..=(part, u32::MAX)).next().is_some();
        (1..u32::MAX).contains(&self.number)
            && gone.is_some_and(|gone| gone <= u64::from(self.number))
            && self.there().all(has_begun)
    }
}

/// Returns the path of the file for a directory of pages.
fn beside(directory: &Path) -> PathBuf {
    directory.with_extension("parts")
}

/// Frees the space of a file's first bytes. Its length stays.
///
/// Errors: those of fallocate(2); file systems without holes refuse.
pub(super) fn free(file: &File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

/// Between the session and the reader of one CPU: at the end of a part, the session asks where it is.
#[derive(Debug, Default)]
pub(super) struct CutLine {
    /// The number of the part that the reader is to begin. Written by the session; relaxed, since nothing goes with it.
    wanted: AtomicU32,
    /// The part that the reader began last, and where. Written by the reader.
    begun: Mutex<Option<(u32, Place)>>,
    /// The offset before which pages have been removed. Written by the session; relaxed, since nothing goes with it.
    removed_bytes: AtomicU64,
    /// Readable when the reader is asked for another part: its CPU may be idle. `None` if nothing asks.
    wake: Option<OwnedFd>,
}

impl CutLine {
    /// Returns a line on which a session can ask.
    ///
    /// Errors: those of eventfd(2).
    pub fn new() -> io::Result<CutLine> {
        Ok(CutLine { wake: Some(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?), ..CutLine::default() })
    }

    /// Returns the descriptor that is readable when the reader is asked.
    pub fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.wake.as_ref().map(AsFd::as_fd)
    }

    /// Makes the descriptor unreadable until the reader is asked again.
    pub fn hear(&self) {
        if let Some(wake) = &self.wake {
            let _ = rustix::io::read(wake, &mut [0; 8]);
        }
    }

    /// Asks the reader for the end of the part before this one, once.
    fn ask(&self, part: u32) {
        if self.wanted.swap(part, Ordering::Relaxed) != part
            && let Some(wake) = &self.wake
        {
            // It fails if it is readable already.
            let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
        }
    }

    /// Returns the part that the reader is to begin, unless it has.
    pub fn wanted(&self) -> Option<u32> {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let begun = self.begun().map_or(0, |(part, _)| part);
        (wanted != begun).then_some(wanted)
    }

    /// Answers that the reader has begun a part.
    pub fn begin(&self, part: u32, place: Place) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some((part, place));
    }

    /// Returns the offset before which pages have been removed.
    pub fn removed_bytes(&self) -> u64 {
        self.removed_bytes.load(Ordering::Relaxed)
    }

    fn begun(&self) -> Option<(u32, Place)> {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A CPU of a session in parts.
pub(super) struct PartCpu<'a> {
    pub cpu: u32,
    pub line: &'a CutLine,
    pub file: &'a File,
    pub carried_bytes: u64,
    /// Whether its reader has ended, because of an error.
    pub has_ended: bool,
}

/// The parts of a running session.
#[derive(Debug)]
pub(super) struct Parts {
    rotation: Rotation,
    /// The directory of its pages.
    directory: PathBuf,
    file: PartsFile,
    /// Bytes of all CPUs before the current part.
    bytes_before: u64,
    page_bytes: u64,
}

impl Parts {
    /// Begins the first part.
    ///
    /// Errors: `File`, also if the file system cannot free the space of old parts.
    pub fn begin(rotation: Rotation, directory: &Path, sink: &File, page_bytes: u64) -> Result<Parts, Error> {
        if rotation.keep.is_some() {
            let freed = fallocate(sink, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, page_bytes);
            freed.map_err(|error| Error::file("free the space of its oldest pages in", directory, error.into()))?;
        }
        let file = PartsFile { number: 1, ..PartsFile::default() };
        file.write(directory)?;
        Ok(Parts { rotation, directory: directory.to_owned(), file, bytes_before: 0, page_bytes })
    }

    /// Returns them for an ended session.
    pub fn end(self) -> EndedParts {
        EndedParts { directory: self.directory, file: self.file }
    }

    /// Ends the current part if it is large enough and each reader has said where it ends, and removes the oldest.
    /// `stats` reads the kernel's counts of a CPU.
    ///
    /// Errors: `File`; then the current part is continued, or some space of removed parts is freed with the next.
    pub fn rotate(&mut self, cpus: &[PartCpu<'_>], stats: impl Fn(u32) -> Result<Stats, Error>) -> Result<(), Error> {
        let carried: u64 = cpus.iter().map(|cpu| cpu.carried_bytes).sum();
        if carried - self.bytes_before < self.rotation.bytes {
            return Ok(());
        }
        let next = self.file.number + 1;
        let mut places = Vec::new();
        for PartCpu { cpu, line, carried_bytes, has_ended, .. } in cpus {
            line.ask(next);
            match line.begun() {
                Some((part, place)) if part == next => places.push((*cpu, place)),
                _ if *has_ended => {
                    // An incomplete page belongs to the next part: the guard may complete it.
                    let bytes = carried_bytes / self.page_bytes * self.page_bytes;
                    places.push((*cpu, Place { bytes, stats: Stats { unread: 0, ..stats(*cpu)? } }));
                }
                _ => {}
            }
        }
        if places.len() < cpus.len() {
            return Ok(());
        }
        let mut file = self.file.clone();
        file.begin_part(&places, self.rotation.keep);
        file.write(&self.directory)?;
        self.file = file;
        self.bytes_before = places.iter().map(|(_, place)| place.bytes).sum();
        let oldest = *self.file.there().start();
        cpus.iter().try_for_each(|PartCpu { cpu, line, file, .. }| {
            let bytes = self.file.begin(oldest, *cpu).bytes;
            line.removed_bytes.store(bytes, Ordering::Relaxed);
            free(file, bytes).map_err(|source| Error::file("remove the oldest pages in", &self.directory, source))
        })
    }
}

/// The parts of a session that has ended.
#[derive(Debug)]
pub(super) struct EndedParts {
    pub directory: PathBuf,
    pub file: PartsFile,
}

#[cfg(test)]
mod tests;
