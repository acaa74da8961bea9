//! What a traced process has to do with sessions: it joins the one that its environment names, or those that come to it, and
//! writes the records of its events there.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use headwater_os::rseq::{Appended, SHORT};
use headwater_os::{clock, fork, rseq, thread, ticks};
use headwater_shm::logs::{OfCpu, WhenFull};

use crate::event::{Event, THREAD, Words};
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
/// The session that is current, plus one; 0: none.
static CURRENT: AtomicU32 = AtomicU32::new(0);
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
    number: u32,
}

/// No session has this number.
const NOBODY: u32 = u32::MAX;

/// The session of events that are wanted and have no place in the session: each is counted as lost. No session has this number
/// either; it fits into [`Event`]'s state.
const NOWHERE: u32 = 0xf0;
const _: () = assert!(SESSIONS < NOWHERE as usize);

// What a thread knows since it last wrote; apart, because each is read by a load of its own.
thread_local! {
    /// The log of the CPU on which it was.
    static HERE: Cell<Option<&'static Here>> = const { Cell::new(None) };
    /// The session that it has greeted.
    static NUMBER: Cell<u32> = const { Cell::new(NOBODY) };
    /// The thread's id.
    static ID: Cell<u32> = const { Cell::new(0) };
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
        && CURRENT.load(Ordering::Acquire) == 0
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
    // A sequence stamps with the counter; no other clock can be read in it.
    let sequences = tsc && !own_logs && rseq::is_available();
    if sequences {
        region.populate()?;
    }
    static IN_CHILDREN: OnceLock<bool> = OnceLock::new();
    if !IN_CHILDREN.get_or_init(|| fork::in_children(forget_thread).is_ok()) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let Some(number) = (0..SESSIONS).find(|number| JOINED[*number].get().is_none()) else {
        return Err(io::Error::new(io::ErrorKind::QuotaExceeded, format!("this process was in {SESSIONS} sessions")));
    };
    let here = |cpu| Some(Here { log: region.cpus.of_cpu(cpu)?, number: number as u32 });
    let here = if sequences { (0..region.cpus.len()).filter_map(here).collect() } else { Vec::new() };
    // A thread that has no CPU's log, because its processor came later or a signal handler is early, needs one as well.
    let own = own::all(&region.threads, number as u32, tsc);
    let overwrites = region.cpus.when_full() == WhenFull::Overwrite;
    let greeted_at = (overwrites && region.enter(THREAD, thread_is::EVENT.fields).is_some()).then_some(if tsc {
        ticks::now as fn() -> u64
    } else {
        clock::now_ns
    });
    let session = JOINED[number].get_or_init(|| Session { region, here, own, greeted_at });
    CURRENT.store(number as u32 + 1, Ordering::Release);
    switch_all(|event| session.place_of(event, number as u32));
    changed();
    Ok(())
}

/// Leaves the session: no event is recorded any more.
pub fn leave() {
    CURRENT.store(0, Ordering::Release);
    switch_all(|_| None);
    changed();
}

/// Whether an event of that name would be recorded now.
pub fn wants(name: &str) -> bool {
    let session = CURRENT.load(Ordering::Acquire).checked_sub(1).and_then(joined);
    session.is_some_and(|session| session.region.wants(name))
}

/// Tells those who have asked before what is recorded.
fn changed() {
    #[cfg(feature = "tracing")]
    crate::tracing::ask_again();
}

