//! The memory of a session: the patterns of recorded events, the table of events, and the logs. A file or a memfd, so
//! that it outlives the programs that write there.
//!
//! | what | who writes |
//! |---|---|
//! | header | the creator of the session, before another process sees it; `state`, `selection`, `outside` and `wakes`: see there |
//! | table of event types, and their descriptions | programs, each entry once |
//! | table of threads, table of modules | programs, each place once |
//! | a log for each CPU | programs, by restartable sequences |
//! | logs for threads | threads that have no such sequences, each the one that it has claimed |
//!
//! All values read from it are checked: a program that corrupts it corrupts the trace and nothing else.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_os::memory::SharedMemory;
use headwater_os::stack;
use headwater_shm::logs::{LOG_MAX, LOG_MIN, Logs, WhenFull};
use headwater_shm::{Placed, shareable};

use crate::event::Type;
use crate::region::kinds::{Kinds, Slot, Stack, TEXTS_BYTES, Use};
use crate::region::modules::Module;
use crate::region::wake::Wakes;
use crate::region::who::Who;
use crate::schema::{Clock, EventKind};

mod kinds;
mod modules;
mod wake;
mod who;

pub use kinds::EVENTS_MAX;
pub use modules::Mapped;
pub(crate) use wake::Wait;
pub use wake::{WAIT_MAX, Waited};
pub use who::Greeting;

const MAGIC: u64 = u64::from_le_bytes(*b"HWTRACE\0");
/// Raised by any change of this file's meaning.
const VERSION: u32 = 13;

/// Bytes of the list of patterns.
pub const PATTERNS_MAX: usize = 2000;
/// Bytes of the list of events with stacks.
const STACKS_MAX: usize = 496;
/// The event by which a command reports what it has switched. Every session records it.
#[doc(hidden)]
pub const SWITCHED: &str = "headwater:switched";
/// CPUs: what Linux can be built for.
const CPUS_MAX: usize = 8192;
/// Logs for threads without restartable sequences; more threads than that have their events counted as lost.
const THREADS: usize = 64;
/// Bytes of such a log.
const THREAD_BYTES: usize = 64 << 10;
/// The table begins on a page of its own.
const TABLE_AT: usize = 8192;
const TEXTS_AT: usize = TABLE_AT + EVENTS_MAX * size_of::<Slot>();
const WHO_AT: usize = TEXTS_AT + TEXTS_BYTES;
const MODULES_AT: usize = WHO_AT + who::WHO_MAX * size_of::<Who>();
const LOGS_AT: usize = (MODULES_AT + modules::MODULES_MAX * size_of::<Module>()).next_multiple_of(4096);

shareable! {
    /// The description of the session.
    pub(crate) struct Header {
        pub magic: AtomicU64,
        pub version: AtomicU32,
        /// 0: a full log refuses; 1: it is overwritten.
        pub overwrite: AtomicU32,
        /// [`RUNNING`] or [`OVER`]. The consumer writes it.
        pub state: AtomicU32,
        /// 0: the time-stamp counter; 1: CLOCK_MONOTONIC in ns.
        pub clock: AtomicU32,
        pub frequency_hz: AtomicU64,
        /// The clock at 0: seconds since 1970, and ticks on top.
        pub offset_s: AtomicU64,
        pub offset_ticks: AtomicU64,
        pub cpus: AtomicU64,
        /// Bytes of a CPU's log.
        pub cpu_bytes: AtomicU64,
        /// Events that were written to no log at all. Added to by programs.
        pub outside: AtomicU64,
        /// At least the number of used places in the table of threads. Programs add to it.
        pub who: AtomicU32,
        /// The lowest bit says which of the two lists of patterns counts; the rest counts changes. The consumer and those
        /// commands of its user that switch events write it.
        pub selection: AtomicU32,
        pub patterns_len: [AtomicU32; 2],
        /// Two lists of which events are recorded, separated by commas, of 2000 bytes each. The list that does not count is
        /// overwritten by the next change.
        pub patterns: [AtomicU8; 4000],
        /// The directory that its consumer writes to, for which `headwater trace recover` looks. The consumer writes
        /// it.
        pub home_len: AtomicU32,
        pub home: [AtomicU8; 1024],
        /// The filters by which its consumer leaves events out, a line each. The creator writes them, before a program
        /// joins.
        pub filters_len: AtomicU32,
        pub filters: [AtomicU8; 2000],
        pub kinds: Use,
        /// At least the number of used places in the table of modules. Programs add to it.
        pub modules: AtomicU32,
        /// The events that are recorded with their stacks: patterns, separated by commas. The creator writes them, before a
        /// program joins.
        pub stacks_len: AtomicU32,
        pub stacks: [AtomicU8; STACKS_MAX],
        /// 0: by frame pointers; 1: as copies. The creator writes it, before a program joins.
        pub stacks_copied: AtomicU32,
        pub wakes: Wakes,
    }
}

