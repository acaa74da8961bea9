//! Streams that end in a driver: opening them, and their last close.
//!
//! Such a stream is a region as a pipe's. End 0 is the user's; in the place of end 1 stands the driver, whose procedures run
//! in the process that calls. Each process with the stream holds both ends of the doorbell, so that what a driver
//! answers makes the descriptor readable, whichever process it runs in.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::doorbell::Doorbell;
use headwater_os::files as os_files;
use headwater_os::shared_files::SharedFiles;

use self::named::Named;
use self::path::DevicePath;
use super::admission::Admission;
use super::attach::no_stream;
use super::kept::Kept;
use crate::error::{Errno, Error, Result};
use crate::head::handle::Handle;
use crate::limits::MINORS;
use crate::options::Options;
use crate::plumb::driver::{DriverLink, Opening};
use crate::plumb::queue::Queue;
use crate::plumb::registry;
use crate::process::directory::Directory;
use crate::process::driver_files::DriverFiles;
use crate::process::endpoint::Endpoint;
use crate::process::instances::MinorLock;
use crate::process::region::Region;
use crate::process::witness::Witness;
use crate::stream::Stream;

mod autopush;
pub(crate) mod close;
pub(crate) mod from_driver;
pub(crate) mod named;
pub(crate) mod partner;
pub(crate) mod path;
pub(crate) mod peer;
mod received;

/// Opening devices.
///
/// ```
/// use headwater_streams::Device;
///
/// let stream = Device::open_private("echo")?;
/// stream.write(b"hello")?;
/// let mut text = [0; 16];
/// assert_eq!(stream.read(&mut text)?, 5);
/// assert_eq!(stream.modules().look()?, "echo");
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Device;

impl Device {
    /// Opens a new stream to a driver under a minor number that no process has open (clone open); [`Stream::minor`]
    /// tells it.
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

    /// Opens the device that a path stands for, as programs in C name it: [`DevicePath`] lists the paths. No node of the file system
    /// is looked for or made.
    ///
    /// # Errors
    /// As [`DeviceOptions::open_path`].
    #[doc = include_str!("../../doc/device_paths.md")]
    pub fn open_path(path: &str) -> Result<Stream> {
        DeviceOptions::new().open_path(path)
    }

    /// Opens a new stream to a driver, which this process and those that it forks or passes it to know alone: no other
    /// process can open it by its number, which is 0.
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
    /// The minor number; None: any that no process has open (clone open).
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
    /// process hands it to processes that open the same number.
    ///
    /// # Errors
    /// `EINVAL` for a driver that this process does not know, a minor number beyond [`limits::MINORS`](crate::limits::MINORS), or
    /// sizes beyond a limit; what the driver's open procedure reports; `EAGAIN` if all minor numbers are open; `EBUSY` if the number is
    /// open in processes that do not answer; `ENXIO` for the [second name](crate::DriverInfo::pairs_with) of a driver whose partner is not
    /// open; `EACCES` for a directory that others may use; `EMFILE` without twelve free descriptors.
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open(&self, driver: &str) -> Result<Stream> {
        let (name, driver) = (driver, registry::find_driver(driver)?);
        let directory = self.make_directory()?;
        let (first, step) = driver.0.info().minors_of(name);
        let named = Named { driver, first, step, directory: Arc::new(directory), options: self };
        let mut stream = match self.minor {
            Some(number) => named.open_number(number)?,
            None => named.open_any()?,
        };
        stream.set_nonblocking(self.nonblocking)?;
        Ok(stream.into())
    }

