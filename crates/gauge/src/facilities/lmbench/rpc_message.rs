//! The messages of a null call: ONC remote procedure calls, version 2 (RFC 5531), encoded as in RFC 4506 by the crate
//! onc-rpc. Every message here begins with its record mark (RFC 5531, section 11); a datagram is sent without it.

use std::io;

use onc_rpc::auth::AuthFlavor;
use onc_rpc::{AcceptedReply, AcceptedStatus, CallBody, MessageType, ReplyBody, RpcMessage};

/// Bytes of a record mark.
pub const RECORD_MARK: usize = 4;

/// Buffer size for a call or a reply of these rows: without arguments and results they take 44 and 28 bytes.
pub const MESSAGE_MAX: usize = 128;

/// The service: a program number from the range for transient use (RFC 5531, section 14).
const PROGRAM: u32 = 0x4000_6877;
const VERSION: u32 = 1;

/// The procedure that every service has; it has no argument, no effect and no result (RFC 5531, section 12.1).
pub const NULL_PROCEDURE: u32 = 0;

type Message<'a> = RpcMessage<&'a [u8], &'a [u8]>;

/// The calls of a caller. The message is encoded once, because calls differ only in their transaction id.
#[derive(Debug)]
pub struct Calls {
    record: [u8; MESSAGE_MAX],
    length: usize,
    xid: u32,
}

impl Calls {
    /// Returns the calls of a procedure without arguments.
    ///
    /// # Errors
    /// If a call does not fit [`MESSAGE_MAX`].
    pub fn new(procedure: u32) -> io::Result<Calls> {
        let call =
            CallBody::new(PROGRAM, VERSION, procedure, AuthFlavor::AuthNone(None), AuthFlavor::AuthNone(None), &[][..]);
        let mut record = [0; MESSAGE_MAX];
        let length = write(&RpcMessage::new(0, MessageType::Call(call)), &mut record)?;
        Ok(Calls { record, length, xid: 0 })
    }

    /// Returns the next call, with its record mark, and its transaction id.
    #[inline]
    pub fn next(&mut self) -> (&[u8], u32) {
        self.xid = self.xid.wrapping_add(1);
        self.record[RECORD_MARK..RECORD_MARK + 4].copy_from_slice(&self.xid.to_be_bytes());
        (&self.record[..self.length], self.xid)
    }
}

/// Writes the answer to `request`. Returns its length in bytes, including the record mark.
///
/// # Errors
/// `InvalidData` if the request is not a call.
pub fn write_reply(request: &[u8], buffer: &mut [u8]) -> io::Result<usize> {
    let request = parse(request)?;
    let Some(call) = request.call_body() else { return Err(io::ErrorKind::InvalidData.into()) };
    let status = if call.program() != PROGRAM {
        AcceptedStatus::ProgramUnavailable
    } else if call.program_version() != VERSION {
        AcceptedStatus::ProgramMismatch { low: VERSION, high: VERSION }
    } else if call.procedure() != NULL_PROCEDURE {
        AcceptedStatus::ProcedureUnavailable
    } else {
        AcceptedStatus::Success(&[][..])
    };
    let reply = ReplyBody::Accepted(AcceptedReply::new(AuthFlavor::AuthNone(None), status));
    write(&RpcMessage::new(request.xid(), MessageType::Reply(reply)), buffer)
}

/// Checks that a reply reports the success of call `xid`.
///
/// # Errors
/// `InvalidData` if it is not the reply to this call; a description if it reports anything but success.
pub fn accept_reply(reply: &[u8], xid: u32) -> io::Result<()> {
    let reply = parse(reply)?;
    match reply.reply_body() {
        Some(ReplyBody::Accepted(accepted)) if reply.xid() == xid => match accepted.status() {
            AcceptedStatus::Success([]) => Ok(()),
            other => Err(io::Error::other(format!("the service answered {other:?}"))),
        },
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("not the reply to call {xid}: {reply:?}"))),
    }
}

/// Returns the length of the message that begins with these bytes, including its record mark, or `None` if the mark is
/// not complete yet.
///
/// # Errors
/// `InvalidData` if the message is longer than [`MESSAGE_MAX`], or has several fragments.
pub fn length(record: &[u8]) -> io::Result<Option<usize>> {
    if record.len() < RECORD_MARK {
        return Ok(None);
    }
    match onc_rpc::expected_message_len(record) {
        Ok(length) if length as usize <= MESSAGE_MAX => Ok(Some(length as usize)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Returns the record mark of a message of one fragment with `length` bytes.
pub fn record_mark(length: usize) -> [u8; RECORD_MARK] {
    const LAST_FRAGMENT: u32 = 1 << 31;
    (LAST_FRAGMENT | length as u32).to_be_bytes()
}

fn parse(record: &[u8]) -> io::Result<Message<'_>> {
    Message::try_from(record).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn write(message: &Message<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let length = message.serialised_len() as usize;
    message.serialise_into(buffer)?;
    Ok(length)
}

#[cfg(test)]
mod tests;
