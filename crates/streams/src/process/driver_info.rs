//! What a stream's memory and its ends know of the driver in which it ends: the description, and no code of it. The driver itself, with
//! its procedures, is `Driver` of the component above.

use std::any::Any;
use std::fmt::Debug;

use super::driver_files::Declared;
use super::file_kind::FileKind;
use crate::limits;

/// The driver of a stream, which a [`Region`](super::region::Region) keeps for the components that call its procedures.
pub(crate) trait StreamDriver: Any + Debug + Send + Sync {
    /// Returns the driver's description.
    fn info(&self) -> DriverInfo;
}

/// The direction of a queue: towards the head that pushed the module, or away from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Messages that the module's head will read.
    Read,
    /// Messages that the module's head has written.
    Write,
}

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
    /// Bytes of its own memory for each stream, at most [`limits::INSTANCE_MAX`]; see [`Queue::read_instance`](crate::Queue::read_instance).
    pub instance: usize,
    /// Whether the streams of minor numbers 2n and 2n + 1 are partners: each may be opened by name once, and each may send to the
    /// other ([`Queue::put_partner`](crate::Queue::put_partner)). When the last process that has one of them open has ended, the other is hung up as a pipe
    /// is.
    pub pairs: bool,
    /// Of a driver that pairs streams: the name under which the odd minor numbers are opened, if it has two. Its own name then
    /// stands for the even ones: see [`DriverInfo::pairs_with`].
    pub second_name: Option<&'static str>,
    /// Whether other streams may be linked below one that ends in it (I_LINK); see [`Driver::lower_put`](crate::Driver::lower_put).
    pub multiplexes: bool,
    /// What the open files of its streams are, sockets perhaps, each at its place: see [`Queue::set_file`](crate::Queue::set_file).
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
        DriverInfo {
            name,
            hiwat: limits::MODULE_HIWAT,
            lowat: limits::MODULE_LOWAT,
            minpsz: 0,
            maxpsz: 0,
            services: [false, false],
            instance: 0,
            pairs: false,
            second_name: None,
            files: &[],
            read_place: None,
            has_peers: false,
            multiplexes: false,
            steps: 0,
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
    /// - A stream of the second name is opened only while its partner is open, if [`Driver::admit`](crate::Driver::admit) lets it in; then any number of
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

    /// Lets the driver have open files for its streams ([`Queue::set_file`](crate::Queue::set_file)): at most
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

    /// Whether the description is valid.
    pub(crate) fn is_possible(&self) -> bool {
        // The descriptors of a partner and of files together are more than go in one message over a socket.
        let are_too_many = self.files.len() > limits::DRIVER_FILES || self.second_name.is_some() && self.has_files();
        self.instance <= limits::INSTANCE_MAX && !are_too_many
    }

    /// Lets other streams be linked below one that ends in the driver ([`Driver::lower_put`](crate::Driver::lower_put)).
    #[must_use]
    #[doc = include_str!("../../doc/multiplexers.md")]
    pub const fn multiplexes(self) -> DriverInfo {
        DriverInfo { multiplexes: true, ..self }
    }
}
