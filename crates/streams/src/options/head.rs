//! The options of a head: how it reads, how it writes, how it reports errors; and M_SETOPTS, by which a module sets
//! them.

use std::sync::atomic::Ordering;

use crate::error::{Error, Result, Text, fixed};
use crate::layout::EndWords;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};

/// How read treats boundaries of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(u32)]
pub enum ReadMode {
    /// Bytes without boundaries; a message without bytes ends a read (RNORM).
    #[default]
    Bytes = 0,
    /// One message a call; what does not fit the buffer is discarded (RMSGD).
    MessageDiscard = 1,
    /// One message a call; what does not fit the buffer is read by the next (RMSGN).
    MessageKeep = 2,
}

/// How read treats a control part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(u32)]
pub enum ControlMode {
    /// It fails with EBADMSG (RPROTNORM).
    #[default]
    Refuse = 0x10,
    /// It is read as data, before the data (RPROTDAT).
    AsData = 0x4,
    /// It is discarded (RPROTDIS).
    Discard = 0x8,
}

/// How an end reads (I_SRDOPT).
///
/// ```
/// use headwater_streams::{ReadMode, ReadOptions};
///
/// let (near, far) = headwater_streams::pipe()?;
/// far.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageDiscard))?;
/// near.write(b"first")?;
/// near.putmsg(None, Some(b"second"))?;
/// let mut text = [0; 16];
/// assert_eq!((far.read(&mut text)?, far.read(&mut text)?), (5, 6));
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
#[doc(alias = "I_SRDOPT")]
pub struct ReadOptions {
    /// Boundaries.
    pub mode: ReadMode,
    /// Control parts.
    pub control: ControlMode,
    /// A read blocks until its whole count is there; a message without bytes, a mark, a signal or a hang-up ends it early
    /// (RFILL).
    pub fill: bool,
}

const RFILL: u32 = 0x20;

/// Beside the options in the end's word: a module of the end treats messages that came to the head before it was pushed.
const TREATS_EARLIER: u32 = 1 << 31;

impl ReadOptions {
    /// The default of every end: bytes, and EBADMSG for a control part (RNORM, RPROTNORM).
    #[doc = include_str!("../../doc/read_mode.md")]
    pub const fn new() -> ReadOptions {
        ReadOptions { mode: ReadMode::Bytes, control: ControlMode::Refuse, fill: false }
    }

    /// Sets how read treats boundaries of messages.
    #[must_use]
    #[doc = include_str!("../../doc/read_mode.md")]
    pub const fn mode(self, mode: ReadMode) -> ReadOptions {
        ReadOptions { mode, ..self }
    }

    /// Sets how read treats a control part.
    #[must_use]
    #[doc = include_str!("../../doc/read_mode.md")]
    pub const fn control(self, control: ControlMode) -> ReadOptions {
        ReadOptions { control, ..self }
    }

    /// Whether a read blocks until its whole count is there (RFILL).
    #[must_use]
    #[doc = include_str!("../../doc/read_mode.md")]
    pub const fn fill(self, fill: bool) -> ReadOptions {
        ReadOptions { fill, ..self }
    }

