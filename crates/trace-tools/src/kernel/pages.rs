//! The directory of a session's pages until they are converted: a file of pages and one of counts for each CPU, and a
//! description with the facts needed to read them. After a crash, recovery finds everything there.
//!
//! | file | what | who writes it |
//! |---|---|---|
//! | `kernel-cpuN.pages` | the kernel's pages, one after the other | the session, snapshots, the guard; the session or the guard holds the lock of the first one |
//! | `kernel-cpuN.stats` | the text of `per_cpu/cpuN/stats` at the end of recording | the session's end, or the guard |
//! | `description` | [`Description`] | the session, before it records |
//!
//! In a session with parts ([`super::parts`]) the files of pages have holes where parts have been removed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headwater_os::files::{OFlags, private, reserve};
use headwater_os::plain_file;
use headwater_os_tools::signal::is_stop_asked;
use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};
use rustix::io::Errno;

use super::calls::Signature;
use super::format::Format;
use super::page::Layout;
use super::plan::Plan;
use super::stacks::{self, StackFormat, Stacks};
use super::stats::Stats;
use super::{Clock, Error};
use crate::filter::Filter;
use crate::parts_file;
use crate::schema::EventKind;

const DESCRIPTION: &str = "description";

/// The first line of a description, with the version of its form.
const SIGNATURE: &str = "headwater kernel pages 2";

/// How long to wait for the guard of a killed session, which saves the contents of the buffers.
const PATIENCE: Duration = Duration::from_secs(40);

/// How long to wait for another reader: a snapshot, or the end of the recorder. Any process that can open the directory
/// can take the lock and keep it.
const SOLE_PATIENCE: Duration = Duration::from_secs(10);

/// Space that is allocated in a file of counts when it is created, in bytes: more than the kernel's text. So the counts
/// can be written even if the disk is full at the end.
const STATS_BYTES: u64 = 4096;

/// A file of pages. On drop, it and its file of counts are removed.
#[derive(Debug)]
pub(super) struct Store {
    pub file: File,
    /// Its path; `None` if it has no name or must not be removed.
    pub path: Option<PathBuf>,
}

impl Store {
    /// Creates a file without a name.
    pub fn in_memory(cpu: u32) -> Result<Store, Error> {
        let file = memfd_create(format!("headwater-cpu{cpu}"), MemfdFlags::CLOEXEC);
        let file = file.map_err(|error| Error::Start { what: "a file in memory", source: error.into() })?;
        Ok(Store { file: file.into(), path: None })
    }

    /// Creates a file in a directory.
    pub fn create(directory: &Path, cpu: u32) -> Result<Store, Error> {
        let path = of_cpu(directory, cpu);
        let file = private().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|source| Error::file("make", &path, source))?;
        let stats = stats_beside(&path);
        let store = Store { file, path: Some(path) };
        // The guard writes to it, but creates no files.
        let made = private().write(true).create(true).truncate(true).open(&stats);
        made.and_then(|file| reserve(&file, STATS_BYTES)).map_err(|source| Error::file("make", &stats, source))?;
        Ok(store)
    }

    /// Opens an existing file, which is not removed on drop.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let file = plain_file::open_for(path, OFlags::RDWR);
        let file = file.map_err(|source| Error::file("open", path, source))?;
        Ok(Store { file, path: None })
    }

    /// Makes this remove the file at `path` on drop.
    pub fn removing(mut self, path: PathBuf) -> Store {
        self.path = Some(path);
        self
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(stats_beside(path));
        }
    }
}

/// The facts needed to read pages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Description {
    /// The name of the instance of the pages.
    pub instance: String,
    pub clock: Clock,
    /// Size of each CPU's buffer.
    pub buffer_bytes: u64,
    /// The kernel's text `header_page`.
    pub header_page: String,
    /// For each event type its system and the kernel's description.
    pub formats: Vec<(String, String)>,
    /// The conditions on values, for events that are switched on later.
    pub filters: Vec<Filter>,
    /// The calls whose arguments are known, if entries to system calls are recorded.
    pub calls: Vec<Signature>,
    /// The id of the boot, as long as which the addresses of functions are valid.
    pub boot: String,
}

impl Description {
    /// Writes the description into a directory of pages. It is removed when the result is dropped.
    pub fn write(&self, directory: &Path) -> Result<Store, Error> {
        let path = directory.join(DESCRIPTION);
        let file = private().write(true).create(true).truncate(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(self.to_text().as_bytes()));
        written.map_err(|source| Error::file("write", &path, source))?;
        Description::store(directory)
    }

