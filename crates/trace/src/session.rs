//! What a traced process has to do with sessions: it joins the one that its environment names, or those that come to it, and
//! writes the records of its events there.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, compiler_fence, fence};
use std::sync::{Mutex, OnceLock};

use headwater_os::rseq::Appended;
use headwater_os::{clock, fork, rseq, thread, ticks};
use headwater_shm::logs::{OfCpu, WhenFull};

use crate::event::{Event, ON, THREAD};
use crate::listen;
use crate::region::{OVER, Region};

mod own;
use own::OwnLog;

/// The variable that names the memory of the session which a program joins at its first event.
pub const VARIABLE: &str = "HEADWATER_TRACE";
/// The variable that makes all threads use logs of their own, if it is `thread`: as where there are no restartable sequences.
pub const LOGS_VARIABLE: &str = "HEADWATER_TRACE_LOGS";

/// Sessions that a process can join in its life, one after the other; their memory stays mapped, because a thread may be
/// in the middle of an event.
const SESSIONS: usize = 64;
/// Events of a program.
const EVENTS: usize = 1024;

static JOINED: [OnceLock<Session>; SESSIONS] = [const { OnceLock::new() }; SESSIONS];
/// The tag of the session that is current; [`NONE`].
static CURRENT: AtomicU8 = AtomicU8::new(NONE);
static KNOWN: [OnceLock<&'static Event>; EVENTS] = [const { OnceLock::new() }; EVENTS];
static KNOWN_COUNT: AtomicUsize = AtomicUsize::new(0);

/// A session that this process has joined.
#[derive(Debug)]
struct Session {
    region: Region,
    /// By CPU; none if threads have logs of their own.
    here: Vec<Here>,
    /// Logs that threads claim.
    own: Vec<OwnLog>,
    /// What stamps events, if threads say who they are apart from logs that overwrite themselves.
    greeted_at: Option<fn() -> u64>,
}

/// A CPU's log in a session.
#[derive(Debug)]
struct Here {
    log: OfCpu,
    /// Of the session.
    tag: u8,
}

/// No session has this tag; those that there are count from [`ON`] in the order in which they were joined.
const NONE: u8 = 0;

/// The tag of events that are wanted and have no place in the session: each is counted as lost. No session has it either.
const NOWHERE: u8 = 0xff;
const _: () = assert!(SESSIONS < (NOWHERE - ON) as usize);

/// What a thread knows since it last wrote. Together, because in a shared library each look for such a value is a call.
struct ThisThread {
    /// The log of the CPU on which it was.
    here: Cell<Option<&'static Here>>,
    /// The thread's id, where records have it: in the upper half.
    id: Cell<u64>,
    /// The session that it has greeted.
    greeted: Cell<u8>,
}

thread_local! {
    static THIS: ThisThread =
        const { ThisThread { here: Cell::new(None), id: Cell::new(0), greeted: Cell::new(NONE) } };
}

/// Joins the session that the environment names, if there is one and this process has joined none; listens for tracers if it
/// says so ([`listen::VARIABLE`]). A program whose first
/// event may stand in a signal handler calls it before.
///
/// # Errors
/// What stands in the way of the session that is named, or of listening: the program can go on without.
pub fn init() -> io::Result<()> {
    // Who comes second does not wait: in a forked child there may be nobody to wait for.
    static TRIED: AtomicBool = AtomicBool::new(false);
    static FAILED: OnceLock<String> = OnceLock::new();
    let first = !TRIED.swap(true, Ordering::AcqRel);
    if first
        && let Some(path) = std::env::var_os(VARIABLE)
        && CURRENT.load(Ordering::Acquire) == NONE
        && let Err(error) = join(Path::new(&path))
    {
        let _ = FAILED.set(format!("{VARIABLE}={}: {error}", path.display()));
    }
    if first && std::env::var_os(listen::VARIABLE).is_some_and(|value| value == "1") {
        listen()?;
    }
    FAILED.get().map_or(Ok(()), |why| Err(io::Error::other(why.clone())))
}

/// Joins a session by the file that is its memory: from now on this process's events are recorded there. A session that it
/// was in before is left.
///
/// # Errors
/// What [`Region::open`] reports; `Unsupported` if the processor's counter is no clock to this process, but to the session;
/// `QuotaExceeded` after 64 sessions.
pub fn join(path: &Path) -> io::Result<()> {
    join_by(path, std::env::var_os(LOGS_VARIABLE).is_some_and(|value| value == "thread"))
}

/// As [`join`], with a log of its own for each thread, as where there are no restartable sequences.
///
/// # Errors
/// As [`join`].
pub fn join_alone(path: &Path) -> io::Result<()> {
    join_by(path, true)
}

fn join_by(path: &Path, own_logs: bool) -> io::Result<()> {
    static JOINING: Mutex<()> = Mutex::new(());
    let _one = JOINING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let region = Region::open(path)?;
    let tsc = region.clock().name == "tsc";
    // A sequence stamps with the counter; no other clock can be read in it. Pages come when they are touched: to have all
    // of them at once would take a short program longer than its own work.
    let sequences = tsc && !own_logs && rseq::is_available();
    static IN_CHILDREN: OnceLock<bool> = OnceLock::new();
    if !IN_CHILDREN.get_or_init(|| fork::in_children(forget_thread).is_ok()) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let Some(number) = (0..SESSIONS).find(|number| JOINED[*number].get().is_none()) else {
        return Err(io::Error::new(io::ErrorKind::QuotaExceeded, format!("this process was in {SESSIONS} sessions")));
    };
    let tag = ON + number as u8;
    let here = |cpu| Some(Here { log: region.cpus.of_cpu(cpu)?, tag });
    let here = if sequences { (0..region.cpus.len()).filter_map(here).collect() } else { Vec::new() };
    // A thread that has no CPU's log, because its processor came later or a signal handler is early, needs one as well.
    let own = own::all(&region.threads, tag, tsc);
    let overwrites = region.cpus.when_full() == WhenFull::Overwrite;
    let greeted_at = (overwrites && region.enter(THREAD, thread_is::EVENT.fields).is_some()).then_some(if tsc {
        ticks::now as fn() -> u64
    } else {
        clock::now_ns
    });
    let session = JOINED[number].get_or_init(|| Session { region, here, own, greeted_at });
    CURRENT.store(tag, Ordering::Release);
    switch_all(|event| session.place_of(event, tag));
    changed();
    Ok(())
}

/// Leaves the session: no event is recorded any more.
pub fn leave() {
    CURRENT.store(NONE, Ordering::Release);
    switch_all(|_| None);
    changed();
}

/// Whether an event of that name would be recorded now.
pub fn wants(name: &str) -> bool {
    let session = joined(CURRENT.load(Ordering::Acquire));
    session.is_some_and(|session| session.region.wants(name))
}

/// Tells those who have asked before what is recorded.
fn changed() {
    #[cfg(feature = "tracing")]
    crate::tracing::ask_again();
}

fn switch_all(on: impl Fn(&'static Event) -> Option<(u8, u32)>) {
    fence(Ordering::SeqCst);
    for event in KNOWN.iter().take(KNOWN_COUNT.load(Ordering::Acquire)).filter_map(OnceLock::get) {
        event.switch(on(event));
    }
}

/// An event was hit for the first time: it is recorded if the session wants it.
pub(crate) fn make_known(event: &'static Event) {
    // A session that cannot be joined is not this program's fault, and its events go nowhere.
    let _ = init();
    let number = KNOWN_COUNT.fetch_add(1, Ordering::AcqRel);
    let Some(place) = KNOWN.get(number) else {
        // Nobody could switch it off.
        event.switch(None);
        return count_lost();
    };
    let _ = place.set(event);
    loop {
        let tag = CURRENT.load(Ordering::Acquire);
        event.switch(joined(tag).and_then(|session| session.place_of(event, tag)));
        // Pairs with the one in `switch_all`: whoever has changed the session meanwhile has seen the event, or is seen here.
        fence(Ordering::SeqCst);
        if CURRENT.load(Ordering::Acquire) == tag {
            return;
        }
    }
}

/// Counts an event that cannot be written.
pub(crate) fn count_lost() {
    count_outside(CURRENT.load(Ordering::Acquire));
}

/// Counts an event of that session, if it is one, that was written to no log.
#[cold]
#[inline(never)]
fn count_outside(tag: u8) {
    if let Some(session) = joined(tag) {
        session.region.header.outside.fetch_add(1, Ordering::Relaxed);
    }
}

/// In a forked child: its thread has another id than the one whose memory it has.
extern "C" fn forget_thread() {
    let _ = THIS.try_with(|this| {
        this.greeted.set(NONE);
        this.here.set(None);
    });
    own::forget();
}

/// Writes a record of two to four words to a session's log, if nothing is in the way; if something is, nothing is done but
/// `otherwise`. The words are whole but for the stamp and the thread's id, which goes to the upper half of the second one.
#[inline(always)]
pub(crate) fn write_short<const N: usize>(tag: u8, mut words: [u64; N], otherwise: impl FnOnce()) {
    let (here, id) = THIS.with(|this| (this.here.get(), this.id.get()));
    words[1] |= id;
    if let Some(here) = here
        && here.tag == tag
    {
        here.log.append_short(words, otherwise);
    } else if let Some(own) = own::current(tag) {
        own.append_short(words, otherwise);
    } else {
        otherwise();
    }
}

/// Writes a record to a session, wherever it belongs: also of a thread that is new here, or has been moved, or has no CPU's
/// log. The words are as those of [`write_short`], but as many as there are.
pub(crate) fn write(tag: u8, words: &mut [u64]) {
    let Some(session) = joined(tag) else { return count_lost() };
    if THIS.with(|this| this.greeted.get()) != tag {
        greet(tag);
    }
    words[1] |= THIS.with(|this| this.id.get());
    // Each turn but the last one, somebody has moved us meanwhile.
    while let Some(here) = rseq::cpu().and_then(|cpu| session.here.get(cpu as usize)) {
        THIS.with(|this| this.here.set(Some(here)));
        match here.log.append(words) {
            Appended::Written => return,
            Appended::Lost => return refused(tag),
            Appended::Elsewhere => {}
        }
    }
    own::claim_and_append(&session.own, tag, words);
}

/// An entry found no room, which is counted. If the session is over, none will. May be in a signal handler.
#[cold]
#[inline(never)]
fn refused(tag: u8) {
    if joined(tag).is_some_and(|session| session.region.header.state.load(Ordering::Relaxed) == OVER)
        && CURRENT.compare_exchange(tag, NONE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    {
        switch_all(|_| None);
        #[cfg(feature = "tracing")]
        crate::tracing::is_over();
    }
}

/// The first record of this thread in a session: says who it is.
#[cold]
#[inline(never)]
fn greet(tag: u8) {
    let (id, pid, mut name) = (thread::id(), std::process::id(), [0; 16]);
    THIS.with(|this| {
        this.id.set(u64::from(id) << 32);
        // A signal handler that finds the session greeted finds the id as well.
        compiler_fence(Ordering::SeqCst);
        this.greeted.set(tag);
    });
    let name = thread::name(&mut name);
    let noted = joined(tag)
        .is_some_and(|session| session.greeted_at.is_some_and(|now| session.region.greet(now(), id, pid, name)));
    if !noted {
        thread_is(pid, name);
    }
}

#[inline(always)]
fn joined(tag: u8) -> Option<&'static Session> {
    JOINED.get(usize::from(tag.checked_sub(ON)?))?.get()
}

crate::events! {
    /// A thread has written its first record.
    thread_is("headwater:thread") { pid: u32, name: &str }
}

impl Session {
    /// Where an event goes from now on, as [`Event::switch`] takes it; None if it is not wanted.
    fn place_of(&self, event: &Event, tag: u8) -> Option<(u8, u32)> {
        if !self.region.wants(event.name) && event.name != THREAD {
            return None;
        }
        let id = self.region.enter(event.name, event.fields);
        Some(id.map_or((NOWHERE, 0), |id| (tag, id)))
    }
}
