//! The priority class of a message that a user sends or receives.

use super::kind::{Kind, MessageHeader};

/// The priority class of a message: its band, or high priority.
///
/// A queue holds messages of high priority first, then those of the highest band; within a class they keep their order (SVR4
/// STREAMS, "Message Priority"). A number is a band: `stream.putpmsg(control, data, 7)`.
///
/// ```
/// use headwater_streams::Priority;
///
/// assert_eq!(Priority::from(7), Priority::Band(7));
/// assert_eq!(Priority::default(), Priority::NORMAL);
/// assert!(Priority::High > Priority::Band(255));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// An ordinary message in this band; most are in band 0 (MSG_BAND).
    #[doc(alias = "MSG_BAND")]
    Band(u8),
    /// A message of high priority, which does not wait for room (RS_HIPRI, MSG_HIPRI).
    #[doc(alias = "RS_HIPRI")]
    #[doc(alias = "MSG_HIPRI")]
    High,
}

impl Priority {
    /// Band 0.
    pub const NORMAL: Priority = Priority::Band(0);

    /// The band: 0 for a message of high priority, as in its header.
    #[doc = include_str!("../../doc/kinds.md")]
    pub const fn band(self) -> u8 {
        match self {
            Priority::Band(band) => band,
            Priority::High => 0,
        }
    }

    /// Whether it is high priority.
    #[doc = include_str!("../../doc/kinds.md")]
    pub const fn is_high(self) -> bool {
        matches!(self, Priority::High)
    }
}

impl Default for Priority {
    fn default() -> Priority {
        Priority::NORMAL
    }
}

impl From<u8> for Priority {
    fn from(band: u8) -> Priority {
        Priority::Band(band)
    }
}

impl MessageHeader {
    /// The priority class of a message with this header.
    #[doc = include_str!("../../doc/kinds.md")]
    pub fn priority(self) -> Priority {
        if self.kind.is_high_priority() { Priority::High } else { Priority::Band(self.band) }
    }

    /// The header of an M_PROTO, or an M_PCPROTO.
    pub(crate) fn of_proto(priority: Priority) -> MessageHeader {
        match priority {
            Priority::High => MessageHeader::of(Kind::PcProto),
            Priority::Band(band) => MessageHeader { band, ..MessageHeader::of(Kind::Proto) },
        }
    }
}
