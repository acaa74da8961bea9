//! An end of a stream in a process: the state that all of its threads share. Dropping it closes the end here.

#[cfg(feature = "tokio")]
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(feature = "tokio")]
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use headwater_os::attendant::Attendant;
use headwater_os::clock::now_ns;
use headwater_os::descriptors;
use headwater_os::doorbell::{Doorbell, OwnWatch};
use headwater_os::fork;
use headwater_os::fork_mutex::ForkMutex;
use headwater_os::futex;
use headwater_os::hangup::HangupWatch;
use headwater_os::watcher::Watcher;
use headwater_shm::probe;

use super::beyond::PartnerStream;
use super::driver_files::DriverFiles;
use super::end::{Access, HANGUP_TOLD};
use super::instances::MinorLock;
use super::listeners::{self, SignalEvents};
use super::name::Name;
use super::opened::{Opened, Remains};
use super::region::Region;
use super::sleep::{self, LOOK};
use super::witness::Witness;
use crate::counters::Counters;
use crate::events::WaitSide;
use crate::layout::EndWords;

/// How long a close waits for other threads' calls, which it has woken: as long as a busy machine may keep a thread from a CPU.
const CALLS_NS_MAX: u64 = 2_000_000_000;
/// The same in a forked child, which may count calls of its parent's threads; longer than a reader without a watch sleeps.
const CHILD_CALLS_NS_MAX: u64 = 50_000_000;
/// How long it sleeps between two looks for them.
const CALLS_NAP: Duration = Duration::from_micros(20);

/// An end. 0 and 1 are alike in a pipe, where 0 is the first of the pair; in a FIFO 0 writes and 1 reads.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub region: Region,
    /// 0 or 1. Direction 0 leads from end 0 to end 1.
    pub side: usize,
    /// None once it is closed.
    doorbell: Option<Doorbell>,
    pub access: Access,
    /// Of a device: the other end of the doorbell, by which the driver notifies our own end. None once it is closed.
    far: Option<Doorbell>,
    /// Of a FIFO: its node in the file system, which is not reused while we hold it.
    node: OnceLock<OwnedFd>,
    /// Of a device that others find by name: the lock of its minor number.
    minor: OnceLock<MinorLock>,
    /// Of a device that others find by name: the thread that hands it to them. A lock that another thread holds when the
    /// process is forked stays locked in the child, so no thread waits for it.
    attendant: Mutex<Option<Attendant>>,
    /// The name under which they find it.
    name: OnceLock<Name>,
    /// What it keeps because of how it was opened. A plain pipe has none.
    opened: OnceLock<Box<dyn Opened>>,
    /// The thread that waits for the end of the partner's last process.
    partner_watch: Mutex<Option<HangupWatch>>,
    /// Of a device whose driver pairs streams: what shows the last close. None once it is closed.
    witness: Option<Witness>,
    /// Of a device: its driver's open files, if it has any.
    files: Option<DriverFiles>,
    /// The thread that serves these files while this process polls the descriptor.
    watcher: Mutex<Option<Watcher>>,
    /// Of a transport's endpoint: the thread that waits for the end of a peer's last process.
    peer_watcher: Mutex<Option<Watcher>>,
    /// Locked by that thread, or the one of the driver's files, from before it has the endpoint, whose last user it may be, until it
    /// has it no more. A thread that finds it locked does not wait: the other one may be closing the endpoint, for which this one must
    /// end.
    pub serving: Arc<ForkMutex<()>>,
    /// Whether `far` was given up: the partner's processes alone have it.
    is_far_given: AtomicBool,
    /// Whether calls through a [`crate::Stream`] fail rather than wait.
    pub nonblocking: AtomicBool,
    /// The end was closed while clones of it were left. Set once.
    closed: Arc<AtomicBool>,
    /// The listeners that are notified of a close while clones are left.
    #[cfg(feature = "tokio")]
    on_close: ForkMutex<Vec<Weak<dyn OnClose>>>,
    /// Threads that sleep on the doorbell, or are about to. In a forked child it counts the parent's, too.
    sleepers: AtomicU32,
    /// The process that has made the value, by its fork epoch.
    epoch: u64,
}

