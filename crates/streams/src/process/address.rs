//! Addresses: names that streams of a driver take, beside their minor numbers.
//!
//! An address is a lock on a byte of the driver's file, at an offset that is a hash of the address, by the open file description by
//! which the minor number is locked. The kernel gives it up with the last process that has the stream. A small file says which
//! minor number has the address; it is written under the lock. What it says is a hint: the stream itself knows its address.
//!
//! The driver's file says for each minor number which address it has taken last, so that the file of a killed process is found, and
//! removed by a process that has locked the minor number: see `close.rs`.

use std::path::Path;
use std::time::Duration;

use headwater_os::{files, ofd_lock, replaced_file};

use super::directory::Directory;
use super::endpoint::Endpoint;
use super::instances::MinorLock;
use super::name::Name;
use crate::error::{Result, fixed};
use crate::limits::MINORS;

/// Offsets of addresses begin here, behind those of all minor numbers.
const FIRST: u64 = 1 << 61;

/// Where in the driver's file the addresses lie, behind the words of `instances`: for each minor number a word for the length, and the
/// bytes. Words.
const RECORDS: u64 = MINORS as u64;
const RECORD: usize = 16;

/// How often an address is tried that is locked, and whose file names no stream that is open: another process is just writing or
/// removing the file.
const TRIES: u32 = 50;
const TRY_EVERY: Duration = Duration::from_millis(1);

/// The addresses of a driver.
#[derive(Debug)]
pub(crate) struct Addresses<'a> {
    name: &'a Name,
    lock: Option<&'a MinorLock>,
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
        if !self.mark(lock, address)? {
            return Ok(false);
        }
        let directory = self.name.directory();
        let (file, new) = (file(self.name.driver_name(), address), new_file(self.name.driver_name(), address));
        let written = note(lock, minor, address)
            .and_then(|()| replaced_file::write_new_at(directory.as_fd(), &new, &minor.to_le_bytes(), directory.mode()))
            .and_then(|()| replaced_file::rename_at(directory.as_fd(), &new, &file));
        if let Err(error) = written {
            ofd_lock::unmark(lock, offset(address), 1)?;
            return Err(directory.told(error));
        }
        Ok(true)
    }

    /// Locks an address. False if a stream has it.
    fn mark(&self, lock: &MinorLock, address: &[u8]) -> Result<bool> {
        for _ in 0..TRIES {
            if ofd_lock::mark(lock, offset(address), 1)? {
                return Ok(true);
            }
            if let Some(minor) = self.find(address)?
                && ofd_lock::is_locked(lock, minor.into(), 1)?
            {
                return Ok(false);
            }
            std::thread::sleep(TRY_EVERY);
        }
        Ok(false)
    }

    /// Gives the stream's address up.
    pub fn give_up(&self, address: &[u8]) -> Result<()> {
        self.remove(address);
        Ok(ofd_lock::unmark(self.lock()?, offset(address), 1)?)
    }

    /// Removes the hint of an address whose lock the stream has.
    pub fn remove(&self, address: &[u8]) {
        let _ = files::remove_at(self.name.directory().as_fd(), &file(self.name.driver_name(), address));
    }

    /// The minor number of the stream that probably has an address.
    ///
    /// Errors: `EACCES`; what open(2) reports.
    pub fn find(&self, address: &[u8]) -> Result<Option<u32>> {
        find(self.name.directory(), self.name.driver_name(), address)
    }

    /// The driver's name, which its file in the directory has.
    pub fn driver_name(&self) -> &'static str {
        self.name.driver_name()
    }

    /// The number of the driver's file among all: device and inode.
    ///
    /// Errors: `ENXIO` if this process does not have the stream's minor number.
    pub fn file_identity(&self) -> Result<[u64; 2]> {
        let files::Status { device, number, .. } = files::status(self.lock()?)?;
        Ok([device, number])
    }

    /// The path of the directory, for messages.
    pub fn directory_path(&self) -> &Path {
        self.name.directory().path()
    }

    fn lock(&self) -> Result<&MinorLock> {
        self.lock.ok_or_else(|| fixed!(Nxio, "this process does not have the stream's minor number"))
    }
}

/// Removes the file of the address that a stream had whose processes have all ended without a close, unless another stream has
/// taken the address. The caller has locked the stream's minor number by `lock`.
pub(crate) fn remove_of_dead(directory: &Directory, driver: &str, lock: &MinorLock, minor: u32) {
    let Some(address) = noted(lock, minor) else { return };
    if !ofd_lock::mark(lock, offset(&address), 1).unwrap_or(false) {
        return;
    }
    if find(directory, driver, &address).is_ok_and(|found| found == Some(minor)) {
        let _ = files::remove_at(directory.as_fd(), &file(driver, &address));
    }
    // What a process has left that was killed while it took the address.
    let _ = files::remove_at(directory.as_fd(), &new_file(driver, &address));
    let _ = ofd_lock::unmark(lock, offset(&address), 1);
}

/// The minor number in the file of an address.
fn find(directory: &Directory, driver: &str, address: &[u8]) -> Result<Option<u32>> {
    let found = replaced_file::read_at(directory.as_fd(), &file(driver, address), size_of::<u32>());
    let Some((_, bytes)) = found.map_err(|error| directory.told(error))? else { return Ok(None) };
    let minor = bytes.try_into().ok().map(u32::from_le_bytes);
    Ok(minor.filter(|minor| *minor < MINORS))
}

fn file(driver: &str, address: &[u8]) -> String {
    let hex: String = address.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(".{driver}@{hex}")
}

fn new_file(driver: &str, address: &[u8]) -> String {
    format!("{}+", file(driver, address))
}

fn record_of(minor: u32) -> u64 {
    RECORDS + RECORD as u64 * u64::from(minor)
}

/// Notes which address a minor number is about to take.
fn note(lock: &MinorLock, minor: u32, address: &[u8]) -> std::io::Result<()> {
    let mut words = vec![address.len() as u64];
    words.extend(address.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
    words.truncate(RECORD);
    files::write_words(lock, record_of(minor), &words)
}

/// Which address a minor number has taken last.
fn noted(lock: &MinorLock, minor: u32) -> Option<Vec<u8>> {
    let mut words = [0; RECORD];
    files::read_words(lock, record_of(minor), &mut words).ok()?;
    let mut bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
    let len = usize::try_from(words[0]).ok().filter(|len| (1..=bytes.len()).contains(len))?;
    bytes.truncate(len);
    Some(bytes)
}

/// Where an address is locked: FNV-1a, 61 bits.
fn offset(address: &[u8]) -> u64 {
    let hash = address
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    FIRST | hash >> 3
}