    /// As [`DeviceOptions::open`], of the device that a path stands for; [`DeviceOptions::minor`] has no effect.
    ///
    /// # Errors
    /// `ENOENT` for a path that stands for no device, or for that of a driver that this process does not know; `ENXIO` for that of a
    /// pipe or FIFO, and for a minor number beyond [`limits::MINORS`](crate::limits::MINORS); else as [`DeviceOptions::open`].
    #[doc = include_str!("../../doc/device_paths.md")]
    pub fn open_path(&self, path: &str) -> Result<Stream> {
        let told = |errno, why: &str| Error::new(errno, format!("{path}: {why}"));
        let (driver, minor) = match DevicePath::parse(path) {
            None => return Err(told(Errno::Noent, "it stands for no device")),
            Some(DevicePath::Pipe) => return Err(told(Errno::Nxio, "a pipe is made by pipe(2), both ends at once")),
            Some(DevicePath::Fifo) => return Err(told(Errno::Nxio, "a FIFO is opened by its own path")),
            Some(DevicePath::Minor(_, minor)) if minor >= MINORS => {
                return Err(told(Errno::Nxio, "a driver has no such minor number"));
            }
            Some(DevicePath::Minor(driver, minor)) => (driver, Some(minor)),
            Some(DevicePath::Clone(driver)) => (driver, None),
        };
        registry::find_driver(driver).map_err(|error| told(Errno::Noent, &error.to_string()))?;
        DeviceOptions { minor, ..self.clone() }.open(driver)
    }

    /// Opens the directory in which devices are found, for files that a driver keeps there ([`Driver::open_named`]): without
    /// rights to read it (O_PATH). It is made if it is not there.
    ///
    /// # Errors
    /// `EACCES` for a directory that others may use; what mkdir(2) and open(2) report.
    ///
    /// [`Driver::open_named`]: crate::Driver::open_named
    #[doc = include_str!("../../doc/driver_directory.md")]
    pub fn open_directory(&self) -> Result<OwnedFd> {
        Ok(self.make_directory()?.into_fd())
    }

    /// As [`Device::open_private`].
    ///
    /// # Errors
    /// As [`Device::open_private`]; `EINVAL` for sizes beyond a limit.
    #[doc = include_str!("../../doc/devices.md")]
    pub fn open_private(&self, driver: &str) -> Result<Stream> {
        let (name, driver) = (driver, registry::find_driver(driver)?);
        let info = driver.0.info();
        let (minor, _) = info.minors_of(name);
        if info.needs_partner(minor) {
            return Err(no_partner(name));
        }
        let mut stream = make(driver, minor, &self.stream)?;
        let opening = self.opening(minor, true, true);
        opened(&mut stream, driver, &opening, None)?;
        if let Some(directory) = self.find_directory()? {
            autopush::push_configured(&mut stream, &directory, driver.0.info().name, minor)?;
        }
        stream.set_nonblocking(self.nonblocking)?;
        Ok(stream.into())
    }

    /// The directory of devices, which is made if it is not there.
    pub(crate) fn make_directory(&self) -> Result<Directory> {
        Directory::open(self.directory.as_deref())
    }

    /// The directory of devices, if there is one of this process's user.
    pub(crate) fn find_directory(&self) -> Result<Option<Directory>> {
        Directory::find(self.directory.as_deref())
    }

    fn opening(&self, minor: u32, is_clone: bool, is_first: bool) -> Opening {
        let (user, group) = (os_files::own_user(), os_files::own_group());
        Opening { minor, is_clone, is_first, nonblocking: self.nonblocking, user, group }
    }
}

/// Makes a stream that ends in a driver, whose open procedure is still to be called.
fn make(driver: &'static DriverLink, minor: u32, options: &Options) -> Result<Handle> {
    let (near, far) = Doorbell::pair()?;
    let info = driver.0.info();
    let witness = info.pairs.then(Witness::pair).transpose()?;
    let shared = info.has_files().then(SharedFiles::new).transpose()?;
    let of_witness = witness.as_ref().map(Witness::cookies).transpose()?;
    let of_files = shared.as_ref().map(SharedFiles::cookies).transpose()?;
    let others: Vec<u64> = of_witness.into_iter().chain(of_files).flatten().collect();
    let region = Region::create_device(options, [near.cookie()?, far.cookie()?], &others, driver, minor)?;
    let device = &region.fixed.device;
    for (words, cookies) in [(&device.witness, of_witness), (&device.shared_files, of_files)] {
        for (word, cookie) in words.iter().zip(cookies.into_iter().flatten()) {
            word.store(cookie, Ordering::Relaxed);
        }
    }
    let files = shared.map(|shared| DriverFiles::new(shared, info.declared()));
    Ok(Handle::of(Endpoint::of_device(region, near, far, files, witness, Box::new(Kept::default()))))
}

