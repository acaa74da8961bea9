//! The settings of `bufmod` and the ioctls that change them. They lie in the module's memory, which the write side alone writes.

use std::time::Duration;

use super::{BufferFlags, CHUNK, CHUNK_MAX};
use crate::error::{Errno, Error, Result};
use crate::message::Message;
use crate::plumb::exchange::exchange;
use crate::plumb::queue::Queue;

const COMMANDS: u32 = (b'B' as u32) << 8;
/// Sets how long a message may wait in a chunk, as a [`timeval`]; 0 also sets the length of chunks to 0. `EINVAL` for a negative time,
/// or microseconds beyond 999,999.
#[doc(alias = "SBIOCSTIME")]
pub const SET_TIME: u32 = COMMANDS | 1;
/// Returns that time. `ERANGE` if there is none.
#[doc(alias = "SBIOCGTIME")]
pub const GET_TIME: u32 = COMMANDS | 2;
/// A chunk is passed on when it is full, however long that takes.
#[doc(alias = "SBIOCCTIME")]
pub const CLEAR_TIME: u32 = COMMANDS | 3;
/// Sets the length of chunks in bytes; 0: each message is passed on at once. `EINVAL` beyond [`CHUNK_MAX`].
#[doc(alias = "SBIOCSCHUNK")]
pub const SET_CHUNK: u32 = COMMANDS | 4;
/// Returns it.
#[doc(alias = "SBIOCGCHUNK")]
pub const GET_CHUNK: u32 = COMMANDS | 5;
/// Sets how many bytes of a message are kept; 0: all.
#[doc(alias = "SBIOCSSNAP")]
pub const SET_SNAP: u32 = COMMANDS | 6;
/// Returns it.
#[doc(alias = "SBIOCGSNAP")]
pub const GET_SNAP: u32 = COMMANDS | 7;
/// Sets the [`BufferFlags`]. `EINVAL` for others.
#[doc(alias = "SBIOCSFLAGS")]
pub const SET_FLAGS: u32 = COMMANDS | 8;
/// Returns them.
#[doc(alias = "SBIOCGFLAGS")]
pub const GET_FLAGS: u32 = COMMANDS | 9;

/// Whether a command is of this module.
pub(super) fn is_own(command: u32) -> bool {
    (SET_TIME..=GET_FLAGS).contains(&command)
}

/// A time as [`SET_TIME`] takes it: `struct timeval` of LP64, seconds and microseconds of 8 bytes each.
///
/// ```
/// use headwater_streams::modules::bufmod::timeval;
///
/// let bytes = timeval(std::time::Duration::from_millis(2500));
/// assert_eq!(bytes[..8], 2i64.to_ne_bytes());
/// assert_eq!(bytes[8..], 500_000i64.to_ne_bytes());
/// ```
pub fn timeval(time: Duration) -> [u8; 16] {
    let words = [time.as_secs() as i64, i64::from(time.subsec_micros())].map(i64::to_ne_bytes);
    std::array::from_fn(|at| words[at / 8][at % 8])
}

/// What has been set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    /// None: until the chunk is full.
    pub time: Option<Duration>,
    pub chunk: u32,
    pub snap: u32,
    pub flags: BufferFlags,
    /// How often the write side has asked for the chunk.
    pub requests: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { time: None, chunk: CHUNK, snap: 0, flags: BufferFlags::empty(), requests: 0 }
    }
}

/// The places in the module's memory.
const TIME_US: usize = 0;
const CHUNK_LEN: usize = 8;
const SNAP: usize = 12;
const FLAGS: usize = 16;
const REQUESTS: usize = 20;
pub(super) const LEN: usize = 24;

/// In the place of a time: there is none.
const NEVER: u64 = u64::MAX;

impl Settings {
    /// Reads them; another process may have written anything there.
    pub fn load(queue: &Queue<'_, '_, '_>) -> Result<Settings> {
        let mut bytes = [0; LEN];
        queue.read_instance(0, &mut bytes)?;
        Ok(Settings::of(&bytes))
    }

