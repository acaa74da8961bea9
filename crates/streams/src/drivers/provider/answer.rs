//! What a transport says to its user: answers, indications, and the fatal error.

use crate::error::{Errno, Error, Result, fixed};
use crate::message::Message;
use crate::message::kind::{Flush, Kind, MessageHeader};
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, PrimitiveNumber, TransportError};

/// The message of a primitive, without data.
pub(in crate::drivers) fn message(primitive: Primitive<'_>) -> Message<'static> {
    let kind = if primitive.is_high_priority() { Kind::PcProto } else { Kind::Proto };
    Message::from_parts(MessageHeader { whole: true, ..MessageHeader::of(kind) }, Some(primitive.encode()), None)
}

/// Sends a primitive to the user of the stream of this write queue.
pub(in crate::drivers) fn answer(queue: &mut Queue<'_, '_, '_>, primitive: Primitive<'_>) -> Result<()> {
    queue.reply(message(primitive))
}

/// Tells the user of this write queue that a datagram was not sent (T_UDERROR_IND), if there is room: errors that no call fetches are
/// bounded as data are, and leave room for answers and datagrams.
///
/// Errors: [`is_unreported`] says so if there is no room.
pub(in crate::drivers) fn report(
    queue: &mut Queue<'_, '_, '_>,
    destination: &[u8],
    options: &[u8],
    errno: Errno,
) -> Result<()> {
    if !queue.can_reply(0)? {
        return Err(fixed!(Again, "the errors of earlier datagrams wait for the user to receive them (T_UDERROR_IND)"));
    }
    answer(queue, Primitive::UderrorInd { destination, options, error: errno.number().unsigned_abs() })
}

/// Whether a datagram was not sent, and its error not reported, because the user is behind.
pub(in crate::drivers) fn is_unreported(error: &Error) -> bool {
    error.errno() == Errno::Again && !error.is_held()
}

/// The request failed, and nothing has changed (T_ERROR_ACK).
pub(in crate::drivers) fn refuse(
    queue: &mut Queue<'_, '_, '_>,
    of: PrimitiveNumber,
    error: TransportError,
) -> Result<()> {
    answer(queue, Primitive::ErrorAck { of, error, errno: 0 })
}

/// The same, with the error of an operation: TACCES, or TSYSERR with its number.
pub(in crate::drivers) fn refuse_by(queue: &mut Queue<'_, '_, '_>, of: PrimitiveNumber, error: &Error) -> Result<()> {
    let errno = error.errno();
    if matches!(errno, Errno::Acces | Errno::Perm) {
        return refuse(queue, of, TransportError::Access);
    }
    answer(queue, Primitive::ErrorAck { of, error: TransportError::System, errno: errno.number().unsigned_abs() })
}

/// The user has broken the protocol: the stream cannot be used any more (M_ERROR with EPROTO).
pub(in crate::drivers) fn fatal(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    queue.reply(Message::of_errors(Some(Errno::Proto), Some(Errno::Proto)))
}

/// Discards what waits in the user's queues.
pub(in crate::drivers) fn flush(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let flush = Flush { read: true, write: true, band: None };
    queue.reply(Message::from_parts(MessageHeader::of(Kind::Flush), None, Some(flush.bytes().to_vec())))
}