    /// The options of an end; the defaults if its word is invalid.
    #[inline]
    pub(crate) fn of(end: &EndWords) -> ReadOptions {
        ReadOptions::from_word(end.read_options.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Of the end's word.
    #[inline]
    pub(crate) fn from_word(word: u32) -> Result<ReadOptions> {
        ReadOptions::from_bits(word & !TREATS_EARLIER)
    }

    /// Makes them those of an end.
    pub(crate) fn set(self, end: &EndWords) {
        let with_rest = |word: u32| Some(word & TREATS_EARLIER | self.bits());
        let _ = end.read_options.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_rest);
    }

    /// Whether a module of the end treats messages that came before it ([`Module::treat_earlier`](crate::Module::treat_earlier)).
    #[inline]
    pub(crate) fn treats_earlier(end: &EndWords) -> bool {
        end.read_options.load(Ordering::Relaxed) & TREATS_EARLIER != 0
    }

    /// Notes whether a module of the end does so.
    pub(crate) fn note_treats_earlier(end: &EndWords, treats: bool) {
        if treats {
            end.read_options.fetch_or(TREATS_EARLIER, Ordering::Relaxed);
        } else {
            end.read_options.fetch_and(!TREATS_EARLIER, Ordering::Relaxed);
        }
    }

    /// The bits of I_GRDOPT.
    #[doc = include_str!("../../doc/read_mode.md")]
    pub fn bits(self) -> u32 {
        self.mode as u32 | self.control as u32 | if self.fill { RFILL } else { 0 }
    }

    /// From the bits of I_SRDOPT.
    ///
    /// # Errors
    /// `EINVAL` for bits that exclude each other or mean nothing.
    #[inline]
    #[doc = include_str!("../../doc/read_mode.md")]
    pub fn from_bits(bits: u32) -> Result<ReadOptions> {
        let mode = match bits & 0x3 {
            0 => ReadMode::Bytes,
            1 => ReadMode::MessageDiscard,
            2 => ReadMode::MessageKeep,
            _ => return Err(fixed!(Inval, "RMSGD and RMSGN exclude each other")),
        };
        let control = match bits & 0x1c {
            0 | 0x10 => ControlMode::Refuse,
            0x4 => ControlMode::AsData,
            0x8 => ControlMode::Discard,
            _ => return Err(fixed!(Inval, "RPROTNORM, RPROTDAT and RPROTDIS exclude each other")),
        };
        if bits & !0x3f != 0 {
            return Err(Error::numbered(Text::ReadOptionBits, (bits & !0x3f).into(), 0));
        }
        Ok(ReadOptions { mode, control, fill: bits & RFILL != 0 })
    }
}

/// How an end writes (I_SWROPT).
///
/// ```
/// use headwater_streams::WriteOptions;
///
/// let (near, far) = headwater_streams::pipe()?;
/// near.settings().set_write_options(WriteOptions::PIPE.zero(true))?;
/// near.write(b"")?;
/// assert_eq!(far.nread()?, (0, 1));
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
#[doc(alias = "I_SWROPT")]
pub struct WriteOptions {
    /// A write of no bytes sends a message without bytes (SNDZERO).
    pub zero: bool,
    /// A write that has no reader, or that fails for an error that a module raised, also raises SIGPIPE in the thread
    /// that writes (SNDPIPE), as with a pipe of the kernel. Rust programs ignore that signal, unless they change it.
    pub pipe: bool,
    /// A sleeping reader is not woken for little: it sleeps on for at most the hold time (SNDHOLD).
    pub hold: bool,
    /// Each write ends a record: nothing is appended to it (SNDDELIM).
    pub delimit: bool,
    /// An empty reader tells the other head for how many bytes it waits, and is not woken for fewer (SNDMREAD).
    pub notify: bool,
}

/// Bits of [`WriteOptions`] that are looked at alone.
const HOLD: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 4;

impl WriteOptions {
    /// The default of a pipe.
    pub const PIPE: WriteOptions = WriteOptions { zero: false, pipe: true, hold: false, delimit: false, notify: false };

    /// The default of a device.
    pub const DEVICE: WriteOptions = WriteOptions { zero: true, pipe: false, ..WriteOptions::PIPE };

    /// Whether a write of no bytes sends a message (SNDZERO).
    #[must_use]
    #[doc = include_str!("../../doc/write_mode.md")]
    pub const fn zero(self, zero: bool) -> WriteOptions {
        WriteOptions { zero, ..self }
    }

    /// Whether a write without a reader also raises SIGPIPE (SNDPIPE).
    #[must_use]
    #[doc = include_str!("../../doc/write_mode.md")]
    pub const fn pipe(self, pipe: bool) -> WriteOptions {
        WriteOptions { pipe, ..self }
    }

    /// Whether a sleeping reader is left asleep for the hold time (SNDHOLD).
    #[must_use]
    #[doc = include_str!("../../doc/write_mode.md")]
    pub const fn hold(self, hold: bool) -> WriteOptions {
        WriteOptions { hold, ..self }
    }

    /// Whether each write ends a record (SNDDELIM).
    #[must_use]
    #[doc = include_str!("../../doc/write_mode.md")]
    pub const fn delimit(self, delimit: bool) -> WriteOptions {
        WriteOptions { delimit, ..self }
    }