/// Calls the driver's open procedure, with the directory in which the stream is found by name. A stream that it refuses at its
/// first open is never closed by the driver.
fn opened(
    stream: &mut Handle,
    driver: &'static DriverLink,
    opening: &Opening,
    directory: Option<&Directory>,
) -> Result<()> {
    stream.attach()?;
    let opened = with_queue(stream, true, |queue| match directory {
        Some(directory) => driver.0.open_named(opening, directory.as_fd(), queue),
        None => driver.0.open(opening, queue),
    });
    let device = &stream.end.region.fixed.device;
    match &opened {
        Ok(()) => drop(device.opens.fetch_add(1, Ordering::Relaxed)),
        Err(_) if opening.is_first => close::forget(stream),
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
        // The driver is never removed: it is always the last.
        let at = run.chain.len().checked_sub(1).ok_or_else(|| no_stream("the stream has no driver"))?;
        procedure(&mut Queue { run, at })
    })
}

/// By which descriptors the driver's shared files are known, if there are any.
pub(super) fn shared_cookies(region: &Region) -> Option<[u64; 2]> {
    cookies(&region.fixed.device.shared_files)
}

/// By which descriptors the witness is known, if there is one.
pub(super) fn witness_cookies(region: &Region) -> Option<[u64; 2]> {
    cookies(&region.fixed.device.witness)
}

/// What the open of a stream fails with that needs a partner.
fn no_partner(name: &str) -> Error {
    Error::new(Errno::Nxio, format!("a stream of '{name}' is opened while its partner is open, and that is not"))
}

/// The lock of a stream's minor number, of a file that another process has chosen; see [`MinorLock::checked`].
pub(super) fn minor_lock(file: OwnedFd, region: &Region) -> Option<MinorLock> {
    MinorLock::checked(file, region.driver?.info().name, region.fixed.device.minor.load(Ordering::Relaxed))
}

fn cookies(words: &[AtomicU64; 2]) -> Option<[u64; 2]> {
    let cookies = words.each_ref().map(|word| word.load(Ordering::Relaxed));
    (cookies != [0; 2]).then_some(cookies)
}

/// The user's end of a device, of descriptors in the order in which [`Endpoint::descriptors`] has them.
pub(super) fn of_files(files: Vec<OwnedFd>, admission: Admission<'_>, options: &DeviceOptions) -> Result<Handle> {
    let parts =
        Parts::of(files, admission)?.ok_or_else(|| no_stream("other descriptors came than those of a device"))?;
    let stream = parts.into_handle()?;
    named::find_name(&stream.end.endpoint, options);
    Ok(stream)
}

/// The other end of a device's doorbell, or what takes its place once that is with the processes of a partner.
#[derive(Debug)]
pub(super) enum FarEnd {
    Own(Doorbell),
    /// The partner's memory, and the other end of its doorbell.
    Partner(Region, Doorbell),
}

/// What a device is in the kernel.
#[derive(Debug)]
pub(super) struct Parts {
    pub near: Doorbell,
    pub region: Region,
    /// Of one that is found by name.
    pub lock: Option<MinorLock>,
    pub far: FarEnd,
    /// If its driver pairs streams.
    pub witness: Option<Witness>,
    /// If its driver has files.
    pub shared: Option<SharedFiles>,
}

