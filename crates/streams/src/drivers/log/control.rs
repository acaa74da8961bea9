//! The structures of `<sys/strlog.h>`: what the control part of a log message says, and what a trace logger asks for.

use crate::error::{Errno, Error, Result};

bitflags::bitflags! {
    /// Which loggers a message is for, and what it is about; the values are those of SVR4.
    ///
    /// ```
    /// use headwater_streams::drivers::log::LogFlags;
    ///
    /// let flags = LogFlags::ERROR | LogFlags::FATAL;
    /// assert_eq!(flags.bits(), 5);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    pub struct LogFlags: u16 {
        /// The error is fatal. Goes along with [`LogFlags::ERROR`] (SL_FATAL).
        #[doc(alias = "SL_FATAL")]
        const FATAL = 0x01;
        /// The administrator is to be notified. Goes along with [`LogFlags::ERROR`]; the error logger does it (SL_NOTIFY).
        #[doc(alias = "SL_NOTIFY")]
        const NOTIFY = 0x02;
        /// For the error logger (SL_ERROR).
        #[doc(alias = "SL_ERROR")]
        const ERROR = 0x04;
        /// For the trace loggers (SL_TRACE).
        #[doc(alias = "SL_TRACE")]
        const TRACE = 0x08;
        /// For the console logger, which this library does not have (SL_CONSOLE).
        #[doc(alias = "SL_CONSOLE")]
        const CONSOLE = 0x10;
        /// A warning (SL_WARN).
        #[doc(alias = "SL_WARN")]
        const WARN = 0x20;
        /// A notice (SL_NOTE).
        #[doc(alias = "SL_NOTE")]
        const NOTE = 0x40;
    }
}

impl LogFlags {
    /// The priority code that log(7) derives from the flags, as `<syslog.h>` numbers it.
    pub(crate) fn priority(self) -> i32 {
        let codes = [(Self::WARN, 4), (Self::FATAL, 2), (Self::ERROR, 3), (Self::NOTE, 5), (Self::TRACE, 7)];
        codes.into_iter().find(|(flag, _)| self.contains(*flag)).map_or(6, |(_, code)| code)
    }
}

/// The control part of a log message (`struct log_ctl`). The data part is the text.
///
/// A process that submits a message by putmsg sets the level, the flags and the priority; the driver sets the rest.
///
/// | byte | field | bytes |
/// |---|---|---|
/// | 0 | `mid` | 2 |
/// | 2 | `sid` | 2 |
/// | 4 | `level`, then a byte that is 0 | 2 |
/// | 6 | `flags` | 2 |
/// | 8 | `ltime` | 4 |
/// | 12 | `ttime` | 4 |
/// | 16 | `seq_no` | 4 |
/// | 20 | `pri` | 4 |
///
/// The times have 32 bits on LP64 too (`clock32_t`, `time32_t`).
///
/// ```
/// use headwater_streams::drivers::log::{LogControl, LogFlags};
///
/// let control = LogControl::new(3, LogFlags::ERROR | LogFlags::NOTE).with_priority(3);
/// let bytes = control.bytes();
/// assert_eq!((bytes.len(), LogControl::of(&bytes)), (LogControl::LEN, Some(control)));
/// assert_eq!((control.level(), control.flags(), control.pri()), (3, LogFlags::ERROR | LogFlags::NOTE, 3));
/// // The driver sets these.
/// assert_eq!((control.mid(), control.sid(), control.seq_no()), (0, 0, 0));
/// assert_eq!((control.ltime(), control.ttime()), (0, 0));
/// assert_eq!(LogControl::of(b"short"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[doc(alias = "log_ctl")]
pub struct LogControl {
    pub(super) mid: i16,
    pub(super) sid: i16,
    pub(super) level: i8,
    pub(super) flags: LogFlags,
    pub(super) ltime: u32,
    pub(super) ttime: u32,
    pub(super) seq_no: u32,
    pub(super) pri: i32,
}

impl LogControl {
    /// Length in bytes.
    pub const LEN: usize = 24;

    /// For a message that a process submits by putmsg.
    pub const fn new(level: i8, flags: LogFlags) -> LogControl {
        LogControl { mid: 0, sid: 0, level, flags, ltime: 0, ttime: 0, seq_no: 0, pri: 0 }
    }

    /// Sets the priority: a facility and a code of `<syslog.h>`.
    #[must_use]
    pub const fn with_priority(self, pri: i32) -> LogControl {
        LogControl { pri, ..self }
    }

    /// Sets who has submitted the message.
    pub(crate) const fn of_module(self, mid: i16, sid: i16) -> LogControl {
        LogControl { mid, sid, ..self }
    }

    /// What a control part says; None if it is shorter than [`LogControl::LEN`]. Every other content is a valid one.
    pub fn of(control: &[u8]) -> Option<LogControl> {
        let bytes = control.first_chunk::<{ LogControl::LEN }>()?;
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        Some(LogControl {
            mid: half(0) as i16,
            sid: half(2) as i16,
            level: bytes[4] as i8,
            flags: LogFlags::from_bits_retain(half(6)),
            ltime: word(8),
            ttime: word(12),
            seq_no: word(16),
            pri: word(20) as i32,
        })
    }

