//! The header of a message: type, band and flags, and the one word that stores them in shared memory.

use crate::error::{Result, corrupt};

/// Types of messages, after SVR4. Those from [`Kind::IocAck`] on are of high priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// Plain data.
    #[doc(alias = "M_DATA")]
    Data = 0x00,
    /// A control part, and data if there is any.
    #[doc(alias = "M_PROTO")]
    Proto = 0x01,
    /// Asks a driver to send a break.
    #[doc(alias = "M_BREAK")]
    Break = 0x08,
    /// An open file on its way to the other end.
    #[doc(alias = "M_PASSFP")]
    PassFile = 0x09,
    /// For a system's own events; a head discards it. SVR4 names the type without a use.
    #[doc(alias = "M_EVENT")]
    Event = 0x0a,
    /// Raises a signal at the head when it comes to the front.
    #[doc(alias = "M_SIG")]
    Signal = 0x0b,
    /// Asks a driver for a pause.
    #[doc(alias = "M_DELAY")]
    Delay = 0x0c,
    /// Between neighbouring modules.
    #[doc(alias = "M_CTL")]
    Control = 0x0d,
    /// An ioctl on its way down.
    #[doc(alias = "M_IOCTL")]
    Ioctl = 0x0e,
    /// Sets options of the head.
    #[doc(alias = "M_SETOPTS")]
    SetOptions = 0x10,
    /// Reserved for messages of a system's own; a head discards it.
    #[doc(alias = "M_RSE")]
    Reserved = 0x11,
    /// The ioctl was done.
    #[doc(alias = "M_IOCACK")]
    IocAck = 0x81,
    /// The ioctl was refused.
    #[doc(alias = "M_IOCNAK")]
    IocNak = 0x82,
    /// As [`Kind::Proto`], at high priority.
    #[doc(alias = "M_PCPROTO")]
    PcProto = 0x83,
    /// As [`Kind::Signal`], at once.
    #[doc(alias = "M_PCSIG")]
    PcSignal = 0x84,
    /// A reader waits for that many bytes.
    #[doc(alias = "M_READ")]
    Read = 0x85,
    /// Discards messages that wait in queues; see [`Flush`].
    #[doc(alias = "M_FLUSH")]
    Flush = 0x86,
    /// Stops output.
    #[doc(alias = "M_STOP")]
    Stop = 0x87,
    /// Continues output.
    #[doc(alias = "M_START")]
    Start = 0x88,
    /// The stream has been hung up.
    #[doc(alias = "M_HANGUP")]
    Hangup = 0x89,
    /// The stream has an error.
    #[doc(alias = "M_ERROR")]
    Error = 0x8a,
    /// Asks the head to copy from the caller's memory, for an ioctl.
    #[doc(alias = "M_COPYIN")]
    CopyIn = 0x8b,
    /// Asks the head to copy to the caller's memory, for an ioctl.
    #[doc(alias = "M_COPYOUT")]
    CopyOut = 0x8c,
    /// The data copied for an ioctl, or the confirmation of a copy.
    #[doc(alias = "M_IOCDATA")]
    IocData = 0x8d,
    /// As [`Kind::Reserved`], at high priority.
    #[doc(alias = "M_PCRSE")]
    PcReserved = 0x8e,
    /// Stops input.
    #[doc(alias = "M_STOPI")]
    StopInput = 0x8f,
    /// Continues input.
    #[doc(alias = "M_STARTI")]
    StartInput = 0x90,
    /// The hang-up is over.
    #[doc(alias = "M_UNHANGUP")]
    Unhangup = 0x91,
}

const KINDS: [Kind; 28] = [
    Kind::Data,
    Kind::Proto,
    Kind::Break,
    Kind::PassFile,
    Kind::Event,
    Kind::Signal,
    Kind::Delay,
    Kind::Control,
    Kind::Ioctl,
    Kind::SetOptions,
    Kind::Reserved,
    Kind::IocAck,
    Kind::IocNak,
    Kind::PcProto,
    Kind::PcSignal,
    Kind::Read,
    Kind::Flush,
    Kind::Stop,
    Kind::Start,
    Kind::Hangup,
    Kind::Error,
    Kind::CopyIn,
    Kind::CopyOut,
    Kind::IocData,
    Kind::PcReserved,
    Kind::StopInput,
    Kind::StartInput,
    Kind::Unhangup,
];

