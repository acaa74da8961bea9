//! The partner of a stream, in a process that has the stream open: another stream of the same driver, to which its driver sends.
//!
//! Each of the two is a stream of its own, whose doorbell has its other end with the partner's processes alone: as with a
//! pipe, the kernel hangs the one up when the last process that has the other open has ended. The later one of two to be opened
//! fetches what it needs from the processes of the earlier one, and leaves what they need in their doorbell.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use headwater_os::clock::now_ns;
use headwater_os::doorbell::Doorbell;
use headwater_os::per_thread::PerThread;
use headwater_shm::{Limit, probe};

use super::named::Fetched;
use super::{FarEnd, no_partner, with_queue};
use crate::error::{Errno, Result, corrupt, fixed};
use crate::head::handle::Handle;
use crate::message::Message;
use crate::plumb::driver::Opening;
use crate::process::beyond::PartnerStream;
use crate::process::end::Access;
use crate::process::endpoint::Endpoint;
use crate::process::inbox::ring;
use crate::process::name::Name;
use crate::process::region::Region;
use crate::sched::Run;

/// How the partner is reached.
#[derive(Debug)]
pub(crate) enum Partner {
    /// From a stream that this process has open: in the driver's place of the partner's region.
    Forth { endpoint: Arc<Endpoint>, handles: PerThread<Handle> },
    /// From the driver's place of the partner's region: the stream that this process has open. For what the partner's queues
    /// still hold, when there is room for it here.
    Back(Weak<Endpoint>),
}

impl Partner {
    /// Calls `action` with a handle of the partner, and whether its direction 1 leads outward from there. None if it is closed.
    fn with<T>(&self, action: impl FnOnce(&mut Handle, bool) -> T) -> Option<T> {
        match self {
            Partner::Forth { endpoint, handles } => {
                let mut handle = handles.get(|| Handle::on(endpoint.clone()));
                Some(action(&mut handle, true))
            }
            Partner::Back(endpoint) => Some(action(&mut Handle::on(endpoint.upgrade()?), false)),
        }
    }

    /// Makes a run along the partner's direction 1, from within a run along ours to it. Locks against the flow are not
    /// waited for, so no two processes wait for each other.
    fn run<'m, T>(&self, limit: Limit, action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>) -> Option<Result<T>> {
        self.with(|handle, outward| handle.run_inside(outward, limit, action))
    }
}

impl PartnerStream for Partner {
    fn can_put(&self, limit: Limit, band: u8) -> Option<Result<bool>> {
        self.run(limit, |run| run.can_put_from(1, band))
    }

    fn put(&self, limit: Limit, message: Message<'_>) -> Option<Result<()>> {
        self.run(limit, |run| run.put(1, message))
    }

    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        match self {
            Partner::Forth { endpoint, .. } => Some([endpoint.region.as_fd(), endpoint.doorbell().as_fd()]),
            Partner::Back(_) => None,
        }
    }

    fn enable(&self) -> Result<()> {
        let served = self.with(|handle, outward| {
            handle.attach()?;
            handle.service_if_free(!outward).map(drop)
        });
        served.unwrap_or(Ok(()))
    }
}

impl Handle {
    /// The stream was opened: looks whether its partner is open, and becomes its partner.
    ///
    /// Errors: of a stream that needs a partner `ENXIO` without one, and what the driver says.
    pub(super) fn look_for_partner(&mut self, name: &Name, opening: &Opening, until_ns: u64) -> Result<()> {
        let region = &self.end.region;
        let driver = region.driver_link().filter(|driver| driver.0.info().needs_partner(opening.minor));
        let Some(Fetched { parts, .. }) = name.fetch(name.partner(), until_ns)? else {
            // No process listens there; one that opens it later finds this stream.
            if now_ns() < until_ns {
                return driver.map_or(Ok(()), |driver| Err(no_partner(driver.0.info().name_of(opening.minor).0)));
            }
            return Err(fixed!(
                Busy,
                "the partner's process does not answer: it is stopped, or about to end; try again"
            ));
        };
        let FarEnd::Own(far) = parts.far else {
            // Another stream, of this number and now about to end, was its partner.
            return Err(fixed!(Io, "the partner has been hung up"));
        };
        let partner = in_its_place(parts.region, far);
        if let Some(driver) = driver {
            let mut there = Handle::on(partner.clone());
            there.attach()?;
            with_queue(&mut there, false, |queue| driver.0.admit(opening, queue))?;
        }
        let own = &self.end.region.fixed.device.partner;
        let cookie = partner.region.cookie_of(0);
        let joined = own.compare_exchange(0, cookie, Ordering::AcqRel, Ordering::Acquire);
        if joined.is_err_and(|other| other != cookie) {
            return Ok(());
        }
        probe::at();
        let endpoint = self.end.endpoint.clone();
        if !self.set_partner(partner.clone()) {
            return Ok(());
        }
        let mut handle = Handle::on(partner);
        match hand_over(&mut handle, &endpoint) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // Its last process has ended meanwhile: it was there, and has hung up.
            Err(error) if error.errno() == Errno::Pipe => return self.settle_with_partner(),
            Err(error) => return Err(error),
        }
        handle.announce_all()?;
        // What waits there.
        handle.service_if_free(false)?;
        self.settle_with_partner()
    }

    /// False if another thread has been faster.
    pub(super) fn set_partner(&self, endpoint: Arc<Endpoint>) -> bool {
        pair(&self.end.endpoint, endpoint)
    }

    /// The partner's processes have the other end of our doorbell: from now on they alone. What waits here is sent.
    fn settle_with_partner(&mut self) -> Result<()> {
        settle(&self.end.endpoint);
        self.end.join()?;
        self.service_if_free(true).map(drop)
    }
}

