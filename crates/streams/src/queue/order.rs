//! The one ordering rule of queues: priority, then band, then age.

use crate::message::kind::MessageHeader;

/// The place of a message in its queue: a higher rank comes first, equal ranks in the order of their age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u16);

impl Rank {
    /// Of a message: above all bands if it is of high priority, else its band.
    pub fn of(header: MessageHeader) -> Rank {
        Rank(if header.kind.is_high_priority() { 256 } else { u16::from(header.band) })
    }

    /// Whether a message of this rank, put into a queue (putq), stands behind one of the `other` rank.
    pub fn stands_behind(self, other: Rank) -> bool {
        other >= self
    }

    /// Whether a message of this rank, put back (putbq), stands behind one of the `other` rank.
    pub fn goes_back_behind(self, other: Rank) -> bool {
        other > self
    }
}