/// A holder of another descriptor of the end, which is notified when the end is closed while clones of it are left. A forked child
/// has copies of its parent's holders, which only the parent may use.
#[cfg(feature = "tokio")]
pub(crate) trait OnClose: fmt::Debug + Send + Sync {
    /// Closes that descriptor, and ends the waits on it.
    fn end_is_closed(&self);
}

impl Endpoint {
    pub fn new(region: Region, side: usize, doorbell: Doorbell, access: Access) -> Endpoint {
        Endpoint {
            region,
            side,
            doorbell: Some(doorbell),
            access,
            far: None,
            node: OnceLock::new(),
            minor: OnceLock::new(),
            attendant: Mutex::new(None),
            name: OnceLock::new(),
            opened: OnceLock::new(),
            partner_watch: Mutex::new(None),
            witness: None,
            files: None,
            watcher: Mutex::new(None),
            peer_watcher: Mutex::new(None),
            serving: Arc::default(),
            is_far_given: AtomicBool::new(false),
            nonblocking: AtomicBool::new(false),
            closed: Arc::default(),
            #[cfg(feature = "tokio")]
            on_close: ForkMutex::default(),
            sleepers: AtomicU32::new(0),
            epoch: fork::epoch(),
        }
    }

    pub fn doorbell(&self) -> &Doorbell {
        self.doorbell.as_ref().expect("taken when the endpoint is dropped, and then used no more")
    }

    /// The user's end of a stream that ends in a driver.
    pub fn of_device(
        region: Region,
        doorbell: Doorbell,
        far: Doorbell,
        files: Option<DriverFiles>,
        witness: Option<Witness>,
        opened: Box<dyn Opened>,
    ) -> Endpoint {
        let mut endpoint = Endpoint::new(region, 0, doorbell, Access::Both);
        (endpoint.far, endpoint.files, endpoint.witness) = (Some(far), files, witness);
        endpoint.opened = opened.into();
        endpoint
    }

    /// The driver's place of a stream that ends there.
    pub fn in_drivers_place(region: Region, far: Doorbell, files: Option<DriverFiles>) -> Endpoint {
        let mut endpoint = Endpoint::new(region, 1, far, Access::Both);
        endpoint.files = files;
        endpoint
    }

    /// The open files of the driver.
    pub fn files(&self) -> Option<&DriverFiles> {
        self.files.as_ref()
    }