    /// Whether an empty reader tells the other head for how many bytes it waits (SNDMREAD).
    #[must_use]
    #[doc = include_str!("../../doc/write_mode.md")]
    pub const fn notify(self, notify: bool) -> WriteOptions {
        WriteOptions { notify, ..self }
    }

    /// The options of an end; a pipe's if its word is invalid.
    #[inline]
    pub(crate) fn of(end: &EndWords) -> WriteOptions {
        WriteOptions::from_bits(end.write_options.load(Ordering::Relaxed)).unwrap_or(WriteOptions::PIPE)
    }

    /// Whether an end has `hold` set.
    pub(crate) fn holds(end: &EndWords) -> bool {
        end.write_options.load(Ordering::Relaxed) & HOLD != 0
    }

    /// Whether an end has `notify` set.
    pub(crate) fn notifies(end: &EndWords) -> bool {
        end.write_options.load(Ordering::Relaxed) & NOTIFY != 0
    }

    /// Sets or clears `notify` of an end.
    pub(crate) fn set_notify(end: &EndWords, notify: bool) {
        if notify {
            end.write_options.fetch_or(NOTIFY, Ordering::Relaxed);
        } else {
            end.write_options.fetch_and(!NOTIFY, Ordering::Relaxed);
        }
    }

    /// The bits of I_GWROPT.
    #[doc = include_str!("../../doc/write_mode.md")]
    pub fn bits(self) -> u32 {
        let WriteOptions { zero, pipe, hold, delimit, notify } = self;
        [zero, pipe, hold, delimit, notify].into_iter().rev().fold(0, |bits, on| bits << 1 | u32::from(on))
    }

    /// From the bits of I_SWROPT.
    ///
    /// # Errors
    /// `EINVAL` for bits that mean nothing.
    #[inline]
    #[doc = include_str!("../../doc/write_mode.md")]
    pub fn from_bits(bits: u32) -> Result<WriteOptions> {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let options = WriteOptions { zero: on(0), pipe: on(1), hold: on(2), delimit: on(3), notify: on(4) };
        if bits > 0x1f {
            return Err(Error::numbered(Text::WriteOptionBits, (bits & !0x1f).into(), 0));
        }
        Ok(options)
    }
}

/// Whether an error that a module or driver raised is reported once or for ever (I_SERROPT).
///
/// ```
/// use headwater_streams::ErrorOptions;
///
/// let (near, _far) = headwater_streams::pipe()?;
/// near.settings().set_error_options(ErrorOptions::new().read_once(true));
/// assert!(near.settings().error_options().read_once);
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
#[doc(alias = "I_SERROPT")]
pub struct ErrorOptions {
    /// A read error is reported once (RERRNONPERSIST).
    pub read_once: bool,
    /// A write error is reported once (WERRNONPERSIST).
    pub write_once: bool,
}

impl ErrorOptions {
    /// The default of every end: errors stay (RERRNORM, WERRNORM).
    #[doc = include_str!("../../doc/error_mode.md")]
    pub const fn new() -> ErrorOptions {
        ErrorOptions { read_once: false, write_once: false }
    }

    /// Whether a read error is reported once (RERRNONPERSIST).
    #[must_use]
    #[doc = include_str!("../../doc/error_mode.md")]
    pub const fn read_once(self, read_once: bool) -> ErrorOptions {
        ErrorOptions { read_once, ..self }
    }

    /// Whether a write error is reported once (WERRNONPERSIST).
    #[must_use]
    #[doc = include_str!("../../doc/error_mode.md")]
    pub const fn write_once(self, write_once: bool) -> ErrorOptions {
        ErrorOptions { write_once, ..self }
    }

    pub(crate) fn bits(self) -> u32 {
        u32::from(self.read_once) | u32::from(self.write_once) << 1
    }

