//! A module: its description and its procedures.
//!
//! The code of a module is not in the stream but in each process that uses it, found by the module's name. The module
//! keeps its state in its queues, its [state words](Queue::state) and its [memory](ModuleInfo::instance), which all processes share. A put procedure runs
//! in the process that sends, a service procedure in a process that finds it enabled.

use std::fmt;

use super::data::Next;
use super::queue::Queue;
use crate::error::Result;
use crate::limits;
use crate::message::Message;
pub use crate::process::driver_info::Side;

/// The description of a module (module_info, qinit).
///
/// ```
/// use headwater_streams::{ModuleInfo, Side};
///
/// let info = ModuleInfo::new("upper").water_marks(5120, 1024).service(Side::Write);
/// assert!(info.has_service(Side::Write) && !info.has_service(Side::Read));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "module_info")]
#[doc(alias = "qinit")]
pub struct ModuleInfo {
    /// The name by which it is pushed: 1 to 16 bytes (FMNAMESZ).
    pub name: &'static str,
    /// High-water mark of its queues, bytes.
    pub hiwat: u32,
    /// Low-water mark of its queues, bytes.
    pub lowat: u32,
    /// Shortest data part that a stream head sends to its write queue, bytes; 0: any.
    pub minpsz: u32,
    /// Longest data part that a stream head sends to its write queue, bytes; 0: as the head has it (INFPSZ).
    pub maxpsz: u32,
    /// Whether it has a service procedure on the read side, and on the write side. Flow control skips a queue without.
    pub services: [bool; 2],
    /// Bytes of its own memory for each time that it is pushed, at most [`limits::MODULE_INSTANCE_MAX`]; see
    /// [`Queue::read_instance`].
    pub instance: usize,
    /// Whether it has a put procedure for plain data, [`Module::put_data`], which then gets the data of writes. For
    /// modules of the library.
    #[doc(hidden)]
    pub data: bool,
    /// Whether it passes each M_PROTO on as it is, on both sides, and keeps no account of them: one may then be sent past it. For
    /// modules of the library.
    #[doc(hidden)]
    pub proto: bool,
    /// Whether it treats messages that came to the head before it was pushed ([`Module::treat_earlier`]). For modules of the library.
    #[doc(hidden)]
    pub earlier: bool,
}

impl ModuleInfo {
    /// A module of that name without service procedures.
    #[doc = include_str!("../../doc/module_info.md")]
    pub const fn new(name: &'static str) -> ModuleInfo {
        ModuleInfo {
            name,
            hiwat: limits::MODULE_HIWAT,
            lowat: limits::MODULE_LOWAT,
            minpsz: 0,
            maxpsz: 0,
            services: [false, false],
            instance: 0,
            data: false,
            proto: false,
            earlier: false,
        }
    }

    /// Sets the water marks of its queues, bytes.
    #[must_use]
    #[doc = include_str!("../../doc/module_info.md")]
    pub const fn water_marks(self, hiwat: u32, lowat: u32) -> ModuleInfo {
        ModuleInfo { hiwat, lowat, ..self }
    }

    /// Sets the shortest and the longest data part that a stream head sends to its write queue, bytes; a longest of 0 leaves that to
    /// the head.
    #[must_use]
    #[doc = include_str!("../../doc/module_info.md")]
    #[doc(alias = "mi_minpsz")]
    #[doc(alias = "mi_maxpsz")]
    pub const fn packet_sizes(self, minpsz: u32, maxpsz: u32) -> ModuleInfo {
        ModuleInfo { minpsz, maxpsz, ..self }
    }

    /// Gives the side a service procedure.
    #[must_use]
    #[doc = include_str!("../../doc/module_info.md")]
    pub const fn service(mut self, side: Side) -> ModuleInfo {
        self.services[side as usize] = true;
        self
    }

    /// Sets the bytes of its own memory for each time that it is pushed.
    #[must_use]
    #[doc = include_str!("../../doc/module_instance.md")]
    #[doc(alias = "q_ptr")]
    pub const fn instance(self, instance: usize) -> ModuleInfo {
        ModuleInfo { instance, ..self }
    }

    /// Gives it a put procedure for plain data, [`Module::put_data`]. For modules of the library.
    #[doc(hidden)]
    #[must_use]
    pub const fn data(self) -> ModuleInfo {
        ModuleInfo { data: true, ..self }
    }

    /// Has it asked about messages that came to the head before it was pushed. For modules of the library.
    #[doc(hidden)]
    #[must_use]
    pub const fn earlier(self) -> ModuleInfo {
        ModuleInfo { earlier: true, ..self }
    }

    /// Whether the side has a service procedure.
    #[doc = include_str!("../../doc/module_info.md")]
    pub fn has_service(&self, side: Side) -> bool {
        self.services[side as usize]
    }
}

/// What a module makes of a message with a control part that came to the head before the module was pushed.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// It is taken as it is.
    Stays,
    /// Its control part is taken away, and a message without data with it.
    Data,
    /// It is taken as a message of no bytes, which is the end of the file.
    End,
    /// It stays at the front, where it is the end of the file for each read.
    Hangup,
}

/// A module's code. See `examples/user_module.rs`.
pub trait Module: Send + Sync + fmt::Debug {
    /// Returns the module's description.
    fn info(&self) -> ModuleInfo;

    /// It was pushed; `queue` is that of the write side.
    ///
    /// # Errors
    /// Any, which is what push then fails with; the module is taken away again, without [`Module::close`].
    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let _ = queue;
        Ok(())
    }

    /// It is about to be popped, or the last handle of its end that was in use was dropped. It is not called for an end
    /// whose last process was killed.
    fn close(&self) {}

    /// A message has arrived (put procedure). A message that is neither passed on nor queued is dropped.
    ///
    /// An operation on the queue may fail because another user of the stream does not come out of its call
    /// ([`Error::is_held`](crate::Error::is_held)), as long as the call has not passed on or queued anything, answered, or changed
    /// its state. If that is passed on, the call fails and the message counts as never sent.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.put_next(message)
    }

    /// How the head takes an M_PROTO that came before the module was pushed, by its control part. Called only if
    /// [`ModuleInfo::earlier`] is set, for each such message that is at the front, under the reader's lock: it must not use the
    /// stream. For modules of the library.
    #[doc(hidden)]
    fn treat_earlier(&self, control: &[u8]) -> Earlier {
        let _ = control;
        Earlier::Stays
    }

    /// Plain data has arrived, on a stream all of whose modules take plain data and whose queues are empty: the short
    /// path for the data of a write, without a message around it. It must treat the bytes as [`Module::put`] does with
    /// such a message. Called only if [`ModuleInfo::data`] is set. For modules of the library.
    ///
    /// # Errors
    /// Those of passing it on.
    #[doc(hidden)]
    fn put_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        next.put(data)
    }

    /// Plain data that [`Module::put_data`] has queued ([`Next::queue`]); there is room for it in the next queue. It
    /// must treat it as [`Module::service`] treats such a message.
    ///
    /// # Errors
    /// Those of passing it on.
    #[doc(hidden)]
    fn service_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        next.put(data)
    }

    /// The queue was enabled (service procedure): passes on what the next queue takes, and puts back what it does not. If an
    /// operation fails as described at [`Module::put`], the message that was taken last goes back to its queue, and the
    /// procedure is run again when the other user has come out.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.forward_all()
    }

    /// The time that [`Queue::enable_after`] has asked for is over (the procedure that timeout and qtimeout are given). Without one
    /// the service procedure is called. If the process is killed in it, it is called again by another.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        self.service(queue)
    }
}
