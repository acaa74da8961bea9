//! `sad`: configures [autopush](crate::autopush) by ioctls, as the STREAMS administrative driver sad(7) of SVR4.
//!
//! | ioctl | data | effect |
//! |---|---|---|
//! | [`SAD_SAP`] | a [`SadRequest`] | adds an entry, or removes the one of the device with [`SadCommand::Clear`] |
//! | [`SAD_GAP`] | a [`SadRequest`], of which driver and minor number are read | returns the entry for a device |
//! | [`SAD_VML`] | names of modules | returns 0 if this process knows all of them, 1 if not |
//!
//! All take their data transparently and by I_STR. The stream is opened by name, and what it changes is the configuration of the
//! directory of devices in which it was opened: in a process that has opened it by name, or that finds its name there. A request that waits
//! in the queue of a module is refused (`EPERM`). SVR4 has two minor devices, for the administrator and for users; here the
//! owner of that directory is the administrator, on any of them.
//!
//! ```
//! use headwater_streams::drivers::{major, sad::{SAD_SAP, SadCommand, SadRequest}};
//! use headwater_streams::{DeviceOptions, IoctlTimeout};
//!
//! # let path = std::env::temp_dir().join(format!("headwater-sad-{}", std::process::id()));
//! let options = DeviceOptions::new().directory(&path);
//! let sad = options.open("sad")?;
//! let request = SadRequest::new(SadCommand::All, major("echo")).modules(["nullmod"]);
//! sad.ioctl(SAD_SAP, &mut request.bytes()?.to_vec(), IoctlTimeout::Usual)?;
//!
//! assert_eq!(options.open("echo")?.modules().list()?, ["nullmod", "echo"]);
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::os::fd::BorrowedFd;

use crate::error::{Result, fixed};
use crate::limits::NSTRPUSH;
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::Kind;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::exchange::exchange;
use crate::plumb::queue::Queue;
use crate::plumb::registry;
use crate::process::autopush::table::{Autopush, Minors, not_configured};
use crate::process::autopush::{change, read};

mod request;

pub use request::{SadCommand, SadRequest};

const COMMANDS: u32 = (b'D' as u32) << 8;
/// Adds an entry for a driver's minor devices, or removes one.
///
/// It fails with `EINVAL` for a command, a number of modules or a name that makes no sense, and for a module that this process does
/// not know; `ENOSTR` for the major number of no driver that it knows; `ERANGE` for a range that does not rise, and to
/// clear with another minor number than the entry's first; `EEXIST` if a device has an entry; `ENODEV` to clear what is
/// not there; `ENOSR` if the table is full; `EPERM` for a process that does not act as the directory's owner.
pub const SAD_SAP: u32 = COMMANDS | 1;
/// Returns the entry for a device. It fails with `ENOSTR` for the major number of no driver that this process knows; `ENODEV`
/// without an entry; `EOVERFLOW` if the name of a module has more than 8 bytes.
pub const SAD_GAP: u32 = COMMANDS | 2;
/// Whether a list of names is of modules. Transparently, the argument is the address of a `struct str_list`; by I_STR, the data are
/// the names themselves, [`NAME_BYTES`] each. It fails with `EINVAL` for no name or more than [`NSTRPUSH`], and for one without an end.
pub const SAD_VML: u32 = COMMANDS | 3;

/// Bytes of a name with its end (FMNAMESZ + 1).
pub const NAME_BYTES: usize = request::NAME;
/// Bytes of a `struct str_list` of LP64: the number of names, and the address of the first.
const LIST: usize = 16;
/// In a private word: the names of a list were asked for, not the list.
const NAMES: u64 = 0x6e_616d_6573;

/// The driver.
#[derive(Debug)]
pub struct Sad;

impl Driver for Sad {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("sad")
    }

    fn open(&self, _opening: &Opening, _queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        Err(fixed!(Inval, "`sad` is opened by name: what it configures is found by name"))
    }

    fn open_named(&self, _opening: &Opening, _directory: BorrowedFd<'_>, _queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl | Kind::IocData if IoctlBlock::of(&message)?.command == SAD_VML => validate(message, queue),
            Kind::Ioctl | Kind::IocData => exchange(message, queue, |_| SadRequest::LEN, configure),
            // It takes no data.
            _ => Ok(()),
        }
    }
}

