//! The loggers of a directory of devices: a table in a file that every process maps, and a mailbox for each logger.
//!
//! | what | where | how long |
//! |---|---|---|
//! | which loggers there are, what they ask for, the last numbers | the file `.log` | stays in the directory |
//! | that a logger lives | a lock on a byte of that file | as long as any process has the logger's stream |
//! | messages on their way | the FIFO `.log.N` of the logger | as long as any process has the logger's stream |
//!
//! No process holds a lock of its own while it submits: one that is killed or stopped holds no other up. The contents of the
//! table are not trusted. They choose who gets a message, and nothing worse.

use std::fmt;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use headwater_os::clock::now_ns;
use headwater_os::memory::SharedMemory;
use headwater_os::{files, mailbox, ofd_lock};
use headwater_shm::{CachePadded, Placed, probe, shareable};

use super::control::{LogControl, LogFlags, TraceId};
use super::{IDS_MAX, LOGGERS_MAX};
use crate::error::{Errno, Error, Result, fixed};

/// The table's file. A driver's name does not begin with a '.', so no table of minor numbers has this name.
const FILE: &str = ".log";
/// "HWLOG" and the version of the layout below.
const MAGIC: u64 = u64::from_le_bytes(*b"HWLOG\0\0\x01");
/// The place of the error logger. The others are trace loggers'.
pub(super) const ERROR: usize = 0;
/// The bits of `active` that are no loggers.
const CHANGE: u64 = 1 << LOGGERS_MAX;

shareable! {
    /// The file, from its beginning. Zeros are an empty table.
    struct Table {
        /// [`MAGIC`]. Set by an exchange, by the first process that finds 0.
        magic: AtomicU64,
        /// The loggers that are registered, a bit each; above them a count of registrations, so that no exchange takes a new
        /// logger for the dead one whose place it has. Changed by exchanges only.
        active: CachePadded<AtomicU64>,
        /// The number of the last message for the error logger, and for a trace logger. Counted by who submits.
        numbers: CachePadded<[AtomicU32; 2]>,
        loggers: [Logger; LOGGERS_MAX],
    }

    /// A logger. Written by who has locked its byte, but `lost`.
    struct Logger {
        /// Messages that found its mailbox full. Counted by who submits.
        lost: AtomicU64,
        /// How many of `ids` there are.
        count: AtomicU64,
        /// What a trace logger asks for.
        ids: [AtomicU64; IDS_MAX],
    }
}

/// The loggers of one directory.
#[derive(Debug)]
pub(crate) struct Loggers {
    directory: OwnedFd,
    file: Arc<SharedMemory>,
    table: Placed<Table>,
}

/// Opens the table's file, with an open file description of its own.
///
/// Errors: `EACCES` for a directory that others than this user may use: they could truncate the file under the processes that map it.
pub(crate) fn open_file(directory: impl AsFd) -> Result<OwnedFd> {
    let permissions = files::status(&directory)?.permissions;
    if permissions & 0o77 != 0 {
        let why =
            format!("`log` needs a directory of one user alone, and permissions {permissions:o} let others use it");
        return Err(Error::new(Errno::Acces, why));
    }
    Ok(files::open_or_make_at(directory, FILE, 0o600)?)
}

/// Checks that an open file is the table's: another process may have put it among the stream's files, and a file that it can make shorter
/// must not be mapped.
///
/// Errors: `EPROTO` for another file.
pub(super) fn check_file(directory: impl AsFd, file: &OwnedFd) -> Result<()> {
    let (status, table) = (files::status(file)?, files::status_at(directory, FILE)?);
    let is_it = table.is_some_and(|table| [table.device, table.number] == [status.device, status.number]);
    if is_it { Ok(()) } else { Err(fixed!(Proto, "a file of a stream of `log` is another than the table of loggers")) }
}

impl Loggers {
    /// The loggers of a directory, by an open file of [`open_file`].
    ///
    /// Errors: `EPROTO` for a file of another version.
    pub fn of(directory: OwnedFd, file: OwnedFd) -> Result<Loggers> {
        let file = Arc::new(SharedMemory::from_file(file, size_of::<Table>())?);
        let table: Placed<Table> = Placed::at(&file, 0).expect("the file was made for it");
        let found = table.magic.compare_exchange(0, MAGIC, Ordering::Relaxed, Ordering::Relaxed);
        match found {
            Ok(_) | Err(MAGIC) => Ok(Loggers { directory, file, table }),
            Err(_) => {
                Err(Error::new(Errno::Proto, "the table of loggers, .log, is of another version of this library"))
            }
        }
    }

