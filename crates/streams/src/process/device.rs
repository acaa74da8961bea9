//! Streams that end in a driver: opening them, and their last close.
//!
//! Such a stream is a region as a pipe's. End 0 is the user's; in the place of end 1 stands the driver, whose procedures run
//! in whichever process calls. Both ends of the doorbell are held by whoever holds the stream, so that what a driver
//! answers makes the descriptor readable, whichever process it runs in.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::doorbell::Doorbell;
use headwater_os::files as os_files;
use headwater_os::shared_files::SharedFiles;

use self::directory::Directory;
use self::named::{Name, Named};
use super::attach::no_stream;
use super::driver_files::DriverFiles;
use super::endpoint::Endpoint;
use super::region::Region;
use crate::error::Result;
use crate::head::handle::Handle;
use crate::message::link::MuxId;
use crate::options::Options;
use crate::plumb::driver::{DriverLink, Opening};
use crate::plumb::queue::Queue;
use crate::plumb::registry;
use crate::stream::Stream;

mod directory;
pub(crate) mod named;
pub(crate) mod partner;

/// Opening devices.
///
/// ```
/// use headwater_streams::Device;
///
/// let stream = Device::open_private("echo")?;
/// stream.write(b"hello")?;
/// let mut text = [0; 16];
/// assert_eq!(stream.read(&mut text)?, 5);
/// assert_eq!(stream.look()?, "echo");
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Device;

impl Device {
    /// Opens a new stream to a driver under a minor number that nobody has open (clone open); [`Stream::minor`] tells it.
    ///
    /// # Errors
    /// As [`DeviceOptions::open`].
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open(driver: &str) -> Result<Stream> {
        DeviceOptions::new().open(driver)
    }

    /// Opens the stream of that minor number: the one that other processes have open under it, or a new one.
    ///
    /// # Errors
    /// As [`DeviceOptions::open`].
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open_minor(driver: &str, minor: u32) -> Result<Stream> {
        DeviceOptions::new().minor(minor).open(driver)
    }

    /// Opens a new stream to a driver, which this process and those that it forks or passes it to know alone: nobody else can open
    /// it by its number, which is 0.
    ///
    /// # Errors
    /// `EINVAL` for a driver that this process does not know; what the driver's open procedure reports; `EMFILE` without three
    /// free descriptors.
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open_private(driver: &str) -> Result<Stream> {
        DeviceOptions::new().open_private(driver)
    }
}

/// How a device is opened.
///
/// ```
/// use headwater_streams::{DeviceOptions, Errno};
///
/// let stream = DeviceOptions::new().nonblocking(true).open_private("echo")?;
/// assert_eq!(stream.read(&mut [0; 8]).unwrap_err().errno(), Errno::Again);
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub struct DeviceOptions {
    /// The minor number; None: any that nobody has open (clone open).
    pub minor: Option<u32>,
    /// The directory in which processes find the device, which is this user's or one for a group that its administrator has made.
    /// None: `$HEADWATER_RUNTIME_DIR`, else `headwater` in `$XDG_RUNTIME_DIR` or `/run/user/UID`, else `headwater-UID` in the
    /// directory for temporary files.
    pub directory: Option<PathBuf>,
    /// Sizes and policy of the stream, if this open makes it.
    pub stream: Options,
    /// Calls fail with `EAGAIN` instead of waiting (O_NONBLOCK).
    pub nonblocking: bool,
}

impl DeviceOptions {
    /// Those of [`Device::open`]: any free minor number, the usual directory and sizes.
    #[doc = include_str!("../../doc/devices.md")]
    pub const fn new() -> DeviceOptions {
        DeviceOptions { minor: None, directory: None, stream: Options::new(), nonblocking: false }
    }

    /// Sets the minor number to be opened.
    #[must_use]
    #[doc = include_str!("../../doc/devices.md")]
    pub fn minor(self, minor: u32) -> DeviceOptions {
        DeviceOptions { minor: Some(minor), ..self }
    }

    /// Sets the directory in which processes find the device.
    #[must_use]
    #[doc = include_str!("../../doc/devices.md")]
    pub fn directory(self, directory: impl Into<PathBuf>) -> DeviceOptions {
        DeviceOptions { directory: Some(directory.into()), ..self }
    }