/// Does what [`SAD_SAP`] or [`SAD_GAP`] asks for.
fn configure(command: u32, data: &[u8], queue: &mut Queue<'_, '_, '_>) -> Result<(i32, Vec<u8>)> {
    if command != SAD_SAP && command != SAD_GAP {
        return Err(fixed!(Inval, "`sad` does not know the ioctl"));
    }
    if queue.was_queued() {
        // It would be done with the rights of the process that has taken it out.
        return Err(fixed!(Perm, "a request of `sad` that has waited in a module's queue may be any process's"));
    }
    let request = SadRequest::of(data)?;
    let known = registry::known_drivers();
    let driver = known.into_iter().find(|name| super::major(name) == request.major);
    let driver = driver.ok_or_else(|| fixed!(Nostr, "the major number is of no driver that this process knows"))?;
    let directory = queue.device_directory()?;
    if command == SAD_GAP {
        let table = read(directory)?;
        let entry = table.find(driver, request.minor).ok_or_else(|| not_configured(driver, request.minor))?;
        return Ok((0, SadRequest::of_entry(entry).bytes()?.to_vec()));
    }
    let minors = match request.command()? {
        SadCommand::Clear => {
            change(directory, |table| table.remove(driver, request.minor))?;
            return Ok((0, Vec::new()));
        }
        SadCommand::One => Minors::One(request.minor),
        SadCommand::Range => Minors::Range(request.minor, request.last_minor),
        SadCommand::All => Minors::All,
    };
    request.modules.iter().try_for_each(|name| registry::find(name).map(drop))?;
    let entry = Autopush::new(driver, minors, request.modules);
    entry.check()?;
    change(directory, |table| table.add(entry))?;
    Ok((0, Vec::new()))
}

/// Answers [`SAD_VML`].
fn validate<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let block = IoctlBlock::of(&message)?;
    let data = message.data().unwrap_or_default();
    let is_asked = message.header.kind == Kind::IocData;
    if is_asked && block.error != 0 {
        return Ok(());
    }
    if !is_asked && block.count.is_none() {
        let address = data.first_chunk().copied().map_or(0, u64::from_ne_bytes);
        return queue.copy_in(&message, address, LIST as u64, [0, 0]);
    }
    if is_asked && block.private[0] != NAMES {
        return match names_of_list(data) {
            Ok((len, address)) => queue.copy_in(&message, address, len, [NAMES, 0]),
            Err(error) => queue.refuse(&message, error.errno()),
        };
    }
    match are_known(data) {
        Ok(are_known) => queue.acknowledge(&message, i32::from(!are_known), None),
        Err(error) => queue.refuse(&message, error.errno()),
    }
}

/// Length and address of the names of a `struct str_list`.
fn names_of_list(list: &[u8]) -> Result<(u64, u64)> {
    let count = list.first_chunk().copied().map_or(0, i32::from_ne_bytes);
    let address = list.get(8..).and_then(<[u8]>::first_chunk).copied().map_or(0, u64::from_ne_bytes);
    let count = usize::try_from(count).ok().filter(|count| (1..=NSTRPUSH).contains(count));
    let count = count.ok_or_else(|| fixed!(Inval, "a list has 1 to 64 names"))?;
    Ok(((count * NAME_BYTES) as u64, address))
}

fn are_known(names: &[u8]) -> Result<bool> {
    let (names, rest) = names.as_chunks::<NAME_BYTES>();
    if !rest.is_empty() || names.is_empty() || names.len() > NSTRPUSH {
        return Err(fixed!(Inval, "a list has 1 to 64 names of 9 bytes"));
    }
    let names = names.iter().map(request::name).collect::<Result<Vec<String>>>()?;
    Ok(names.iter().all(|name| registry::find(name).is_ok()))
}
