//! A driver: the code at the end of a stream that a user opens by name, where a pipe has its other end.
//!
//! As of a module, the code is in each process that uses the stream, and runs in the process that calls: its write put
//! procedure in the one that writes. There is no daemon. A driver writes to the stream that it is the end of by
//! [`Queue::reply`] on the write side, and by [`Queue::put_next`] on the read side.

use std::fmt;
use std::os::fd::BorrowedFd;

use super::module::{Module, ModuleInfo, Side};
use super::queue::Queue;
use crate::error::Result;
use crate::limits;
use crate::message::Message;
use crate::message::link::MuxId;
use crate::options::events::Events;
use crate::process::driver_files::Declared;
use crate::process::file_kind::FileKind;

/// The description of a driver (module_info, and the kernel's configuration).
///
/// ```
/// use headwater_streams::{DriverInfo, Side};
///
/// let info = DriverInfo::new("counter").service(Side::Write).instance(8);
/// assert_eq!((info.name, info.instance), ("counter", 8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "module_info")]
#[doc(alias = "qinit")]
pub struct DriverInfo {
    /// By which it is opened, at most 16 bytes.
    pub name: &'static str,
    /// High water mark of its queues, bytes.
    pub hiwat: u32,
    /// Low water mark of its queues, bytes.
    pub lowat: u32,
    /// Shortest data part that a stream head sends to its write queue, bytes; 0: any.
    pub minpsz: u32,
    /// Longest data part that a stream head sends to its write queue, bytes; 0: as the head has it (INFPSZ).
    pub maxpsz: u32,
    /// Whether it has a service procedure on the read side, and on the write side. Flow control skips a queue without.
    pub services: [bool; 2],
    /// Bytes of its own memory for each stream, at most [`limits::INSTANCE_MAX`]; see [`Queue::read_instance`].
    pub instance: usize,
    /// Whether the streams of minor numbers 2n and 2n + 1 are partners: each may be opened by name once, and each may send to the
    /// other ([`Queue::put_partner`]). When the last process that has one of them open has ended, the other is hung up as a pipe
    /// is.
    pub pairs: bool,
    /// Of a driver that pairs streams: the name under which the odd minor numbers are opened, if it has two. Its own name then
    /// stands for the even ones: see [`DriverInfo::pairs_with`].
    pub second_name: Option<&'static str>,
    /// Whether other streams may be linked below one that ends in it (I_LINK); see [`Driver::lower_put`].
    pub multiplexes: bool,
    /// What the open files of its streams are, sockets perhaps, each at its place: see [`Queue::set_file`].
    pub files: &'static [FileKind],
    /// The place of the file that a waiting reader has the driver read at once, without asking the kernel first whether it is ready.
    pub(crate) read_place: Option<usize>,
    /// Whether its streams send to each other, any number to any number: a transport.
    pub(crate) has_peers: bool,
    /// How many of the first bytes of its own memory are changed together with the message that tells of it: see `sched::step`. The own memory
    /// has twice as many at least, and the last of them are not the driver's.
    pub(crate) steps: usize,
}

impl DriverInfo {
    /// A driver of that name without service procedures and without memory.
    #[doc = include_str!("../../doc/driver_info.md")]
    pub const fn new(name: &'static str) -> DriverInfo {
        let ModuleInfo { hiwat, lowat, minpsz, maxpsz, services, .. } = ModuleInfo::new(name);
        let (pairs, second_name, has_peers, multiplexes) = (false, None, false, false);
        let (instance, read_place, steps) = (0, None, 0);
        let files: &'static [FileKind] = &[];
        DriverInfo {
            name,
            hiwat,
            lowat,
            minpsz,
            maxpsz,
            services,
            instance,
            pairs,
            second_name,
            files,
            read_place,
            has_peers,
            multiplexes,
            steps,
        }
    }

    /// Sets the water marks of its queues, bytes.
    #[must_use]
    #[doc = include_str!("../../doc/driver_info.md")]
    pub const fn water_marks(self, hiwat: u32, lowat: u32) -> DriverInfo {
        DriverInfo { hiwat, lowat, ..self }
    }

