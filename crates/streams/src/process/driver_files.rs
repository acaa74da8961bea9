//! A driver's open files in a process that has the stream: copies of the files that all its processes share.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use headwater_os::own_numbers;
use headwater_os::shared_files::{PLACES, SharedFiles};
use headwater_shm::probe;

use crate::error::Result;
use crate::layout::DeviceWords;

/// The files, each at its place.
pub(crate) type Files = [Option<Arc<OwnedFd>>; PLACES];

/// The files of one stream.
#[derive(Debug)]
pub(crate) struct DriverFiles {
    shared: SharedFiles,
    /// The copies of this process, and their version. No thread waits for the lock: in a forked child another thread of
    /// the parent may have it, and a signal handler may interrupt its holder.
    copies: Mutex<(u32, Files)>,
}

impl DriverFiles {
    pub fn new(shared: SharedFiles) -> DriverFiles {
        DriverFiles { shared, copies: Mutex::default() }
    }

    /// The same files by descriptors of their own, for a thread that has its own endpoint.
    pub fn try_clone(&self) -> Result<DriverFiles> {
        let [inside, outside] = self.descriptors();
        let descriptors = [own_numbers::copy(inside)?, own_numbers::copy(outside)?];
        Ok(DriverFiles::new(SharedFiles::of(descriptors)?))
    }

    /// The descriptors that are passed on with the stream.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        self.shared.descriptors()
    }

    /// Returns the shared files, through which processes that sleep beside the files are woken to read anew what to sleep on.
    pub fn shared(&self) -> &SharedFiles {
        &self.shared
    }

    /// All files.
    pub fn all(&self, device: &DeviceWords) -> Result<Files> {
        // Acquire pairs with the Release in `set`: the files of that version are there.
        let version = device.files_version.load(Ordering::Acquire);
        let Ok(mut copies) = self.copies.try_lock() else { return Ok(self.copy(device)?.1) };
        if copies.0 != version {
            *copies = self.copy(device)?;
        }
        Ok(copies.1.clone())
    }

    /// The file at a place.
    pub fn at(&self, device: &DeviceWords, place: usize) -> Result<Option<Arc<OwnedFd>>> {
        let version = device.files_version.load(Ordering::Acquire);
        if let Ok(copies) = self.copies.try_lock()
            && copies.0 == version
        {
            return Ok(copies.1[place].clone());
        }
        Ok(self.all(device)?[place].take())
    }

    /// Changes the file at a place, for all processes. Under the writer's lock of direction 0.
    pub fn set(&self, device: &DeviceWords, place: usize, file: Option<OwnedFd>) -> Result<()> {
        let mut files = self.all(device)?;
        let version = device.files_version.load(Ordering::Acquire).wrapping_add(1).max(1);
        files[place] = file.map(Arc::new);
        probe::at();
        self.shared.replace(version, files.each_ref().map(|file| file.as_ref().map(|file| file.as_fd())))?;
        probe::at();
        device.files_version.store(version, Ordering::Release);
        if let Ok(mut copies) = self.copies.try_lock() {
            *copies = (version, files);
        }
        Ok(())
    }

    fn copy(&self, device: &DeviceWords) -> Result<(u32, Files)> {
        let copied = self.shared.copy()?;
        // The process that has put them there may have been killed before it stored the version.
        device.files_version.fetch_max(copied.version, Ordering::AcqRel);
        Ok((copied.version, copied.files.map(|file| file.map(Arc::new))))
    }
}
