//! What a driver is: the code at the end of a stream that a user opens by name, where a pipe has its other end.
//!
//! As of a module, the code is in each process that uses the stream, and runs in whichever process calls: its write put
//! procedure in the one that writes. No daemon has it. A driver writes to the stream that it is the end of by
//! [`Queue::reply`] on the write side, and by [`Queue::put_next`] on the read side.

use std::fmt;

use super::module::{Info, Module, Side};
use super::queue::Queue;
use crate::error::Result;
use crate::limits;
use crate::message::Message;
use crate::message::link::MuxId;

/// What a driver says of itself (module_info, and what the kernel's configuration says).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverInfo {
    /// By which it is opened, at most 16 bytes.
    pub name: &'static str,
    /// High water mark of its queues, bytes.
    pub hiwat: u32,
    /// Low water mark of its queues, bytes.
    pub lowat: u32,
    /// Whether it has a service procedure on the read side, and on the write side. Flow control skips a queue without.
    pub services: [bool; 2],
    /// Bytes of its own memory for each stream, at most [`limits::INSTANCE_MAX`]; see [`Queue::read_instance`].
    pub instance: usize,
    /// Whether the streams of minor numbers 2n and 2n + 1 are partners: each may be opened by name once, and each may send to the
    /// other ([`Queue::put_partner`]). When the last process that has one of them open has ended, the other is hung up as a pipe
    /// is; [`Driver::close`] is then not called.
    pub pairs: bool,
    /// Whether other streams may be linked below one that ends in it (I_LINK); see [`Driver::lower_put`].
    pub multiplexes: bool,
}

impl DriverInfo {
    /// A driver of that name without service procedures and without memory.
    pub const fn new(name: &'static str) -> DriverInfo {
        let Info { hiwat, lowat, services, .. } = Info::new(name);
        DriverInfo { name, hiwat, lowat, services, instance: 0, pairs: false, multiplexes: false }
    }
}

/// Who opens a stream, and how (the arguments of a driver's open procedure).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The minor number.
    pub minor: u32,
    /// The number was chosen for this open (CLONEOPEN).
    pub is_clone: bool,
    /// The stream was not open before; else another open of the same minor device.
    pub is_first: bool,
    /// The caller does not want to wait (O_NONBLOCK).
    pub nonblocking: bool,
    /// The caller's effective user and group (the credentials).
    pub user: u32,
    /// As above.
    pub group: u32,
}

/// A driver's code. See `examples/user_driver.rs`.
pub trait Driver: Send + Sync + fmt::Debug {
    /// What it says of itself.
    fn info(&self) -> DriverInfo;

    /// The device is opened; `queue` is that of the write side. Called for each open of a minor device, also if it is open.
    ///
    /// # Errors
    /// Any, which is what the open then fails with. If it was the first one, [`Driver::close`] is not called.
    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let _ = (opening, queue);
        Ok(())
    }

    /// The stream was closed by its last user; `queue` is that of the write side. The process that closes last calls it; if the last
    /// process was killed nobody does, and the stream's memory is gone with it.
    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        let _ = queue;
    }

    /// A message has come to the write side (put procedure); on the read side nothing comes but what
    /// [`Queue::put_other_queue`] queues, which does not go by here. What is neither answered nor queued is gone.
    /// Of failing operations see [`Module::put`].
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()>;

    /// A queue was enabled (service procedure); [`Queue::side`] tells which. As [`Module::service`].
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.forward_all()
    }

    /// Of a multiplexer: a message has come up a stream that is linked below (lower read put procedure); `queue` is that of the read
    /// side of the upper stream. Returns whether the message was taken: false leaves it in the lower stream, whose flow control then
    /// stops who sends there, and it comes again when there is room above ([`Queue::can_put_next`]), or after
    /// [`Queue::enable_lower`].
    ///
    /// The end of a lower stream, and its error, come once, behind its last message, as [`Kind::Hangup`](crate::Kind::Hangup) and
    /// [`Kind::Error`](crate::Kind::Error); they have to be taken.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on: the message stays in the lower stream.
    fn lower_put<'m>(&self, lower: MuxId, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
        let _ = (lower, message, queue);
        Ok(true)
    }
}

/// A driver as a link of a chain, where modules are.
#[derive(Debug)]
pub(crate) struct DriverLink(pub &'static dyn Driver);

impl Module for DriverLink {
    fn info(&self) -> Info {
        let DriverInfo { name, hiwat, lowat, mut services, multiplexes, .. } = self.0.info();
        // What comes up from below is taken by the service procedure of the read side.
        services[Side::Read as usize] |= multiplexes;
        Info { name, hiwat, lowat, services, data: false }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        self.0.put(message, queue)
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let DriverInfo { services, multiplexes, .. } = self.0.info();
        if multiplexes && queue.side() == Side::Read {
            queue.take_from_lowers(self.0)?;
            if !services[Side::Read as usize] {
                return Ok(());
            }
        }
        self.0.service(queue)
    }
}

impl DriverLink {
    /// Whether what the driver says of itself can be.
    pub fn is_possible(&self) -> bool {
        self.0.info().instance <= limits::INSTANCE_MAX
    }
}
