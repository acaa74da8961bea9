//! An instance of tracefs: buffers, events and settings of its own. It neither disturbs other tracing nor is disturbed
//! by it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headwater_os_tools::mapping;
use headwater_os_tools::reaper::{Guard, Saved, Source, Will};
use rustix::fs::{FlockOperation, flock};

use super::drain::Pipe;
use super::events::Selection;
use super::pages::{Store, stats_beside};
use super::stats::Stats;
use super::{Error, Tracefs, mount, tracefs};
use crate::filter::Filter;

/// The prefix of an instance's name; the process id follows.
const PREFIX: &str = "headwater-";

/// Attempts to remove the instance on drop, and the pause between them: a reader that has just ended may still have a
/// file descriptor. If all fail, the guard removes it when the process ends.
const REMOVAL_TRIES: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// An instance. It is removed on drop, or by its guard if the process is killed.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    guard: Option<Guard>,
    /// Holds the lock of a live instance, which the guard shares ([`claim`]).
    _lock: File,
    /// The process that created it: a forked child drops a copy and must not remove the instance.
    owner: u32,
}

impl Instance {
    /// Creates an instance `headwater-PID-N`, switched off and without events. If the process is killed, the guard
    /// saves the contents of the pipes and buffers into the files of those CPUs whose files have names. Until then the
    /// guard holds the lock on the first file.
    ///
    /// # Errors
    /// [`Error::Permission`], [`Error::Refused`]; [`Error::File`] if the kernel has no instances; [`Error::Start`].
    pub(super) fn create(found: &Tracefs, sinks: &[(u32, Store, Pipe)]) -> Result<Instance, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let owner = std::process::id();
        let (path, lock) = loop {
            // Relaxed: only uniqueness matters.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = found.path("instances").join(format!("{PREFIX}{owner}-{number}"));
            match fs::create_dir(&path) {
                // Another process may have removed it before it was locked.
                Ok(()) => match lock(&path, FlockOperation::NonBlockingLockShared) {
                    Err(error) if path.exists() && error.kind() != io::ErrorKind::WouldBlock => {
                        return Err(Error::file("lock", &path, error));
                    }
                    Ok(lock) if path.exists() => break (path, lock),
                    _ => drop(fs::remove_dir(&path)),
                },
                // An instance of a process with the same process id, which is dead or of another PID namespace.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file("make an instance", &path, error)),
            }
        };
        let mut instance = Instance { path, guard: None, _lock: lock, owner };
        let cpus_to_save: Vec<SavedCpu<'_>> =
            sinks.iter().filter_map(|(cpu, store, pipe)| SavedCpu::of(&instance.path, *cpu, store, pipe)).collect();
        let lock = cpus_to_save.first().map(|cpu| cpu.lock);
        // Without the mount the paths would lead nowhere in the guard.
        let held = lock.into_iter().chain(mount::descriptor(&instance.path)).chain([instance._lock.as_fd()]).collect();
        let saved = cpus_to_save.iter().flat_map(SavedCpu::saved).collect();
        let guard = Guard::fork(&instance.path, "tracing_on", &Will { saved, held });
        instance.guard = Some(guard.map_err(|source| Error::Start { what: "the guard", source })?);
        instance.record(false)?;
        Ok(instance)
    }

    /// Returns its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its name, by which any process finds it: [`by_name`].
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Leaves the saving and the removal to the guard, which does both when this process has ended.
    pub(super) fn leave(mut self) {
        self.guard.take().into_iter().for_each(Guard::leave);
        // `drop` must not remove it.
        self.owner = 0;
    }

    /// Starts or stops recording.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn record(&self, on: bool) -> Result<(), Error> {
        self.set("tracing_on", if on { "1" } else { "0" })
    }

    /// Replaces the contents of a file of the instance.
    pub(super) fn set(&self, file: &str, value: &str) -> Result<(), Error> {
        tracefs::write(&self.path.join(file), value)
    }

    /// Switches an option such as `overwrite` on or off.
    pub(super) fn option(&self, name: &str, on: bool) -> Result<(), Error> {
        self.set(&format!("options/{name}"), if on { "1" } else { "0" })
    }

    /// Enables events; they are recorded while [`Instance::record`] is on.
    pub(super) fn enable(&self, events: &Selection) -> Result<(), Error> {
        events.switch(&self.path, true)
    }

    /// Sets the filters of those events that they are about, see [`filter`].
    ///
    /// # Errors
    /// Those of [`filter`].
    pub(super) fn filter(&self, events: &Selection, filters: &[Filter]) -> Result<(), Error> {
        filter(&self.path, events, filters)
    }

    /// Records only the threads of these processes and all that they fork from now on.
    pub(super) fn only(&self, processes: &[u32]) -> Result<(), Error> {
        self.option("event-fork", true)?;
        let file = self.path.join("set_event_pid");
        for process in processes {
            // Repeat for threads that were started meanwhile by threads not yet in the file. Those in the file bring
            // along their own.
            let mut written = Vec::new();
            loop {
                let new: Vec<u32> = threads(*process)?.into_iter().filter(|thread| !written.contains(thread)).collect();
                if new.is_empty() {
                    break;
                }
                // Append: an empty file would mean every process.
                new.iter().try_for_each(|thread| tracefs::append(&file, &thread.to_string()))?;
                written.extend(new);
            }
        }
        Ok(())
    }

    /// Excludes these threads from recording, whatever else is set.
    pub(super) fn never(&self, threads: &[u32]) -> Result<(), Error> {
        threads
            .iter()
            .try_for_each(|thread| tracefs::append(&self.path.join("set_event_notrace_pid"), &thread.to_string()))
    }

    /// Returns the kernel's counts for one CPU.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unreadable`].
    pub fn stats(&self, cpu: u32) -> Result<Stats, Error> {
        Stats::of(&self.path, cpu)
    }
}

