//! A driver: the code at the end of a stream that a user opens by name, where a pipe has its other end.
//!
//! As of a module, the code is in each process that uses the stream, and runs in the process that calls: its write put
//! procedure in the one that writes. There is no daemon. A driver writes to the stream that it is the end of by
//! [`Queue::reply`] on the write side, and by [`Queue::put_next`] on the read side.

use std::any::Any;
use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::module::{Module, ModuleInfo, Side};
use super::queue::Queue;
use super::registry;
use crate::error::Result;
use crate::message::Message;
use crate::message::link::MuxId;
use crate::options::events::Events;
pub use crate::process::driver_info::DriverInfo;
use crate::process::driver_info::StreamDriver;
use crate::process::region::Region;

/// The user that opens a stream, and the mode (the arguments of a driver's open procedure).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// Returns the driver's description.
    fn info(&self) -> DriverInfo;

    /// The device is opened; `queue` is that of the write side. Called for each open of a minor device, also if it is open.
    ///
    /// # Errors
    /// Any, which is what the open then fails with. If it was the first one, [`Driver::close`] is not called.
    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let _ = (opening, queue);
        Ok(())
    }

    /// As [`Driver::open`], of a device that is opened by its name: `directory` is the one in which processes find it, opened
    /// without rights to read it (O_PATH). A driver whose streams share something beyond each stream's own memory keeps a file
    /// there, whose name begins with a '.', and gives each stream a copy ([`Queue::set_file`]). This calls [`Driver::open`].
    ///
    /// # Errors
    /// As [`Driver::open`].
    #[doc = include_str!("../../doc/driver_directory.md")]
    fn open_named(&self, opening: &Opening, directory: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let _ = directory;
        self.open(opening, queue)
    }

    /// Of a driver of [two names](DriverInfo::pairs_with): the stream of the second name is about to be opened for the first time;
    /// `queue` is that of the write side of its partner. `opening` has the minor number of the stream that is opened.
    ///
    /// # Errors
    /// Any, which is what the open then fails with.
    #[doc = include_str!("../../doc/named_pairs.md")]
    fn admit(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let _ = (opening, queue);
        Ok(())
    }

    /// The stream was closed by its last user; `queue` is that of the write side. The process that closes last calls it, once. If the
    /// last process was killed, a process that has the partner open calls it; else the next one that opens a device of the driver in
    /// the same directory (of a transport, the one that opens the same minor number), with an empty stream of that minor number in the
    /// place of the other, whose memory is gone ([`Queue::is_stand_in`]). A process that is killed in here leaves it to the next, so it is to bear being called again. It is not
    /// called after a kill for a stream that cannot be found by name.
    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        let _ = queue;
    }

    /// A message has arrived at the write side (put procedure); on the read side nothing comes but what
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
    /// [`Queue::enable_lowers`].
    ///
    /// The end of a lower stream, and its error, come once, behind its last message, as [`Kind::Hangup`](crate::Kind::Hangup) and
    /// [`Kind::Error`](crate::Kind::Error); they have to be taken.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on. If another user is in the way ([`Error::is_held`](crate::Error::is_held)), the
    /// message stays in the lower stream; after any other one it is gone.
    #[doc = include_str!("../../doc/multiplexers.md")]
    #[doc(alias = "qinit")]
    fn lower_put<'m>(&self, lower: MuxId, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<bool> {
        let _ = (lower, message, queue);
        Ok(true)
    }

    /// One of the driver's files has what [`Queue::watch`] has asked for, or an error or a hang-up: what an interrupt is to a
    /// driver of hardware. `queue` is that of the read side; what comes is sent up by [`Queue::put_next`], and
    /// [`Queue::enable_other`] has the service procedure of the write side run. Called by a process that waits at the
    /// stream, of several perhaps by each in turn, so what is announced may be gone: the files are read and written
    /// without waiting.
    ///
    /// It is called again as long as the file is ready, so what it is not to be told of now it takes back by [`Queue::unwatch`]:
    /// what is readable, when [`Queue::can_put_next`] says that the reader is behind, until the read side's service procedure runs.
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on: the call that waits fails with them.
    fn ready(&self, place: usize, events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.unwatch(place, events)
    }

    /// The time that [`Queue::enable_after`] has asked for is over. As [`Module::timeout`].
    ///
    /// # Errors
    /// Those of the operations on the queue, passed on.
    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        self.service(queue)
    }
}

/// A driver as a link of a chain, where modules are.
#[derive(Debug)]
pub(crate) struct DriverLink(pub &'static dyn Driver);

impl Module for DriverLink {
    fn info(&self) -> ModuleInfo {
        let DriverInfo { name, hiwat, lowat, minpsz, maxpsz, mut services, multiplexes, .. } = self.0.info();
        // What comes up from below is taken by the service procedure of the read side.
        services[Side::Read as usize] |= multiplexes;
        ModuleInfo { hiwat, lowat, minpsz, maxpsz, services, ..ModuleInfo::new(name) }
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

    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        self.0.timeout(queue)
    }
}

impl StreamDriver for DriverLink {
    fn info(&self) -> DriverInfo {
        self.0.info()
    }
}

impl Region {
    /// The driver in which the stream ends, if it does.
    pub(crate) fn driver_link(&self) -> Option<&'static DriverLink> {
        let driver: &'static dyn Any = self.driver?;
        driver.downcast_ref()
    }

    /// Maps the memory behind a descriptor from elsewhere.
    ///
    /// Errors: `ENOSTR` for one that is no stream; `EPROTO` for one of another version, or that contradicts itself; `EINVAL` if this
    /// process does not know its driver.
    pub(crate) fn open(fd: OwnedFd) -> Result<Region> {
        Region::open_with(fd, |name| Ok(registry::find_driver(name)?))
    }
}
