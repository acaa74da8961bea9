//! How an end goes from process to process: by fork without doing anything, over a socket, and through exec.
//!
//! An end of a pipe is its doorbell's descriptor and the memory's, and both must arrive; one of a FIFO is three: an end of
//! its pipe, the memory and the node. A device is both ends of its doorbell, the memory, and the file in which its minor number is
//! locked, if other processes find it by name. After exec they are found among the process's own descriptors: the
//! memory's name has the numbers by which the kernel knows its sockets.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use headwater_os::bundle;
use headwater_os::descriptors::{self, Found};
use headwater_os::discard;
use headwater_os::doorbell::Doorbell;
use headwater_os::files;
use headwater_os::ofd_lock;
use headwater_os::own_numbers;
use headwater_os::shared_files::SharedFiles;

use super::admission::Admission;
use super::device::{self, DeviceOptions, FarEnd};
use super::fifo;
use crate::error::{Errno, Error, Result};
use crate::head::handle::Handle;
use crate::process::end::Access;
use crate::process::endpoint::Endpoint;
use crate::process::instances::MinorLock;
use crate::process::region::{Region, cookies_in};
use crate::process::witness::Witness;

impl Handle {
    pub(crate) fn set_inheritable(&self, inheritable: bool) -> Result<()> {
        Ok(self.end.endpoint.descriptors().try_for_each(|fd| descriptors::set_inheritable(fd, inheritable))?)
    }

    pub(crate) fn from_fd(fd: OwnedFd) -> Result<Handle> {
        Handle::of_own(fd, Admission::Inherited, &DeviceOptions::new())
    }

    /// The end behind one of its descriptors, the others of which are among this process's own.
    pub(super) fn of_own(fd: OwnedFd, admission: Admission<'_>, options: &DeviceOptions) -> Result<Handle> {
        if files::is_fifo(&fd)? {
            return fifo::of_own_descriptors(fd, admission);
        }
        let doorbell = Doorbell::from_fd(fd).map_err(|_| no_stream("the descriptor is no stream"))?;
        let Memory { file, cookies: [_, far], others } = own_memory(doorbell.cookie()?)?;
        let region = Region::open(file)?;
        admission.check(&region)?;
        let Some(driver) = region.driver else { return Handle::from_parts(doorbell, region) };
        let far = match own_socket(far) {
            Ok(far) => FarEnd::Own(Doorbell::from_fd(far)?),
            // It is with the partner.
            Err(error) => match region.fixed.device.partner.load(Ordering::Acquire) {
                0 => return Err(error),
                cookie => {
                    let Memory { file, cookies: [_, far], .. } = own_memory(cookie)?;
                    FarEnd::Partner(Region::open(file)?, Doorbell::from_fd(own_socket(far)?)?)
                }
            },
        };
        let mut others = others.into_iter();
        let mut pair = |is_there: bool| match is_there.then(|| others.next().zip(others.next())).flatten() {
            Some((one, other)) => Ok(Some([own_socket(one)?, own_socket(other)?])),
            None => Ok::<_, Error>(None),
        };
        let info = driver.info();
        let witness = pair(info.pairs)?.map(Witness::of).transpose()?;
        let shared = pair(info.has_files())?.map(SharedFiles::from_fds).transpose()?;
        let lock = own_lock(&region, &doorbell)?;
        let stream = device::Parts { near: doorbell, region, lock, far, witness, shared }.into_handle()?;
        device::named::find_name(&stream.end.endpoint, options);
        Ok(stream)
    }

    pub(crate) fn from_number(number: u32) -> Result<Handle> {
        let fd = descriptors::duplicate(number)
            .map_err(|_| Error::new(Errno::Badf, format!("there is no descriptor {number}")))?;
        Handle::from_fd(fd)
    }

    pub(crate) fn send_over(&self, socket: impl AsFd) -> Result<()> {
        let files: Vec<BorrowedFd<'_>> = self.end.endpoint.descriptors().collect();
        Ok(descriptors::send(socket.as_fd(), &files)?)
    }

    pub(crate) fn receive_over(socket: impl AsFd) -> Result<Handle> {
        let files = descriptors::receive(socket.as_fd())?;
        Handle::of_files(files, Admission::Pipes, &DeviceOptions::new())
    }

    pub(crate) fn to_bundle(&self) -> Result<OwnedFd> {
        let files: Vec<BorrowedFd<'_>> = self.end.endpoint.descriptors().collect();
        Ok(bundle::make(&files)?)
    }

    pub(crate) fn from_bundle(file: impl AsFd) -> Result<Option<Handle>> {
        Handle::of_bundle(file.as_fd(), Admission::Pipes, &DeviceOptions::new())
    }

    pub(super) fn of_bundle(
        file: BorrowedFd<'_>,
        admission: Admission<'_>,
        options: &DeviceOptions,
    ) -> Result<Option<Handle>> {
        let Some(files) = bundle::open(file)? else { return Ok(None) };
        let handle = Handle::of_files(files, admission, options)?;
        bundle::empty(file);
        Ok(Some(handle))
    }

