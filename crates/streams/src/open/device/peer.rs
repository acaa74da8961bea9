//! Streams of a driver to which its other streams send, in a process that sends: their memory, in the driver's place.
//!
//! A sender needs no more than the memory and the other end of the doorbell. Each process that has the receiver's stream keeps them
//! too, so any number of processes may send, and a hang-up at that end means that the receiver's last process has gone. What
//! a process has fetched, all of its streams share.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::doorbell::Doorbell;
use headwater_os::fork_mutex::ForkMutex;
use headwater_os::per_thread::{Held, PerThread};
use headwater_os::shared_files::SharedFiles;
use headwater_os::watcher::{Sleep, Watcher};
use headwater_shm::{Limit, Stages};

use super::close::{close_last, lock_file};
use super::named::Fetched;
use super::partner::in_its_place;
use super::{FarEnd, Parts};
use crate::error::{Result, fixed};
use crate::head::handle::Handle;
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::Look;
use crate::plumb::route::{Appended, Condition};
use crate::process::endpoint::Endpoint;
use crate::process::name::Name;
use crate::process::opened::Remains;
use crate::process::region::Region;
use crate::sched::Run;

/// How long a sender waits for the files of a receiver. Meanwhile it has its own stream's lock.
const PATIENCE: Duration = Duration::from_millis(200);
/// A sender asks the kernel whether the receiver is alive once in so many messages.
const MESSAGES_BETWEEN_LOOKS: u32 = 64;
/// How long the thread rests when another user of the stream is in the way.
const REST: Duration = Duration::from_millis(10);

/// How many peers a process keeps. Each is a mapping and two descriptors, and one of 64 places of users in the peer's stream for each
/// thread that has sent there.
const KEPT: usize = 128;

/// What this process has fetched, the latest last.
static PEERS: ForkMutex<Vec<Arc<Peer>>> = ForkMutex::new(Vec::new());
/// The streams of drivers with peers that this process has opened by name.
static OWN: ForkMutex<Vec<Weak<Endpoint>>> = ForkMutex::new(Vec::new());

/// A stream to which this process sends.
#[derive(Debug)]
pub(crate) struct Peer {
    endpoint: Arc<Endpoint>,
    handles: PerThread<Handle>,
    minor: u32,
    sent: AtomicU32,
    /// [`Peer::is_found_gone`] has found it gone: for ever.
    has_gone: AtomicBool,
}

impl Peer {
    /// The stream of a minor number of the driver of `own`; None: no process has it, or none that answers.
    ///
    /// Errors: `ENXIO` for a stream that was not opened by name; `EMFILE`.
    pub fn find(own: &Endpoint, minor: u32) -> Result<Option<Arc<Peer>>> {
        let name = own.name().ok_or_else(|| fixed!(Nxio, "the stream was not opened by name in this process"))?;
        let known = PEERS.with(|peers| {
            let is_it = |peer: &Arc<Peer>| {
                let device = &peer.endpoint.region.fixed.device;
                peer.minor == minor
                    && lock_file(device) == lock_file(&own.region.fixed.device)
                    && device.closed.load(Ordering::Acquire) == 0
            };
            peers.iter().find(|peer| is_it(peer)).cloned()
        });
        if let Some(known) = known {
            if !known.is_gone() {
                return Ok(Some(known));
            }
            forget(|peer| Arc::ptr_eq(peer, &known));
        }
        let Some((region, far, _)) = fetch(name, minor)? else { return Ok(None) };
        let endpoint = in_its_place(region, far);
        endpoint.set_name(name.of_minor(minor));
        // What is done there may let a third stream continue.
        endpoint.kept_or_none_yet();
        let peer = Arc::new(Peer {
            endpoint,
            handles: PerThread::default(),
            minor,
            sent: AtomicU32::new(0),
            has_gone: AtomicBool::new(false),
        });
        let too_many = PEERS.with(|peers| {
            peers.push(peer.clone());
            peers.len() > KEPT
        });
        if too_many {
            forget(|peer| peer.endpoint.region.fixed.device.closed.load(Ordering::Acquire) != 0 || peer.is_gone());
            let oldest = PEERS.with(|peers| (peers.len() > KEPT).then(|| peers.remove(0)));
            drop(oldest);
        }
        Ok(Some(peer))
    }

