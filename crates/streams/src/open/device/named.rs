//! Devices that unrelated processes find by name: a driver and a minor number.
//!
//! A minor number is taken by a lock on its byte of the driver's file, which lasts as long as any copy of the open file description:
//! the kernel gives it up when the last process that has the stream has ended, however it ended. The holder of the lock
//! listens at the socket of that number, and hands the stream to processes that open it again; so does a process that has
//! got it from there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::abstract_socket::{self, Listener};
use headwater_os::attendant::Attendant;
use headwater_os::clock::now_ns;
use headwater_os::descriptors;
use headwater_os::file_facts;
use headwater_os::files::{self, Status};
use headwater_os::ofd_lock;
use headwater_os::own_numbers;
use headwater_shm::probe;

use super::{DeviceOptions, Parts, autopush, make, opened, peer};
use crate::error::{Errno, Error, Result};
use crate::head::handle::Handle;
use crate::limits::MINORS;
use crate::open::admission::Admission;
use crate::plumb::driver::DriverLink;
use crate::process::directory::{Directory, node};
use crate::process::endpoint::Endpoint;
use crate::process::instances::{self, MinorLock};
use crate::process::name::Name;

pub(crate) mod links;

/// How long an open waits for an answer of the processes that have the device open; the second if it must not wait.
const FOR_ANSWERS: Duration = Duration::from_millis(500);
const WITHOUT_WAITING: Duration = Duration::from_millis(200);
/// How long an open leaves a stream whose last process was killed to the processes of its partner. Later it closes it itself.
const FOR_PARTNERS: Duration = Duration::from_millis(100);
/// How long between two looks: the lock is there before the socket.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// An open that is under way.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub driver: &'static DriverLink,
    /// The minor numbers that are opened under the name that was asked for: the first one, and the step between two.
    pub first: u32,
    pub step: u32,
    pub directory: Arc<Directory>,
    pub options: &'a DeviceOptions,
}

/// The files that processes with a stream open hand to processes that open it.
#[derive(Debug)]
pub(super) struct Fetched {
    pub parts: Parts,
    pub listener: Listener,
}

impl Name {
    /// The stream that others have open under a number, if they hand it over in time.
    ///
    /// Errors: `EPROTO` for something else; `EMFILE`; `EACCES`, also for a stream of another driver.
    pub(super) fn fetch(&self, minor: u32, until_ns: u64) -> Result<Option<Fetched>> {
        let driver = self.driver_name();
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns()).max(1_000_000));
        let Some((mut files, _)) = self.receive(&node(driver, minor), left)? else { return Ok(None) };
        let strange = |why: &str| Error::new(Errno::Proto, format!("'{driver}' {minor}: {why}"));
        let listener = files.pop();
        let (Some(parts), Some(listener)) = (Parts::of(files, Admission::Driver(driver))?, listener) else {
            return Err(strange("other descriptors came than those of a device"));
        };
        let is_table = |lock: &MinorLock| self.directory().is_table(driver, &lock.file);
        let is_here = parts.lock.as_ref().map(is_table).transpose()? == Some(true);
        if is_here && parts.lock.as_ref().is_some_and(|lock| instances::noted(lock, minor) == 0) {
            // It was closed since it was sent.
            return Ok(None);
        }
        let is_it = is_here
            && parts.fit()?
            && file_facts::is_local_listener(&listener)
            && parts.lock.as_ref().is_some_and(|lock| lock.minor == minor);
        if !is_it {
            return Err(strange("it is another device"));
        }
        Ok(Some(Fetched { parts, listener: listener.into() }))
    }
}

/// Has this process know the name of a stream that another one has handed over, if it is found in the directory of these options, which
/// this process opens by its own path. The descriptor of the minor number proves that: its sender could open the directory's file, and
/// no other open file description has locked the number.
pub(crate) fn find_name(endpoint: &Endpoint, options: &DeviceOptions) {
    let (Some(driver), Some(lock)) = (endpoint.region.driver, endpoint.lock()) else { return };
    let Ok(Some(directory)) = options.find_directory() else { return };
    if directory.is_table(driver.info().name, &lock.file).unwrap_or(false)
        && ofd_lock::mark(lock, lock.minor.into(), 1).unwrap_or(false)
    {
        endpoint.set_name(Name::new(driver.info().name, Arc::new(directory), lock.minor));
    }
}

