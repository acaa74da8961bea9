//! Which streams this process takes up when another one hands their descriptors over, and whether these are what they must be.
//!
//! The stream's memory names its driver, and every process that has had the memory can write that name. The driver's procedures then run in
//! this process, with its rights. So the receiver decides: it takes up pipes and FIFOs, and of a driver only a stream for which it has
//! asked by the driver's name. Who has sent the descriptors makes no difference: the sender need not be who wrote the memory.

use std::os::fd::AsFd;
use std::ptr;

use headwater_os::abstract_socket::peer_user;
use headwater_os::{environment, files};

use crate::error::{Errno, Error, Result};
use crate::plumb::registry;
use crate::process::region::Region;

/// What a receiver takes up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Admission<'a> {
    /// Ends of pipes and FIFOs.
    Pipes,
    /// Streams of one driver, by its name.
    Driver(&'a str),
    /// What this process has inherited by exec, or has open already: any stream that a process of its user or root has made, unless this
    /// program has more rights than its starter.
    Inherited,
    /// Any stream: a process that may act for this one has chosen it.
    Any,
}

impl Admission<'_> {
    /// Of a stream that the starter of this program describes to it.
    pub fn described() -> Admission<'static> {
        if environment::has_more_rights() { Admission::Pipes } else { Admission::Any }
    }

    /// Of a stream that a process of this user hands over, by the kernel's word.
    pub fn by_user(user: u32) -> Admission<'static> {
        if is_trusted(user) { Admission::Any } else { Admission::Pipes }
    }

    /// Whether a stream of that memory is taken up. Before anything else of it is used.
    ///
    /// Errors: `EACCES` for one that was not asked for; `EINVAL` for the name of a driver that this process does not know.
    pub fn check(self, region: &Region) -> Result<()> {
        let Some(driver) = region.driver_link() else {
            let Admission::Driver(asked) = self else { return Ok(()) };
            return Err(refused(&format!("a pipe or FIFO has come, and a stream of '{asked}' was asked for")));
        };
        let is_admitted = match self {
            Admission::Any => true,
            Admission::Pipes => false,
            Admission::Inherited => !environment::has_more_rights() && is_trusted(files::status(region)?.owner),
            Admission::Driver(asked) => ptr::eq(registry::find_driver(asked)?, driver),
        };
        if is_admitted {
            return Ok(());
        }
        let name = driver.0.info().name;
        Err(refused(&format!(
            "a stream of the driver '{name}' has come, which was not asked for (Device::receive_over)"
        )))
    }
}

/// Whether a process of that user may decide for this one.
fn is_trusted(user: u32) -> bool {
    user == files::own_user() || user == 0
}

fn refused(why: &str) -> Error {
    Error::new(Errno::Acces, why.to_owned())
}

impl Region {
    /// Whether a socket of a pair was made by the user that made this memory: the process that makes a stream makes both. So no process
    /// hands over a socket that another user's service has given to it.
    pub(super) fn is_made_with(&self, socket: impl AsFd) -> Result<bool> {
        Ok(peer_user(socket)? == files::status(self)?.owner)
    }
}
