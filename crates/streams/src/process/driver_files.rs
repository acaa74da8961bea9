//! A driver's open files in a process that has the stream: copies of the files that all its processes share.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater_os::internet::{self, Setting};
use headwater_os::own_numbers;
use headwater_os::shared_files::{PLACES, SharedFiles};
use headwater_shm::probe;

use super::file_kind::FileKind;
use crate::error::{Errno, Error, Result};
use crate::layout::DeviceWords;

/// The files, each at its place.
pub(crate) type Files = [Option<Arc<OwnedFd>>; PLACES];

/// The files of one stream.
#[derive(Debug)]
pub(crate) struct DriverFiles {
    shared: SharedFiles,
    /// What the driver declares.
    declared: Declared,
    /// The copies of this process, and their version. No thread waits for the lock: in a forked child another thread of
    /// the parent may have it, and a signal handler may interrupt its holder.
    copies: Mutex<(u32, Files)>,
}

impl DriverFiles {
    pub fn new(shared: SharedFiles, declared: Declared) -> DriverFiles {
        DriverFiles { shared, declared, copies: Mutex::default() }
    }

    /// The same files by descriptors of their own, for a thread that has its own endpoint.
    pub fn try_clone(&self) -> Result<DriverFiles> {
        let [inside, outside] = self.descriptors();
        let descriptors = [own_numbers::copy(inside)?, own_numbers::copy(outside)?];
        Ok(DriverFiles::new(SharedFiles::from_fds(descriptors)?, self.declared))
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
    ///
    /// Errors: `EPROTO` or `EACCES` if another process has put a file there that the driver does not declare; `EMFILE`.
    pub fn all(&self, device: &DeviceWords) -> Result<Files> {
        // Acquire pairs with the Release in `set`: the files of that version are there.
        let version = device.files_version.load(Ordering::Acquire);
        let Ok(mut copies) = self.copies.try_lock() else { return Ok(self.copy(device)?.1) };
        if copies.0 != version {
            let newer = self.copy(device)?;
            end_at_once(&std::mem::replace(&mut *copies, newer).1);
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
    ///
    /// Errors: `EINVAL` for a file that the driver does not declare; else as [`DriverFiles::all`].
    pub fn set(&self, device: &DeviceWords, place: usize, file: Option<OwnedFd>) -> Result<()> {
        if let Some(file) = &file {
            self.declared.check(place, file).map_err(|error| Error::new(Errno::Inval, error.to_string()))?;
        }
        let mut files = self.all(device)?;
        let version = device.files_version.load(Ordering::Acquire).wrapping_add(1).max(1);
        end_at_once(&[std::mem::replace(&mut files[place], file.map(Arc::new))]);
        probe::at();
        self.shared.replace(version, files.each_ref().map(|file| file.as_ref().map(|file| file.as_fd())))?;
        probe::at();
        device.files_version.store(version, Ordering::Release);
        if let Ok(mut copies) = self.copies.try_lock() {
            *copies = (version, files);
        }
        Ok(())
    }

    /// Whether a close that has waited for so long waits on: a connection's other end has not acknowledged everything, and the stream's
    /// user has asked for it (XTI_LINGER).
    pub fn is_waited_for(&self, device: &DeviceWords, waited: Duration) -> bool {
        let is_waited_for = |socket: BorrowedFd<'_>| {
            let asked = Setting::Linger.get(socket).map_or(0, |[on, seconds]| if on == 0 { 0 } else { seconds });
            waited.as_secs() < asked.unsigned_abs().into()
                && internet::unacknowledged(socket).is_ok_and(|bytes| bytes > 0)
        };
        let kinds = self.declared.files.iter();
        self.all(device).is_ok_and(|files| {
            let mut sockets = files.iter().zip(kinds).filter(|(_, kind)| **kind == FileKind::Tcp);
            sockets.any(|(file, _)| file.as_ref().is_some_and(|file| is_waited_for(file.as_fd())))
        })
    }

    fn copy(&self, device: &DeviceWords) -> Result<(u32, Files)> {
        let copied = self.shared.copy()?;
        let files = copied.files.iter().enumerate().filter_map(|(place, file)| Some((place, file.as_ref()?)));
        // Any process of the stream may have put them there.
        files.into_iter().try_for_each(|(place, file)| self.declared.check(place, file))?;
        // The process that has put them there may have been killed before it stored the version.
        device.files_version.fetch_max(copied.version, Ordering::AcqRel);
        Ok((copied.version, copied.files.map(|file| file.map(Arc::new))))
    }
}

impl Drop for DriverFiles {
    /// Any process of the stream may have changed how a close of its sockets waits, and put any files there.
    fn drop(&mut self) {
        if let Ok(copied) = self.shared.copy() {
            end_at_once(&copied.files);
        }
        if let Ok((_, files)) = self.copies.get_mut() {
            end_at_once(files);
        }
    }
}

/// No close of these files waits.
fn end_at_once(files: &[Option<impl AsFd>]) {
    files.iter().flatten().for_each(|file| internet::never_linger(file.as_fd()));
}

/// What the files of a driver must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    /// The driver's name.
    pub driver: &'static str,
    /// Each at its place.
    pub files: &'static [FileKind],
}

impl Declared {
    /// Checks by the kernel's word that a file is what the driver declares for its place.
    pub fn check(&self, place: usize, file: &OwnedFd) -> Result<()> {
        let checked = match self.files.get(place) {
            Some(kind) => kind.check(file.as_fd()),
            None => Err(Error::new(Errno::Proto, "the driver declares no file there")),
        };
        checked.map_err(|error| {
            let driver = self.driver;
            Error::new(error.errno(), format!("the file at place {place} of a stream of '{driver}': {error}"))
        })
    }
}
