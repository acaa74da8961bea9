//! What a module is.
//!
//! The code of a module is not in the stream but in each process that uses it, found by the module's name; what it must
//! remember between messages it keeps in its queues and its [state](Queue::state), which all processes share. A put
//! procedure runs in whichever process sends, a service procedure in whichever finds it to be run.

use std::fmt;

use super::chain::Link;
use super::queue::Queue;
use crate::error::Result;
use crate::limits;
use crate::message::Message;
use crate::queue::lane::writer::LaneWriter;

/// The rest of the way of plain data.
#[derive(Debug)]
pub struct Next<'a> {
    pub(crate) lane: &'a mut LaneWriter,
    pub(crate) rest: &'a [Link],
}

impl Next<'_> {
    /// Passes data on to the next module, or to the head.
    ///
    /// # Errors
    /// `ERANGE` for more than the stream's largest message.
    #[doc(alias = "putnext")]
    #[inline]
    pub fn put(&mut self, data: &[u8]) -> Result<()> {
        match self.rest {
            [] => self.lane.append_plain(data),
            [link, rest @ ..] => link.module.put_data(data, &mut Next { lane: self.lane, rest }),
        }
    }
}

/// The direction of a queue: towards the head that pushed the module, or away from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What the module's head will read.
    Read,
    /// What the module's head has written.
    Write,
}

/// What a module says of itself (module_info).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// By which it is pushed, at most [`NAME_MAX`] bytes (FMNAMESZ).
    pub name: &'static str,
    /// High water mark of its queues, bytes.
    pub hiwat: u32,
    /// Low water mark of its queues, bytes.
    pub lowat: u32,
    /// Whether it has a service procedure on the read side, and on the write side. Flow control skips a queue without.
    pub services: [bool; 2],
    /// Whether it has a put procedure for plain data, [`Module::put_data`], which then gets what writes send.
    pub data: bool,
}

/// Longest name of a module in bytes. FMNAMESZ is 8; longer names are no harm.
pub const NAME_MAX: usize = 16;

impl Info {
    /// A module of that name without service procedures.
    pub const fn new(name: &'static str) -> Info {
        Info { name, hiwat: limits::MODULE_HIWAT, lowat: limits::MODULE_LOWAT, services: [false, false], data: false }
    }

    /// Whether the side has a service procedure.
    pub fn has_service(&self, side: Side) -> bool {
        self.services[side as usize]
    }
}

/// A module's code. See `examples/user_module.rs`.
pub trait Module: Send + Sync + fmt::Debug {
    /// What it says of itself.
    fn info(&self) -> Info;

    /// It was pushed; `queue` is that of the write side.
    ///
    /// # Errors
    /// Any, which is what push then fails with.
    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let _ = queue;
        Ok(())
    }

    /// It is about to be popped.
    fn close(&self) {}

    /// A message has come (put procedure). What is neither passed on nor queued is gone.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.put_next(message)
    }

    /// Plain data has come, on a stream all of whose modules take it so: the short way for what a write sends, without a
    /// message around it. It must do with the bytes what [`Module::put`] does with such a message. Called only if
    /// [`Info::data`] says so.
    ///
    /// # Errors
    /// Those of passing it on.
    fn put_data(&self, data: &[u8], next: &mut Next<'_>) -> Result<()> {
        next.put(data)
    }

    /// The queue was enabled (service procedure): passes on what the next queue takes, and puts back what it does not.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.forward_all()
    }
}