    /// Sets the shortest and the longest data part that a stream head sends to its write queue, bytes; a longest of 0 leaves that to
    /// the head.
    #[must_use]
    #[doc = include_str!("../../doc/driver_info.md")]
    #[doc(alias = "mi_minpsz")]
    #[doc(alias = "mi_maxpsz")]
    pub const fn packet_sizes(self, minpsz: u32, maxpsz: u32) -> DriverInfo {
        DriverInfo { minpsz, maxpsz, ..self }
    }

    /// Gives the side a service procedure.
    #[must_use]
    #[doc = include_str!("../../doc/driver_info.md")]
    pub const fn service(mut self, side: Side) -> DriverInfo {
        self.services[side as usize] = true;
        self
    }

    /// Sets the bytes of its own memory for each stream.
    #[must_use]
    #[doc = include_str!("../../doc/driver_info.md")]
    pub const fn instance(self, instance: usize) -> DriverInfo {
        DriverInfo { instance, ..self }
    }

    /// Makes the streams of minor numbers 2n and 2n + 1 partners.
    #[must_use]
    #[doc = include_str!("../../doc/driver_info.md")]
    pub const fn pairs(self) -> DriverInfo {
        DriverInfo { pairs: true, ..self }
    }

    /// Makes streams partners that are opened under two names, as the two sides of a pseudo-terminal are: number n of the driver's own
    /// name, whose minor number is 2n, and number n of the second name, whose minor number is 2n + 1.
    ///
    /// - A stream of the second name is opened only while its partner is open, if [`Driver::admit`] lets it in; then any number of
    ///   processes may open it.
    /// - A write to a stream whose partner has gone fails with `EIO`, as POSIX has it of a terminal.
    #[must_use]
    #[doc = include_str!("../../doc/named_pairs.md")]
    pub const fn pairs_with(self, second_name: &'static str) -> DriverInfo {
        DriverInfo { pairs: true, second_name: Some(second_name), ..self }
    }

    /// The name and the number under which the stream of a minor number is opened.
    pub(crate) fn name_of(&self, minor: u32) -> (&'static str, u32) {
        match self.second_name {
            Some(second) => (if minor.is_multiple_of(2) { self.name } else { second }, minor / 2),
            None => (self.name, minor),
        }
    }

    /// The minor numbers that are opened under a name of the driver: the first one, and the step between two.
    pub(crate) fn minors_of(&self, name: &str) -> (u32, u32) {
        match self.second_name {
            Some(second) => (u32::from(name == second), 2),
            None => (0, 1),
        }
    }

    /// Whether the stream of a minor number is opened only while its partner is open.
    pub(crate) fn needs_partner(&self, minor: u32) -> bool {
        self.second_name.is_some() && !minor.is_multiple_of(2)
    }

    /// Lets the driver have open files for its streams ([`Queue::set_file`]): at most
    /// [`limits::DRIVER_FILES`](crate::limits::DRIVER_FILES), and at each place a file of that kind. A process of the stream that finds
    /// another file there uses none: its call fails with `EPROTO` or `EACCES`.
    #[must_use]
    #[doc = include_str!("../../doc/driver_info.md")]
    pub const fn with_files(self, files: &'static [FileKind]) -> DriverInfo {
        DriverInfo { files, ..self }
    }

    /// What its streams' files must be.
    pub(crate) const fn declared(&self) -> Declared {
        Declared { driver: self.name, files: self.files }
    }

    /// Whether its streams have files.
    pub(crate) const fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Lets other streams be linked below one that ends in the driver ([`Driver::lower_put`]).
    #[must_use]
    #[doc = include_str!("../../doc/multiplexers.md")]
    pub const fn multiplexes(self) -> DriverInfo {
        DriverInfo { multiplexes: true, ..self }
    }
}

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

impl DriverLink {
    /// Whether the driver's description is valid.
    pub fn is_possible(&self) -> bool {
        let info = self.0.info();
        // The descriptors of a partner and of files together are more than go in one message over a socket.
        let are_too_many = info.files.len() > limits::DRIVER_FILES || info.second_name.is_some() && info.has_files();
        info.instance <= limits::INSTANCE_MAX && !are_too_many
    }
}
