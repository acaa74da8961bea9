//! The driver's close procedure: once for each stream, by its last process, or by another one after a kill.
//!
//! | who closes | how it knows that it is the last | which memory |
//! |---|---|---|
//! | the process that closes the last copy | the kernel's hang-up at the witness, and an exchange in shared memory | the stream's |
//! | a process of the partner, after a kill | it gets the lock of the minor number, and its word is still set | the stream's, which it has mapped |
//! | a process that opens a device of that driver, after a kill | the same | an empty stream: the other is gone |
//!
//! A process that is killed in a close procedure leaves the word, and the kernel gives up its lock: the next one closes anew.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use headwater_os::descriptors::Found;
use headwater_os::files::OFlags;
use headwater_os::hangup::HangupWatch;
use headwater_os::ofd_lock;
use headwater_os::own_numbers;
use headwater_os::random;
use headwater_shm::probe;

use super::named::Named;
use super::partner::Partner;
use super::{make, with_queue};
use crate::error::{Error, Result};
use crate::head::handle::Handle;
use crate::layout::DeviceWords;
use crate::message::link::MuxId;
use crate::options::Options;
use crate::plumb::driver::DriverLink;
use crate::process::address;
use crate::process::end::HANGUP_TOLD;
use crate::process::endpoint::Endpoint;
use crate::process::instances::{self, MinorLock};
use crate::process::listeners::{self, SignalEvents};
use crate::process::name::Name;
use crate::process::opened::Remains;
use crate::process::region::Region;

/// How long a process waits before it looks again whether the processes of its dead partner have given up the minor number; the
/// second after many looks.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(1);
/// How many numbers of a driver with many streams an open looks at: whether one is locked takes the kernel the longer the more are.
const LOOKS: usize = 4;

/// A device was closed here: has it closed by its driver if no other process has it.
pub(crate) fn close_last(remains: Remains<'_>, partner: Option<Box<Partner>>) {
    let Remains { region, witness, lock, name, files } = remains;
    let Some(driver) = region.driver_link() else { return };
    let device = &region.fixed.device;
    // A process without the lock does not know whether the number was given to others, who have then closed this stream.
    let is_owner = lock.is_some() || lock_file(device).is_none();
    if !witness.is_alone().unwrap_or(false) || !is_owner {
        return;
    }
    if device.closed.swap(1, Ordering::AcqRel) != 0 {
        return;
    }
    probe::at();
    let endpoint = Endpoint::in_drivers_place(region.clone(), witness, files);
    // It looks for the streams below as others do.
    endpoint.kept_or_none_yet();
    if let Some(partner) = partner {
        endpoint.set_partner(*partner);
    }
    if let Some(name) = name {
        endpoint.set_name(name.clone());
    }
    // By which the driver gives up what else is locked.
    if let Some(lock) = lock.filter(|_| driver.0.info().has_peers)
        && let Ok(file) = own_numbers::copy(lock.as_fd())
    {
        endpoint.hold_minor(MinorLock { file, minor: lock.minor });
    }
    // Until the end of this procedure the partner is not told.
    let mut stream = Handle::of(endpoint);
    let _ = call(driver, &mut stream, false, lock);
    if let Some(name) = name {
        // The number is still locked, so no other process has a socket there.
        name.remove_socket();
        let ids = device.links.iter().filter_map(|link| MuxId::new(link.id.load(Ordering::Relaxed)));
        ids.for_each(|id| name.remove_link(id));
    }
}

/// The first open of a stream was refused: it is not closed by the driver.
pub(super) fn forget(stream: &Handle) {
    let device = &stream.end.region.fixed.device;
    device.closed.store(1, Ordering::Relaxed);
    if let Some(lock) = stream.end.endpoint.lock() {
        instances::clear(lock, lock.minor);
    }
}

/// Calls the close procedure, and notes that it has returned. If it cannot be called, because other processes have spoilt the
/// memory, the word stays, and the next process that opens the number has an empty stream closed.
fn call(driver: &DriverLink, stream: &mut Handle, outward: bool, lock: Option<&MinorLock>) -> Result<()> {
    stream.attach().and_then(|()| {
        with_queue(stream, outward, |queue| {
            probe::at();
            driver.0.close(queue);
            probe::at();
            lock.into_iter().for_each(|lock| instances::clear(lock, lock.minor));
            probe::at();
            Ok(())
        })
    })
}

/// Where the minor number is locked, of a stream that is found by name: device and inode.
pub(crate) fn lock_file(device: &DeviceWords) -> Option<[u64; 2]> {
    let words = device.lock_file.each_ref().map(|word| word.load(Ordering::Relaxed));
    (words != [0; 2]).then_some(words)
}