    /// Sets the sizes and the policy of the stream, if this open makes it.
    #[must_use]
    #[doc = include_str!("../../doc/devices.md")]
    pub fn stream(self, stream: Options) -> DeviceOptions {
        DeviceOptions { stream, ..self }
    }

    /// Whether calls fail with `EAGAIN` instead of waiting (O_NONBLOCK).
    #[must_use]
    #[doc(alias = "O_NONBLOCK")]
    #[doc = include_str!("../../doc/devices.md")]
    pub fn nonblocking(self, nonblocking: bool) -> DeviceOptions {
        DeviceOptions { nonblocking, ..self }
    }

    /// Opens a device that other processes find by its name and minor number. As long as the stream is open, a thread of this
    /// process hands it to those who open the same number.
    ///
    /// # Errors
    /// `EINVAL` for a driver that this process does not know, a minor number beyond [`limits::MINORS`](crate::limits::MINORS), or
    /// sizes beyond a limit; what the driver's open procedure reports; `EAGAIN` if all minor numbers are open; `EBUSY` if the number is
    /// open in processes that do not answer; `EACCES` for a directory that others may use; `EMFILE` without twelve free
    /// descriptors.
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open(&self, driver: &str) -> Result<Stream> {
        let driver = registry::find_driver(driver)?;
        let directory = Directory::open(self.directory.as_deref())?;
        let named = Named { driver, directory: Arc::new(directory), options: self };
        let mut stream = match self.minor {
            Some(minor) => named.open_minor(minor)?,
            None => named.open_any()?,
        };
        stream.set_nonblocking(self.nonblocking)?;
        Ok(stream.into())
    }

    /// As [`Device::open_private`].
    ///
    /// # Errors
    /// As [`Device::open_private`]; `EINVAL` for sizes beyond a limit.
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open_private(&self, driver: &str) -> Result<Stream> {
        let driver = registry::find_driver(driver)?;
        let mut stream = make(driver, 0, &self.stream)?;
        let opening = self.opening(0, true, true);
        opened(&mut stream, driver, &opening)?;
        stream.set_nonblocking(self.nonblocking)?;
        Ok(stream.into())
    }

    fn opening(&self, minor: u32, is_clone: bool, is_first: bool) -> Opening {
        let (user, group) = (os_files::own_user(), os_files::own_group());
        Opening { minor, is_clone, is_first, nonblocking: self.nonblocking, user, group }
    }
}

/// Makes a stream that ends in a driver, whose open procedure is still to be called.
fn make(driver: &'static DriverLink, minor: u32, options: &Options) -> Result<Handle> {
    let (near, far) = Doorbell::pair()?;
    let region = Region::create_device(options, [near.cookie()?, far.cookie()?], driver, minor)?;
    let mut files = None;
    if driver.0.info().has_files {
        let shared = SharedFiles::new()?;
        for (word, cookie) in region.fixed.device.shared_files.iter().zip(shared.cookies()?) {
            word.store(cookie, Ordering::Relaxed);
        }
        files = Some(DriverFiles::new(shared));
    }
    Ok(Handle::of(Endpoint::of_device(region, near, far, files)))
}

/// Calls the driver's open procedure. A stream that it refuses at its first open is never closed by the driver.
fn opened(stream: &mut Handle, driver: &'static DriverLink, opening: &Opening) -> Result<()> {
    stream.attach()?;
    let opened = with_queue(stream, true, |queue| driver.0.open(opening, queue));
    let device = &stream.end.region.fixed.device;
    match &opened {
        Ok(()) => drop(device.opens.fetch_add(1, Ordering::Relaxed)),
        Err(_) if opening.is_first => device.closed.store(1, Ordering::Relaxed),
        Err(_) => {}
    }
    opened
}

/// Calls one of the driver's procedures with its write queue, in a run along direction 0. `outward`: from the user's end.
fn with_queue(
    stream: &mut Handle,
    outward: bool,
    procedure: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<()>,
) -> Result<()> {
    stream.run(outward, |run| {
        // Nobody takes it away: it is always the last.
        let at = run.chain.len().checked_sub(1).ok_or_else(|| no_stream("the stream has no driver"))?;
        procedure(&mut Queue { run, at })
    })
}