impl Kind {
    /// The type of that number. None: there is none.
    ///
    /// ```
    /// use headwater_streams::Kind;
    ///
    /// assert_eq!(Kind::of(Kind::Flush as u8), Some(Kind::Flush));
    /// assert_eq!(Kind::of(0x7f), None);
    /// ```
    pub fn of(number: u8) -> Option<Kind> {
        KINDS.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Whether it passes every queue without waiting, before all messages that are not.
    #[doc = include_str!("../../doc/kinds.md")]
    pub fn is_high_priority(self) -> bool {
        self as u8 & 0x80 != 0
    }
}

/// The type, band and flags of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MessageHeader {
    /// Its type.
    pub kind: Kind,
    /// Its priority band, 0 for ordinary ones and for those of high priority.
    pub band: u8,
    /// Nothing is appended to it: it was sent as a message, not written as bytes.
    pub whole: bool,
    /// The end of a record: a read stops behind it (MSGDELIM).
    pub delimited: bool,
    /// The message has the mark, whose place is reported to the reader (MSGMARK).
    pub marked: bool,
    /// A head has sent it back once, and no head does so again (MSGNOLOOP).
    pub turned: bool,
}

const DELIMITED: u64 = 1 << 16;
const MARKED: u64 = 1 << 17;
const TURNED: u64 = 1 << 18;
const WHOLE: u64 = 1 << 19;

impl MessageHeader {
    /// A message of that type in band 0.
    #[doc = include_str!("../../doc/kinds.md")]
    pub const fn of(kind: Kind) -> MessageHeader {
        MessageHeader { kind, band: 0, whole: false, delimited: false, marked: false, turned: false }
    }

    /// Its representation in shared memory.
    pub(crate) fn word(self) -> u64 {
        let flag = |on: bool, flag: u64| if on { flag } else { 0 };
        let flags = flag(self.delimited, DELIMITED)
            | flag(self.marked, MARKED)
            | flag(self.turned, TURNED)
            | flag(self.whole, WHOLE);
        self.kind as u64 | u64::from(self.band) << 8 | flags
    }

    /// Decodes the word from shared memory.
    pub(crate) fn from_word(word: u64) -> Result<MessageHeader> {
        let kind = Kind::of(word as u8).ok_or_else(|| corrupt!("a message's type"))?;
        let flag = |flag: u64| word & flag != 0;
        let (delimited, marked, turned, whole) = (flag(DELIMITED), flag(MARKED), flag(TURNED), flag(WHOLE));
        Ok(MessageHeader { kind, band: (word >> 8) as u8, whole, delimited, marked, turned })
    }
}

/// What an M_FLUSH discards: the queues that lead to a reader, those that lead from a writer, or both.
///
/// ```
/// use headwater_streams::Flush;
///
/// let flush = Flush::READ.in_band(3);
/// assert_eq!((flush.read, flush.write, flush.band), (true, false, Some(3)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "FLUSHBAND")]
pub struct Flush {
    /// The read side (FLUSHR).
    pub read: bool,
    /// The write side (FLUSHW).
    pub write: bool,
    /// Only this band (FLUSHBAND).
    pub band: Option<u8>,
}

impl Flush {
    /// Both sides, all bands (FLUSHRW).
    #[doc(alias = "FLUSHRW")]
    pub const ALL: Flush = Flush { read: true, write: true, band: None };
    /// The read side, all bands (FLUSHR).
    #[doc(alias = "FLUSHR")]
    pub const READ: Flush = Flush { read: true, write: false, band: None };
    /// The write side, all bands (FLUSHW).
    #[doc(alias = "FLUSHW")]
    pub const WRITE: Flush = Flush { read: false, write: true, band: None };

    /// The same of one band alone (FLUSHBAND).
    #[must_use]
    #[doc = include_str!("../../doc/kinds.md")]
    pub const fn in_band(self, band: u8) -> Flush {
        Flush { band: Some(band), ..self }
    }

    /// The data part of an M_FLUSH.
    #[doc = include_str!("../../doc/kinds.md")]
    pub fn bytes(self) -> [u8; 2] {
        [u8::from(self.read) | u8::from(self.write) << 1 | u8::from(self.band.is_some()) << 2, self.band.unwrap_or(0)]
    }

    /// Decodes an M_FLUSH; a malformed one flushes nothing.
    #[doc = include_str!("../../doc/kinds.md")]
    pub fn of(message: &super::Message<'_>) -> Flush {
        let [flags, band] = match message.data() {
            Some([flags]) => [*flags, 0],
            Some([flags, band, ..]) => [*flags, *band],
            _ => [0, 0],
        };
        Flush { read: flags & 1 != 0, write: flags & 2 != 0, band: (flags & 4 != 0).then_some(band) }
    }
}
