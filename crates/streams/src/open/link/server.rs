//! The thread that takes what comes up from below a multiplexer while no process calls: one in each process that has the upper stream
//! open and streams linked below it. It sleeps at the doorbells of the lower streams, as a program that polls them would.
//!
//! It has an endpoint of its own of the upper stream, so that it never keeps that open, and holds nothing of a lower stream while it
//! sleeps: what a thread holds when another one forks, the child has for ever.

use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::doorbell::Doorbell;
use headwater_os::epoll::{Interest, Ready, Set, Waker};
use headwater_os::fork::{self, Epoch};
use headwater_os::own_numbers;
use headwater_os::thread::Thread;
use headwater_shm::Limit;

use super::{FOR_ROOM, FOR_ROOM_ABOVE, KnownLinks, Link, Links};
use crate::error::{Errno, Error, Result};
use crate::head::claim;
use crate::head::handle::Handle;
use crate::open::kept::Kept;
use crate::process::driver_files::DriverFiles;
use crate::process::end::Role;
use crate::process::endpoint::Endpoint;

/// How often it looks at what it is not told of: another process that serves the same links was killed before it had done so.
const WATCH: Duration = Duration::from_secs(1);
/// How often it looks at a lower stream that it cannot sleep at, because what is there cannot go up, or is in another's hands.
const AGAIN: Duration = Duration::from_millis(20);
/// How long it sleeps at least until a time at a lower stream.
const SOON: Duration = Duration::from_millis(1);
/// The number of the waker among the lower streams, which have their mux ids.
const WAKER: u64 = 0;

/// The thread, until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    thread: Option<Thread>,
    /// The process that the thread is of: a forked child has none.
    epoch: u64,
    epoch_word: Epoch,
}

/// What the thread and the threads that wake it share.
#[derive(Debug)]
pub(crate) struct Shared {
    waker: Waker,
    stops: AtomicBool,
}

impl Shared {
    /// Has it look at the links.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

impl Server {
    pub fn start(upper: &Endpoint, links: &Arc<Links>) -> Result<Server> {
        let copy = |doorbell: &Doorbell| {
            let copy = own_numbers::copy(doorbell.as_fd())?;
            Doorbell::from_fd(copy).map_err(Error::from)
        };
        let far = upper.far().ok_or_else(|| Error::new(Errno::Inval, "a stream with a partner is no multiplexer"))?;
        let files = upper.files().map(DriverFiles::try_clone).transpose()?;
        let endpoint = Endpoint::of_device(
            upper.region.clone(),
            copy(upper.doorbell())?,
            copy(far)?,
            files,
            None,
            Box::new(Kept::default()),
        );
        let (endpoint, set) = (Arc::new(endpoint), Set::new()?);
        let shared = Arc::new(Shared { waker: Waker::new()?, stops: AtomicBool::new(false) });
        set.watch(shared.waker.as_fd(), WAKER, Interest { to_read: true, to_write: false })?;
        let (weak, waker, own) = (Arc::downgrade(links), shared.clone(), endpoint.clone());
        let thread = Thread::start(move || run(&waker, &weak, own, &set))?;
        shared.wake();
        let (epoch, epoch_word) = (fork::epoch(), fork::word());
        Ok(Server { shared, endpoint, thread: Some(thread), epoch, epoch_word })
    }

    /// Whether it is of this process.
    pub fn is_here(&self) -> bool {
        self.epoch_word.is(self.epoch)
    }

    pub fn wake(&self) {
        self.shared.wake();
    }

    pub fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.epoch_word.is(self.epoch) {
            self.shared.stops.store(true, Ordering::Release);
            self.shared.wake();
            thread.join();
            return;
        }
        // The parent's: its thread has a copy of the endpoint here too, which is never dropped.
        let memory = self.endpoint.region.as_fd();
        let _ = self.endpoint.doorbell().give_up(memory);
        self.endpoint.give_far_up();
    }
}