/// The sources from which the guard saves the events of one CPU, and their destinations.
struct SavedCpu<'a> {
    lock: BorrowedFd<'a>,
    pipe: &'a Pipe,
    buffer: PathBuf,
    pages: &'a Path,
    counts: PathBuf,
    stats: PathBuf,
}

impl<'a> SavedCpu<'a> {
    /// Returns `None` if the file of pages has no name.
    fn of(instance: &Path, cpu: u32, store: &'a Store, pipe: &'a Pipe) -> Option<SavedCpu<'a>> {
        let pages = store.path.as_deref()?;
        let [buffer, counts] =
            ["trace_pipe_raw", "stats"].map(|file| instance.join(format!("per_cpu/cpu{cpu}/{file}")));
        Some(SavedCpu { lock: store.file.as_fd(), pipe, buffer, pages, counts, stats: stats_beside(pages) })
    }

    /// Returns what to save, in order. The counts come last, when the buffer is empty.
    fn saved(&self) -> [Saved<'_>; 3] {
        // The page size of a new instance.
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
            if remove(&self.path) {
                guard.into_iter().for_each(Guard::let_go);
                return;
            }
            std::thread::sleep(REMOVAL_PAUSE);
        }
        // Another process still reads the instance. Nothing is recorded any more.
        guard.into_iter().for_each(Guard::leave);
    }
}

/// Returns the instances whose process and guard are gone, so that they record without a reader.
///
/// # Errors
/// [`Error::File`] if instances cannot be listed.
pub fn stale(found: &Tracefs) -> Result<Vec<PathBuf>, Error> {
    let home = found.path("instances");
    let paths = tracefs::directories(&home)?.into_iter().map(|name| home.join(name));
    Ok(paths.filter(|path| claim(path).is_some()).collect())
}

/// Removes the [`stale`] instances with their contents. Returns their paths.
///
/// # Errors
/// As [`stale`].
pub fn sweep(found: &Tracefs) -> Result<Vec<PathBuf>, Error> {
    let is_removed = |path: &PathBuf| claim(path).is_some_and(|_lock| remove(path));
    Ok(stale(found)?.into_iter().filter(is_removed).collect())
}

/// Sets the filters of those events of an instance that they are about; several of one event must all hold.
///
/// # Errors
/// [`Error::Filter`] if the kernel refuses a filter, [`Error::File`].
pub(super) fn filter(instance: &Path, events: &Selection, filters: &[Filter]) -> Result<(), Error> {
    for (system, event) in events.iter() {
        let name = format!("{system}:{event}");
        let own: Vec<String> = filters
            .iter()
            .filter(|filter| filter.is_about(&name))
            .map(|filter| format!("({})", filter.condition()))
            .collect();
        if own.is_empty() {
            continue;
        }
        let file = instance.join("events").join(system).join(event).join("filter");
        tracefs::write(&file, &own.join(" && ")).map_err(|error| match error {
            Error::File { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                // The file then contains the filter, a mark at the place, and the reason.
                Error::Filter { event: name, why: tracefs::read(&file).unwrap_or_default() }
            }
            error => error,
        })?;
    }
    Ok(())
}

/// Returns the directory of the instance with that name, which a file may have told: it must be one of ours.
pub(super) fn by_name(name: &str) -> Result<PathBuf, Error> {
    let path = Tracefs::find()?.path("instances").join(name);
    if is_ours(name) { Ok(path) } else { Err(Error::file("find", &path, io::ErrorKind::NotFound.into())) }
}

/// Takes over an instance of ours whose process and guard are gone, for as long as the returned file is open. A live session and its
/// guard, which may be saving the contents, share a lock on the directory. The kernel shows the lock to all PID namespaces, in which the
/// process id of the name may have another meaning.
pub(super) fn claim(path: &Path) -> Option<File> {
    path.file_name().filter(|name| name.to_str().is_some_and(is_ours))?;
    lock(path, FlockOperation::NonBlockingLockExclusive).ok()
}

fn lock(path: &Path, operation: FlockOperation) -> io::Result<File> {
    let file = File::open(path)?;
    flock(&file, operation)?;
    Ok(file)
}

/// Whether a name is one that [`Instance::create`] gives.
fn is_ours(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, number)| pid.parse::<u32>().is_ok() && number.parse::<u32>().is_ok())
}

/// Returns the CPUs that have a buffer, ascending.
pub(super) fn cpus(found: &Tracefs) -> Result<Vec<u32>, Error> {
    let names = tracefs::directories(&found.path("per_cpu"))?;
    let mut cpus: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    Ok(cpus)
}

/// Stops and removes an instance. Returns whether it is gone.
pub(super) fn remove(path: &Path) -> bool {
    let _ = tracefs::write(&path.join("tracing_on"), "0");
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns the threads of a process.
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
    fn only_names_of_ours_are_instances() {
        for (name, expect) in [
            ("headwater-12-0", true),
            ("headwater-12", false),
            ("headwater-x-0", false),
            ("other-12-0", false),
            ("..", false),
            ("../headwater-12-0", false),
        ] {
            assert_eq!(is_ours(name), expect, "{name}");
        }
    }
}
