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

use super::transport_request::{self, MEMORY, answered};
use crate::error::Result;
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::Kind;
use crate::plumb::module::{Module, ModuleInfo, Side};
use crate::plumb::queue::Queue;

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

/// The module.
#[derive(Debug)]
pub struct TransportModule;

impl Module for TransportModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo { proto: true, ..ModuleInfo::new("timod").instance(MEMORY) }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match (message.header.kind, queue.side()) {
            (Kind::Ioctl, Side::Write) => match IoctlBlock::of(&message)? {
                block if transport_request::is_one(block.command) => transport_request::ask(&message, block, queue),
                _ => queue.put_next(message),
            },
            (Kind::PcProto, Side::Read) => match answered(&message, queue)? {
                Some(answer) => queue.put_next(answer),
                None => queue.put_next(message),
            },
            _ => queue.put_next(message),
        }
    }
}
