//! One instance of tracefs: buffers, events and settings of its own. Whoever else traces is not disturbed, and does not
//! disturb.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headwater_os::child;
use headwater_os_tools::mapping;
use headwater_os_tools::reaper::{Guard, Saved, Source, Will};

use super::drain::Pipe;
use super::events::Selection;
use super::pages::{Store, stats_beside};
use super::stats::Stats;
use super::{Error, Tracefs, support, tracefs};

/// Before the process id in an instance's name.
const PREFIX: &str = "headwater-";

/// How often removal is tried when it is dropped, and the pause in between: a reader that was just ended may still have a
/// descriptor. After that it is the guard's when the process ends.
const REMOVAL_TRIES: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// An instance, removed when it is dropped, and by its guard if the process does not come to that.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    guard: Option<Guard>,
    /// Who made it: a forked child drops a copy and must not remove it.
    owner: u32,
}

impl Instance {
    /// Makes an instance `headwater-PID-N`, switched off, that records nothing yet. If the process is killed, the guard saves
    /// what is on its way in the pipes and in the buffers into the files of the CPUs, where they have names, and holds
    /// the lock on the first one until then.
    ///
    /// # Errors
    /// [`Error::Permission`], [`Error::Refused`], [`Error::File`] where the kernel has no instances; [`Error::Start`].
    pub(super) fn create(found: &Tracefs, sinks: &[(u32, Store, Pipe)]) -> Result<Instance, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let owner = std::process::id();
        let path = loop {
            // Relaxed: only that no number comes twice.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = found.path("instances").join(format!("{PREFIX}{owner}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                // Of a dead process that had our id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file("make an instance", &path, error)),
            }
        };
        let mut instance = Instance { path, guard: None, owner };
        let places: Vec<Place<'_>> =
            sinks.iter().filter_map(|(cpu, store, pipe)| Place::of(&instance.path, *cpu, store, pipe)).collect();
        let held = places.first().map(|place| place.lock);
        let saved = places.iter().flat_map(Place::saved).collect();
        let guard = Guard::fork(&instance.path, "tracing_on", &Will { saved, held });
        instance.guard = Some(guard.map_err(|source| Error::Start { what: "the guard", source })?);
        instance.record(false)?;
        Ok(instance)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves what is to be done to the guard, which does it when this process has ended.
    pub(super) fn leave(mut self) {
        self.guard.take().into_iter().for_each(Guard::leave);
        // Not removed here.
        self.owner = 0;
    }

    /// Lets the buffers take events, or no more.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn record(&self, on: bool) -> Result<(), Error> {
        self.set("tracing_on", if on { "1" } else { "0" })
    }

    /// Writes to a file of the instance, replacing what stood there.
    pub(super) fn set(&self, file: &str, value: &str) -> Result<(), Error> {
        tracefs::write(&self.path.join(file), value)
    }

    /// Switches an option on or off, such as `overwrite`.
    pub(super) fn option(&self, name: &str, on: bool) -> Result<(), Error> {
        self.set(&format!("options/{name}"), if on { "1" } else { "0" })
    }

    /// Switches the events on; they are recorded while [`Instance::record`] is on.
    pub(super) fn enable(&self, events: &Selection) -> Result<(), Error> {
        events.enable(&self.path)
    }

    /// Records the threads of these processes alone, and what they fork from now on.
    pub(super) fn only(&self, processes: &[u32]) -> Result<(), Error> {
        self.option("event-fork", true)?;
        let file = self.path.join("set_event_pid");
        for process in processes {
            // Again for those that were started by others while we wrote: what is written already brings its own along.
            let mut written = Vec::new();
            loop {
                let new: Vec<u32> = threads(*process)?.into_iter().filter(|thread| !written.contains(thread)).collect();
                if new.is_empty() {
                    break;
                }
                // The file keeps what it has; an empty one would mean every process.
                new.iter().try_for_each(|thread| tracefs::append(&file, &thread.to_string()))?;
                written.extend(new);
            }
        }
        Ok(())
    }

    /// Records nothing of these threads, whatever else is said.
    pub(super) fn never(&self, threads: &[u32]) -> Result<(), Error> {
        threads
            .iter()
            .try_for_each(|thread| tracefs::append(&self.path.join("set_event_notrace_pid"), &thread.to_string()))
    }

    /// What the kernel counts for one CPU.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unreadable`].
    pub fn stats(&self, cpu: u32) -> Result<Stats, Error> {
        Stats::of(&self.path, cpu)
    }
}