impl Name {
    /// What is handed over at a socket, and the user that listens there; None: no process does yet, or any more.
    fn receive(&self, node: &str, patience: Duration) -> Result<Option<(Vec<OwnedFd>, u32)>> {
        let until_ns = now_ns() + patience.as_nanos() as u64;
        let socket = abstract_socket::connect_in(self.directory().as_fd(), node, patience);
        let received = socket
            .and_then(|socket| Ok((receive_until(socket.as_fd(), until_ns)?, abstract_socket::peer_user(&socket)?)));
        match received {
            Ok(files) => Ok(Some(files)),
            // This process has no descriptor left.
            Err(error) if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => Err(error.into()),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

impl Named<'_> {
    /// Opens a minor number that no process has open (clone open).
    ///
    /// Errors: `EAGAIN` if all are open.
    pub fn open_any(&self) -> Result<Handle> {
        // A number whose last process was killed is left to the processes of its partner, as long as there is another.
        // Numbers without a stream first: to find out that one is open takes the kernel the longer the more are.
        let noted = instances::all(&self.directory.table(self.name())?);
        let all = || (self.first..MINORS).step_by(self.step as usize);
        let free = all().filter(|minor| noted.binary_search(minor).is_err());
        let order: Vec<u32> =
            free.chain(noted.iter().copied().filter(|minor| minor % self.step == self.first)).collect();
        for takes_dead in [false, true] {
            for minor in order.iter().copied() {
                // Where each side has a name of its own, a stream that has outlived its partner is hung up.
                if self.has_other_side(minor)? {
                    continue;
                }
                if let Some(lock) = self.lock(minor)?
                    && (takes_dead || instances::noted(&lock, minor) == 0 || !self.has_living_partner(&lock, minor)?)
                {
                    return self.open_first(lock, true);
                }
            }
        }
        let (name, count) = (self.name(), MINORS / self.step);
        Err(Error::new(Errno::Again, format!("all {count} minor numbers of '{name}' are open")))
    }

    /// Opens the stream of a number: the one that others have open under it, or a new one.
    ///
    /// Errors: `EINVAL` for a number beyond the last; `EBUSY` if it is open in processes that do not answer.
    pub fn open_number(&self, number: u32) -> Result<Handle> {
        let count = MINORS / self.step;
        if number >= count {
            return Err(Error::new(Errno::Inval, format!("minor numbers are below {count}, and {number} is not")));
        }
        let minor = self.first + self.step * number;
        let until_ns = now_ns() + self.patience().as_nanos() as u64;
        let leave_ns = now_ns() + FOR_PARTNERS.as_nanos() as u64;
        loop {
            if let Some(lock) = self.lock(minor)? {
                if self.has_other_side(minor)? {
                    let why = format!("the partner of '{}' {number} is still open: it has been hung up", self.name());
                    return Err(Error::new(Errno::Busy, why));
                }
                if now_ns() >= leave_ns
                    || instances::noted(&lock, minor) == 0
                    || !self.has_living_partner(&lock, minor)?
                {
                    return self.open_first(lock, false);
                }
                // A process of the partner is about to close it, and has its memory.
                drop(lock);
                std::thread::sleep(BETWEEN_LOOKS);
                continue;
            }
            probe::at();
            if let Some(stream) = self.ask(minor, until_ns)? {
                let mut stream = stream;
                opened(&mut stream, self.driver, &self.options.opening(minor, false, false), Some(&self.directory))?;
                return Ok(stream);
            }
            if now_ns() >= until_ns {
                let name = self.name();
                let why = format!(
                    "'{name}' {minor} is open in a process that does not answer: it is stopped, or about to end"
                );
                return Err(Error::new(Errno::Busy, why));
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Takes a minor number, if it is free.
    pub(super) fn lock(&self, minor: u32) -> Result<Option<MinorLock>> {
        let file = self.directory.table(self.name())?;
        let is_locked = ofd_lock::mark(&file, u64::from(minor), 1)?;
        Ok(is_locked.then_some(MinorLock { file, minor }))
    }

    fn open_first(&self, lock: MinorLock, is_clone: bool) -> Result<Handle> {
        let minor = lock.minor;
        probe::at();
        self.close_dead(&lock)?;
        let mut stream = make(self.driver, minor, &self.options.stream)?;
        let Status { device, number, .. } = files::status(&lock)?;
        let region = &stream.end.region;
        for (word, value) in region.fixed.device.lock_file.iter().zip([device, number]) {
            word.store(value, Ordering::Relaxed);
        }
        instances::note(&lock, minor, region.cookie_of(0)).map_err(|error| self.directory.told(error))?;
        probe::at();
        stream.end.endpoint.hold_minor(lock);
        let opening = self.options.opening(minor, is_clone, true);
        opened(&mut stream, self.driver, &opening, Some(&self.directory))?;
        probe::at();
        // Before another process gets the stream.
        autopush::push_configured(&mut stream, &self.directory, self.name(), minor)?;
        // No other process uses the socket while the number is locked.
        self.directory.remove_socket(&node(self.name(), minor))?;
        probe::at();
        let info = self.driver.0.info();
        let until_ns = now_ns() + self.patience().as_nanos() as u64;
        if info.needs_partner(minor) {
            // Others are let in when it has its partner.
            stream.end.endpoint.set_name(self.name_of(minor));
            stream.look_for_partner(&self.name_of(minor), &opening, until_ns)?;
        }
        let listener = self.directory.listen(&node(self.name(), minor))?;
        self.attend(&stream, minor, listener)?;
        probe::at();
        if info.pairs && info.second_name.is_none() {
            // Of two that are opened at the same time each lets the other in before it looks.
            stream.look_for_partner(&self.name_of(minor), &opening, until_ns)?;
        }
        Ok(stream)
    }

    /// Whether the stream is the first side of two, and the second one is still open.
    fn has_other_side(&self, minor: u32) -> Result<bool> {
        let info = self.driver.0.info();
        if info.second_name.is_none() || info.needs_partner(minor) {
            return Ok(false);
        }
        Ok(ofd_lock::is_locked(&self.directory.table(self.name())?, (minor ^ 1).into(), 1)?)
    }

    fn patience(&self) -> Duration {
        if self.options.nonblocking { WITHOUT_WAITING } else { FOR_ANSWERS }
    }

    /// Lets others in from now on.
    fn attend(&self, stream: &Handle, minor: u32, listener: Listener) -> Result<()> {
        let endpoint = &stream.end.endpoint;
        let files: std::io::Result<Vec<OwnedFd>> = endpoint.descriptors().map(own_numbers::copy).collect();
        endpoint.attend(Attendant::start(listener, files?)?, self.name_of(minor));
        if self.driver.0.info().has_peers {
            peer::note_own(endpoint);
        }
        Ok(())
    }

    pub(super) fn name_of(&self, minor: u32) -> Name {
        Name::new(self.name(), self.directory.clone(), minor)
    }

    /// The stream that others have open, if they hand it over in time.
    fn ask(&self, minor: u32, until_ns: u64) -> Result<Option<Handle>> {
        let Some(fetched) = self.name_of(minor).fetch(minor, until_ns)? else { return Ok(None) };
        let Fetched { parts, listener } = fetched;
        let stream = parts.into_handle()?;
        self.attend(&stream, minor, listener)?;
        Ok(Some(stream))
    }

    fn name(&self) -> &'static str {
        self.driver.0.info().name
    }
}

/// Receives descriptors until a time, whatever signal handlers run meanwhile.
fn receive_until(socket: BorrowedFd<'_>, until_ns: u64) -> std::io::Result<Vec<OwnedFd>> {
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
        match abstract_socket::wait_for_any(&[socket], left) {
            Ok(ready) if ready[0] => return descriptors::receive(socket),
            Ok(_) => return Err(std::io::ErrorKind::TimedOut.into()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