    /// Takes the place of the error logger, or keeps it if the same open file description has taken it before.
    ///
    /// Errors: `EBUSY` if there is an error logger.
    pub fn take_errors(&self) -> Result<usize> {
        self.take(ERROR..ERROR + 1)?.ok_or_else(|| fixed!(Busy, "there is an error logger already"))
    }

    /// Takes the place of a trace logger, or keeps the one that the same open file description has taken before.
    ///
    /// Errors: `ENOSR` if all places are taken.
    pub fn take_traces(&self) -> Result<usize> {
        let most = LOGGERS_MAX - 1;
        let full = || Error::new(Errno::Nosr, format!("there are {most} trace loggers, which is the limit"));
        self.take(ERROR + 1..LOGGERS_MAX)?.ok_or_else(full)
    }

    /// Takes the first place that no other logger has.
    fn take(&self, mut places: Range<usize>) -> Result<Option<usize>> {
        let free = places.find_map(|place| match ofd_lock::mark(&*self.file, place as u64, 1) {
            Ok(false) => None,
            Ok(true) => Some(Ok(place)),
            Err(error) => Some(Err(error)),
        });
        let Some(place) = free.transpose()? else { return Ok(None) };
        // What a logger that was killed has left.
        self.forget(place);
        self.table.loggers[place].lost.store(0, Ordering::Relaxed);
        Ok(Some(place))
    }

    /// Makes the mailbox of a place, by which the logger gets its messages.
    pub fn make_mailbox(&self, place: usize) -> Result<OwnedFd> {
        Ok(mailbox::make_at(&self.directory, &name(place))?)
    }

    /// From now on the logger gets what it asks for.
    pub fn register(&self, place: usize, ids: &[TraceId]) {
        let logger = &self.table.loggers[place];
        for (word, id) in logger.ids.iter().zip(ids) {
            word.store(id.word(), Ordering::Relaxed);
        }
        logger.count.store(ids.len().min(IDS_MAX) as u64, Ordering::Relaxed);
        probe::at();
        let add = |active: u64| Some(active.wrapping_add(CHANGE) | 1 << place);
        // Release pairs with the Acquire in `wanted`: who sees the logger sees what it asks for.
        let _ = self.table.active.0.fetch_update(Ordering::Release, Ordering::Relaxed, add);
    }

    /// The logger gets no more messages. For who has its place.
    pub fn forget(&self, place: usize) {
        self.table.active.0.fetch_and(!(1 << place), Ordering::Relaxed);
    }

    /// The logger has ended: forgets it and removes its mailbox, if `self` is by the logger's own open file description.
    pub fn close(&self, place: usize) {
        if ofd_lock::mark(&*self.file, place as u64, 1).unwrap_or(false) {
            self.forget(place);
            let _ = files::remove_at(&self.directory, &name(place));
        }
    }

    /// The place was taken, and the stream did not become a logger: others may take it.
    pub fn give_up(&self, place: usize) {
        self.close(place);
        let _ = ofd_lock::unmark(&*self.file, place as u64, 1);
    }

    /// A message for a logger is lost: its mailbox was full, or its stream could not take it.
    pub fn note_lost(&self, place: usize) {
        self.table.loggers[place].lost.fetch_add(1, Ordering::Relaxed);
    }

    /// How many messages a logger has lost since it was registered.
    pub fn lost(&self, place: usize) -> u64 {
        self.table.loggers[place].lost.load(Ordering::Relaxed)
    }

    /// Whether there may be a logger for messages of these flags: one look.
    #[inline(always)]
    pub fn has_any(&self, flags: LogFlags) -> bool {
        self.wanted(flags) != 0
    }

    #[inline(always)]
    fn wanted(&self, flags: LogFlags) -> u64 {
        let mut wanted = 0;
        if flags.contains(LogFlags::ERROR) {
            wanted |= 1 << ERROR;
        }
        if flags.contains(LogFlags::TRACE) {
            wanted |= CHANGE - (1 << (ERROR + 1));
        }
        self.table.active.0.load(Ordering::Acquire) & wanted
    }

    /// Sends a message to all loggers that ask for it. False if one of them did not get it. `own`: the place of a logger that
    /// submits by its own stream, whose lock the kernel does not show it.
    pub fn submit(&self, own: Option<usize>, control: LogControl, text: fmt::Arguments<'_>) -> bool {
        self.submit_by(own, control, |packet| {
            // It fails where the text is cut.
            let _ = fmt::Write::write_fmt(packet, text);
        })
    }

    /// As [`Loggers::submit`], of text that is there.
    pub fn submit_bytes(&self, own: Option<usize>, control: LogControl, text: &[u8]) -> bool {
        self.submit_by(own, control, |packet| packet.push(text))
    }