impl Named<'_> {
    /// Has the driver close the streams whose last process was killed: that of the number which was locked for an open, and all
    /// others whose numbers are free; some of these for a driver that may have thousands of streams.
    ///
    /// Errors: `EMFILE`.
    pub(super) fn close_dead(&self, lock: &MinorLock) -> Result<()> {
        let mut noted = instances::all(lock);
        if self.driver.0.info().has_peers {
            // Its close procedure has nothing to do in the place of a killed process; only files are left. Where the looks begin is
            // left to chance, so that each number's turn comes.
            self.close_in_place_of(lock)?;
            let from = random::number().unwrap_or(0) as usize % noted.len().max(1);
            noted.rotate_left(from);
            noted.truncate(LOOKS);
        }
        for dead in noted {
            if dead == lock.minor {
                self.close_in_place_of(lock)?;
            } else if !ofd_lock::is_locked(lock, dead.into(), 1)? && !self.has_living_partner(lock, dead)? {
                // Or another process has been faster.
                if let Some(lock) = self.lock(dead)? {
                    self.close_in_place_of(&lock)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a stream has a partner, whose processes may have its memory and close it.
    pub(super) fn has_living_partner(&self, lock: &MinorLock, minor: u32) -> Result<bool> {
        Ok(self.driver.0.info().pairs && ofd_lock::is_locked(lock, (minor ^ 1).into(), 1)?)
    }

    /// Has the driver close an empty stream in the place of one whose memory is gone.
    fn close_in_place_of(&self, lock: &MinorLock) -> Result<()> {
        let minor = lock.minor;
        if instances::noted(lock, minor) == 0 {
            return Ok(());
        }
        let info = self.driver.0.info();
        if info.has_peers {
            address::remove_of_dead(&self.directory, info.name, lock, minor);
            instances::clear(lock, minor);
        } else {
            let mut stream = make(self.driver, minor, &Options::new())?;
            let device = &stream.end.region.clone().fixed.device;
            device.is_stand_in.store(1, Ordering::Relaxed);
            device.closed.store(1, Ordering::Relaxed);
            let _ = call(self.driver, &mut stream, true, Some(lock));
        }
        self.name_of(minor).remove_socket();
        if info.multiplexes {
            self.name_of(minor).remove_links();
        }
        Ok(())
    }
}

/// What a process does when its partner's last process has ended. It has nothing of the stream's own endpoint, which can be
/// closed meanwhile.
#[derive(Debug)]
struct Survivor {
    region: Region,
    /// The driver's place of the partner's region.
    partner: Weak<Endpoint>,
    /// The number of the descriptor by which our own minor number is locked, and the partner's, which is in the same file.
    lock: Option<(RawFd, u32)>,
    name: Option<Name>,
}

impl Endpoint {
    /// From now on a thread waits for the end of the partner's last process.
    pub fn watch_partner(&self) {
        let Some(mut survivor) = self.survivor() else { return };
        self.watch_for_hangup(|doorbell| {
            let mut rest = LOOK_AGAIN;
            let then = move || {
                survivor.tell_hangup();
                if survivor.close_partner() {
                    return None;
                }
                rest = (rest + rest / 4).min(LOOK_AGAIN_MAX);
                Some(rest)
            };
            HangupWatch::start(doorbell, then).ok()
        });
    }

    /// The stream is closed here: has its partner closed by the driver, if the last process of that was killed.
    pub fn close_dead_partner(&self) {
        if let Some(mut survivor) = self.survivor() {
            survivor.close_partner();
        }
    }

    fn survivor(&self) -> Option<Survivor> {
        let Some(Partner::Forth { endpoint, .. }) = self.known_partner() else { return None };
        let (region, partner) = (self.region.clone(), Arc::downgrade(endpoint));
        let lock = self.lock().map(|lock| (lock.file.as_raw_fd(), lock.minor ^ 1));
        Some(Survivor { region, partner, lock, name: self.name().cloned() })
    }
}

impl Survivor {
    /// Sends S_HANGUP, unless another process has done so.
    fn tell_hangup(&self) {
        if self.region.fixed.ends[1].0.shut.fetch_or(HANGUP_TOLD, Ordering::AcqRel) & HANGUP_TOLD == 0 {
            probe::at();
            listeners::signal(&self.region, 0, SignalEvents::HANGUP);
        }
    }

    /// Has the partner closed by the driver, if its last process has not done so. False: it is to be tried again, because a
    /// process that ends, or closes it at this moment, has not yet given up its minor number.
    fn close_partner(&mut self) -> bool {
        let Some(partner) = self.partner.upgrade() else { return true };
        let region = &partner.region;
        let (Some(driver), Some((number, minor))) = (region.driver_link(), self.lock) else { return true };
        if !partner.doorbell().is_alone().unwrap_or(false) {
            return false;
        }
        // Another open file description, with locks of its own.
        let file = match &self.name {
            Some(name) => name.directory().table(name.driver_name()),
            None => {
                Found { pid: std::process::id(), number: number.unsigned_abs() }.open(OFlags::RDWR).map_err(Error::from)
            }
        };
        let Ok(file) = file else { return false };
        let lock = MinorLock { file, minor };
        let is_ours = ofd_lock::mark(&lock, minor.into(), 1).unwrap_or(false);
        probe::at();
        if instances::noted(&lock, minor) != region.cookie_of(0) {
            return true;
        }
        if is_ours {
            let mut stream = Handle::on(partner.clone());
            stream.nonblocking = true;
            if call(driver, &mut stream, false, Some(&lock)).is_err_and(|error| error.is_held()) {
                return false;
            }
            if let Some(name) = &self.name {
                name.remove_socket_of(minor);
            }
        }
        is_ours
    }
}