    /// A copy of a file of the stream's driver, as its processes have it now; None: it has none there, or is gone.
    ///
    /// Errors: `ENXIO` for a stream that was not opened by name; `EMFILE`.
    pub fn file(&self, own: &Endpoint, place: usize) -> Result<Option<OwnedFd>> {
        let name = own.name().ok_or_else(|| fixed!(Nxio, "the stream was not opened by name in this process"))?;
        let Some((region, _, Some(shared))) = fetch(name, self.minor)? else { return Ok(None) };
        if region.cookie_of(0) != self.id().1 {
            return Ok(None);
        }
        // What is no such pair of sockets is of a peer that breaks the rules.
        let Ok(mut copied) = shared.copy() else { return Ok(None) };
        let file = copied.files.get_mut(place).and_then(Option::take);
        let info = region.driver.map(|driver| driver.info());
        Ok(file.zip(info).filter(|(file, info)| info.declared().check(place, file).is_ok()).map(|(file, _)| file))
    }

    /// The minor number of the stream, and the number by which the kernel knows it.
    pub fn id(&self) -> (u32, u64) {
        (self.minor, self.endpoint.region.cookie_of(0))
    }

    /// Whether the last process that had the stream has gone.
    pub fn is_gone(&self) -> bool {
        self.endpoint.doorbell().is_alone().unwrap_or(true)
    }

    /// Of a stream whose last process has gone: whether it is being closed by the driver, or was.
    pub fn is_closed(&self) -> bool {
        self.endpoint.region.fixed.device.closed.load(Ordering::Acquire) != 0
    }

    /// As [`Peer::is_gone`], asked once in so many messages.
    pub fn is_found_gone(&self) -> bool {
        // Two threads may count one: the number is no more than an occasion.
        let sent = self.sent.load(Ordering::Relaxed).wrapping_add(1);
        self.sent.store(sent, Ordering::Relaxed);
        if sent.is_multiple_of(MESSAGES_BETWEEN_LOOKS) && self.is_gone() {
            self.has_gone.store(true, Ordering::Relaxed);
        }
        self.has_gone.load(Ordering::Relaxed)
    }

    /// The calling thread's handle.
    #[inline]
    fn handle(&self) -> Held<'_, Handle> {
        self.handles.get(|| Handle::on(self.endpoint.clone()))
    }

    /// Makes a run along the stream's direction 1, from within a run along direction 0 of another one.
    pub fn run<'m, T>(&self, limit: Limit, action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>) -> Result<T> {
        let mut handle = self.handle();
        handle.run_inside(true, limit, action)
    }

    /// Appends a message to the stream's lane of direction 1, from within a call at direction 0 of another one, if nothing is in the way.
    #[inline]
    pub fn append(&self, limit: Limit, condition: &Condition, control: &[u8], data: Option<&[u8]>) -> Result<Appended> {
        if self.is_found_gone() {
            return Ok(Appended::No);
        }
        let mut handle = self.handle();
        handle.append_in_drivers_place(limit, condition, control, data)
    }

    /// Passes the stages before a sleep until there is room in the stream's lane of direction 1. Returns whether there is.
    pub fn waits_for_room(&self, stages: &mut Stages) -> bool {
        self.handle().waits_in_drivers_place(stages)
    }

    /// Runs the service procedures of the stream's direction 0, because there is room elsewhere.
    pub fn serve(&self) -> Result<()> {
        let mut handle = self.handle();
        handle.nested = true;
        handle.attach()?;
        handle.service_if_free(false).map(drop)
    }

    /// Waits as other streams' threads do; see [`watch`].
    fn number(&self) -> RawFd {
        self.endpoint.doorbell().as_fd().as_raw_fd()
    }

    /// The end by which this process has the stream open, if it has.
    pub fn own_end(&self) -> Option<Arc<Endpoint>> {
        let cookie = self.endpoint.region.cookie_of(0);
        OWN.with(|own| own.iter().filter_map(Weak::upgrade).find(|own| own.region.cookie_of(0) == cookie))
    }
}

