//! `loop`: pairs two streams. What is written to minor number 2n is read from 2n + 1, and the other way round. Until the partner
//! is open, what is written waits in the driver's write queue, which stops the writer when it is full.

use crate::error::{Errno, Result, fixed};
use crate::message::Message;
use crate::message::kind::Kind;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::queue::Queue;

/// The driver.
#[derive(Debug)]
pub struct Loop;

impl Driver for Loop {
    fn info(&self) -> DriverInfo {
        DriverInfo { services: [true, true], pairs: true, ..DriverInfo::new("loop") }
    }

    fn open(&self, opening: &Opening, _queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if opening.is_first { Ok(()) } else { Err(fixed!(Busy, "an end of a loop is opened once")) }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let band = message.header.band;
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::PcProto if queue.has_partner() => queue.put_partner(message),
            Kind::Data | Kind::Proto if queue.size(band).0 == 0 && queue.can_put_partner(band)? => {
                queue.put_partner(message)
            }
            Kind::Data | Kind::Proto | Kind::PcProto => queue.put_queue(message),
            // Requests for a device's features that this one does not have.
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.serve_partner().map(drop)
    }
}
