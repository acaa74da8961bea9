//! Requests of a transport's user as ioctls, for the modules that take them: the data of the ioctl are a request of TPI, and
//! the provider's answer becomes the answer of the ioctl.

use super::timod;
use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::ioctl::{IOCTL_BLOCK, IoctlBlock};
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, PrimitiveNumber};

/// For each ioctl the request that its data must be, and the answer that it waits for.
const REQUESTS: [(u32, PrimitiveNumber, PrimitiveNumber); 6] = [
    (timod::GETINFO, PrimitiveNumber::InfoReq, PrimitiveNumber::InfoAck),
    (timod::OPTMGMT, PrimitiveNumber::OptmgmtReq, PrimitiveNumber::OptmgmtAck),
    (timod::BIND, PrimitiveNumber::BindReq, PrimitiveNumber::BindAck),
    (timod::UNBIND, PrimitiveNumber::UnbindReq, PrimitiveNumber::OkAck),
    (timod::GETADDRS, PrimitiveNumber::AddrReq, PrimitiveNumber::AddrAck),
    (timod::CAPABILITY, PrimitiveNumber::CapabilityReq, PrimitiveNumber::CapabilityAck),
];

/// At the beginning of the module's memory: whether an ioctl waits for its answer, and its block.
const WAITS: usize = 0;
const BLOCK: usize = 8;
/// Bytes of the module's memory that are used here.
pub(super) const MEMORY: usize = BLOCK + IOCTL_BLOCK;

/// Whether an ioctl is one of timod's.
pub(super) fn is_one(command: u32) -> bool {
    REQUESTS.iter().any(|(of, ..)| *of == command)
}

/// An ioctl of timod, whose data are a request.
pub(super) fn ask<'m>(message: &Message<'m>, block: IoctlBlock, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let wanted = REQUESTS.iter().find(|(command, ..)| *command == block.command).map(|(_, request, _)| *request);
    ask_for(wanted, message, block, queue)
}

/// An ioctl whose data must be that request: it is sent, and its answer awaited.
pub(super) fn ask_for<'m>(
    wanted: Option<PrimitiveNumber>,
    message: &Message<'m>,
    block: IoctlBlock,
    queue: &mut Queue<'_, '_, 'm>,
) -> Result<()> {
    let number = Primitive::decode(message.data().unwrap_or_default()).map(|primitive| primitive.number()).ok();
    let Some(number) = number.filter(|number| wanted == Some(*number) && block.count.is_some()) else {
        return queue.refuse(message, Errno::Inval);
    };
    set_waiting(queue, Some(block))?;
    let kind = if number.is_high_priority() { Kind::PcProto } else { Kind::Proto };
    let header = MessageHeader { whole: true, ..MessageHeader::of(kind) };
    queue.put_next(Message::from_parts(header, message.data().map(<[u8]>::to_vec), None))
}

/// The ioctl that waits for its answer.
pub(super) fn waiting(queue: &Queue<'_, '_, '_>) -> Result<Option<IoctlBlock>> {
    let mut memory = [0; MEMORY];
    queue.read_instance(WAITS, &mut memory)?;
    if memory[WAITS] == 0 {
        return Ok(None);
    }
    IoctlBlock::of(&Message::new(MessageHeader::of(Kind::Ioctl), Some(&memory[BLOCK..]), None)).map(Some)
}

/// Notes which ioctl waits. One that waits still has timed out: a head sends one at a time.
pub(super) fn set_waiting(queue: &mut Queue<'_, '_, '_>, block: Option<IoctlBlock>) -> Result<()> {
    if let Some(block) = block {
        queue.write_instance(BLOCK, &block.bytes())?;
    }
    queue.write_instance(WAITS, &[u8::from(block.is_some())])
}

/// The answer to the ioctl of timod that waits, if a message of the provider is that.
pub(super) fn answered(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<Option<Message<'static>>> {
    let control = message.control().unwrap_or_default();
    let (Some(block), Ok(primitive)) = (waiting(queue)?, Primitive::decode(control)) else { return Ok(None) };
    let Some((_, request, expected)) = REQUESTS.iter().find(|(command, ..)| *command == block.command) else {
        return Ok(None);
    };
    let (value, data) = match primitive {
        Primitive::ErrorAck { of, error, errno } if of == *request => {
            ((error.number() & 0xff | (errno & 0xff) << 8) as i32, Vec::new())
        }
        Primitive::OkAck { of } if of != *request => return Ok(None),
        primitive if primitive.number() == *expected => (0, control.to_vec()),
        _ => return Ok(None),
    };
    set_waiting(queue, None)?;
    let block = IoctlBlock { value, error: 0, count: Some(data.len() as u64), ..block };
    Ok(Some(block.message(Kind::IocAck, Some(data))))
}
