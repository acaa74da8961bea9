//! A trace of programs in parts: whenever a part has a certain size, the consumer ends it and begins the next. Each part
//! is a trace of its own, with all event types and the names of all threads, and counts the losses since it began.
//!
//! The file `parts` in the recording says which part is being written, and for each ring where the part begins. It is
//! replaced before the first packet of a new part is written, so that recovery after a crash knows where to continue.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Consumer, STREAM};
use crate::ctf::{Error, Position, Writer};
use crate::parts_file;

/// The name of the file.
const FILE: &str = "parts";
/// Its first line.
const SIGNATURE: &str = "headwater parts 1";

/// When a new part begins, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// A part ends when it has at least this many bytes.
    pub bytes: u64,
    /// The number of parts that are kept, with the one that is being written; `None` for all.
    pub keep: Option<u32>,
}

/// What was removed together with the oldest parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of parts.
    pub parts: u64,
    /// Their events.
    pub events: u64,
    /// Their lost events.
    pub lost: u64,
}

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartsFile {
    /// The number of the part that is being written, from 1.
    pub number: u32,
    /// What has been removed.
    pub removed: Removed,
    /// For each ring that has recorded or lost anything: where the part begins.
    starts: Vec<Start>,
}

/// The beginning of a part in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    ring: u32,
    position: u64,
    /// Events lost before.
    lost: u64,
}

impl PartsFile {
    /// Reads the file of a recording. `None` if the recording has no parts.
    ///
    /// # Errors
    /// Errors of the file system; `InvalidData` for a file of another version.
    pub fn read(recording: &Path) -> io::Result<Option<PartsFile>> {
        let Some(text) = parts_file::read(&recording.join(FILE))? else { return Ok(None) };
        match PartsFile::parse(&text) {
            Some(file) => Ok(Some(file)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{FILE}: it is of another version"))),
        }
    }

    /// Removes the file of a recording.
    pub fn remove(recording: &Path) {
        let _ = fs::remove_file(recording.join(FILE));
    }

    /// Returns the directory of the part that is being written.
    pub fn current(&self, recording: &Path) -> PathBuf {
        directory(recording, self.number)
    }

    fn write(&self, recording: &Path) -> Result<(), Error> {
        let path = recording.join(FILE);
        parts_file::replace(&path, &self.to_text()).map_err(Error::io("replace", &path))
    }

    fn to_text(&self) -> String {
        let Removed { parts, events, lost } = self.removed;
        let head = [("part", vec![self.number.into()]), ("removed", vec![parts, events, lost])];
        let starts =
            self.starts.iter().map(|Start { ring, position, lost }| ("ring", vec![(*ring).into(), *position, *lost]));
        parts_file::to_text(SIGNATURE, head.into_iter().chain(starts))
    }

    fn parse(text: &str) -> Option<PartsFile> {
        let mut file = PartsFile::default();
        for (what, numbers) in parts_file::parse(SIGNATURE, text)? {
            match (what, &numbers[..]) {
                ("part", &[number]) => file.number = u32::try_from(number).ok()?,
                ("removed", &[parts, events, lost]) => file.removed = Removed { parts, events, lost },
                ("ring", &[ring, position, lost]) => {
                    file.starts.push(Start { ring: u32::try_from(ring).ok()?, position, lost });
                }
                _ => return None,
            }
        }
        (file.number > 0).then_some(file)
    }

    /// Returns how far each ring was copied, from that of the current part and the beginning of this part.
    pub(super) fn complete(&self, mut positions: Vec<Position>) -> Vec<Position> {
        for Start { ring, position, .. } in &self.starts {
            let before = Some(*position);
            match positions.iter_mut().find(|position| position.ring == *ring) {
                Some(there) => there.position = there.position.or(before),
                None => positions.push(Position { stream: STREAM, ring: *ring, position: before }),
            }
        }
        positions
    }

    /// Returns the events that a ring had lost when the part began.
    pub(super) fn lost_before(&self, ring: u32) -> u64 {
        self.starts.iter().find(|start| start.ring == ring).map_or(0, |start| start.lost)
    }
}

/// Removes the directories that a killed consumer has left beside the parts of its recording: of the next part, if it was
/// killed before it wrote there, and of the oldest parts, if it was killed before it had removed all of their files.
///
/// # Errors
/// Errors of the file system.
pub fn remove_leftovers(recording: &Path, file: &PartsFile) -> io::Result<()> {
    let current = file.current(recording);
    let removed = directory(recording, file.removed.parts as u32);
    let is_left = |part: &PathBuf| *part > current || *part <= removed;
    directories(recording)?.into_iter().filter(is_left).try_for_each(fs::remove_dir_all)
}

/// Returns the directory of a part of programs.
pub(super) fn directory(recording: &Path, number: u32) -> PathBuf {
    directory_of(recording, "user", number)
}

/// Returns the directory of a part of the trace that has this name.
pub fn directory_of(recording: &Path, trace: &str, number: u32) -> PathBuf {
    recording.join(format!("{trace}-{number:06}"))
}

/// Returns the directories of all parts of a recording, in their order.
///
/// # Errors
/// Errors of the file system.
pub fn directories(recording: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(recording)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("user-")?.parse::<u32>().ok());
        numbers.extend(number.filter(|number| directory(recording, *number).ends_with(&name)));
    }
    numbers.sort_unstable();
    Ok(numbers.into_iter().map(|number| directory(recording, number)).collect())
}

