//! The sessions of a traced process. It joins the one that its environment names, or those to which recorders invite
//! it, and writes the records of its events there.
//!
//! A session is made by a recorder, such as `headwater trace record`: a file in memory with buffers for each CPU. The recorder
//! copies the records from there into a trace.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence};

use headwater_os::set_once::SetOnce;
use headwater_os::{clock, environment, fork, rseq, thread, thread_word, ticks};
use headwater_shm::logs::CpuWriter;

use crate::event::{Event, MODULE, MODULE_FIELDS, ON, Place, THREAD, THREAD_FIELDS, THREAD_WORDS, Value, second_word};
use crate::listen::{self, listen};
use crate::record::HEAD;
use crate::region::{EVENTS_MAX, Region};

mod mappings;
mod own;
mod turn;
mod write;

use mappings::Mappings;
use own::OwnLog;
pub(crate) use turn::is_inside;
use turn::{Taken, Turn};
pub(crate) use write::{write, write_short};

/// The environment variable that names the file of the session which a program joins at its first event.
///
/// ```
/// use std::process::Command;
///
/// # let run = || -> std::io::Result<()> {
/// Command::new("./shop").env(headwater_trace::session::VARIABLE, "/dev/shm/session").spawn()?;
/// # Ok(()) };
/// ```
pub const VARIABLE: &str = "HEADWATER_TRACE";

/// The environment variable that gives each thread a buffer of its own, if it is `thread`, in place of one for each
/// CPU. Where the kernel has no restartable sequences (rseq(2)) this is always so; there is room for 64 threads.
///
/// ```
/// assert_eq!(headwater_trace::session::LOGS_VARIABLE, "HEADWATER_TRACE_LOGS");
/// ```
pub const LOGS_VARIABLE: &str = "HEADWATER_TRACE_LOGS";

/// Sessions that a process can join in its life; their memory stays mapped, because a thread may be in the middle of an event.
pub(crate) const SESSIONS: usize = 64;
/// Sessions that a process can be in at once.
pub(crate) const AT_ONCE: usize = 4;
/// Events of a program: as many as a session can have.
const EVENTS: usize = EVENTS_MAX;

/// In the order in which they were joined. A number is used once; [`NEXT`] names the next, and only the thread with the
/// [`Turn`] changes it.
static JOINED: [OnceLock<Session>; SESSIONS] = [const { OnceLock::new() }; SESSIONS];
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The tags of the sessions that the process is in; [`NONE`]. Each keeps its place as long as it is in one.
static ACTIVE: [AtomicU8; AT_ONCE] = [const { AtomicU8::new(NONE) }; AT_ONCE];
/// Raised after each change of [`ACTIVE`].
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// All null at first: the file of a program has no room for them.
static KNOWN: [SetOnce<Event>; EVENTS] = [const { SetOnce::new() }; EVENTS];
static KNOWN_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Events that could not be written while the first session was being joined: the session counts them as lost.
static EARLY: AtomicU64 = AtomicU64::new(0);
/// Whether the environment has been read, and its session joined if possible.
static IS_INITIALISED: AtomicBool = AtomicBool::new(false);
/// Admits one thread at a time that joins or leaves.
static TURN: Turn = Turn::new();

/// A session that this process has joined.
#[derive(Debug)]
struct Session {
    region: Region,
    /// By CPU; none if threads have logs of their own.
    here: Vec<Here>,
    /// Logs that threads claim.
    own: Vec<OwnLog>,
    /// The id of the event by which a thread identifies itself, if the session has room for its kind.
    thread: Option<u32>,
    /// The clock of the stamps.
    now: fn() -> u64,
    /// The [`Region::selection`] by which events were switched last.
    seen: AtomicU32,
    /// The executable mappings that are stored in the session.
    mappings: Mappings,
}

/// A CPU's log in a session.
#[derive(Debug)]
struct Here {
    log: CpuWriter,
    /// Of the session.
    tag: u8,
}

/// No session has this tag; tags count from [`ON`] in the order in which they were joined.
const NONE: u8 = 0;