pub(crate) const RUNNING: u32 = 1;
pub(crate) const OVER: u32 = 2;

/// The parameters of a new session.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Names with `*`, such as `headwater:*`, and after `!` names of events that are not recorded. The last one that matches
    /// an event decides; one that none matches is not recorded.
    pub patterns: Vec<String>,
    /// What happens when a log is full.
    pub when_full: WhenFull,
    /// Bytes of each CPU's log: a power of two.
    pub cpu_bytes: usize,
    /// The clock of the stamps.
    pub clock: Clock,
}

/// A session's memory, checked.
#[derive(Debug, Clone)]
pub struct Region {
    pub(crate) header: Placed<Header>,
    kinds: Kinds,
    who: Placed<[Who]>,
    modules: Placed<[Module]>,
    /// Of CPUs.
    pub(crate) cpus: Logs,
    /// Of threads without restartable sequences.
    pub(crate) threads: Logs,
    clock: Clock,
    /// How long an event waits for room, as it was when this process mapped the memory.
    wait: Duration,
    memory: Arc<SharedMemory>,
    /// The lock of the consumer, if that is this value or a clone of it.
    claimed: Arc<OnceLock<OwnedFd>>,
}

impl Layout {
    fn cpus() -> usize {
        let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
        let last = possible.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
        last.map_or_else(|| headwater_os::cpu::online() as usize, |last| last + 1).clamp(1, CPUS_MAX)
    }

    /// Bytes of the file of a session with such logs of the CPUs.
    pub fn file_bytes(cpu_bytes: usize) -> usize {
        LOGS_AT + Layout::cpus() * Logs::stride(cpu_bytes) + THREADS * Logs::stride(THREAD_BYTES)
    }

    /// # Errors
    /// `InvalidInput` for sizes that no session can have, with what is possible.
    fn check(&self) -> io::Result<String> {
        let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if !self.cpu_bytes.is_power_of_two() || !(LOG_MIN..=LOG_MAX).contains(&self.cpu_bytes) {
            return refuse(format!(
                "a buffer of {} bytes: it takes a power of two from 16 KiB to 1 GiB",
                self.cpu_bytes
            ));
        }
        joined(&self.patterns)
    }
}