fn switch_all(on: impl Fn(&'static Event) -> Option<(u32, u32)>) {
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
    let session = CURRENT.load(Ordering::Acquire).checked_sub(1);
    event.switch(session.and_then(|number| joined(number)?.place_of(event, number)));
}

/// Counts an event that cannot be written.
pub(crate) fn count_lost() {
    if let Some(number) = CURRENT.load(Ordering::Acquire).checked_sub(1) {
        count_outside(number);
    }
}

/// Counts an event of that session that was written to no log.
#[cold]
#[inline(never)]
fn count_outside(number: u32) {
    if let Some(session) = joined(number) {
        session.region.header.outside.fetch_add(1, Ordering::Relaxed);
    }
}

/// In a forked child: its thread has another id than the one whose memory it has.
extern "C" fn forget_thread() {
    let _ = NUMBER.try_with(|number| number.set(NOBODY));
    let _ = HERE.try_with(|here| here.set(None));
    own::forget();
}

/// Writes a record of so many of the words, which are whole but for the stamp and the thread's id; that goes to the upper
/// half of the second one.
#[inline(always)]
pub(crate) fn write<const N: usize>(number: u32, words: &mut Words<N>, used: usize) {
    if let Some(here) = HERE.get()
        && here.number == number
    {
        words[1] |= u64::from(ID.get()) << 32;
        // Few words stay in registers, because nobody but what is rare sees their address.
        let appended =
            if N <= SHORT { here.log.append(&{ *words }[..used.min(SHORT)]) } else { here.log.append(&words[..used]) };
        match appended {
            Appended::Written => return,
            Appended::Lost => return refused(number),
            Appended::Elsewhere => words[1] &= u64::from(u32::MAX),
        }
    }
    if let Some(own) = own::current(number) {
        words[1] |= u64::from(ID.get()) << 32;
        return if N <= SHORT {
            own.append_now(&{ *words }[..used.min(SHORT)])
        } else {
            own.append_now(&words[..used])
        };
    }
    write_anew(number, &mut { *words }[..used]);
}

/// As [`write`], of words that are all used.
pub(crate) fn write_made(number: u32, words: &mut [u64]) {
    if let Some(here) = HERE.get()
        && here.number == number
    {
        words[1] |= u64::from(ID.get()) << 32;
        match here.log.append(words) {
            Appended::Written => return,
            Appended::Lost => return refused(number),
            Appended::Elsewhere => words[1] &= u64::from(u32::MAX),
        }
    }
    if let Some(own) = own::current(number) {
        words[1] |= u64::from(ID.get()) << 32;
        return own.append_now(words);
    }
    write_anew(number, words);
}

/// Writes a record of a thread that is new here, or has been moved, or has no CPU's log.
#[cold]
#[inline(never)]
fn write_anew(number: u32, words: &mut [u64]) {
    let Some(session) = joined(number) else { return count_lost() };
    if NUMBER.get() != number {
        greet(number);
    }
    words[1] |= u64::from(ID.get()) << 32;
    // Each turn but the last one, somebody has moved us meanwhile.
    while let Some(here) = rseq::cpu().and_then(|cpu| session.here.get(cpu as usize)) {
        HERE.set(Some(here));
        match here.log.append(words) {
            Appended::Written => return,
            Appended::Lost => return refused(number),
            Appended::Elsewhere => {}
        }
    }
    own::claim_and_append(&session.own, number, words);
}

/// An entry found no room, which is counted. If the session is over, none will. May be in a signal handler.
#[cold]
#[inline(never)]
fn refused(number: u32) {
    if joined(number).is_some_and(|session| session.region.header.state.load(Ordering::Relaxed) == OVER)
        && CURRENT.compare_exchange(number + 1, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    {
        switch_all(|_| None);
        #[cfg(feature = "tracing")]
        crate::tracing::is_over();
    }
}

/// The first record of this thread in a session: says who it is.
#[cold]
#[inline(never)]
fn greet(number: u32) {
    NUMBER.set(number);
    ID.set(thread::id());
    let (mut name, pid) = ([0; 16], std::process::id());
    let name = thread::name(&mut name);
    let noted = joined(number)
        .is_some_and(|session| session.greeted_at.is_some_and(|now| session.region.greet(now(), ID.get(), pid, name)));
    if !noted {
        thread_is(pid, name);
    }
}

#[inline(always)]
fn joined(number: u32) -> Option<&'static Session> {
    JOINED.get(number as usize)?.get()
}

crate::events! {
    /// A thread has written its first record.
    thread_is("headwater:thread") { pid: u32, name: &str }
}

impl Session {
    /// Where an event goes from now on, as [`Event::switch`] takes it; None if it is not wanted.
    fn place_of(&self, event: &Event, number: u32) -> Option<(u32, u32)> {
        if !self.region.wants(event.name) && event.name != THREAD {
            return None;
        }
        let id = self.region.enter(event.name, event.fields);
        Some(id.map_or((NOWHERE, 0), |id| (number, id)))
    }
}