    pub(crate) fn from_bits(bits: u32) -> ErrorOptions {
        ErrorOptions { read_once: bits & 1 != 0, write_once: bits & 2 != 0 }
    }
}

/// The options that a module sets at a head by M_SETOPTS. None leaves an option unchanged.
///
/// ```
/// use headwater_streams::SetOptions;
///
/// let message = SetOptions::new().hiwat(8192).lowat(2048).message();
/// assert!(message.data().is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
#[doc(alias = "M_SETOPTS")]
#[doc(alias = "stroptions")]
pub struct SetOptions {
    /// Read options, as bits of I_SRDOPT.
    pub read: Option<u32>,
    /// High-water mark of the head's read queue, bytes.
    pub hiwat: Option<u32>,
    /// Low-water mark of the head's read queue, bytes.
    pub lowat: Option<u32>,
    /// Largest data part of a message, bytes.
    pub maxpsz: Option<u32>,
    /// Shortest data part of a message, bytes.
    pub minpsz: Option<u32>,
    /// Whether an empty reader sends M_READ (SO_MREADON, SO_MREADOFF): 1 or 0.
    pub notify: Option<u32>,
}

impl SetOptions {
    /// Leaves everything unchanged.
    #[doc = include_str!("../../doc/set_options.md")]
    pub const fn new() -> SetOptions {
        SetOptions { read: None, hiwat: None, lowat: None, maxpsz: None, minpsz: None, notify: None }
    }

    /// Sets the read options (SO_READOPT).
    #[must_use]
    #[doc = include_str!("../../doc/set_options.md")]
    pub fn read(self, options: ReadOptions) -> SetOptions {
        SetOptions { read: Some(options.bits()), ..self }
    }

    /// Sets the high-water mark of the head's read queue, bytes (SO_HIWAT).
    #[must_use]
    #[doc = include_str!("../../doc/set_options.md")]
    pub const fn hiwat(self, hiwat: u32) -> SetOptions {
        SetOptions { hiwat: Some(hiwat), ..self }
    }

    /// Sets the low-water mark of the head's read queue, bytes (SO_LOWAT).
    #[must_use]
    #[doc = include_str!("../../doc/set_options.md")]
    pub const fn lowat(self, lowat: u32) -> SetOptions {
        SetOptions { lowat: Some(lowat), ..self }
    }

    /// Sets the largest data part of a message, bytes (SO_MAXPSZ).
    #[must_use]
    #[doc = include_str!("../../doc/set_options.md")]
    pub const fn maxpsz(self, maxpsz: u32) -> SetOptions {
        SetOptions { maxpsz: Some(maxpsz), ..self }
    }

    /// Sets the shortest data part of a message, bytes (SO_MINPSZ): what is written shorter is refused, and what is too long for one
    /// message is not cut.
    #[must_use]
    #[doc = include_str!("../../doc/set_options.md")]
    pub const fn minpsz(self, minpsz: u32) -> SetOptions {
        SetOptions { minpsz: Some(minpsz), ..self }
    }

    /// Sets whether an empty reader sends M_READ (SO_MREADON, SO_MREADOFF).
    #[must_use]
    #[doc = include_str!("../../doc/set_options.md")]
    pub const fn notify(self, notify: bool) -> SetOptions {
        SetOptions { notify: Some(notify as u32), ..self }
    }

    /// The M_SETOPTS.
    #[doc = include_str!("../../doc/set_options.md")]
    pub fn message(self) -> Message<'static> {
        let words = [self.read, self.hiwat, self.lowat, self.maxpsz, self.notify, self.minpsz];
        let bytes = words.iter().flat_map(|word| word.map_or([0xff; 5], with_flag)).collect();
        Message::from_parts(MessageHeader::of(Kind::SetOptions), None, Some(bytes))
    }

    /// Decodes an M_SETOPTS; a malformed one sets nothing.
    #[doc = include_str!("../../doc/set_options.md")]
    pub fn of(message: &Message<'_>) -> SetOptions {
        let bytes = message.data().unwrap_or_default();
        let word = |at: usize| match bytes.get(5 * at..5 * at + 5) {
            Some([0, a, b, c, d]) => Some(u32::from_le_bytes([*a, *b, *c, *d])),
            _ => None,
        };
        SetOptions { read: word(0), hiwat: word(1), lowat: word(2), maxpsz: word(3), notify: word(4), minpsz: word(5) }
    }
}

/// A zero means that the word is valid.
fn with_flag(word: u32) -> [u8; 5] {
    let [a, b, c, d] = word.to_le_bytes();
    [0, a, b, c, d]
}

#[cfg(test)]
mod tests;