/// The parts of a consumer's trace.
#[derive(Debug)]
pub(super) struct Parts {
    recording: PathBuf,
    rotation: Rotation,
    file: PartsFile,
    /// Bytes and events in the trace, and losses, when the current part began.
    before: (u64, u64, u64),
    /// Number, events and losses of each earlier part that still exists.
    earlier: VecDeque<(u32, u64, u64)>,
}

impl Parts {
    /// Begins the first part of a recording.
    pub fn begin(recording: &Path, rotation: Rotation) -> Result<Parts, Error> {
        let file = PartsFile { number: 1, ..PartsFile::default() };
        file.write(recording)?;
        let (recording, earlier) = (recording.to_owned(), VecDeque::new());
        Ok(Parts { recording, rotation, file, before: (0, 0, 0), earlier })
    }

    /// Returns the directory of the current part.
    pub fn current(&self) -> PathBuf {
        self.file.current(&self.recording)
    }

    /// Returns what has been removed.
    pub fn removed(&self) -> Removed {
        self.file.removed
    }
}

impl Consumer {
    /// Begins a new part if the current one is large enough, and removes the oldest. The part ends at one time for all rings:
    /// one log after the other was copied, and the events of the first ones up to the newest event of the part are copied now.
    /// Returns the number of their bytes.
    ///
    /// Errors: those of [`Writer::packet`]; then the current part is continued.
    pub(super) fn end_full_part(&mut self) -> Result<u64, Error> {
        let is_full = |parts: &Parts| self.totals.bytes - parts.before.0 >= parts.rotation.bytes;
        let Some((_, newest)) = self.span.filter(|_| self.parts.as_ref().is_some_and(is_full)) else { return Ok(0) };
        let copied = self.copy_logs(newest)?;
        self.rotate()?;
        Ok(copied)
    }

    fn rotate(&mut self) -> Result<(), Error> {
        let Some(parts) = &self.parts else { return Ok(()) };
        // The losses until here belong to the part that ends.
        self.writer.write_losses()?;
        let lost = self.rings.iter().map(|ring| ring.discarded).sum();
        let mut file = PartsFile { number: parts.file.number + 1, removed: parts.file.removed, starts: Vec::new() };
        let is_used = |ring: &&super::Ring| ring.tail > 0 || ring.discarded > 0;
        let starts = self.rings.iter().filter(is_used);
        file.starts =
            starts.map(|ring| Start { ring: ring.number, position: ring.tail, lost: ring.discarded }).collect();
        let next = file.current(&parts.recording);
        // A previous attempt may have failed.
        let _ = fs::remove_dir_all(&next);
        let writer = Writer::create(&next, self.writer.schema())?;
        let mut parts = self.parts.take().expect("seen above");
        let ended = (parts.file.number, self.totals.written - parts.before.1, lost - parts.before.2);
        let keep = parts.rotation.keep.map_or(usize::MAX, |keep| keep.max(1) as usize);
        // The new part counts too.
        let old: Vec<_> = parts.earlier.iter().copied().chain([ended]).collect();
        let (gone, kept) = old.split_at((old.len() + 1).saturating_sub(keep));
        for (_, events, lost) in gone {
            file.removed.parts += 1;
            file.removed.events += events;
            file.removed.lost += lost;
        }
        let written = file.write(&parts.recording);
        if written.is_ok() {
            gone.iter().for_each(|(number, ..)| drop(fs::remove_dir_all(directory(&parts.recording, *number))));
            (parts.earlier, parts.file) = (kept.iter().copied().collect(), file);
            parts.before = (self.totals.bytes, self.totals.written, lost);
            self.writer = writer;
            self.rings.iter_mut().for_each(|ring| ring.base = ring.discarded);
            // Times in the new part begin with its first record, and all threads and modules are named there.
            (self.span, self.threads_written, self.modules_written) = (None, 0, 0);
        }
        self.parts = Some(parts);
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_comes_back_as_it_was_written_and_not_if_it_was_cut() {
        let starts = vec![Start { ring: 0, position: 4096, lost: 7 }, Start { ring: 66, position: 24, lost: 0 }];
        let removed = Removed { parts: 2, events: 1 << 40, lost: 3 };
        let file = PartsFile { number: 3, removed, starts };
        let text = file.to_text();
        assert_eq!(PartsFile::parse(&text).as_ref(), Some(&file));
        assert!((1..text.len()).all(|len| PartsFile::parse(&text[..len]).is_none()));
        let known = Position { stream: STREAM, ring: 66, position: Some(48) };
        let complete = file.complete(vec![known, Position { stream: STREAM, ring: 5, position: None }]);
        let found =
            |ring| complete.iter().find(|position| position.ring == ring).and_then(|position| position.position);
        assert_eq!([found(66), found(0), found(5)], [Some(48), Some(4096), None]);
        assert_eq!([file.lost_before(0), file.lost_before(1)], [7, 0]);
    }
}
