//! Waits of a stream beside messages and room: for the files of its driver, and for times that modules and drivers have
//! asked for.
//!
//! A process that waits at a stream waits for these too, and calls the procedures of the driver and of modules when
//! they are due. The files and times may change meanwhile, in any process. So a process that is about to sleep
//! announces that (`DeviceWords::watchers`) and then reads what to wait for; a process that asks for more then checks
//! whether there are sleepers, and nudges them all.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::readiness::{self, Watched};
use headwater_os::shared_files::PLACES;
use headwater_os::watcher::{Sleep, Watcher};
use headwater_shm::{Limit, probe};

use super::Events;
use super::handle::Handle;
use crate::error::{Errno, Result};
use crate::layout::{Fixed, Slot};
use crate::plumb::queue::Queue;
use crate::process::endpoint::Endpoint;
use crate::process::sleep::Waited;

/// How long a procedure of a driver or module that is due waits for another user of the stream.
const HELD_NS: u64 = 10_000_000;

/// How long the library's thread rests when another user of the stream keeps its lock, or a procedure has failed.
const REST: Duration = Duration::from_millis(10);

/// How long a reader waits at the file alone before it waits for everything else too: for changes by a process that comes to the stream
/// meanwhile, or by a thread that closes it.
const AT_FILE_NS: u64 = 2_000_000;

/// Files that are waited for, each with bits of poll(2).
pub(super) type Wanted = [Option<(Arc<OwnedFd>, u16)>; PLACES];

/// The events at each file: bits of poll(2).
pub(super) type Ready = [u16; PLACES];

impl Handle {
    /// Whether the stream waits for more than messages and room: then a waiter must not sleep where they do not wake
    /// it.
    pub(super) fn waits_for_more(&self) -> bool {
        self.end.endpoint.files().is_some() || self.end.region.fixed.due_ns.load(Ordering::Relaxed) != 0
    }

    /// The earliest time at which a module or driver has asked to be called.
    pub(super) fn due_ns(&self) -> Option<u64> {
        Some(self.end.region.fixed.due_ns.load(Ordering::SeqCst)).filter(|due_ns| *due_ns != 0)
    }

    /// The files to wait for, from now on: a process that asks for others notifies us.
    pub(super) fn watched_files(&self) -> Result<Wanted> {
        let Some(files) = self.end.endpoint.files() else { return Ok(Wanted::default()) };
        let device = &self.end.region.fixed.device;
        device.watchers.store(1, Ordering::SeqCst);
        // Pairs with the fence in `tell_to_look`: it sees us, or we see its request.
        fence(Ordering::SeqCst);
        probe::at();
        let mut files = files.all(device)?;
        Ok(std::array::from_fn(|place| {
            let wanted = device.watched[place].load(Ordering::SeqCst) as u16 & MAY_BE_WATCHED;
            files[place].take().filter(|_| wanted != 0).map(|file| (file, wanted))
        }))
    }

