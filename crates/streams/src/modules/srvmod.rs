//! `srvmod`: queues every message and passes it on by a service procedure, on both sides.

use crate::error::Result;
use crate::message::Message;
use crate::message::kind::Kind;
use crate::plumb::data::Next;
use crate::plumb::module::{Module, ModuleInfo};
use crate::plumb::queue::Queue;

/// The module.
#[derive(Debug)]
pub struct ServiceModule;

impl Module for ServiceModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo { services: [true, true], data: true, ..ModuleInfo::new("srvmod") }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Flush => {
                queue.flush_as(&message)?;
                queue.put_next(message)
            }
            // Messages of high priority do not wait.
            kind if kind.is_high_priority() => queue.put_next(message),
            _ => queue.put_queue(message),
        }
    }

    fn put_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        next.queue(data)
    }
}