/// An end of a device was closed here. If no process holds it any more, which the kernel shows at the doorbell's other end,
/// its driver's close procedure is called, in the driver's place.
pub(crate) fn close_last(region: &Region, far: Doorbell, name: Option<&Name>, files: Option<DriverFiles>) {
    let Some(driver) = region.driver else { return };
    if !far.is_alone().unwrap_or(false) {
        return;
    }
    if let Some(name) = name {
        // The minor number is still locked, so nobody else has a socket there.
        name.remove_socket();
        let ids = region.fixed.device.links.iter().filter_map(|link| MuxId::new(link.id.load(Ordering::Relaxed)));
        ids.for_each(|id| name.remove_link(id));
    }
    if region.fixed.device.closed.swap(1, Ordering::AcqRel) != 0 {
        return;
    }
    let mut stream = Handle::of(Endpoint::in_drivers_place(region.clone(), far, files));
    // Nobody is left to be told of an error.
    let _ = stream.attach().and_then(|()| {
        with_queue(&mut stream, false, |queue| {
            driver.0.close(queue);
            Ok(())
        })
    });
}

/// The user's end of a device, of descriptors in the order in which [`Endpoint::descriptors`] has them but for the lock.
///
/// Errors: `ENOSTR` for descriptors that are not of one device.
pub(super) fn of_parts(
    region: Region,
    doorbell: Doorbell,
    far: Doorbell,
    shared: Option<SharedFiles>,
) -> Result<Handle> {
    let sides = [region.side_of(doorbell.cookie()?), region.side_of(far.cookie()?)];
    let expected = shared_cookies(&region);
    let found = shared.as_ref().map(SharedFiles::cookies).transpose()?;
    if region.driver.is_none() || sides != [Some(0), Some(1)] || found != expected {
        return Err(no_stream("the descriptors are not of one device"));
    }
    Ok(Handle::on(Arc::new(Endpoint::of_device(region, doorbell, far, shared.map(DriverFiles::new)))))
}

/// By which descriptors the driver's shared files are known, if there are any.
pub(super) fn shared_cookies(region: &Region) -> Option<[u64; 2]> {
    let cookies = region.fixed.device.shared_files.each_ref().map(|word| word.load(Ordering::Relaxed));
    (cookies != [0; 2]).then_some(cookies)
}

/// As [`of_parts`], of descriptors in the order in which [`Endpoint::descriptors`] has them.
pub(super) fn of_files(files: Vec<OwnedFd>) -> Result<Handle> {
    let parts = Parts::of(files).ok_or_else(|| no_stream("a device has three to six descriptors"))?;
    let stream = of_parts(parts.region?, parts.near, parts.far, parts.shared)?;
    if let Some(lock) = parts.lock {
        stream.end.endpoint.hold_file(lock);
    }
    Ok(stream)
}

/// What a device is in the kernel.
pub(super) struct Parts {
    pub near: Doorbell,
    pub region: Result<Region>,
    pub lock: Option<OwnedFd>,
    pub far: Doorbell,
    pub shared: Option<SharedFiles>,
}

impl Parts {
    /// Of descriptors in the order in which [`Endpoint::descriptors`] has them. None if they are others.
    pub fn of(files: Vec<OwnedFd>) -> Option<Parts> {
        // The lock is there if others find the device by name, the last two if its driver has files.
        let (is_locked, has_files) = match files.len() {
            3 => (false, false),
            4 => (true, false),
            5 => (false, true),
            6 => (true, true),
            _ => return None,
        };
        let mut files = files.into_iter();
        let near = Doorbell::from_fd(files.next()?).ok()?;
        let region = Region::open(files.next()?);
        let lock = if is_locked { files.next() } else { None };
        let far = Doorbell::from_fd(files.next()?).ok()?;
        let shared = if has_files { Some(SharedFiles::of([files.next()?, files.next()?]).ok()?) } else { None };
        Some(Parts { near, region, lock, far, shared })
    }
}