/// Where the guard finds what it saves of a CPU, and where it saves it.
struct Place<'a> {
    lock: BorrowedFd<'a>,
    pipe: &'a Pipe,
    buffer: PathBuf,
    pages: &'a Path,
    counts: PathBuf,
    stats: PathBuf,
}

impl<'a> Place<'a> {
    /// None if the pages have no name.
    fn of(instance: &Path, cpu: u32, store: &'a Store, pipe: &'a Pipe) -> Option<Place<'a>> {
        let pages = store.path.as_deref()?;
        let [buffer, counts] =
            ["trace_pipe_raw", "stats"].map(|file| instance.join(format!("per_cpu/cpu{cpu}/{file}")));
        Some(Place { lock: store.file.as_fd(), pipe, buffer, pages, counts, stats: stats_beside(pages) })
    }

    /// The counts last, when the buffer is empty.
    fn saved(&self) -> [Saved<'_>; 3] {
        // A new instance has pages of this size.
        let page_bytes = mapping::page_bytes() as u32;
        let (pipe, buffer, counts) = (Source::Pipe(self.pipe.read.as_fd()), &*self.buffer, &*self.counts);
        [
            Saved { from: pipe, to: self.pages, unit_bytes: 1 },
            Saved { from: Source::File(buffer), to: self.pages, unit_bytes: page_bytes },
            Saved { from: Source::File(counts), to: &self.stats, unit_bytes: 1 },
        ]
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.owner != std::process::id() {
            return;
        }
        let guard = self.guard.take();
        for _ in 0..REMOVAL_TRIES {
            if removed(&self.path) {
                guard.into_iter().for_each(Guard::let_go);
                return;
            }
            std::thread::sleep(REMOVAL_PAUSE);
        }
        // Somebody reads it by a descriptor of his own. It records nothing any more.
        guard.into_iter().for_each(Guard::leave);
    }
}

/// The instances whose process is gone, which is the case only if its guard was killed as well: they record on.
///
/// # Errors
/// [`Error::Numbers`] where nobody can tell which process a name speaks of; [`Error::File`] if instances cannot be listed.
pub fn stale(found: &Tracefs) -> Result<Vec<PathBuf>, Error> {
    support::own_pids()?;
    let home = found.path("instances");
    let paths = tracefs::directories(&home)?.into_iter().map(|name| home.join(name));
    Ok(paths.filter(|path| is_stale(path)).collect())
}

/// Removes the [`stale`] instances, with what they hold; their paths.
///
/// # Errors
/// As [`stale`].
pub fn sweep(found: &Tracefs) -> Result<Vec<PathBuf>, Error> {
    Ok(stale(found)?.into_iter().filter(|path| removed(path)).collect())
}

/// Whether it is an instance of ours whose process is gone.
pub(super) fn is_stale(path: &Path) -> bool {
    path.file_name().and_then(|name| owner(name.to_str()?)).is_some_and(|pid| !child::exists(pid))
}

/// The process that an instance's name speaks of; None if it is not one of ours.
fn owner(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

/// The CPUs that have a buffer, ascending.
pub(super) fn cpus(found: &Tracefs) -> Result<Vec<u32>, Error> {
    let names = tracefs::directories(&found.path("per_cpu"))?;
    let mut cpus: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    Ok(cpus)
}

/// Stops and removes an instance. Whether it is gone.
pub(super) fn removed(path: &Path) -> bool {
    let _ = tracefs::write(&path.join("tracing_on"), "0");
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The threads of a process.
fn threads(process: u32) -> Result<Vec<u32>, Error> {
    let path = PathBuf::from(format!("/proc/{process}/task"));
    match tracefs::directories(&path) {
        Ok(names) => Ok(names.iter().filter_map(|name| name.parse().ok()).collect()),
        Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Err(Error::NoProcess(process)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_have_an_owner() {
        for (name, expect) in
            [("headwater-12-0", Some(12)), ("headwater-12", None), ("headwater-x-0", None), ("other-12-0", None)]
        {
            assert_eq!(owner(name), expect, "{name}");
        }
    }
}