    /// Replaces the description in a directory of pages: another process reads the old or the new one.
    pub fn replace(&self, directory: &Path) -> Result<(), Error> {
        // Not in the directory, which must be empty after the conversion even if this process is killed.
        let new = directory.with_extension("new");
        let file = private().write(true).create(true).truncate(true).open(&new);
        let written = file.and_then(|mut file| file.write_all(self.to_text().as_bytes()));
        let replaced = written.and_then(|()| fs::rename(&new, directory.join(DESCRIPTION)));
        replaced.map_err(|source| {
            let _ = fs::remove_file(&new);
            Error::file("write", &new, source)
        })
    }

    /// Opens the description in a directory of pages.
    pub fn store(directory: &Path) -> Result<Store, Error> {
        let path = directory.join(DESCRIPTION);
        Ok(Store::open(&path)?.removing(path))
    }

    /// Reads the description in a directory of pages. `None` if there is none: nothing was recorded, or everything has
    /// been converted.
    pub fn read(directory: &Path) -> Result<Option<Description>, Error> {
        let path = directory.join(DESCRIPTION);
        let read = parts_file::read(&path).map_err(|error| Error::file("read", &path, error))?;
        let Some(text) = read else { return Ok(None) };
        match Description::parse(&text) {
            Some(description) => Ok(Some(description)),
            // Incomplete: the session was killed before it recorded.
            None if !text.ends_with(END) => Ok(None),
            None => Err(Error::Unreadable { what: text.lines().next().unwrap_or_default().to_owned(), path }),
        }
    }

    fn to_text(&self) -> String {
        let Description { instance, clock, buffer_bytes, header_page, formats, filters, calls, boot } = self;
        let clock = clock.name();
        let head =
            format!("{SIGNATURE}\ninstance: {instance}\nclock: {clock}\nbuffer bytes: {buffer_bytes}\nboot: {boot}\n");
        let head = filters.iter().fold(head, |text, filter| format!("{text}filter: {filter}\n"));
        let calls = calls.iter().map(|call| format!("call: {call}\n"));
        let head = calls.fold(head, |text, call| text + &call) + &format!("header_page:\n{header_page}\n");
        let formats = formats.iter().map(|(system, text)| format!("system: {system}\n{text}\n"));
        formats.fold(head, |text, part| text + &part) + END
    }

    fn parse(text: &str) -> Option<Description> {
        let text = text.strip_prefix(SIGNATURE)?.strip_suffix(END)?;
        let (head, rest) = text.split_once("\nheader_page:\n")?;
        let value = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let mut parts = rest.split("\nsystem: ");
        let header_page = parts.next()?.trim_end().to_owned();
        let part = |part: &str| {
            let (system, text) = part.split_once('\n')?;
            Some((system.to_owned(), text.trim_end().to_owned()))
        };
        Some(Description {
            // Before, it was the path.
            instance: value("instance")?.rsplit('/').next()?.to_owned(),
            clock: [Clock::Tsc, Clock::Monotonic].into_iter().find(|clock| Some(clock.name()) == value("clock"))?,
            buffer_bytes: value("buffer bytes")?.parse().ok()?,
            header_page,
            formats: parts.map(part).collect::<Option<_>>()?,
            filters: head
                .lines()
                .filter_map(|line| line.strip_prefix("filter: "))
                .map(|text| Filter::parse(text).ok())
                .collect::<Option<_>>()?,
            calls: head
                .lines()
                .filter_map(|line| line.strip_prefix("call: "))
                .map(Signature::parse)
                .collect::<Option<_>>()?,
            boot: value("boot").unwrap_or_default().to_owned(),
        })
    }

    /// Returns the layout of the pages.
    pub fn layout(&self) -> Result<Layout, Error> {
        let unreadable = || Error::Unreadable { path: "events/header_page".into(), what: self.header_page.clone() };
        Layout::parse(&self.header_page).ok_or_else(unreadable)
    }

    /// Returns the event types, and how to copy their fields.
    pub fn kinds(&self) -> Result<Vec<(EventKind, Plan)>, Error> {
        let ids = self.formats.iter().filter_map(|(_, text)| Some(Format::parse(text)?.id));
        let first_id = ids.max().and_then(|id| id.checked_add(1));
        let has_stacks = self.stacks().format.is_some();
        let one = |(system, text): &(String, String)| {
            let path = || format!("the format of an event of {system}").into();
            let format = Format::parse(text).ok_or_else(|| Error::Unreadable { path: path(), what: text.clone() })?;
            if stacks::is_stack(system, &format) {
                return Ok(None);
            }
            let (mut kind, mut plan) = Plan::new(system, &format);
            if let Some(first_id) = first_id {
                plan.name_arguments(&kind, &format, &self.calls, first_id);
            }
            if has_stacks {
                plan.add_stack(&mut kind);
            }
            Ok(Some((kind, plan)))
        };
        self.formats.iter().map(one).filter_map(Result::transpose).collect()
    }