    /// Has the driver read the file that its messages come from, and else waits there for a moment. So a reader that is alone with its
    /// stream asks the kernel once where something has come, and does not arm and clear its descriptor for each message. None: the caller
    /// waits for everything.
    pub(super) fn wait_at_file(&mut self, until_ns: Option<u64>) -> Result<Option<Waited>> {
        let place = self.end.region.driver.and_then(|driver| driver.info().read_place);
        let Some(place) = place.filter(|place| *place < PLACES && self.end.side == 0 && !self.nested) else {
            return Ok(None);
        };
        let region = self.end.region.clone();
        let device = &region.fixed.device;
        let watched = device.watched[place].load(Ordering::SeqCst) as u16 & MAY_BE_WATCHED;
        if watched & Events::IN.bits() == 0 {
            return Ok(None);
        }
        let mut ready = Ready::default();
        ready[place] = Events::IN.bits();
        self.serve_files(ready)?;
        if self.back.is_readable() {
            return Ok(Some(Waited::LookAgain));
        }
        let file = self.end.endpoint.files().map(|files| files.at(device, place)).transpose()?.flatten();
        // What another user of the stream delivers does not wake this one here.
        let is_alone = self.end.words().joined.load(Ordering::Relaxed) <= 1;
        let Some(file) = file.filter(|_| is_alone) else { return Ok(None) };
        if self.spins_at_file(ready)? {
            return Ok(Some(Waited::LookAgain));
        }
        let (now_ns, due_ns) = (now_ns(), self.due_ns().unwrap_or(u64::MAX));
        let end_ns = (now_ns + AT_FILE_NS).min(until_ns.unwrap_or(u64::MAX)).min(due_ns);
        let mut polled = [Watched::new(file.as_fd(), watched)];
        self.end.counters.blocks += 1;
        let (_, is_interrupted) =
            readiness::wait(&mut polled, Some(Duration::from_nanos(end_ns.saturating_sub(now_ns))))?;
        if is_interrupted {
            return Ok(Some(Waited::Interrupted));
        }
        if polled[0].ready == 0 {
            return Ok(None);
        }
        ready[place] = polled[0].ready;
        self.serve_files(ready)?;
        Ok(Some(Waited::LookAgain))
    }

    /// Has the driver read the file again and again, for as long as a wake-up by the kernel would take, if that has paid lately. The sender
    /// then wakes no sleeper. True: something has come.
    fn spins_at_file(&mut self, ready: Ready) -> Result<bool> {
        if !self.end.region.policy.stages {
            return Ok(false);
        }
        let mut stages = std::mem::take(&mut self.end.stages);
        let mut served = Ok(true);
        let spun = stages.pass_anywhere(|| {
            served = self.serve_files(ready);
            served.is_err() || self.back.is_readable()
        });
        self.end.stages = stages;
        self.end.counters.spins += u64::from(spun.is_some());
        served.map(|_| spun.is_some())
    }