    /// A watch that reports actions of other handles of the end, and changes of a driver's requests. None over a pipe.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn watch_own(&self) -> io::Result<Option<OwnWatch>> {
        let Some(watch) = self.doorbell().watch_own()? else { return Ok(None) };
        if let Some(files) = &self.files {
            files.shared().add_to(&watch)?;
        }
        Ok(Some(watch))
    }

    /// Starts serving these files in the background. A forked child, which has none of its parent's threads, starts
    /// one.
    pub fn watch_by(&self, start: impl FnOnce() -> Option<Watcher>) {
        self.start_here(&self.watcher, Watcher::is_here, start);
    }

    /// Starts a thread of this process, unless it runs or the end is closed here.
    fn start_here<T>(&self, slot: &Mutex<Option<T>>, is_here: fn(&T) -> bool, start: impl FnOnce() -> Option<T>) {
        if let Ok(mut thread) = slot.try_lock()
            && !thread.as_ref().is_some_and(is_here)
            && !self.is_closed()
        {
            *thread = start();
        }
    }

    /// Of a device: the doorbell that rings at our own end.
    pub fn far(&self) -> Option<&Doorbell> {
        self.far.as_ref().filter(|_| !self.is_far_given.load(Ordering::Acquire))
    }

    /// Gives up the other end of the doorbell, which the partner's processes have now, and lets no other process in any
    /// more.
    pub fn give_far_up(&self) {
        if let Ok(mut attendant) = self.attendant.try_lock() {
            *attendant = None;
        }
        if let Some(far) = &self.far
            && !self.is_far_given.swap(true, Ordering::AcqRel)
        {
            // Its number stays taken, for threads that use it at this moment.
            let _ = far.give_up(self.region.as_fd());
        }
    }

    /// The other one of two streams.
    pub fn partner(&self) -> Option<&dyn PartnerStream> {
        self.opened()?.partner()
    }

    /// What it keeps because of how it was opened.
    pub fn opened(&self) -> Option<&dyn Opened> {
        self.opened.get().map(|opened| &**opened)
    }

    /// As [`Endpoint::opened`], where something is to be added.
    pub fn opened_or(&self, make: impl FnOnce() -> Box<dyn Opened>) -> &dyn Opened {
        &**self.opened.get_or_init(make)
    }

    /// Where the cookie of a partner comes to stand that this process has not met.
    pub fn partner_to_come(&self) -> Option<&AtomicU64> {
        let awaits = self.region.driver.is_some_and(|driver| driver.info().pairs);
        (awaits && self.side == 0 && self.partner().is_none()).then_some(&self.region.fixed.device.partner)
    }

    /// Has the thread started that waits for the end of the partner's last process, unless it runs. A forked child has no thread
    /// of its parent's, and starts one.
    pub fn watch_for_hangup(&self, start: impl FnOnce(&Doorbell) -> Option<HangupWatch>) {
        self.start_here(&self.partner_watch, HangupWatch::is_here, || start(self.doorbell()));
    }

    /// Has the thread started that waits for the end of peers. False if it runs.
    pub fn watch_peers(&self, start: impl FnOnce() -> Option<Watcher>) -> bool {
        let mut is_new = false;
        self.start_here(&self.peer_watcher, Watcher::is_here, || {
            is_new = true;
            start()
        });
        is_new
    }

    /// Of a device that others find by name: the lock of its minor number.
    pub fn lock(&self) -> Option<&MinorLock> {
        self.minor.get()
    }

    /// Of a FIFO: its node in the file system.
    pub fn node(&self) -> Option<&OwnedFd> {
        self.node.get()
    }

    /// Where others find it.
    pub fn name(&self) -> Option<&Name> {
        self.name.get()
    }

    /// The name and the number as which a device is opened.
    pub fn opened_as(&self) -> Option<(&'static str, u32)> {
        let minor = self.region.fixed.device.minor.load(Ordering::Relaxed);
        self.region.driver.map(|driver| driver.info().name_of(minor))
    }

    pub fn words(&self) -> &EndWords {
        &self.region.fixed.ends[self.side].0
    }

    /// A FIFO's node. The first one stays.
    pub fn hold_node(&self, node: OwnedFd) {
        // A second one would be another descriptor of the same file.
        let _ = self.node.set(node);
    }

    /// A device's minor number. The first one stays.
    pub fn hold_minor(&self, minor: MinorLock) {
        let _ = self.minor.set(minor);
    }

    /// Whether this is an end of a FIFO, whose other end may come again.
    pub fn is_fifo(&self) -> bool {
        self.access != Access::Both
    }

    /// Lets processes in that open the device by name.
    pub fn attend(&self, attendant: Attendant, name: Name) {
        self.set_name(name);
        if let Ok(mut current) = self.attendant.try_lock() {
            *current = Some(attendant);
        }
    }

    /// Notes where others find the device. The first one stays.
    pub fn set_name(&self, name: Name) {
        let _ = self.name.set(name);
    }

    /// After a fork: starts the child's own threads that let other processes in, which it does not have yet.
    pub fn keep_here(&self) {
        if let Ok(mut current) = self.attendant.try_lock()
            && let Some(attendant) = current.take()
        {
            *current = attendant.here().ok();
        }
        if let Some(opened) = self.opened() {
            opened.keep_here(self);
        }
    }

    /// The flag that the end is closed, for calls that wait for locks.
    pub fn cancel(&self) -> Arc<AtomicBool> {
        self.closed.clone()
    }

    /// Whether [`Endpoint::announce_close`] was called.
    #[inline]
    pub fn is_closed(&self) -> bool {
        // Acquire pairs with the Release in `announce_close`, by way of the count of closes as well.
        self.closed.load(Ordering::Acquire)
    }

    /// From now on calls of this process fail. Those that wait see the count of closes change, once they are woken.
    /// False if it was called before.
    pub fn announce_close(&self) -> bool {
        // SeqCst: a sleeper that is not counted yet sees this in `fall_asleep`.
        let first = !self.closed.swap(true, Ordering::SeqCst);
        self.words().closes.fetch_add(1, Ordering::AcqRel);
        first
    }

    /// Registers a listener for a close.
    #[cfg(feature = "tokio")]
    pub fn tell_of_close(&self, whom: Weak<dyn OnClose>) {
        self.on_close.with(|on_close| {
            on_close.retain(|other| other.strong_count() > 0);
            on_close.push(whom);
        });
    }

    /// After [`Endpoint::announce_close`]: notifies the listeners.
    #[cfg(feature = "tokio")]
    pub fn end_futures(&self) {
        let on_close = self.on_close.with(std::mem::take);
        on_close.iter().filter_map(Weak::upgrade).for_each(|whom| whom.end_is_closed());
    }

    /// Counts a sleeper on the doorbell, which checks afterwards whether the end is closed.
    pub fn fall_asleep(&self) -> Asleep<'_> {
        // SeqCst pairs with `announce_close`: either the closer finds the sleeper, or the sleeper the close.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Asleep(&self.sleepers)
    }

    /// After [`Endpoint::announce_close`]: waits until no call is under way that may still write, and no thread sleeps
    /// on the doorbell: the kernel then closes the end when the descriptor is replaced, and the other end finds it gone
    /// after all written data.
    /// Not for ever: a call's thread may be stopped, and in a child a sleeper may be the parent's.
    pub fn wait_for_calls(&self, under_way: impl Fn() -> bool) {
        let is_child = !fork::word().is(self.epoch);
        let until_ns = now_ns() + if is_child { CHILD_CALLS_NS_MAX } else { CALLS_NS_MAX };
        while (self.sleepers.load(Ordering::SeqCst) > 0 || under_way()) && now_ns() < until_ns {
            // A thread that is about to sleep has counted itself after the first check.
            let _ = self.doorbell().nudge_own();
            let _ = futex::nap(CALLS_NAP);
        }
    }

    /// Closes the end here and tells the other end, while clones of it are left.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor: then the end is closed when the last clone is dropped.
    pub fn close(&self) -> io::Result<()> {
        if let Ok(mut attendant) = self.attendant.try_lock() {
            *attendant = None;
        }
        drop(taken(&self.watcher));
        drop(taken(&self.peer_watcher));
        drop(taken(&self.partner_watch));
        if let Some(opened) = self.opened() {
            opened.close();
        }
        let is_last = self.end_registrations();
        self.doorbell().close()?;
        self.tell_closed(is_last);
        Ok(())
    }

    /// Notifies the waiters at the other end. The descriptor was closed before: a process that reads these words asks
    /// the kernel and finds the end gone.
    fn tell_closed(&self, is_last: bool) {
        probe::at();
        let fixed = &self.region.fixed;
        fixed.ends[self.side].0.closes.fetch_add(1, Ordering::AcqRel);
        for side in [&fixed.lanes[self.side].writer.0, &fixed.lanes[1 - self.side].reader.0] {
            side.sleep.fetch_or(LOOK, Ordering::AcqRel);
            probe::at();
        }
        for (side, writes) in [(&fixed.lanes[self.side].reader.0, false), (&fixed.lanes[1 - self.side].writer.0, true)]
        {
            // The kernel wakes the sleepers on the doorbell.
            let wait_side = WaitSide { stream: self.region.inode, end: 1 - self.side, writes };
            sleep::wake_on_futex(side, wait_side, &mut Counters::default());
        }
        if is_last && fixed.ends[self.side].0.shut.fetch_or(HANGUP_TOLD, Ordering::AcqRel) & HANGUP_TOLD == 0 {
            listeners::signal(&self.region, 1 - self.side, SignalEvents::HANGUP);
        }
    }

    /// Before the descriptor is closed: ends this process's registrations for signals, if it has no other descriptor of the end.
    /// Returns whether the other end is to be sent S_HANGUP: of a pipe, when no other process has the end, as far as is known.
    /// A process that has a copy of the descriptor and has not used it is not seen.
    fn end_registrations(&self) -> bool {
        let peer = &self.region.fixed.ends[1 - self.side].0;
        let is_registered = listeners::is_registered(&self.region, self.side);
        let is_awaited =
            self.access == Access::Both && peer.listened.load(Ordering::Acquire) & SignalEvents::HANGUP.bits() != 0;
        // Asking takes some time, and the answer seldom matters.
        if !is_registered && !is_awaited || descriptors::has_copy(self.doorbell().as_fd()) {
            return false;
        }
        if is_registered {
            listeners::forget(&self.region, self.side);
        }
        is_awaited && !self.region.is_used_by_another(self.side)
    }

    /// All of the end's descriptors: the doorbell first, then the memory, then a FIFO's node, or of a device the file of its
    /// number, the other doorbell or in its place the partner's memory and doorbell, the witness and the driver's shared files.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let far = self.far();
        let partner = self.partner().filter(|_| far.is_none()).and_then(PartnerStream::descriptors);
        [self.doorbell().as_fd(), self.region.as_fd()]
            .into_iter()
            .chain(self.node.get().map(AsFd::as_fd))
            .chain(self.minor.get().map(AsFd::as_fd))
            .chain(far.map(AsFd::as_fd))
            .chain(partner.into_iter().flatten())
            .chain(self.witness.iter().flat_map(Witness::descriptors))
            .chain(self.files.iter().flat_map(DriverFiles::descriptors))
    }
}

