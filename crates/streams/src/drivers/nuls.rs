//! `nuls`: discards written data; a read finds the end of the file at once, as POSIX has it of `/dev/null`. An empty
//! reader asks for data by M_READ, which the driver turns on when it is opened, and is answered by a message of no bytes. So
//! poll shows nothing to read until a read has asked.

use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::options::head::SetOptions;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::queue::Queue;

/// The driver.
#[derive(Debug)]
pub struct Nuls;

impl Driver for Nuls {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("nuls")
    }

    fn open(&self, _opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.reply(SetOptions { notify: Some(1), ..SetOptions::default() }.message())
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::Read => queue.reply(Message::new(MessageHeader::of(Kind::Data), None, Some(&[]))),
            _ => Ok(()),
        }
    }
}