// What a thread has cached.
thread_word! {
    /// The log of the CPU on which it last ran.
    mod this_log: &'static Here = "headwater_trace_this_log_0_1_0"
}
thread_word! {
    /// The thread's id, in the upper half as in records.
    mod this_id = "headwater_trace_this_id_0_1_0"
}
thread_word! {
    /// The sessions that the thread has greeted, a bit each.
    mod greeted = "headwater_trace_greeted_0_1_0"
}
const _: () = assert!(SESSIONS <= u64::BITS as usize);

/// Joins the session that the environment names ([`VARIABLE`]), if this process has joined none yet, and lets recorders in if
/// the environment says so ([`listen::VARIABLE`]).
///
/// The first event of a process calls it, so a program needs to only if that event may stand in a signal handler (joining
/// allocates memory), or to learn of an error. Once it has succeeded, further calls do nothing.
///
/// In a process that has more rights than the one that started it (set-user-ID, set-group-ID, capabilities of its own) it
/// reads no environment variable, as secure_getenv(3) does not.
///
/// ```
/// if let Err(error) = headwater_trace::init() {
///     eprintln!("not traced: {error}");
/// }
/// ```
///
/// # Errors
/// Those of [`join_beside`] and [`listen()`](crate::listen()), with the name of the variable. The program can continue:
/// its events are not recorded. `WouldBlock` in a signal handler whose thread joins or leaves a session.
pub fn init() -> io::Result<()> {
    static FAILED: AtomicBool = AtomicBool::new(false);
    // A failed attempt is repeated, and its error reported again.
    let is_done = || IS_INITIALISED.load(Ordering::Acquire) && !FAILED.load(Ordering::Relaxed);
    if is_done() {
        return Ok(());
    }
    let turn = TURN.take().ok_or(io::ErrorKind::WouldBlock)?;
    if is_done() {
        return Ok(());
    }
    let named = environment::trusted(VARIABLE).filter(|_| active().next().is_none());
    let joined = named.map_or(Ok(()), |path| {
        let joined = join_by(&turn, Path::new(&path), wants_own_logs(), Others::Stay);
        joined.map_err(|error| io::Error::new(error.kind(), format!("{VARIABLE}={}: {error}", path.display())))
    });
    FAILED.store(joined.is_err(), Ordering::Relaxed);
    let is_first = !IS_INITIALISED.swap(true, Ordering::AcqRel);
    drop(turn);
    if is_first {
        changed();
        if environment::trusted(listen::VARIABLE).is_some_and(|value| value == "1") {
            listen()?;
        }
    }
    joined
}

/// The effect of joining on the sessions that the process is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Stay,
    Leave,
}

/// Joins a session by the file that is its memory: from now on the events of this process are recorded there. It leaves the
/// sessions that it was in before.
///
/// ```
/// use std::io::ErrorKind;
/// use std::path::Path;
///
/// let error = headwater_trace::join(Path::new("/no/such/session")).expect_err("there is no such file");
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// ```
///
/// # Errors
/// - `InvalidInput` if it is no plain file of a possible size, `PermissionDenied` if it is of another user.
/// - `InvalidData` if it is no session, or one of another version.
/// - `QuotaExceeded` if the process has joined 64 sessions in its life: their memory stays mapped.
/// - `WouldBlock` in a signal handler whose thread joins or leaves a session.
/// - What open(2), fstat(2), mmap(2), pthread_atfork(3) and pthread_key_create(3) report.
pub fn join(path: &Path) -> io::Result<()> {
    join_now(path, wants_own_logs(), Others::Leave)
}

/// As [`join`], but stays in the sessions that the process is in. Each records the events that it wants, in buffers of
/// its own. To join a session twice changes nothing.
///
/// ```
/// use std::path::Path;
///
/// let error = headwater_trace::session::join_beside(Path::new("/dev/null")).expect_err("it is no session");
/// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
/// ```
///
/// # Errors
/// Those of [`join`], and `QuotaExceeded` if the process is in 4 sessions.
pub fn join_beside(path: &Path) -> io::Result<()> {
    join_now(path, wants_own_logs(), Others::Stay)
}

