//! Autopush: modules that are pushed on devices when they are opened, as autopush(1M) of SVR4 configures them.
//!
//! The configuration is of a directory of devices ([`DeviceOptions::directory`]), and stays until it is changed. Its owner changes
//! it. When a device is opened and was not open before, the modules of its entry are pushed after the driver's open
//! procedure; if one of them cannot be, the open fails: with `EINVAL` if this process does not know it. A device
//! that no other process can open ([`DeviceOptions::open_private`]) has the minor number 0.
//!
//! Programs in C configure it by the ioctls of the driver [`sad`](crate::drivers::sad); the command is `headwater streams autopush`.

pub use crate::process::autopush::table::{Autopush, Minors, parse};

use crate::error::Result;
use crate::open::device::DeviceOptions;
use crate::process::autopush::table::not_configured;
use crate::process::autopush::{change, read};

/// Adds an entry. Its driver and modules need not be known to this process.
///
/// # Errors
/// `EINVAL` for names that are none, for no module, and for more than [`limits::AUTOPUSH_MODULES`](crate::limits::AUTOPUSH_MODULES);
/// `ERANGE` for a range that does not rise; `EEXIST` if there is an entry for one of its devices; `ENOSR` for more than
/// [`limits::AUTOPUSH_ENTRIES`](crate::limits::AUTOPUSH_ENTRIES); `EPERM` if the directory belongs to another user; `EBUSY` if
/// another process is configuring and does not come to an end; `EACCES` and `EPROTO` for a file that this library has not made.
#[doc = include_str!("../doc/autopush.md")]
#[doc(alias = "SAD_SAP")]
pub fn configure(options: &DeviceOptions, entry: Autopush) -> Result<()> {
    entry.check()?;
    change(options.make_directory()?.as_fd(), |table| table.add(entry))
}

/// The entry for a device.
///
/// # Errors
/// `ENODEV` if there is none; `EACCES` and `EPROTO` as of [`configure`].
#[doc = include_str!("../doc/autopush.md")]
#[doc(alias = "SAD_GAP")]
pub fn get(options: &DeviceOptions, driver: &str, minor: u32) -> Result<Autopush> {
    let entries = list(options)?;
    let table = crate::process::autopush::table::Table { entries };
    table.find(driver, minor).cloned().ok_or_else(|| not_configured(driver, minor))
}

/// Removes the entry that begins with a minor device; one for all begins with 0. Returns it.
///
/// # Errors
/// `ENODEV` if no entry is for the device; `ERANGE` if the entry begins with another; else as [`configure`].
#[doc = include_str!("../doc/autopush.md")]
#[doc(alias = "SAP_CLEAR")]
pub fn clear(options: &DeviceOptions, driver: &str, minor: u32) -> Result<Autopush> {
    change(options.make_directory()?.as_fd(), |table| table.remove(driver, minor))
}

/// All entries, in the order in which they were added.
///
/// # Errors
/// `EACCES` and `EPROTO` as of [`configure`].
#[doc = include_str!("../doc/autopush.md")]
pub fn list(options: &DeviceOptions) -> Result<Vec<Autopush>> {
    match options.find_directory()? {
        Some(directory) => Ok(read(directory.as_fd())?.entries),
        None => Ok(Vec::new()),
    }
}