    #[cold]
    fn submit_by(&self, own: Option<usize>, mut control: LogControl, text: impl FnOnce(&mut Packet)) -> bool {
        let wanted = self.wanted(control.flags);
        let takes = |place: usize| place == ERROR || self.takes(place, &control);
        let places = (0..LOGGERS_MAX).filter(|place| wanted >> place & 1 == 1 && takes(*place));
        let places = places.fold(0u64, |places, place| places | 1 << place);
        if places == 0 {
            return true;
        }
        // Only now: without a logger neither a clock is read nor text formatted.
        control.ltime = (now_ns() / 10_000_000) as u32;
        control.ttime = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()) as u32;
        let mut packet = Packet::new();
        text(&mut packet);
        let of_errors = places & 1 << ERROR;
        let mut got = true;
        for (kind, places) in [of_errors, places & !of_errors].into_iter().enumerate().filter(|(_, set)| *set != 0) {
            control.seq_no = self.table.numbers.0[kind].fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            probe::at();
            packet.set_control(&control);
            for place in (0..LOGGERS_MAX).filter(|place| places >> place & 1 == 1) {
                got &= self.send(place, own, &packet);
                probe::at();
            }
        }
        got
    }

    /// Whether a trace logger asks for a message.
    fn takes(&self, place: usize, message: &LogControl) -> bool {
        let logger = &self.table.loggers[place];
        let count = logger.count.load(Ordering::Relaxed).min(IDS_MAX as u64) as usize;
        logger.ids[..count].iter().any(|word| TraceId::of_word(word.load(Ordering::Relaxed)).takes(message))
    }

    /// Puts a message into a logger's mailbox. False if it did not fit, and is lost.
    fn send(&self, place: usize, own: Option<usize>, packet: &Packet) -> bool {
        // Before the look at the lock: a logger that comes after that makes the exchange fail.
        let active = self.table.active.0.load(Ordering::Relaxed);
        let lives = own == Some(place) || ofd_lock::is_locked(&*self.file, place as u64, 1).unwrap_or(true);
        if !lives {
            // The kernel has given its lock up: no process has its stream any more. If the exchange fails, the next message
            // comes by here too.
            probe::at();
            let without = active & !(1 << place);
            let _ = self.table.active.0.compare_exchange(active, without, Ordering::Relaxed, Ordering::Relaxed);
            return true;
        }
        let sent = mailbox::send_at(&self.directory, &name(place), packet.bytes()).unwrap_or(false);
        if !sent {
            self.note_lost(place);
        }
        sent
    }
}

/// The name of a logger's mailbox.
fn name(place: usize) -> String {
    format!("{FILE}.{place}")
}

/// A message in a mailbox: its control part, then its text.
struct Packet {
    bytes: [u8; mailbox::PACKET_MAX],
    len: usize,
}

impl Packet {
    fn new() -> Packet {
        Packet { bytes: [0; mailbox::PACKET_MAX], len: LogControl::LEN }
    }

    fn set_control(&mut self, control: &LogControl) {
        self.bytes[..LogControl::LEN].copy_from_slice(&control.bytes());
    }

    /// Appends text, and leaves out what does not fit.
    fn push(&mut self, text: &[u8]) {
        let room = &mut self.bytes[self.len..];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text[..count]);
        self.len += count;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for Packet {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.len;
        let fits = text.floor_char_boundary(room);
        self.push(&text.as_bytes()[..fits]);
        // Nothing is appended behind a gap.
        if fits < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The control part and the text of a packet; None if it is no message.
pub(super) fn parts(packet: &[u8]) -> Option<(&[u8], &[u8])> {
    packet.split_at_checked(LogControl::LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_seen_also_where_a_logger_was_before() {
        let path = std::env::temp_dir().join(format!("headwater-loggers-{}", std::process::id()));
        files::make_private_directory(&path).expect("mkdir");
        let directory = || files::find_directory(&path).expect("it is there");
        let loggers = Loggers::of(directory(), open_file(directory()).expect("own")).expect("new");
        let place = loggers.take_traces().expect("free");
        loggers.register(place, &[TraceId::ALL]);
        // What a submitter has read before it finds out that the logger is dead.
        let before = loggers.table.active.0.load(Ordering::Relaxed);
        loggers.forget(place);
        loggers.register(place, &[TraceId::ALL]);
        let after = loggers.table.active.0.load(Ordering::Relaxed);
        assert_ne!(before, after, "the submitter would take the new logger out");
        assert_eq!((before % CHANGE, after % CHANGE), (1 << place, 1 << place));
        std::fs::remove_dir_all(&path).expect("remove");
    }
}