    pub(super) fn of(bytes: &[u8; LEN]) -> Settings {
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let time_us = u64::from_ne_bytes(std::array::from_fn(|byte| bytes[TIME_US + byte]));
        Settings {
            time: (time_us != NEVER).then(|| Duration::from_micros(time_us)),
            chunk: word(CHUNK_LEN).min(CHUNK_MAX),
            snap: word(SNAP),
            flags: BufferFlags::from_bits_truncate(word(FLAGS)),
            requests: word(REQUESTS),
        }
    }

    pub(super) fn bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let time_us = self.time.map_or(NEVER, |time| u64::try_from(time.as_micros()).unwrap_or(NEVER));
        bytes[TIME_US..][..8].copy_from_slice(&time_us.to_ne_bytes());
        let words = [(CHUNK_LEN, self.chunk), (SNAP, self.snap), (FLAGS, self.flags.bits()), (REQUESTS, self.requests)];
        for (at, word) in words {
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub fn store(self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.write_instance(0, &self.bytes())
    }

    /// Does what a command asks for. Returns what the caller gets, and whether the chunk is to be passed on.
    ///
    /// Errors: those of the command.
    pub(super) fn apply(&mut self, command: u32, data: &[u8]) -> Result<(Vec<u8>, bool)> {
        let word = || data.first_chunk().copied().map_or(0, u32::from_ne_bytes);
        let returned = |word: u32| Ok((word.to_ne_bytes().to_vec(), false));
        match command {
            GET_TIME => {
                let none = || Error::new(Errno::Range, "no time is set: a chunk waits until it is full");
                return self.time.ok_or_else(none).map(|time| (timeval(time).to_vec(), false));
            }
            GET_CHUNK => return returned(self.chunk),
            GET_SNAP => return returned(self.snap),
            GET_FLAGS => return returned(self.flags.bits()),
            SET_TIME => {
                let time = time_of(data)?;
                self.time = Some(time);
                if time.is_zero() {
                    self.chunk = 0;
                }
            }
            CLEAR_TIME => self.time = None,
            SET_CHUNK if word() > CHUNK_MAX => {
                let why = format!("a chunk has at most {CHUNK_MAX} bytes, and {} were asked for", word());
                return Err(Error::new(Errno::Inval, why));
            }
            SET_CHUNK => self.chunk = word(),
            SET_SNAP => {
                self.snap = word();
                return Ok((Vec::new(), false));
            }
            SET_FLAGS => {
                let unknown = || Error::new(Errno::Inval, format!("{:#x} has bits that are no flag", word()));
                self.flags = BufferFlags::from_bits(word()).ok_or_else(unknown)?;
            }
            _ => return Err(Error::new(Errno::Inval, "bufmod does not know the ioctl")),
        }
        Ok((Vec::new(), true))
    }
}

fn time_of(bytes: &[u8]) -> Result<Duration> {
    let (words, _) = bytes.as_chunks::<8>();
    let [seconds, microseconds] = [0, 1].map(|at| words.get(at).map_or(-1, |word| i64::from_ne_bytes(*word)));
    match (u64::try_from(seconds), u32::try_from(microseconds)) {
        (Ok(seconds), Ok(microseconds)) if microseconds < 1_000_000 => {
            // Beyond thousands of years it is any time at all.
            Ok(Duration::new(seconds.min(1 << 40), microseconds * 1000))
        }
        _ => Err(Error::new(Errno::Inval, format!("{seconds} s and {microseconds} us are no time"))),
    }
}

/// How many bytes the caller hands over.
fn len_in(command: u32) -> usize {
    match command {
        SET_TIME => 16,
        SET_CHUNK | SET_SNAP | SET_FLAGS => 4,
        _ => 0,
    }
}

/// Answers one of the module's own ioctls.
pub(super) fn answer<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    exchange(message, queue, len_in, |command, data, queue| {
        let mut settings = Settings::load(queue)?;
        let (returned, wants_chunk) = settings.apply(command, data)?;
        settings.store(queue)?;
        if wants_chunk {
            request_chunk(queue)?;
        }
        Ok((0, returned))
    })
}

/// Has the read side pass the chunk on, and begin a new interval.
pub(super) fn request_chunk(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let mut settings = Settings::load(queue)?;
    settings.requests = settings.requests.wrapping_add(1);
    queue.write_instance(REQUESTS, &settings.requests.to_ne_bytes())?;
    queue.enable_other();
    Ok(())
}