/// The memory of the stream of a minor number, the other end of its doorbell, and its driver's files; None: no process has it, or none
/// that answers.
fn fetch(name: &Name, minor: u32) -> Result<Option<(Region, Doorbell, Option<SharedFiles>)>> {
    let until_ns = now_ns() + PATIENCE.as_nanos() as u64;
    let Some(Fetched { parts, .. }) = name.fetch(minor, until_ns)? else { return Ok(None) };
    let Parts { near, region, lock, far: FarEnd::Own(far), shared, .. } = parts else { return Ok(None) };
    drop(near);
    if far.is_alone().unwrap_or(false) {
        // Its processes have closed it meanwhile, and this copy was the last: the driver's close procedure is left to us.
        let (name, lock) = (name.of_minor(minor), lock.as_ref());
        close_last(Remains { region, witness: far, lock, name: Some(&name), files: None }, None);
        return Ok(None);
    }
    Ok(Some((region, far, shared)))
}

/// Keeps some peers no longer.
fn forget(which: impl Fn(&Arc<Peer>) -> bool) {
    let all = PEERS.with(|peers| peers.clone());
    let gone: Vec<_> = all.into_iter().filter(|peer| which(peer)).collect();
    PEERS.with(|peers| peers.retain(|peer| !gone.iter().any(|gone| Arc::ptr_eq(gone, peer))));
}

/// Notes that this process has opened a stream.
pub(super) fn note_own(endpoint: &Arc<Endpoint>) {
    OWN.with(|own| {
        own.retain(|own| own.strong_count() > 0);
        own.push(Arc::downgrade(endpoint));
    });
}

/// Has a thread of this process wait for what `look` returns, from now on until the stream is closed here. If the thread runs, it
/// looks again.
pub(crate) fn watch(endpoint: &Arc<Endpoint>, look: Look) {
    if endpoint.side != 0 {
        return;
    }
    let is_new = endpoint.watch_peers(|| {
        let watch = endpoint.watch_own().ok()??;
        let (weak, serving) = (Arc::downgrade(endpoint), endpoint.serving.clone());
        // Kept as long as its doorbell is polled.
        let mut peer = None;
        let serve = move || {
            let round = std::panic::AssertUnwindSafe(|| round(&weak, look, &mut peer));
            let round = || std::panic::catch_unwind(round).unwrap_or(None);
            serving.try_with(|()| round()).unwrap_or_else(|| Some(Sleep::after(REST)))
        };
        Watcher::start(watch, serve).ok()
    });
    if !is_new {
        // A sleeper whose nudge fails looks when its peer hangs up.
        let _ = endpoint.doorbell().nudge_own();
    }
}

/// One round of the thread. None: the stream is closed here.
fn round(endpoint: &Weak<Endpoint>, look: Look, kept: &mut Option<Arc<Peer>>) -> Option<Sleep> {
    let mut handle = Handle::on(endpoint.upgrade()?);
    handle.end.helps = true;
    handle.end.after.forget();
    let looked = looked(&mut handle, look);
    drop(handle);
    if endpoint.strong_count() == 0 {
        return None;
    }
    let Ok((peer, again)) = looked else { return Some(Sleep::after(REST)) };
    let mut sleep = again.map_or_else(Sleep::default, Sleep::after);
    // Events of 0: the hang-up alone wakes.
    sleep.files[0] = peer.as_ref().map(|peer| (peer.number(), 0));
    *kept = peer;
    Some(sleep)
}

fn looked(handle: &mut Handle, look: Look) -> Result<(Option<Arc<Peer>>, Option<Duration>)> {
    handle.attach()?;
    handle.set_limit_until(now_ns() + REST.as_nanos() as u64);
    handle.run(true, |run| {
        let at = run.chain.len().checked_sub(1).ok_or_else(|| fixed!(Proto, "the stream has no driver"))?;
        look(&mut Queue { run, at })
    })
}