/// The end of a use of an endpoint that is served by threads, dropped behind the endpoint: if one of its threads, which wait for peers and for a driver's
/// files, was the last user, the endpoint is closed there, and this waits for that. So what the endpoint has had is free when it was dropped.
#[derive(Debug)]
pub(crate) struct AfterUse(Option<Arc<ForkMutex<()>>>);

impl AfterUse {
    pub fn of(endpoint: &Endpoint) -> AfterUse {
        let info = endpoint.region.driver.map(|driver| driver.info());
        let is_served = info.is_some_and(|info| info.has_peers || info.has_files());
        AfterUse((is_served && endpoint.side == 0).then(|| endpoint.serving.clone()))
    }

    /// Of the threads that serve the endpoint.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}

impl Drop for AfterUse {
    fn drop(&mut self) {
        if let Some(serving) = &self.0 {
            serving.with(|()| {});
        }
    }
}

/// Takes a thread out of its place, to be dropped without the lock: it may be in the middle of a call on this end.
fn taken<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.try_lock().ok().and_then(|mut thread| thread.take())
}

/// A thread that sleeps on the doorbell.
#[derive(Debug)]
pub(crate) struct Asleep<'e>(&'e AtomicU32);

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        *self.partner_watch.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        *self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        *self.peer_watcher.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(opened) = self.opened.get_mut() {
            opened.end_threads();
        }
        // The attendant has copies of the descriptors. A device's minor number is locked until its stream is closed.
        *self.attendant.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        drop(self.node.take());
        if self.far.is_none() {
            drop(self.minor.take());
        }
        let is_last = !self.is_closed() && self.end_registrations();
        self.doorbell = None;
        self.tell_closed(is_last);
        if let Some(far) = self.far.take() {
            if let Some(opened) = self.opened() {
                opened.close_dead_partner(self);
            }
            let witness = self.witness.take().map_or(far, Witness::into_far);
            let (files, lock, name) = (self.files.take(), self.minor.get(), self.name.get());
            if let Some(opened) = self.opened.get_mut() {
                opened.close_last(Remains { region: self.region.clone(), witness, lock, name, files });
            }
        }
    }
}
