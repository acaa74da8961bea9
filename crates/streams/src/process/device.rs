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
use headwater_os::files;

use self::directory::Directory;
use self::named::{Name, Named};
use super::attach::no_stream;
use super::end::Access;
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
pub struct Device;

impl Device {
    /// Opens a new stream to a driver under a minor number that nobody has open (clone open); [`Stream::minor`] tells it.
    ///
    /// # Errors
    /// As [`DeviceOptions::open`].
    pub fn open(driver: &str) -> Result<Stream> {
        DeviceOptions::default().open(driver)
    }

    /// Opens the stream of that minor number: the one that other processes have open under it, or a new one.
    ///
    /// # Errors
    /// As [`DeviceOptions::open`].
    pub fn open_minor(driver: &str, minor: u32) -> Result<Stream> {
        DeviceOptions { minor: Some(minor), ..DeviceOptions::default() }.open(driver)
    }

    /// Opens a new stream to a driver, which this process and those that it forks or passes it to know alone: nobody else can open
    /// it by its number, which is 0.
    ///
    /// # Errors
    /// `EINVAL` for a driver that this process does not know; what the driver's open procedure reports; `EMFILE` without three
    /// free descriptors.
    pub fn open_private(driver: &str) -> Result<Stream> {
        DeviceOptions::default().open_private(driver)
    }
}

/// How a device is opened.
#[derive(Debug, Clone, Default)]
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
    /// Opens a device that other processes find by its name and minor number. As long as the stream is open, a thread of this
    /// process hands it to those who open the same number.
    ///
    /// # Errors
    /// `EINVAL` for a driver that this process does not know, a minor number beyond [`limits::MINORS`](crate::limits::MINORS), or
    /// sizes beyond a limit; what the driver's open procedure reports; `EAGAIN` if all minor numbers are open; `EBUSY` if the number is
    /// open in processes that do not answer; `EACCES` for a directory that others may use; `EMFILE` without twelve free
    /// descriptors.
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
    pub fn open_private(&self, driver: &str) -> Result<Stream> {
        let driver = registry::find_driver(driver)?;
        let mut stream = make(driver, 0, &self.stream)?;
        let opening = self.opening(0, true, true);
        opened(&mut stream, driver, &opening)?;
        stream.set_nonblocking(self.nonblocking)?;
        Ok(stream.into())
    }

    fn opening(&self, minor: u32, is_clone: bool, is_first: bool) -> Opening {
        let (user, group) = (files::own_user(), files::own_group());
        Opening { minor, is_clone, is_first, nonblocking: self.nonblocking, user, group }
    }
}

/// Makes a stream that ends in a driver, whose open procedure is still to be called.
fn make(driver: &'static DriverLink, minor: u32, options: &Options) -> Result<Handle> {
    let (near, far) = Doorbell::pair()?;
    let region = Region::create_device(options, [near.cookie()?, far.cookie()?], driver, minor)?;
    Ok(Handle::of(Endpoint::of_device(region, near, far)))
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
pub(crate) fn close_last(region: &Region, far: Doorbell, name: Option<&Name>) {
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
    let mut stream = Handle::of(Endpoint::new(region.clone(), 1, far, Access::Both));
    // Nobody is left to be told of an error.
    let _ = stream.attach().and_then(|()| {
        with_queue(&mut stream, false, |queue| {
            driver.0.close(queue);
            Ok(())
        })
    });
}

/// The user's end of a device.
///
/// Errors: `ENOSTR` for descriptors that are not of one device.
pub(super) fn of_parts(region: Region, doorbell: Doorbell, far: Doorbell) -> Result<Handle> {
    let sides = [region.side_of(doorbell.cookie()?), region.side_of(far.cookie()?)];
    if region.driver.is_none() || sides != [Some(0), Some(1)] {
        return Err(no_stream("the descriptors are not of one device"));
    }
    Ok(Handle::on(Arc::new(Endpoint::of_device(region, doorbell, far))))
}

/// As [`of_parts`], of descriptors in the order in which [`Endpoint::descriptors`] has them.
pub(super) fn of_files(files: Vec<OwnedFd>) -> Result<Handle> {
    let (doorbell, memory, lock, far) = match <[OwnedFd; 4]>::try_from(files) {
        Ok([doorbell, memory, lock, far]) => (doorbell, memory, Some(lock), far),
        Err(files) => {
            let files =
                <[OwnedFd; 3]>::try_from(files).map_err(|_| no_stream("a device has three or four descriptors"))?;
            let [doorbell, memory, far] = files;
            (doorbell, memory, None, far)
        }
    };
    let [doorbell, far] =
        [doorbell, far].map(|socket| Doorbell::from_fd(socket).map_err(|_| no_stream("the descriptor is no stream")));
    let stream = of_parts(Region::open(memory)?, doorbell?, far?)?;
    if let Some(lock) = lock {
        stream.end.endpoint.hold_file(lock);
    }
    Ok(stream)
}