    /// The control part.
    pub fn bytes(&self) -> [u8; LogControl::LEN] {
        let mut bytes = [0; LogControl::LEN];
        for (at, half) in [(0, self.mid as u16), (2, self.sid as u16), (6, self.flags.bits())] {
            bytes[at..at + 2].copy_from_slice(&half.to_ne_bytes());
        }
        bytes[4] = self.level as u8;
        for (at, word) in [(8, self.ltime), (12, self.ttime), (16, self.seq_no), (20, self.pri as u32)] {
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The module or driver that has submitted the message, by its number.
    pub const fn mid(&self) -> i16 {
        self.mid
    }

    /// A number within the module or driver, usually that of a device.
    pub const fn sid(&self) -> i16 {
        self.sid
    }

    /// The level: a trace logger asks for messages up to a level.
    pub const fn level(&self) -> i8 {
        self.level
    }

    /// Which loggers the message is for, and what it is about.
    pub const fn flags(&self) -> LogFlags {
        self.flags
    }

    /// When it was submitted, in hundredths of a second of the monotonic clock, modulo 2^32.
    pub const fn ltime(&self) -> u32 {
        self.ltime
    }

    /// When it was submitted, in seconds since 1970, modulo 2^32.
    pub const fn ttime(&self) -> u32 {
        self.ttime
    }

    /// The number of the message among those for the error logger, or among those for a trace logger. A gap says that messages
    /// are missing: they were for another trace logger, or were lost ([`LOST`](super::LOST)).
    pub const fn seq_no(&self) -> u32 {
        self.seq_no
    }

    /// The priority: a facility and a code of `<syslog.h>`.
    pub const fn pri(&self) -> i32 {
        self.pri
    }
}

/// Which messages a trace logger asks for (`struct trace_ids`): those of a module, of a number within it, up to a level. None
/// stands for all (-1).
///
/// ```
/// use headwater_streams::drivers::log::TraceId;
///
/// let all_of_seven = TraceId { mid: Some(7), sid: None, level: None };
/// assert_eq!(all_of_seven.bytes().len(), TraceId::LEN);
/// assert_eq!(TraceId::list(&[TraceId::ALL, all_of_seven]).len(), 2 * TraceId::LEN);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[doc(alias = "trace_ids")]
pub struct TraceId {
    /// The number of the module or driver (ti_mid).
    pub mid: Option<i16>,
    /// The number within it (ti_sid).
    pub sid: Option<i16>,
    /// The highest level (ti_level).
    pub level: Option<i8>,
}

impl TraceId {
    /// Length in bytes: two, two, and one, then one that is not looked at.
    pub const LEN: usize = 6;
    /// Every message.
    pub const ALL: TraceId = TraceId { mid: None, sid: None, level: None };

    /// As the ioctl has it.
    pub fn bytes(&self) -> [u8; TraceId::LEN] {
        let [mid, sid] = [self.mid, self.sid].map(|id| id.unwrap_or(-1).to_ne_bytes());
        [mid[0], mid[1], sid[0], sid[1], self.level.unwrap_or(-1) as u8, 0]
    }

    /// Several, one after the other: the data of the ioctl [`TRCLOG`](super::TRCLOG).
    pub fn list(ids: &[TraceId]) -> Vec<u8> {
        ids.iter().flat_map(TraceId::bytes).collect()
    }

    /// The data of the ioctl. Errors: `ENXIO` for none; `EINVAL` for more than [`IDS_MAX`](super::IDS_MAX), or a length that is no
    /// multiple.
    pub(super) fn of_list(bytes: &[u8]) -> Result<Vec<TraceId>> {
        let (ids, rest) = bytes.as_chunks::<{ TraceId::LEN }>();
        if !rest.is_empty() || ids.len() > super::IDS_MAX {
            let most = super::IDS_MAX;
            let why =
                format!("a trace logger asks for 1 to {most} trace_ids of 6 bytes, not for {} bytes", bytes.len());
            return Err(Error::new(Errno::Inval, why));
        }
        if ids.is_empty() {
            return Err(Error::new(Errno::Nxio, "a trace logger has to say which messages it asks for"));
        }
        Ok(ids.iter().copied().map(TraceId::of_bytes).collect())
    }

    /// Whether a message is asked for.
    pub(super) fn takes(self, message: &LogControl) -> bool {
        self.mid.is_none_or(|mid| mid == message.mid)
            && self.sid.is_none_or(|sid| sid == message.sid)
            && self.level.is_none_or(|level| message.level <= level)
    }

    /// In one word of shared memory.
    pub(super) fn word(self) -> u64 {
        let [a, b, c, d, e, f] = self.bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, 0, 0])
    }

    /// Back from there.
    pub(super) fn of_word(word: u64) -> TraceId {
        let [a, b, c, d, e, f, ..] = word.to_ne_bytes();
        TraceId::of_bytes([a, b, c, d, e, f])
    }

    fn of_bytes([a, b, c, d, level, _]: [u8; TraceId::LEN]) -> TraceId {
        let known = |id: i16| (id != -1).then_some(id);
        TraceId {
            mid: known(i16::from_ne_bytes([a, b])),
            sid: known(i16::from_ne_bytes([c, d])),
            level: Some(level as i8).filter(|level| *level != -1),
        }
    }
}