    /// The end that these descriptors are, in the order in which [`Endpoint::descriptors`] has them. They come from another process:
    /// if they are no stream they are closed without waiting.
    pub(crate) fn of_files(files: Vec<OwnedFd>, admission: Admission<'_>, options: &DeviceOptions) -> Result<Handle> {
        let mut copies = Vec::with_capacity(files.len());
        for file in &files {
            match own_numbers::copy(file.as_fd()) {
                Ok(copy) => copies.push(copy),
                Err(error) => {
                    discard::files(files);
                    return Err(error.into());
                }
            }
        }
        let taken = Handle::of_own_files(files, admission, options);
        if taken.is_err() {
            // The copies are the last.
            discard::files(copies);
        }
        taken
    }

    fn of_own_files(files: Vec<OwnedFd>, admission: Admission<'_>, options: &DeviceOptions) -> Result<Handle> {
        let files = match <[OwnedFd; 2]>::try_from(files) {
            Ok([doorbell, memory]) => {
                let doorbell = Doorbell::from_fd(doorbell).map_err(|_| no_stream("the descriptor is no stream"))?;
                let region = Region::open(memory)?;
                admission.check(&region)?;
                return Handle::from_parts(doorbell, region);
            }
            Err(files) => files,
        };
        if files.first().is_some_and(|first| !files::is_fifo(first).unwrap_or(true)) {
            return device::of_files(files, admission, options);
        }
        let count = files.len();
        let files = <[OwnedFd; 3]>::try_from(files).map_err(|_| {
            let why = format!("{count} descriptors came; an end of a pipe has two, one of a FIFO three");
            Error::new(Errno::Nostr, why)
        })?;
        fifo::from_parts(files, admission)
    }

    fn from_parts(doorbell: Doorbell, region: Region) -> Result<Handle> {
        let side = region.side_of(doorbell.cookie()?);
        let side = side.ok_or_else(|| no_stream("the descriptor and the memory are of two streams"))?;
        if region.driver.is_some() {
            return Err(no_stream("a device has at least three descriptors"));
        }
        if !region.is_made_with(&doorbell)? {
            return Err(no_stream("the descriptor and the memory were made by two users"));
        }
        Ok(Handle::of(Endpoint::new(region, side, doorbell, Access::Both)))
    }
}

pub(super) fn no_stream(why: &'static str) -> Error {
    Error::new(Errno::Nostr, why)
}

/// The memory of a stream, with the cookies of its sockets, which its name has: no user of the stream can change these.
struct Memory {
    file: OwnedFd,
    /// Of the doorbell's ends.
    cookies: [u64; 2],
    /// Of the witness and of the driver's shared files, of a device that has them.
    others: Vec<u64>,
}

/// The memory, among this process's descriptors, of the stream whose doorbell has this cookie.
fn own_memory(cookie: u64) -> Result<Memory> {
    let memory = descriptors::own()?.into_iter().find_map(|found| memory_of(found, cookie));
    memory.ok_or_else(|| {
        no_stream("the descriptor is no stream, or the descriptor of its memory was closed (see set_inheritable)")
    })
}

/// The socket of that cookie, among this process's descriptors: a doorbell, or one of a driver's shared files.
fn own_socket(cookie: u64) -> Result<OwnedFd> {
    let is_socket = |found: &Found| {
        descriptors::link(*found).is_ok_and(|link| link.to_str().is_some_and(|link| link.starts_with("socket:")))
    };
    // Any packet socket has a doorbell's cookie.
    let doorbell = |found: Found| Doorbell::from_fd(descriptors::duplicate(found.number).ok()?).ok();
    let mut doorbells = descriptors::own()?.into_iter().filter(is_socket).filter_map(doorbell);
    let found = doorbells.find(|doorbell| doorbell.cookie().is_ok_and(|found| found == cookie));
    let socket = found.map(|doorbell| own_numbers::copy(doorbell.as_fd())).transpose()?;
    socket.ok_or_else(|| no_stream("one of the device's other descriptors was closed (see set_inheritable)"))
}

/// The lock of a device's minor number, among this process's descriptors, if it is found by name.
///
/// Errors: `ENOSTR` if it was closed.
fn own_lock(region: &Region, near: &Doorbell) -> Result<Option<MinorLock>> {
    let Some(wanted) = device::close::lock_file(&region.fixed.device) else { return Ok(None) };
    for found in descriptors::own()? {
        let Ok(file) = descriptors::duplicate(found.number) else { continue };
        if !files::status(&file).is_ok_and(|status| [status.device, status.number] == wanted) {
            continue;
        }
        let Some(lock) = device::minor_lock(file, region) else { continue };
        if !lock.notes(near.cookie()?) {
            continue;
        }
        // Of several open file descriptions of the file, the one that has the lock gets it again.
        if ofd_lock::mark(&lock, lock.minor.into(), 1).unwrap_or(false) {
            return Ok(Some(lock));
        }
    }
    Err(no_stream("the descriptor of the device's minor number was closed (see set_inheritable)"))
}

/// The memory behind a descriptor, if it is that of the stream whose doorbell has this cookie.
fn memory_of(found: Found, cookie: u64) -> Option<Memory> {
    let link = descriptors::link(found).ok()?;
    let mut cookies = cookies_in(descriptors::name_in(link.to_str()?)?)?;
    let others = cookies.split_off(cookies.len().min(2));
    let cookies = <[u64; 2]>::try_from(cookies).ok().filter(|cookies| cookies.contains(&cookie))?;
    Some(Memory { file: descriptors::duplicate(found.number).ok()?, cookies, others })
}