/// As [`join`], with a log of its own for each thread, as where there are no restartable sequences. For measurements.
///
/// # Errors
/// Those of [`join`].
#[doc(hidden)]
pub fn join_alone(path: &Path) -> io::Result<()> {
    join_now(path, true, Others::Leave)
}

fn wants_own_logs() -> bool {
    environment::trusted(LOGS_VARIABLE).is_some_and(|value| value == "thread")
}

fn join_now(path: &Path, own_logs: bool, others: Others) -> io::Result<()> {
    let turn = TURN.take().ok_or(io::ErrorKind::WouldBlock)?;
    let joined = join_by(&turn, path, own_logs, others);
    drop(turn);
    changed();
    joined
}

fn join_by(_: &Taken<'_>, path: &Path, own_logs: bool, others: Others) -> io::Result<()> {
    let region = Region::open(path)?;
    let is_this = |session: &Session| session.region.is_same(&region);
    let is_in_it = active().find(|(_, session)| is_this(session)).map(|(tag, _)| tag);
    if others == Others::Leave {
        leave_if(|tag, _| Some(tag) != is_in_it);
    } else {
        // A program without recent events has not noticed their end.
        leave_if(|_, session| session.is_over());
    }
    if is_in_it.is_none() {
        enter(region, own_logs)?;
    }
    // Also for a session that it was in already: the parent's thread that joined it may not have got this far before
    // the fork.
    switch_all();
    Ok(())
}

/// Makes a session one of those that the process is in.
fn enter(region: Region, own_logs: bool) -> io::Result<()> {
    static IN_CHILDREN: AtomicBool = AtomicBool::new(false);
    if !IN_CHILDREN.load(Ordering::Relaxed) {
        fork::in_children(forget_thread)?;
        IN_CHILDREN.store(true, Ordering::Relaxed);
    }
    own::prepare()?;
    let full = |why: String| io::Error::new(io::ErrorKind::QuotaExceeded, why);
    let place = ACTIVE.iter().find(|place| place.load(Ordering::Relaxed) == NONE);
    let place = place.ok_or_else(|| full(format!("this process is in {AT_ONCE} sessions")))?;
    let tsc = region.clock().name == "tsc";
    // A sequence stamps with the counter; no other clock can be read in it. Pages come when they are touched: touching
    // all of them at once would cost a short program more than its own work.
    let sequences = tsc && !own_logs && rseq::is_available();
    // Before it is used: a forked child would wait for ever for a thread of its parent that was just making this one.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    if number >= SESSIONS {
        NEXT.store(SESSIONS, Ordering::Relaxed);
        return Err(full(format!("this process was in {SESSIONS} sessions")));
    }
    let tag = ON + number as u8;
    let here = |cpu| Some(Here { log: region.cpus.cpu_writer(cpu)?, tag });
    let here = if sequences { (0..region.cpus.len()).filter_map(here).collect() } else { Vec::new() };
    // A thread without a CPU's log, because its CPU was added later or a signal handler runs early, needs one as well.
    let own = own::all(&region.threads, tag, tsc);
    let thread = region.enter(THREAD, THREAD_FIELDS);
    let now = if tsc { ticks::now as fn() -> u64 } else { clock::now_ns };
    region.header.outside.fetch_add(EARLY.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    // Before the patterns are read: a change in between is noticed later.
    let seen = AtomicU32::new(region.selection());
    let _ = JOINED[number].set(Session { region, here, own, thread, now, seen, mappings: Mappings::new() });
    place.store(tag, Ordering::Release);
    Ok(())
}

/// Leaves all sessions: events are not recorded until the next is joined. What was recorded stays there.
///
/// In a signal handler whose thread joins or leaves a session it does nothing.
///
/// ```
/// headwater_trace::events! { told("shop:told") {} }
///
/// headwater_trace::leave();
/// assert!(!told::EVENT.is_recorded());
/// ```
pub fn leave() {
    // In a signal handler whose thread has the turn nothing can be done.
    if let Some(_turn) = TURN.take() {
        leave_if(|_, _| true);
        switch_all();
    }
    changed();
}

