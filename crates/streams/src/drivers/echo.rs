//! `echo`: what is written comes back, with its boundaries, bands and control parts. A reader that does not keep up stops the
//! writer: first the stream head's read queue fills, then the driver's write queue. Also the template to copy.

use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::kind::Kind;
use crate::plumb::driver::{Driver, DriverInfo};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;

/// The driver.
#[derive(Debug)]
pub struct Echo;

impl Driver for Echo {
    fn info(&self) -> DriverInfo {
        DriverInfo { services: [true, true], ..DriverInfo::new("echo") }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::PcProto => queue.reply(message),
            Kind::Data | Kind::Proto
                if queue.size(message.header.band).0 == 0 && queue.can_reply(message.header.band)? =>
            {
                queue.reply(message)
            }
            Kind::Data | Kind::Proto => queue.put_queue(message),
            // Requests for a device's features that this one does not have.
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.side() == Side::Read {
            // There is room above.
            queue.enable_other();
            return Ok(());
        }
        while let Some(message) = queue.get()? {
            if !queue.can_reply(message.header.band)? {
                return queue.put_back(&message);
            }
            queue.reply(message)?;
        }
        Ok(())
    }
}
