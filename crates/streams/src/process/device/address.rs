//! Addresses: names that streams of a driver take, beside their minor numbers.
//!
//! An address is a lock on a byte of the driver's file, at an offset that is a hash of the address, by the open file description by
//! which the minor number is locked. The kernel gives it up with the last process that has the stream. A small file says which
//! minor number has the address; it is written under the lock. What it says is a hint: the stream itself knows its address.

use std::os::fd::OwnedFd;

use headwater_os::{files, ofd_lock, replaced_file};

use super::named::Name;
use crate::error::{Result, fixed};
use crate::limits::MINORS;
use crate::process::endpoint::Endpoint;

/// Offsets of addresses begin here, behind those of all minor numbers.
const FIRST: u64 = 1 << 61;

/// The addresses of a driver.
#[derive(Debug)]
pub(crate) struct Addresses<'a> {
    name: &'a Name,
    lock: Option<&'a OwnedFd>,
}

impl<'a> Addresses<'a> {
    /// As a stream knows them. None: it was not opened by name in this process.
    pub fn of(endpoint: &'a std::sync::Arc<Endpoint>) -> Option<Addresses<'a>> {
        Some(Addresses { name: endpoint.name()?, lock: endpoint.lock() })
    }

    /// Takes an address for the stream. False if another one has it.
    ///
    /// Errors: `EACCES` without the right to write in the directory; `ENOSPC`; what open(2) reports.
    pub fn take(&self, address: &[u8], minor: u32) -> Result<bool> {
        let lock = self.lock()?;
        if !ofd_lock::mark(lock, offset(address), 1)? {
            return Ok(false);
        }
        let directory = self.name.directory();
        let (file, new) = (self.file(address), self.new_file(address));
        let written = replaced_file::write_new_at(directory.as_fd(), &new, &minor.to_le_bytes(), directory.mode())
            .and_then(|()| replaced_file::rename_at(directory.as_fd(), &new, &file));
        if let Err(error) = written {
            ofd_lock::unmark(lock, offset(address), 1)?;
            return Err(directory.told(error));
        }
        Ok(true)
    }

    /// Gives the stream's address up.
    pub fn give_up(&self, address: &[u8]) -> Result<()> {
        self.remove(address);
        Ok(ofd_lock::unmark(self.lock()?, offset(address), 1)?)
    }

    /// Removes the hint of an address whose lock the stream has.
    pub fn remove(&self, address: &[u8]) {
        let _ = files::remove_at(self.name.directory().as_fd(), &self.file(address));
    }

    /// The minor number of the stream that probably has an address.
    ///
    /// Errors: `EACCES`; what open(2) reports.
    pub fn find(&self, address: &[u8]) -> Result<Option<u32>> {
        let directory = self.name.directory();
        let found = replaced_file::read_at(directory.as_fd(), &self.file(address), size_of::<u32>());
        let Some((_, bytes)) = found.map_err(|error| directory.told(error))? else { return Ok(None) };
        let minor = bytes.try_into().ok().map(u32::from_le_bytes);
        Ok(minor.filter(|minor| *minor < MINORS))
    }

    fn lock(&self) -> Result<&OwnedFd> {
        self.lock.ok_or_else(|| fixed!(Nxio, "this process does not have the stream's minor number"))
    }

    fn file(&self, address: &[u8]) -> String {
        let hex: String = address.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(".{}@{hex}", self.name.driver_name())
    }

    fn new_file(&self, address: &[u8]) -> String {
        format!("{}+", self.file(address))
    }
}

/// Where an address is locked: FNV-1a, 61 bits.
fn offset(address: &[u8]) -> u64 {
    let hash = address
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    FIRST | hash >> 3
}