    /// Calls the driver's procedure for each file with an event. False: another user of the stream is in the
    /// middle of a call, and the call must be repeated.
    pub(super) fn serve_files(&mut self, ready: Ready) -> Result<bool> {
        let Some(driver) = self.end.region.driver_link() else { return Ok(true) };
        for (place, events) in ready.into_iter().enumerate().filter(|(_, events)| *events != 0) {
            let events = Events::from_bits_retain(events & SHOWN);
            let served = self.within_limit(|handle| {
                handle.run(false, |run| driver.0.ready(place, events, &mut Queue { run, at: 0 }))
            });
            if !is_done(served)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the procedures that are due, before a call reports that there is nothing. Not from within another call on
    /// the stream.
    pub(crate) fn serve_now(&mut self) -> Result<()> {
        if self.nested || self.end.side != 0 && self.end.region.driver.is_some() {
            return Ok(());
        }
        self.serve_times()?;
        if self.end.endpoint.files().is_none() {
            return Ok(());
        }
        let wanted = self.watched_files()?;
        let ready = look(&wanted)?;
        self.serve_files(ready).map(drop)
    }

    /// Calls the timeout procedures that are due. False: another user of the stream is in the middle of a call.
    pub(crate) fn serve_times(&mut self) -> Result<bool> {
        let due = |handle: &Handle| handle.due_ns().is_some_and(|due_ns| due_ns <= now_ns());
        if !due(self) || self.nested || self.serves_times {
            return Ok(true);
        }
        self.serves_times = true;
        let served = self.serve_times_of(true).and_then(|()| self.serve_times_of(false));
        self.serves_times = false;
        settle(&self.end.region.fixed);
        is_done(served)
    }

    fn serve_times_of(&mut self, outward: bool) -> Result<()> {
        let direction = if outward { self.end.side } else { 1 - self.end.side };
        let is_due = slots(&self.end.region.fixed).any(|(slot, end)| is_over(slot, side_in(end, direction), now_ns()));
        if !is_due {
            return Ok(());
        }
        self.within_limit(|handle| {
            handle.run(outward, |run| {
                for at in 0..run.chain.len() {
                    let link = run.chain[at];
                    let word = |run: &crate::sched::Run<'_, '_>| {
                        link.words(&run.region.fixed).due_ns[link.side as usize].load(Ordering::SeqCst)
                    };
                    let due_ns = word(run);
                    if due_ns == 0 || due_ns > now_ns() {
                        continue;
                    }
                    probe::at();
                    link.module.timeout(&mut Queue { run, at })?;
                    probe::at();
                    // Afterwards, so that another calls it if we die; unless it has asked for another time.
                    let word = &link.words(&run.region.fixed).due_ns[link.side as usize];
                    let _ = word.compare_exchange(due_ns, 0, Ordering::SeqCst, Ordering::SeqCst);
                }
                Ok(())
            })
        })
    }

    /// Makes a call that waits for other users of the stream for a moment only.
    fn within_limit<T>(&mut self, call: impl FnOnce(&mut Handle) -> Result<T>) -> Result<T> {
        self.end.set_limit(Limit::Until(now_ns() + HELD_NS));
        let done = call(self);
        self.end.set_limit(self.limit());
        done
    }

    /// Called after a request for more files or events, or for an earlier time: makes all sleepers read anew what to
    /// wait for.
    #[cold]
    pub(super) fn tell_to_look(&mut self, sooner: bool) -> Result<()> {
        let region = self.end.region.clone();
        for end in &region.fixed.ends {
            end.0.looks.fetch_add(1, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        probe::at();
        if let Some(files) = self.end.endpoint.files()
            && region.fixed.device.watchers.swap(0, Ordering::SeqCst) != 0
        {
            files.shared().nudge()?;
        }
        if sooner {
            self.end.wake_readers();
            self.wake_writers()?;
            self.end.wake_own_readers();
            self.end.wake_own_writers()?;
        }
        Ok(())
    }

    /// Starts a thread that runs the due procedures of a stream with files in this process, since the caller is going
    /// to sleep outside of the library.
    pub(crate) fn serve_in_background(&mut self) {
        if !self.nested {
            self.watch_files();
        }
    }

    /// Has the library's thread serve the driver's files from now on, if it has any.
    fn watch_files(&self) {
        if self.end.endpoint.files().is_some() && self.end.side == 0 {
            self.end.endpoint.watch_by(|| start(&self.end.endpoint));
        }
    }

    /// Of a stream that is linked below, not from within another call: does what is due there, since no other call does. Returns the
    /// earliest time that is left.
    pub(crate) fn serve_as_lower(&mut self) -> Result<Option<u64>> {
        self.watch_files();
        self.nested = false;
        let served = self.serve_times();
        self.nested = true;
        served.map(|_| self.due_ns())
    }
}

/// The events of poll(2) for which a driver may wait.
const MAY_BE_WATCHED: u16 = Events::IN.union(Events::OUT).union(Events::PRI).bits();
const SHOWN: u16 = MAY_BE_WATCHED | Events::ERR.union(Events::HUP).bits();

/// False: another user of the stream is in the middle of a call, and nothing was done.
fn is_done(served: Result<()>) -> Result<bool> {
    match served {
        Err(error) if error.is_held() && error.errno() != Errno::Intr => Ok(false),
        served => served.map(|()| true),
    }
}

/// The present events at files.
fn look(wanted: &Wanted) -> Result<Ready> {
    let mut ready = [0; PLACES];
    let mut polled: Vec<Watched<'_>> = list(wanted).collect();
    if !polled.is_empty() {
        readiness::wait(&mut polled, Some(Duration::ZERO))?;
        note(wanted, &polled, &mut ready);
    }
    Ok(ready)
}

/// The files in the form for poll(2).
pub(super) fn list(wanted: &Wanted) -> impl Iterator<Item = Watched<'_>> {
    wanted.iter().flatten().map(|(file, wanted)| Watched::new(file.as_fd(), *wanted))
}

/// Stores the events at each file of [`list`].
pub(super) fn note(wanted: &Wanted, polled: &[Watched<'_>], ready: &mut Ready) {
    let places = (0..PLACES).filter(|place| wanted[*place].is_some());
    for (place, polled) in places.zip(polled) {
        ready[place] = polled.ready;
    }
}

/// All slots that may have a time, with their ends.
fn slots(fixed: &Fixed) -> impl Iterator<Item = (&Slot, usize)> {
    let modules = fixed.slots.iter().enumerate().flat_map(|(end, slots)| slots.iter().map(move |slot| (slot, end)));
    // The driver has its write side in direction 0, as the modules of end 0.
    modules.chain([(&fixed.device.driver, 0)])
}

/// The side of a module that lies in a direction: the write side in its own end's.
fn side_in(end: usize, direction: usize) -> usize {
    // As in `Side`: 0 reads, 1 writes.
    usize::from(end == direction)
}

fn is_over(slot: &Slot, side: usize, now_ns: u64) -> bool {
    let due_ns = slot.due_ns[side].load(Ordering::SeqCst);
    due_ns != 0 && due_ns <= now_ns
}

/// Finds the earliest remaining time. A module that sets one meanwhile has stored it before it reads the earliest: the
/// second look sees it, or it was noted.
fn settle(fixed: &Fixed) {
    let earliest = || {
        let times = slots(fixed).flat_map(|(slot, _)| slot.due_ns.iter()).map(|word| word.load(Ordering::SeqCst));
        times.filter(|due_ns| *due_ns != 0).min()
    };
    let known = fixed.due_ns.load(Ordering::SeqCst);
    let _ = fixed.due_ns.compare_exchange(known, earliest().unwrap_or(0), Ordering::SeqCst, Ordering::SeqCst);
    probe::at();
    if let Some(due_ns) = earliest() {
        let earlier = |known: u64| (known == 0 || due_ns < known).then_some(due_ns);
        let _ = fixed.due_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, earlier);
    }
}

/// Has the library's thread serve the files of a stream from now on.
pub(crate) fn serve_always(endpoint: &Arc<Endpoint>) {
    if endpoint.side == 0 {
        endpoint.watch_by(|| start(endpoint));
    }
}

/// Starts the thread. It keeps the stream open only while it works.
fn start(endpoint: &Arc<Endpoint>) -> Option<Watcher> {
    let watch = endpoint.watch_own().ok()??;
    let (serving, endpoint) = (endpoint.serving.clone(), Arc::downgrade(endpoint));
    // A driver's failure in here affects no call: a later call reports an error, and a panic ends the thread.
    let serve = move || {
        let serve = std::panic::AssertUnwindSafe(|| serve(&endpoint));
        let serve = || std::panic::catch_unwind(serve).unwrap_or(None);
        serving.try_with(|()| serve()).unwrap_or_else(|| Some(Sleep::after(REST)))
    };
    Watcher::start(watch, serve).ok()
}

/// One round of the thread.
fn serve(endpoint: &Weak<Endpoint>) -> Option<Sleep> {
    let mut handle = Handle::on(endpoint.upgrade()?);
    handle.end.helps = true;
    handle.end.after.forget();
    let sleep = handle.serve_and_plan();
    drop(handle);
    // It may have been the last user of the stream.
    (endpoint.strong_count() > 0).then(|| sleep.unwrap_or_else(|_| Sleep::after(REST)))
}

impl Handle {
    fn serve_and_plan(&mut self) -> Result<Sleep> {
        self.end.check_open()?;
        self.attach()?;
        let is_served = self.serve_times()?;
        let wanted = self.watched_files()?;
        let ready = look(&wanted)?;
        if !self.serve_files(ready)? || !is_served {
            return Ok(Sleep::after(REST));
        }
        if ready != [0; PLACES] {
            // Then checks for further events.
            return Ok(Sleep::after(Duration::ZERO));
        }
        let mut sleep = Sleep { until_ns: self.due_ns(), ..Sleep::default() };
        for (place, wanted) in wanted.iter().enumerate() {
            sleep.files[place] = wanted.as_ref().map(|(file, events)| (file.as_raw_fd(), *events));
        }
        Ok(sleep)
    }
}