/// What a partner has left in the doorbell of a stream: its memory, and the other end of its doorbell. It is the stream's partner from now
/// on.
///
/// Errors: `EPROTO` for another stream than the one that the stream's memory names.
pub(in crate::open) fn meet(own: &Arc<Endpoint>, [memory, far]: [OwnedFd; 2]) -> Result<()> {
    let region = Region::open(memory)?;
    let far = Doorbell::from_fd(far)?;
    if !own.region.is_partner(&region, &far)? {
        return Err(corrupt!("a partner that is another"));
    }
    pair(own, in_its_place(region, far));
    settle(own);
    Ok(())
}

/// Makes two streams partners in this process. False if another thread has been faster.
fn pair(own: &Arc<Endpoint>, partner: Arc<Endpoint>) -> bool {
    partner.set_partner(Partner::Back(Arc::downgrade(own)));
    own.set_partner(Partner::Forth { endpoint: partner, handles: PerThread::default() })
}

/// The partner's processes have the other end of the stream's doorbell: from now on they alone.
fn settle(own: &Endpoint) {
    probe::at();
    own.give_far_up();
    own.watch_partner();
}

/// The driver's place of a partner's memory.
pub(super) fn in_its_place(region: Region, far: Doorbell) -> Arc<Endpoint> {
    Arc::new(Endpoint::new(region, 1, far, Access::Both))
}

impl Region {
    /// Whether that is the partner of this stream, by the word that was written when it came.
    pub(super) fn is_partner(&self, partner: &Region, far: &Doorbell) -> Result<bool> {
        let cookie = self.fixed.device.partner.load(Ordering::Acquire);
        let info = |region: &Region| region.driver.map(|driver| driver.info());
        Ok(partner.is_made_with(far)?
            && cookie != 0
            && info(partner).is_some_and(|its| its.pairs && Some(its) == info(self))
            && partner.cookie_of(0) == cookie
            && partner.cookie_of(1) == far.cookie()?)
    }
}

/// Leaves with the partner, whose region's driver's place `there` is, what it needs to send to us: the memory, and the other end
/// of our doorbell. They lie in its doorbell, so the kernel keeps them as long as it lives and no longer. False if it has
/// another partner.
fn hand_over(there: &mut Handle, own: &Endpoint) -> Result<bool> {
    there.attach()?;
    let Some(far) = own.far() else { return Ok(false) };
    let endpoint = there.end.endpoint.clone();
    let (ends, device) = (&endpoint.region.fixed.ends, &endpoint.region.fixed.device);
    // Under the writer's lock: of several processes that come at the same time one is the partner, and none takes the
    // files for lost.
    there.run(true, |run| {
        let cookie = own.region.cookie_of(0);
        if device.partner.load(Ordering::Acquire) != 0 {
            // It has found us by itself, and has what it needs.
            return Ok(device.partner.load(Ordering::Acquire) == cookie);
        }
        let (sender, receiver) = (&ends[1].0, &ends[0].0);
        let first = sender.files.load(Ordering::Relaxed).wrapping_add(1);
        let last = first.wrapping_add(1);
        sender.files.store(last, Ordering::Relaxed);
        receiver.sent.fetch_add(2, Ordering::AcqRel);
        endpoint.doorbell().pass(own.region.as_fd(), first)?;
        endpoint.doorbell().pass(far.as_fd(), last)?;
        run.act();
        probe::at();
        // In this order: a reader that sees the files put knows that they are a partner's, and leaves them to
        // `meet_partner`. If this process is killed in between, a check for lost files puts them.
        device.partner.store(cookie, Ordering::Release);
        probe::at();
        sender.files_put.store(last, Ordering::Release);
        ring(receiver, endpoint.doorbell());
        Ok(true)
    })
}
