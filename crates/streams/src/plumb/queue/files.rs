//! A driver's open files: sockets, timers, and other files that poll(2) supports. They belong to the stream: each
//! process that has it gets copies.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Queue;
use crate::error::{Result, fixed};
use crate::options::events::Events;
use crate::process::driver_files::DriverFiles;

impl Queue<'_, '_, '_> {
    /// The file at a place, below [`limits::DRIVER_FILES`](crate::limits::DRIVER_FILES), or None.
    ///
    /// # Errors
    /// `EINVAL` if the driver has no files ([`DriverInfo::with_files`](crate::DriverInfo::with_files)), and for a place that is none;
    /// `EMFILE` if this process has no descriptor left for its copies.
    #[doc = include_str!("../../../doc/queue_files.md")]
    pub fn file(&self, place: usize) -> Result<Option<Arc<OwnedFd>>> {
        self.files(place)?.at(&self.run.region.fixed.device, place)
    }

    /// The file at a place, with the version of the files. None: there is none, or it is being replaced.
    pub(crate) fn file_and_version(&self, place: usize) -> Result<Option<(Arc<OwnedFd>, u32)>> {
        // Pairs with the Release in `DriverFiles::set`.
        let version = || self.run.region.fixed.device.files_version.load(Ordering::Acquire);
        let before = version();
        let file = self.file(place)?;
        Ok(file.filter(|_| version() == before).map(|file| (file, before)))
    }

    /// Puts a file at a place, for all processes that have the stream, in the place of the one that is there; None closes that one.
    /// A socket must not wait (O_NONBLOCK). It lives as long as some process has the stream. On the write side.
    ///
    /// # Errors
    /// `EINVAL` on the read side, which hands the work to the other one ([`Queue::enable_other`]), and as [`Queue::file`];
    /// `ETOOMANYREFS` if the user's processes have too many files in flight.
    #[doc = include_str!("../../../doc/queue_files.md")]
    pub fn set_file(&mut self, place: usize, file: Option<OwnedFd>) -> Result<()> {
        if !self.is_last() {
            return Err(fixed!(Inval, "only the write side of a driver changes its files"));
        }
        let device = &self.run.region.fixed.device;
        self.files(place)?.set(device, place, file)?;
        device.watched[place].store(0, Ordering::SeqCst);
        self.run.act();
        self.run.effects.watches_more = true;
        Ok(())
    }

    /// Asks for [`Driver::ready`](crate::Driver::ready) to be called when the file at a place is ready for one of these events, of
    /// [`Events::IN`], [`Events::OUT`] and [`Events::PRI`], as long as it is; beside those that were asked for before.
    ///
    /// # Errors
    /// As [`Queue::file`].
    #[doc = include_str!("../../../doc/queue_files.md")]
    pub fn watch(&mut self, place: usize, events: Events) -> Result<()> {
        self.files(place)?;
        self.watch_again(place, events);
        Ok(())
    }

    /// As [`Queue::watch`], of a file that is there, also in a process that does not have the files: a peer's.
    pub(crate) fn watch_again(&mut self, place: usize, events: Events) {
        let wanted = u32::from(events.bits());
        let before = self.run.region.fixed.device.watched[place].fetch_or(wanted, Ordering::SeqCst);
        // Sleepers on fewer events are notified.
        self.run.effects.watches_more |= wanted & !before != 0;
    }

    /// Takes back what [`Queue::watch`] has asked for.
    ///
    /// # Errors
    /// As [`Queue::file`].
    #[doc = include_str!("../../../doc/queue_files.md")]
    pub fn unwatch(&mut self, place: usize, events: Events) -> Result<()> {
        self.files(place)?;
        self.run.region.fixed.device.watched[place].fetch_and(!u32::from(events.bits()), Ordering::SeqCst);
        Ok(())
    }

    /// The directory in which the stream is found by name, without rights to read it (O_PATH). This process has opened it by its own path:
    /// no other process can put another one in its place.
    ///
    /// # Errors
    /// `EACCES` if this process does not know the stream's name: it was opened privately, or it was handed over and is found in another
    /// directory than the one where this process finds devices ([`DeviceOptions::directory`](crate::DeviceOptions::directory)).
    #[doc = include_str!("../../../doc/driver_directory.md")]
    pub fn device_directory(&self) -> Result<BorrowedFd<'_>> {
        let name = self.run.beyond.endpoint.and_then(|endpoint| endpoint.name());
        let name = name
            .ok_or_else(|| fixed!(Acces, "the stream is not found by name in this process's directory of devices"))?;
        Ok(name.directory().as_fd())
    }

    /// Whether the message at hand has been in a queue: then it may come from any process of the stream, and is done in the process that has
    /// taken it out.
    pub(crate) fn was_queued(&self) -> bool {
        self.run.has_taken()
    }

    fn files(&self, place: usize) -> Result<&DriverFiles> {
        let of_driver = self.run.chain[self.at].is_driver() && place < crate::limits::DRIVER_FILES;
        let files = self.run.beyond.files.filter(|_| of_driver);
        files.ok_or_else(|| fixed!(Inval, "the driver has no such file"))
    }
}