impl Parts {
    /// Of descriptors in the order in which [`Endpoint::descriptors`] has them. None if they are others.
    ///
    /// Errors: those of the memory and of [`Admission::check`].
    pub fn of(files: Vec<OwnedFd>, admission: Admission<'_>) -> Result<Option<Parts>> {
        let mut files = files.into_iter();
        let (Some(near), Some(memory)) = (files.next(), files.next()) else { return Ok(None) };
        let Ok(near) = Doorbell::from_fd(near) else { return Ok(None) };
        let region = Region::open(memory)?;
        admission.check(&region)?;
        let Some(info) = region.driver.map(|driver| driver.info()) else { return Ok(None) };
        let (has_witness, has_files) = (info.pairs, info.has_files());
        // Beside the far end, a pair each.
        let others = 1 + 2 * usize::from(has_witness) + 2 * usize::from(has_files);
        let (lock, partner) = match files.len().checked_sub(others) {
            Some(0) => (None, None),
            Some(1) => (files.next(), None),
            Some(2) => (files.next(), files.next()),
            _ => return Ok(None),
        };
        let lock = match lock.map(|lock| minor_lock(lock, &region)) {
            Some(None) => return Ok(None),
            lock => lock.flatten(),
        };
        let partner = partner.map(Region::open).transpose()?;
        let Some(far) = files.next().and_then(|far| Doorbell::from_fd(far).ok()) else { return Ok(None) };
        let far = match partner {
            Some(partner) => FarEnd::Partner(partner, far),
            None => FarEnd::Own(far),
        };
        let mut pair = |is_there: bool| if is_there { Some([files.next()?, files.next()?]) } else { None };
        let Ok(witness) = pair(has_witness).map(Witness::of).transpose() else { return Ok(None) };
        let Ok(shared) = pair(has_files).map(SharedFiles::from_fds).transpose() else { return Ok(None) };
        Ok(Some(Parts { near, region, lock, far, witness, shared }))
    }

    /// Whether all of them are of one device, and each is what it must be by the kernel's word.
    pub fn fit(&self) -> Result<bool> {
        let Parts { near, region, lock, far, witness, shared } = self;
        let Some(info) = region.driver.map(|driver| driver.info()) else { return Ok(false) };
        let is_far = match far {
            FarEnd::Own(far) => region.side_of(far.cookie()?) == Some(1) && region.is_made_with(far)?,
            FarEnd::Partner(partner, far) => region.is_partner(partner, far)?,
        };
        let pairs = [witness.as_ref().map(Witness::descriptors), shared.as_ref().map(SharedFiles::descriptors)];
        for socket in pairs.into_iter().flatten().flatten().chain([near.as_fd()]) {
            if !region.is_made_with(socket)? {
                return Ok(false);
            }
        }
        let is_lock = match lock {
            Some(lock) => lock.notes(near.cookie()?),
            None => true,
        };
        Ok(region.side_of(near.cookie()?) == Some(0)
            && is_far
            && is_lock
            && witness.is_some() == info.pairs
            && shared.is_some() == info.has_files()
            && witness.as_ref().map(Witness::cookies).transpose()? == witness_cookies(region)
            && shared.as_ref().map(SharedFiles::cookies).transpose()? == shared_cookies(region))
    }

    /// The user's end.
    ///
    /// Errors: `ENOSTR` for descriptors that are not of one device.
    pub fn into_handle(self) -> Result<Handle> {
        if !self.fit()? {
            return Err(no_stream("the descriptors are not of one device"));
        }
        let Parts { near, region, lock, far, witness, shared } = self;
        let (far, partner) = match far {
            FarEnd::Own(far) => (far, None),
            // One that is given up at once, as in the processes that have met the partner.
            FarEnd::Partner(partner, its_far) => (Doorbell::pair()?.1, Some((partner, its_far))),
        };
        let info = region.driver.map(|driver| driver.info());
        let files = shared.zip(info).map(|(shared, info)| DriverFiles::new(shared, info.declared()));
        let stream = Handle::of(Endpoint::of_device(region, near, far, files, witness, Box::new(Kept::default())));
        if let Some(lock) = lock {
            stream.end.endpoint.hold_minor(lock);
        }
        if let Some((partner, far)) = partner {
            stream.set_partner(partner::in_its_place(partner, far));
            stream.end.endpoint.give_far_up();
            stream.end.endpoint.watch_partner();
        }
        Ok(stream)
    }
}