/// A list of patterns as a session's memory has it.
fn joined(patterns: &[String]) -> io::Result<String> {
    let text = patterns.join(",");
    if text.len() > PATTERNS_MAX {
        let why = format!("the names of events are {} bytes long, {PATTERNS_MAX} at most", text.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(text)
}

impl Region {
    /// Makes a session's memory in a file that outlives all processes.
    ///
    /// # Errors
    /// `InvalidInput` for sizes that no session can have; what [`SharedMemory::create_file`] reports.
    pub fn create(path: &Path, layout: &Layout) -> io::Result<Region> {
        let patterns = layout.check()?;
        let cpus = Layout::cpus();
        let len = Layout::file_bytes(layout.cpu_bytes);
        let memory = Arc::new(SharedMemory::create_file(path, len)?);
        let header: Placed<Header> = Placed::at(&memory, 0).expect("the header is inside");
        // Relaxed: no other process knows the file yet.
        header.write_patterns(0, &patterns);
        header.overwrite.store(u32::from(layout.when_full == WhenFull::Overwrite), Ordering::Relaxed);
        header.clock.store(u32::from(layout.clock.name != "tsc"), Ordering::Relaxed);
        header.frequency_hz.store(layout.clock.frequency_hz, Ordering::Relaxed);
        header.offset_s.store(layout.clock.offset_s as u64, Ordering::Relaxed);
        header.offset_ticks.store(layout.clock.offset_ticks, Ordering::Relaxed);
        header.cpus.store(cpus as u64, Ordering::Relaxed);
        header.cpu_bytes.store(layout.cpu_bytes as u64, Ordering::Relaxed);
        header.version.store(VERSION, Ordering::Relaxed);
        header.state.store(RUNNING, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Region::over(memory)
    }

    /// Maps the memory of a session.
    ///
    /// # Errors
    /// `InvalidData` for a file that is no session of this version; what [`SharedMemory::open_file`] reports.
    pub fn open(path: &Path) -> io::Result<Region> {
        Region::over(Arc::new(SharedMemory::open_file(path, LOGS_AT + CPUS_MAX * Logs::stride(LOG_MAX))?))
    }

    fn over(memory: Arc<SharedMemory>) -> io::Result<Region> {
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("no trace session: {why}"));
        let header: Placed<Header> = Placed::at(&memory, 0).ok_or_else(|| refuse("too short"))?;
        if header.magic.load(Ordering::Acquire) != MAGIC {
            return Err(refuse("it does not begin like one"));
        }
        if header.version.load(Ordering::Relaxed) != VERSION {
            return Err(refuse("it is of another version of headwater"));
        }
        let size = |word: &AtomicU64| usize::try_from(word.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        let (cpus, bytes) = (size(&header.cpus), size(&header.cpu_bytes));
        let when_full = match header.overwrite.load(Ordering::Relaxed) {
            0 => WhenFull::Refuse,
            _ => WhenFull::Overwrite,
        };
        let sound = (1..=CPUS_MAX).contains(&cpus) && bytes.is_power_of_two() && (LOG_MIN..=LOG_MAX).contains(&bytes);
        let logs = sound.then(|| {
            let threads_at = LOGS_AT + cpus * Logs::stride(bytes);
            let slots = Placed::slice_at(&memory, TABLE_AT, EVENTS_MAX)?;
            let kinds = Kinds { slots, texts: Placed::slice_at(&memory, TEXTS_AT, TEXTS_BYTES)? };
            let who = Placed::slice_at(&memory, WHO_AT, who::WHO_MAX)?;
            let modules = Placed::slice_at(&memory, MODULES_AT, modules::MODULES_MAX)?;
            let cpus = Logs::at(&memory, LOGS_AT, cpus, bytes, when_full)?;
            let threads = Logs::at(&memory, threads_at, THREADS, THREAD_BYTES, when_full)?;
            Some((kinds, who, modules, cpus, threads))
        });
        let (kinds, who, modules, cpus, threads) = logs.flatten().ok_or_else(|| refuse("its sizes disagree"))?;
        let clock = Clock {
            name: if header.clock.load(Ordering::Relaxed) == 0 { "tsc" } else { "monotonic" }.to_owned(),
            frequency_hz: header.frequency_hz.load(Ordering::Relaxed).max(1),
            offset_s: header.offset_s.load(Ordering::Relaxed) as i64,
            offset_ticks: header.offset_ticks.load(Ordering::Relaxed),
        };
        let wait = header.wakes.wait();
        Ok(Region { header, kinds, who, modules, cpus, threads, clock, wait, memory, claimed: Arc::default() })
    }

    /// Whether the memory is the same file.
    pub(crate) fn is_same(&self, other: &Region) -> bool {
        let file = |region: &Region| {
            let status = headwater_os::files::status(&*region.memory).ok()?;
            Some((status.device, status.number))
        };
        file(self).is_some() && file(self) == file(other)
    }

    /// Claims the role of the session's consumer for this process, as long as it has the region. False if another
    /// process has it.
    ///
    /// # Errors
    /// What flock(2) reports, and open(2) of the memory in /proc.
    pub fn claim(&self) -> io::Result<bool> {
        if self.claimed.get().is_some() {
            return Ok(true);
        }
        let lock = headwater_os::files::try_lock(&*self.memory)?;
        Ok(lock.is_some_and(|lock| self.claimed.set(lock).is_ok()))
    }

    /// The logs of the CPUs.
    pub fn cpu_logs(&self) -> &Logs {
        &self.cpus
    }

    /// The logs of threads without restartable sequences.
    pub fn thread_logs(&self) -> &Logs {
        &self.threads
    }

    /// Events that were written to no log at all.
    pub fn lost_outside(&self) -> u64 {
        self.header.outside.load(Ordering::Relaxed)
    }

    /// Whether the session has been ended.
    pub fn is_over(&self) -> bool {
        self.header.state.load(Ordering::Relaxed) == OVER
    }

    /// What happens when a log is full.
    pub fn when_full(&self) -> WhenFull {
        self.cpus.when_full()
    }

    /// Notes the directory of its recording. One with a longer path than 1024 bytes is not noted.
    pub fn set_home(&self, home: &Path) {
        let bytes = home.as_os_str().as_bytes();
        if bytes.len() <= self.header.home.len() {
            note(&self.header.home_len, &self.header.home, bytes);
        }
    }

    /// The directory of its recording, if one was noted. Any program of the session may have changed it.
    pub fn home(&self) -> Option<PathBuf> {
        let bytes = noted(&self.header.home_len, &self.header.home);
        (!bytes.is_empty()).then(|| OsString::from_vec(bytes).into())
    }

    /// Notes the filters by which the consumer leaves events out, for those that continue after it.
    ///
    /// # Errors
    /// `InvalidInput` if they are more than 2000 bytes with a line end between each.
    pub fn set_filters(&self, filters: &[String]) -> io::Result<()> {
        let text = filters.join("\n");
        if text.len() > self.header.filters.len() {
            let why = format!("the filters are {} bytes long, {} at most", text.len(), self.header.filters.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        note(&self.header.filters_len, &self.header.filters, text.as_bytes());
        Ok(())
    }

    /// The filters that were noted. Any program of the session may have changed them.
    pub fn filters(&self) -> Vec<String> {
        let text = noted(&self.header.filters_len, &self.header.filters);
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }

    /// Sets which events are recorded with their stacks, and whether as copies.
    ///
    /// # Errors
    /// `InvalidInput` if the patterns are more than 496 bytes with a comma between each.
    pub fn set_stacks(&self, patterns: &[String], are_copied: bool) -> io::Result<()> {
        let text = patterns.join(",");
        if text.len() > STACKS_MAX {
            let why = format!("the names of events with stacks are {} bytes long, {STACKS_MAX} at most", text.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.header.stacks_copied.store(are_copied.into(), Ordering::Relaxed);
        note(&self.header.stacks_len, &self.header.stacks, text.as_bytes());
        Ok(())
    }

    /// Whether an event of that name is recorded with its stack. Allocates nothing.
    pub(crate) fn wants_stack(&self, name: &str) -> bool {
        let len = self.header.stacks_len.load(Ordering::Acquire) as usize;
        let mut text = [0; STACKS_MAX];
        let Some(bytes) = self.header.stacks.get(..len).filter(|bytes| !bytes.is_empty()) else { return false };
        text.iter_mut().zip(bytes).for_each(|(copy, byte)| *copy = byte.load(Ordering::Relaxed));
        str::from_utf8(&text[..len]).is_ok_and(|patterns| selects(patterns, name))
    }

    /// Whether records with a stack have a copy of it.
    pub(crate) fn copies_stacks(&self) -> bool {
        self.header.stacks_copied.load(Ordering::Relaxed) != 0
    }

    /// The clock of the stamps.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether an event of that name is recorded. Allocates nothing.
    pub fn wants(&self, name: &str) -> bool {
        name == SWITCHED || self.with_patterns(|patterns| selects(patterns, name))
    }

    /// The patterns of the recorded events.
    pub fn patterns(&self) -> Vec<String> {
        self.with_patterns(|text| text.split(',').filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect())
    }

    /// Changes which events are recorded from now on. Programs notice that at their next event that is not recorded, or
    /// when they fill a page of a log. One process at a time may do this; the caller sees to that.
    ///
    /// # Errors
    /// `InvalidInput` if they are more than [`PATTERNS_MAX`] bytes with a comma between each; nothing has changed then.
    pub fn set_patterns(&self, patterns: &[String]) -> io::Result<()> {
        let text = joined(patterns)?;
        let next = self.selection().wrapping_add(1);
        self.header.write_patterns(next as usize % 2, &text);
        // Pairs with the Acquire in `with_patterns`.
        self.header.selection.store(next, Ordering::Release);
        Ok(())
    }

    /// Differs from what it was before whenever the set of recorded events has changed, or the session has ended.
    #[inline]
    pub(crate) fn selection(&self) -> u32 {
        self.header.selection.load(Ordering::Acquire)
    }

    /// Calls `read` with the list of patterns. Allocates nothing.
    fn with_patterns<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        let (mut text, mut len) = ([0; PATTERNS_MAX], 0);
        // A limit, because any program of the session can change the number all the time.
        for _ in 0..100 {
            let before = self.selection();
            let list = before as usize % 2;
            len = (self.header.patterns_len[list].load(Ordering::Relaxed) as usize).min(PATTERNS_MAX);
            let bytes = &self.header.patterns[list * PATTERNS_MAX..][..len];
            text.iter_mut().zip(bytes).for_each(|(copy, byte)| *copy = byte.load(Ordering::Relaxed));
            // After two changes the list has been overwritten.
            fence(Ordering::Acquire);
            if self.header.selection.load(Ordering::Relaxed) == before {
                break;
            }
        }
        let text = &text[..len];
        let sound = str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
        read(str::from_utf8(&text[..sound]).unwrap_or_default())
    }

    /// The id of an event, which is added to the table if it is new. None if the table is full, or the event's
    /// description too long. Allocates nothing: the event may stand in a signal handler.
    pub(crate) fn enter(&self, name: &str, fields: &[(&str, Type)]) -> Option<u32> {
        self.kinds.enter(&self.header.kinds, name, fields, Stack::None)
    }

    /// As [`Region::enter`], for an event whose records have a stack.
    pub(crate) fn enter_with_stack(&self, name: &str, fields: &[(&str, Type)]) -> Option<u32> {
        let stack = if self.copies_stacks() { Stack::Copy } else { Stack::Frames };
        self.kinds.enter(&self.header.kinds, name, fields, stack)
    }

    /// Whether a kind of event has found no room: each event of it is counted as lost.
    pub fn is_table_full(&self) -> bool {
        self.header.kinds.is_full()
    }

    /// Stores the identity of a thread, which goes into the trace whenever it is written; returns whether there was
    /// room.
    pub(crate) fn greet(&self, time: u64, thread: u32, pid: u32, name: &str) -> bool {
        who::note(&self.who, &self.header.who, time, thread, pid, name)
    }

    /// The threads that have been stored this way, from a place of the table onwards; None for a place that was taken
    /// but not filled in.
    pub fn greetings(&self, first: u32) -> impl Iterator<Item = Option<Greeting>> {
        who::noted(&self.who, &self.header.who, first as usize)
    }

    /// Stores an executable mapping of this process; returns whether there was room. Allocates nothing.
    pub(crate) fn note_module(&self, pid: u32, time: u64, module: &stack::Module<'_>) -> bool {
        modules::note(&self.modules, &self.header.modules, pid, time, module)
    }

    /// The mappings that have been stored, from a place of the table onwards; None for a place that was taken but not filled
    /// in.
    pub fn modules(&self, first: u32) -> impl Iterator<Item = Option<Mapped>> {
        modules::noted(&self.modules, &self.header.modules, first as usize)
    }

    /// The event with that id, if there is one that can be read.
    pub fn kind(&self, id: usize) -> Option<EventKind> {
        self.kinds.get(id)
    }

    /// The first id that no event has yet, if those below `from` are known to be taken.
    pub fn kinds_end(&self, from: usize) -> usize {
        self.kinds.end(from)
    }
}

impl Header {
    fn write_patterns(&self, list: usize, text: &str) {
        let place = &self.patterns[list * PATTERNS_MAX..][..PATTERNS_MAX];
        place.iter().zip(text.bytes()).for_each(|(byte, value)| byte.store(value, Ordering::Relaxed));
        self.patterns_len[list].store(text.len() as u32, Ordering::Relaxed);
    }
}

/// Stores bytes, for which there is room, for [`noted`].
fn note(len: &AtomicU32, place: &[AtomicU8], bytes: &[u8]) {
    place.iter().zip(bytes).for_each(|(place, byte)| place.store(*byte, Ordering::Relaxed));
    // Pairs with the Acquire in `noted`.
    len.store(bytes.len() as u32, Ordering::Release);
}

fn noted(len: &AtomicU32, place: &[AtomicU8]) -> Vec<u8> {
    let bytes = place.get(..len.load(Ordering::Acquire) as usize).unwrap_or_default();
    bytes.iter().map(|byte| byte.load(Ordering::Relaxed)).collect()
}

/// Takes the next place of a table according to `count`, for the caller alone. None if the table is full.
fn next_place<'t, T>(table: &'t [T], count: &AtomicU32) -> Option<&'t T> {
    // The count does not overflow: that of a full table is raised only by those that have found it not full.
    if count.load(Ordering::Relaxed) as usize >= table.len() {
        return None;
    }
    table.get(count.fetch_add(1, Ordering::Relaxed) as usize)
}

/// The places of a table that are taken, from `first` onwards.
fn taken_places<'t, T>(table: &'t [T], count: &AtomicU32, first: usize) -> &'t [T] {
    let taken = (count.load(Ordering::Relaxed) as usize).min(table.len());
    &table[first.min(taken)..taken]
}

/// Whether a list of patterns records an event of that name: see [`Layout::patterns`].
fn selects(patterns: &str, name: &str) -> bool {
    patterns.split(',').fold(false, |is_on, pattern| match pattern.strip_prefix('!') {
        Some(pattern) => is_on && !matches(pattern, name),
        None => is_on || matches(pattern, name),
    })
}

/// Whether a name matches a pattern in which `*` stands for anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => {
            let Some(name) = name.strip_prefix(before) else { return false };
            (0..=name.len()).any(|at| name.is_char_boundary(at) && matches(rest, &name[at..]))
        }
    }
}

const _: () = assert!(size_of::<Header>() <= TABLE_AT && size_of::<Slot>() == 16);

#[cfg(test)]
mod tests;