/// Leaves those sessions; the caller switches the events afterwards.
fn leave_if(which: impl Fn(u8, &Session) -> bool) {
    for place in &ACTIVE {
        let tag = place.load(Ordering::Acquire);
        if joined(tag).is_some_and(|session| which(tag, session)) {
            place.store(NONE, Ordering::Release);
        }
    }
}

/// The sessions that the process is in, with their tags.
fn active() -> impl Iterator<Item = (u8, &'static Session)> {
    ACTIVE.iter().filter_map(|place| {
        let tag = place.load(Ordering::Acquire);
        Some((tag, joined(tag)?))
    })
}

/// Whether the process is in the session of that tag.
fn is_active(tag: u8) -> bool {
    active().any(|(other, _)| other == tag)
}

/// Whether an event of that name would be recorded now.
#[cfg(feature = "tracing")]
pub(crate) fn wants(name: &str) -> bool {
    active().any(|(_, session)| session.region.wants(name))
}

/// Makes call sites of `tracing` ask again what is recorded.
fn changed() {
    #[cfg(feature = "tracing")]
    crate::tracing::ask_again();
}

/// Switches each event to its current state. May be in a signal handler.
fn switch_all() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
    // Pairs with the one in `settle`.
    fence(Ordering::SeqCst);
    KNOWN.iter().take(KNOWN_COUNT.load(Ordering::Acquire)).filter_map(SetOnce::get).for_each(settle);
}

/// Switches an event to its current state.
fn settle(event: &'static Event) {
    loop {
        let before = CHANGES.load(Ordering::Acquire);
        let mut places = [None; AT_ONCE];
        for (place, active) in places.iter_mut().zip(&ACTIVE) {
            let tag = active.load(Ordering::Acquire);
            *place = joined(tag).and_then(|session| session.place_of(event, tag));
        }
        event.switch(places, ACTIVE.iter().any(|active| active.load(Ordering::Relaxed) != NONE));
        // Pairs with the one in `switch_all`: a thread that has changed what is recorded has seen the event, or its
        // change is seen here. Of two threads that switch an event at once, each looks again after its own stores.
        fence(Ordering::SeqCst);
        if CHANGES.load(Ordering::Acquire) == before {
            return;
        }
    }
}

/// Switches all events if a session has ended or records others than before: the session of that tag, or any session for
/// a tag of none. Returns whether it has. May be in a signal handler.
#[inline]
pub(crate) fn look_again(tag: u8) -> bool {
    let has_changed = |session: &Session| session.region.selection() != session.seen.load(Ordering::Relaxed);
    let any = match joined(tag) {
        Some(session) => has_changed(session),
        None => active().any(|(_, session)| has_changed(session)),
    };
    if any {
        select_again();
    }
    any
}

#[cold]
#[inline(never)]
fn select_again() {
    active().for_each(|(_, session)| session.seen.store(session.region.selection(), Ordering::Relaxed));
    leave_ended();
    switch_all();
    #[cfg(feature = "tracing")]
    crate::tracing::note_change();
}

/// An event was hit for the first time: it is recorded if a session wants it. Once [`init`] has been called it allocates
/// nothing and does not wait, so it may be in a signal handler.
pub(crate) fn make_known(event: &'static Event) {
    if !IS_INITIALISED.load(Ordering::Acquire) {
        // If the session cannot be joined, the program's events are not recorded.
        let _ = init();
    }
    let number = KNOWN_COUNT.fetch_add(1, Ordering::AcqRel);
    let Some(place) = KNOWN.get(number) else {
        // Nothing could switch it off later, so it stays unknown, and each hit is counted in the sessions that want it.
        let wanting = active().filter(|(_, session)| session.region.wants(event.name()));
        wanting.for_each(|(tag, _)| count_outside(tag));
        return event.forget();
    };
    place.refer(event);
    settle(event);
}

/// A number of 24 bits by which a process differs from its parent.
pub(crate) fn process_mark() -> u32 {
    // Two differ by their time or their id, in the lowest bits or in those from the 22nd on.
    let epoch = fork::epoch();
    ((epoch ^ epoch >> 24 ^ epoch >> 48) & 0xff_ffff) as u32
}