    /// Returns what is needed to find the stacks of events.
    pub fn stacks(&self) -> Stacks {
        let format = |(system, text): &(String, String)| {
            Format::parse(text)
                .filter(|format| stacks::is_stack(system, format))
                .and_then(|format| StackFormat::of(&format))
        };
        Stacks { format: self.formats.iter().find_map(format), boot: self.boot.clone(), ..Stacks::default() }
    }
}

/// The last line of a complete description.
const END: &str = "end\n";

/// Returns the path of a CPU's file of pages.
pub(super) fn of_cpu(directory: &Path, cpu: u32) -> PathBuf {
    directory.join(format!("kernel-cpu{cpu}.pages"))
}

/// Returns the path of the file of counts for a file of pages.
pub(super) fn stats_beside(pages: &Path) -> PathBuf {
    pages.with_extension("stats")
}

/// Returns the CPUs that have pages in a directory, ascending.
pub(super) fn cpus(directory: &Path) -> Result<Vec<u32>, Error> {
    let names = fs::read_dir(directory).map_err(|source| Error::file("list", directory, source))?;
    let names = names.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let cpu = |name: String| name.strip_prefix("kernel-cpu")?.strip_suffix(".pages")?.parse().ok();
    let mut cpus: Vec<u32> = names.filter_map(cpu).collect();
    cpus.sort_unstable();
    Ok(cpus)
}

/// Takes the lock of a new session's pages, before any other process knows of them.
pub(super) fn lock(first: &Store) -> Result<(), Error> {
    flock(&first.file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|error| Error::Start { what: "a lock on its pages", source: error.into() })
}

/// Takes the lock of a dead session, after its guard has saved the buffers.
pub(super) fn take_over(first: &Store, path: &Path) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        match flock(&first.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(Error::file("take over from who records to it", path, error.into())),
        }
    }
}

/// Waits until no other process reads the buffers of the session with these pages. The result is the lock. The wait
/// ends after [`SOLE_PATIENCE`], or when the process is asked to stop.
pub(super) fn sole_reader(directory: &Path) -> Result<File, Error> {
    let file = File::open(directory).map_err(|source| Error::file("open", directory, source))?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if start.elapsed() < SOLE_PATIENCE && !is_stop_asked() => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(Error::file("wait for another reader of", directory, error.into())),
        }
    }
}

/// Reads the kernel's counts for a CPU of an instance, and writes them beside the pages, if those have a name, in case
/// this process is killed before the conversion. Returns the counts, and the error of writing them.
pub(super) fn note_stats(instance: &Path, cpu: u32, pages: Option<&Path>) -> Result<(Stats, Option<Error>), Error> {
    let stats = Stats::of(instance, cpu)?;
    let written = pages.map(stats_beside).map(|path| {
        // Not truncated before: on a full disk the allocated space must be kept.
        let text = stats.to_text();
        let file = private().write(true).create(true).truncate(false).open(&path);
        let done = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        });
        done.map_err(|source| Error::file("write", &path, source))
    });
    Ok((stats, written.and_then(Result::err)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_back_as_it_was_written_and_not_if_it_was_cut() {
        let description = Description {
            instance: "headwater-1-0".into(),
            clock: Clock::Monotonic,
            buffer_bytes: 8 << 20,
            header_page: super::super::fixtures::HEADER_PAGE.trim_end().to_owned(),
            formats: super::super::fixtures::formats(),
            filters: vec![Filter::parse("sched_switch if prev_pid > 0 && next_comm ~ \"a*\"").expect("a filter")],
            calls: vec![Signature::parse("openat(int dfd, const char * filename)").expect("written so")],
            boot: "0123-45".into(),
        };
        let text = description.to_text();
        assert_eq!(Description::parse(&text).as_ref(), Some(&description));
        assert_eq!(description.kinds().expect("the kernel's own").len(), description.formats.len());
        description.layout().expect("the kernel's own");
        for cut in 1..200 {
            assert_eq!(Description::parse(&text[..text.len() - cut]), None, "{cut}");
        }
        let none = Description { formats: Vec::new(), ..description };
        assert_eq!(Description::parse(&none.to_text()), Some(none));
    }
}
