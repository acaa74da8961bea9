//! `timod`: requests of a transport's user as ioctls, as timod(7) of SVR4. All messages pass.
//!
//! The data of an I_STR ioctl are a request of TPI. The module sends it down, waits for the provider's answer, and returns the
//! answer as the data of the ioctl. If the provider refuses (T_ERROR_ACK), the ioctl returns the transport's error in its
//! lowest byte, and the number of a system error in the next one.
//!
//! | ioctl | request | answer |
//! |---|---|---|
//! | [`GETINFO`] | T_INFO_REQ | T_INFO_ACK |
//! | [`BIND`] | T_BIND_REQ | T_BIND_ACK |
//! | [`UNBIND`] | T_UNBIND_REQ | T_OK_ACK |
//! | [`OPTMGMT`] | T_OPTMGMT_REQ | T_OPTMGMT_ACK |
//! | [`GETADDRS`] | T_ADDR_REQ | T_ADDR_ACK |
//! | [`CAPABILITY`] | T_CAPABILITY_REQ | T_CAPABILITY_ACK |
//!
//! ```
//! use headwater_streams::modules::timod;
//! use headwater_streams::tpi::Primitive;
//! use headwater_streams::{DeviceOptions, IoctlTimeout};
//!
//! # let path = std::env::temp_dir().join(format!("headwater-timod-{}", std::process::id()));
//! let endpoint = DeviceOptions::new().directory(&path).open("ticlts")?;
//! endpoint.push("timod")?;
//! let mut data = Primitive::BindReq { address: b"name", waiting: 0 }.encode();
//! assert_eq!(endpoint.ioctl(timod::BIND, &mut data, IoctlTimeout::Usual)?, 0);
//! assert_eq!(Primitive::decode(&data), Ok(Primitive::BindAck { address: b"name", waiting: 0 }));
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::ioctl::{IOCTL_BLOCK, IoctlBlock};
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::module::{Module, ModuleInfo, Side};
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, PrimitiveNumber};

const COMMANDS: u32 = (b'T' as u32) << 8;
/// The ioctl that asks for sizes and state.
#[doc(alias = "TI_GETINFO")]
pub const GETINFO: u32 = COMMANDS | 140;
/// The ioctl that asks for options, or changes them.
#[doc(alias = "TI_OPTMGMT")]
pub const OPTMGMT: u32 = COMMANDS | 141;
/// The ioctl that takes an address.
#[doc(alias = "TI_BIND")]
pub const BIND: u32 = COMMANDS | 142;
/// The ioctl that gives the address up.
#[doc(alias = "TI_UNBIND")]
pub const UNBIND: u32 = COMMANDS | 143;
/// The ioctl that asks for the addresses of both ends.
#[doc(alias = "TI_GETADDRS")]
pub const GETADDRS: u32 = COMMANDS | 149;
/// The ioctl that asks for several things at once.
#[doc(alias = "TI_CAPABILITY")]
pub const CAPABILITY: u32 = COMMANDS | 150;

/// For each ioctl the request that its data must be, and the answer that it waits for.
const REQUESTS: [(u32, PrimitiveNumber, PrimitiveNumber); 6] = [
    (GETINFO, PrimitiveNumber::InfoReq, PrimitiveNumber::InfoAck),
    (OPTMGMT, PrimitiveNumber::OptmgmtReq, PrimitiveNumber::OptmgmtAck),
    (BIND, PrimitiveNumber::BindReq, PrimitiveNumber::BindAck),
    (UNBIND, PrimitiveNumber::UnbindReq, PrimitiveNumber::OkAck),
    (GETADDRS, PrimitiveNumber::AddrReq, PrimitiveNumber::AddrAck),
    (CAPABILITY, PrimitiveNumber::CapabilityReq, PrimitiveNumber::CapabilityAck),
];

/// The memory: whether an ioctl waits for its answer, and its block.
const WAITS: usize = 0;
const BLOCK: usize = 8;

/// The module.
#[derive(Debug)]
pub struct TransportModule;

impl Module for TransportModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo { proto: true, ..ModuleInfo::new("timod").instance(BLOCK + IOCTL_BLOCK) }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match (message.header.kind, queue.side()) {
            (Kind::Ioctl, Side::Write) => ask(message, queue),
            (Kind::PcProto, Side::Read) => match answer(&message, queue)? {
                Some(answer) => queue.put_next(answer),
                None => queue.put_next(message),
            },
            _ => queue.put_next(message),
        }
    }
}

/// An ioctl of the user.
fn ask<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let block = IoctlBlock::of(&message)?;
    let Some((_, request, _)) = REQUESTS.iter().find(|(command, ..)| *command == block.command) else {
        return queue.put_next(message);
    };
    let primitive = Primitive::decode(message.data().unwrap_or_default());
    let is_it = primitive.is_ok_and(|primitive| primitive.number() == *request);
    if !is_it || block.count.is_none() {
        return queue.refuse(&message, Errno::Inval);
    }
    // One that waits still has timed out: a head sends one ioctl at a time.
    queue.write_instance(BLOCK, &block.bytes())?;
    queue.write_instance(WAITS, &[1])?;
    let kind = if request.is_high_priority() { Kind::PcProto } else { Kind::Proto };
    let header = MessageHeader { whole: true, ..MessageHeader::of(kind) };
    queue.put_next(Message::of_parts(header, message.data().map(<[u8]>::to_vec), None))
}

/// What an acknowledgement of the provider answers; None: it is no answer to an ioctl.
fn answer(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<Option<Message<'static>>> {
    let mut waits = [0];
    queue.read_instance(WAITS, &mut waits)?;
    let control = message.control().unwrap_or_default();
    let Ok(primitive) = Primitive::decode(control) else { return Ok(None) };
    if waits == [0] {
        return Ok(None);
    }
    let mut bytes = [0; IOCTL_BLOCK];
    queue.read_instance(BLOCK, &mut bytes)?;
    let block = IoctlBlock::of(&Message::new(MessageHeader::of(Kind::Ioctl), Some(&bytes), None))?;
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
    queue.write_instance(WAITS, &[0])?;
    let block = IoctlBlock { value, error: 0, count: Some(data.len() as u64), ..block };
    Ok(Some(block.message(Kind::IocAck, Some(data))))
}