/// Counts an event that cannot be written, in each session.
pub(crate) fn count_lost() {
    let mut counted = false;
    for (_, session) in active() {
        session.region.header.outside.fetch_add(1, Ordering::Relaxed);
        counted = true;
    }
    if !counted && !IS_INITIALISED.load(Ordering::Relaxed) {
        EARLY.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts an event that was written to no log in its session, if the tag belongs to one.
#[cold]
#[inline(never)]
pub(crate) fn count_outside(tag: u8) {
    if let Some(session) = joined(tag) {
        session.region.header.outside.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a session's records with a stack have a copy of it.
pub(crate) fn copies_stacks(tag: u8) -> bool {
    joined(tag).is_some_and(|session| session.region.copies_stacks())
}

/// Stores mappings of this process in the session that are not there yet, if the return addresses of a record ask for it.
pub(crate) fn note_modules(tag: u8, frames: &[u64]) {
    let Some(session) = joined(tag) else { return };
    let region = &session.region;
    session.mappings.notice(fork::epoch(), frames, clock::coarse_ns(), |module| {
        region.enter(MODULE, MODULE_FIELDS).is_some() && region.note_module(std::process::id(), (session.now)(), module)
    });
}

/// In a forked child: forgets the thread's id, which the child's thread does not have, and the counts of the parent.
extern "C" fn forget_thread() {
    greeted::set(0);
    this_log::set(None);
    EARLY.store(0, Ordering::Relaxed);
    own::forget();
}

/// An entry found no room, which is counted. If the session is over, none will. May be in a signal handler.
#[cold]
#[inline(never)]
fn refused(tag: u8) {
    if joined(tag).is_some_and(Session::is_over) && leave_ended() {
        switch_all();
        #[cfg(feature = "tracing")]
        crate::tracing::note_change();
    }
}

/// Leaves the sessions that their recorders have ended; returns whether there were any. May be in a signal handler: only
/// the thread with the [`Turn`] makes a place one of another session.
fn leave_ended() -> bool {
    let leaves = |place: &AtomicU8| {
        let tag = place.load(Ordering::Acquire);
        joined(tag).is_some_and(Session::is_over)
            && place.compare_exchange(tag, NONE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    ACTIVE.iter().filter(|place| leaves(place)).count() > 0
}

#[inline(always)]
fn joined(tag: u8) -> Option<&'static Session> {
    JOINED.get(usize::from(tag.checked_sub(ON)?))?.get()
}

/// The bit of a session in [`greeted`].
fn bit(tag: u8) -> u64 {
    1 << ((tag - ON) % 64)
}

impl Session {
    /// Whether the recorder has ended the session.
    fn is_over(&self) -> bool {
        self.region.is_over()
    }

    /// The place of an event in this session; None if it is not wanted.
    fn place_of(&self, event: &Event, tag: u8) -> Option<Place> {
        let (name, fields) = (event.name(), event.fields());
        self.region.wants(name).then(|| match self.region.wants_stack(name) && event.may_have_stack() {
            true => Place::new(tag, self.region.enter_with_stack(name, fields)).with_stack(),
            false => Place::new(tag, self.region.enter(name, fields)),
        })
    }

    /// The first record of this thread in a session: identifies it.
    #[cold]
    #[inline(never)]
    fn greet(&self, tag: u8) {
        let (id, pid, mut name) = (thread::id(), std::process::id(), [0; 16]);
        this_id::set(u64::from(id) << 32);
        // A signal handler that finds the session greeted finds the id as well.
        compiler_fence(Ordering::SeqCst);
        greeted::set(greeted::get() | bit(tag));
        let name = thread::name(&mut name);
        let Some(kind) = self.thread else { return count_outside(tag) };
        // Apart from the logs, which may be full, or are overwritten; as long as there is room.
        if !self.region.greet((self.now)(), id, pid, name) {
            let (mut words, mut len) = ([0; THREAD_WORDS], HEAD);
            pid.put(&mut words, &mut len);
            name.put(&mut words, &mut len);
            let words = &mut words[..len.div_ceil(8)];
            words[1] = second_word(words.len(), kind << 8);
            write(tag, words);
        }
    }
}