fn run(shared: &Shared, links: &Weak<Links>, endpoint: Arc<Endpoint>, set: &Set) {
    let mut upper = Handle::on(endpoint);
    upper.end.role = Role::Server;
    let mut watch_ns = 0;
    while !shared.stops.load(Ordering::Acquire) {
        shared.waker.clear();
        // A child that is forked meanwhile must not keep what the round holds. A procedure of the driver that panics has been
        // reported on the process's standard error.
        let round = fork::held_off(|| {
            let links = links.upgrade()?;
            Some(catch_unwind(AssertUnwindSafe(|| round(&mut upper, &links, set, &mut watch_ns))))
        });
        let Some(round) = round else { return };
        let timeout = round.unwrap_or(AGAIN);
        match set.wait(timeout) {
            Ok(ready) => fork::held_off(|| links.upgrade().iter().for_each(|links| note(&upper, links, &ready))),
            Err(_) => std::thread::sleep(AGAIN),
        }
    }
}

/// Notes which lower streams have room, and which have ended.
fn note(upper: &Handle, links: &Links, ready: &[Ready]) {
    for link in links.all().iter().filter(|link| link.is_current(&upper.end.region)) {
        let Some(ready) = ready.iter().find(|ready| ready.number == u64::from(link.id.number())) else { continue };
        if ready.interest.to_write {
            link.waits.fetch_and(!FOR_ROOM, Ordering::AcqRel);
        }
        if ready.has_ended {
            // One that was killed has notified no thread.
            let _ = link.with(Limit::Now, |lower| lower.end.ask_for_peer());
        }
    }
}

/// Does what there is to do, and returns how long to sleep. At `watch_ns` it looks at what it is not notified of.
fn round(upper: &mut Handle, links: &Links, set: &Set, watch_ns: &mut u64) -> Duration {
    for link in links.all().iter().filter(|link| !link.is_current(&upper.end.region)) {
        // Undone by another process.
        let _ = set.forget(link.endpoint.doorbell().as_fd());
        drop(links.remove(link.id));
    }
    upper.end.lowers = Some(Box::new(KnownLinks::of_server(links)));
    // What fails here fails in the calls of the stream's users too, and is reported there.
    if upper.attach().is_err() {
        return WATCH;
    }
    let now_ns = now_ns();
    if now_ns >= *watch_ns {
        *watch_ns = now_ns + WATCH.as_nanos() as u64;
        let _ = claim::free_dead_entries(&upper.end.region);
        for link in links.all() {
            let _ = link.with(Limit::Now, Handle::serve_what_is_left);
        }
        let _ = upper.serve_what_is_left();
    }
    let _ = upper.serve_uppers();
    let _ = upper.serve_lowers();
    let mut timeout = WATCH;
    for link in links.all() {
        let due_ns = link.with(Limit::Now, Handle::serve_as_lower).ok().flatten();
        if let Some(due_ns) = due_ns {
            timeout = timeout.min(Duration::from_nanos(due_ns.saturating_sub(now_ns)).max(SOON));
        }
        if !sleep_at(&link, upper, set) {
            timeout = AGAIN;
        }
    }
    timeout
}

/// Waits for what a lower stream tells. False if it is to be looked at soon.
fn sleep_at(link: &Link, upper: &Handle, set: &Set) -> bool {
    let has_ended = link.has_ended(&upper.end.region);
    let armed = !has_ended && link.with(Limit::Now, Handle::arm_to_read).unwrap_or(false);
    if !armed && !has_ended {
        // The user that takes it up wakes this thread.
        link.waits.fetch_or(FOR_ROOM_ABOVE, Ordering::AcqRel);
    }
    let to_write = link.waits.load(Ordering::Acquire) & FOR_ROOM != 0;
    let interest = Interest { to_read: armed, to_write };
    let _ = set.watch(link.endpoint.doorbell().as_fd(), link.id.number().into(), interest);
    armed || has_ended
}
