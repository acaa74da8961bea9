//! Taking up streams of a driver that another process hands over: the receiver names the driver.

use std::os::fd::{AsFd, OwnedFd};

use headwater_os::descriptors;

use super::{Device, DeviceOptions};
use crate::error::Result;
use crate::head::ReceivedFile;
use crate::head::handle::Handle;
use crate::open::admission::Admission;
use crate::stream::Stream;

impl Device {
    /// Takes up a stream of this driver that was sent over a local socket ([`Stream::send_over`]). What the driver does for the stream's users
    /// is done with this process's rights, also for those that have sent it: see docs/guarantees.md.
    ///
    /// # Errors
    /// `EACCES` for a pipe, a FIFO, or a stream of another driver; `EINVAL` for a driver that this process does not know; `ENOSTR` for
    /// something else; `EPROTO` for a stream of another version; what the socket reports.
    #[doc = include_str!("../../../doc/received_devices.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn receive_over(driver: &str, socket: impl AsFd) -> Result<Stream> {
        DeviceOptions::new().receive_over(driver, socket)
    }

    /// The stream of this driver for which a descriptor of [`Stream::to_bundle`] stands; None if it is something else, which is left as it is.
    ///
    /// # Errors
    /// As [`Device::receive_over`]; the descriptor still stands for what was refused.
    #[doc = include_str!("../../../doc/received_devices.md")]
    pub fn take_bundle(driver: &str, file: impl AsFd) -> Result<Option<Stream>> {
        DeviceOptions::new().take_bundle(driver, file)
    }

    /// The stream of this driver that was sent by [`Files::send_stream`](crate::Files::send_stream).
    ///
    /// # Errors
    /// As [`Device::receive_over`].
    #[doc = include_str!("../../../doc/received_devices.md")]
    #[doc(alias = "I_RECVFD")]
    pub fn take_received(driver: &str, received: ReceivedFile) -> Result<Stream> {
        DeviceOptions::new().take_received(driver, received)
    }

    /// The stream of this driver behind a descriptor that came through exec, whichever user has made it.
    ///
    /// # Errors
    /// As [`Device::receive_over`], and as [`Stream::from_fd`].
    #[doc = include_str!("../../../doc/received_devices.md")]
    pub fn take_fd(driver: &str, fd: OwnedFd) -> Result<Stream> {
        DeviceOptions::new().take_fd(driver, fd)
    }
}

impl DeviceOptions {
    /// As [`Device::receive_over`]. Of the options, [`DeviceOptions::directory`] and [`DeviceOptions::nonblocking`] have an effect: if the
    /// stream is found by name in that directory, this process knows its name.
    ///
    /// # Errors
    /// As [`Device::receive_over`].
    #[doc = include_str!("../../../doc/received_devices.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn receive_over(&self, driver: &str, socket: impl AsFd) -> Result<Stream> {
        self.taken(Handle::of_files(descriptors::receive(socket.as_fd())?, Admission::Driver(driver), self)?)
    }

    /// As [`Device::take_bundle`], with these options as [`DeviceOptions::receive_over`] has them.
    ///
    /// # Errors
    /// As [`Device::take_bundle`].
    #[doc = include_str!("../../../doc/received_devices.md")]
    pub fn take_bundle(&self, driver: &str, file: impl AsFd) -> Result<Option<Stream>> {
        let handle = Handle::of_bundle(file.as_fd(), Admission::Driver(driver), self)?;
        handle.map(|handle| self.taken(handle)).transpose()
    }

    /// As [`Device::take_received`], with these options as [`DeviceOptions::receive_over`] has them.
    ///
    /// # Errors
    /// As [`Device::take_received`].
    #[doc = include_str!("../../../doc/received_devices.md")]
    #[doc(alias = "I_RECVFD")]
    pub fn take_received(&self, driver: &str, received: ReceivedFile) -> Result<Stream> {
        self.taken(Handle::of_received(received, Admission::Driver(driver), self)?)
    }

    /// As [`Device::take_fd`], with these options as [`DeviceOptions::receive_over`] has them.
    ///
    /// # Errors
    /// As [`Device::take_fd`].
    #[doc = include_str!("../../../doc/received_devices.md")]
    pub fn take_fd(&self, driver: &str, fd: OwnedFd) -> Result<Stream> {
        self.taken(Handle::of_own(fd, Admission::Driver(driver), self)?)
    }

    fn taken(&self, mut handle: Handle) -> Result<Stream> {
        if self.nonblocking {
            handle.set_nonblocking(true)?;
        }
        Ok(handle.into())
    }
}

impl Handle {
    /// The end of a stream whose descriptors have come as a file.
    ///
    /// Errors: `ENOSTR` for any other file.
    pub(crate) fn of_received(
        received: ReceivedFile,
        admission: Admission<'_>,
        options: &DeviceOptions,
    ) -> Result<Handle> {
        let ReceivedFile { file, others, .. } = received;
        if others.is_empty() {
            // The memory may have come another way.
            return Handle::of_own(file, admission, options);
        }
        Handle::of_files(std::iter::once(file).chain(others).collect(), admission, options)
    }
}
