//! How the processes that open a FIFO agree on one stream, without a lock that a stranger could hold.
//!
//! A process that opens the node looks for a stream that others have open, by their marks on the node, and makes one if
//! there is none. Then it marks the node itself and looks once more, for another stream than its own. Of two processes
//! that look at the same time at least one sees the other's mark (Dekker's pattern, over the kernel's table of locks).
//! A stream becomes the common one by the word `settled` of its header, which changes once, by an exchange:
//!
//! - a process that sees no other stream settles its own;
//! - a process that sees a settled one joins it;
//! - of two that are not settled the one whose memory has the lower inode withdraws the other.
//!
//! No process waits for one that is killed or stopped anywhere in between: its mark ends with it, and a process that
//! finds its stream settles or withdraws it.
//!
//! Where marks are missing, because a stranger's locks are in the way or because they name a process that has ended and left a
//! child, the memory is looked for in all of /proc by its name. Where the kernel hides the holder, see `ask`.
//!
//! A settled stream that has no mark may be one that all have left, but for a process that is stopped just before it marks the
//! stream or after it has taken its mark away. Beside such a one, another stream may have been settled since, which has marks.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headwater_os::abstract_socket;
use headwater_os::clock::now_ns;
use headwater_os::descriptors::{self, Found, Pinned};
use headwater_os::doorbell::Doorbell;
use headwater_os::files::{self, OFlags};
use headwater_shm::probe;

use super::marks::Marks;
use super::node::{Node, name_with_pipe, pipe_of, pipe_of_link};
use super::pipe::{Pipe, if_there};
use super::{WRITER, ask, refuse_driver, stream};
use crate::error::{Errno, Error, Result};
use crate::head::handle::Handle;
use crate::options::Options;
use crate::process::region::Region;

/// Values of the header's word `settled`. The stream is undecided.
const NEW: u32 = 0;
/// It is the common stream of the node.
const SETTLED: u32 = 1;
/// It is not used: processes that have it open look for another one.
const WITHDRAWN: u32 = 2;

/// The user that may open everything.
const ROOT: u32 = 0;

/// How often a mark is looked up that names nothing, or a stream that changes while it is opened, and the time in between.
const TRIES: u32 = 20;
const TRY_EVERY: Duration = Duration::from_millis(1);
/// In the first of these tries nothing is done but to look at the marks again: their owner is closing them.
const QUICK_TRIES: u32 = 3;

/// A stream that may be joined.
#[derive(Debug)]
pub(super) struct Located {
    pub region: Region,
    pub pipe: Pipe,
    /// A process's mark has named it, or a broker has given it.
    is_marked: bool,
}

/// A handle, before another process counts it.
pub(super) struct Joined {
    pub stream: Handle,
    /// How often the other end had been opened before this handle could be seen by its users.
    pub seen: u32,
    /// As it was located.
    is_marked: bool,
}

/// The result of a search for streams.
enum Look {
    Nothing,
    Stream(Located),
    /// A process has the node open whose stream is hidden from this one.
    Hidden,
}

/// The time that an open may lose to delays by other processes, and the number of its searches. A step that it has
/// begun when the time is over is its last one.
pub(super) struct Budget {
    left: Cell<Duration>,
    asked_ns: Cell<u64>,
    tries: u32,
}

/// The most that counts of the time between two queries of the rest. No step takes longer, unless this process was
/// stopped, which is no reason to give up.
const STEP_MAX: Duration = Duration::from_millis(50);

impl Budget {
    pub fn of(time: Duration) -> Budget {
        Budget { left: Cell::new(time), asked_ns: Cell::new(now_ns()), tries: 0 }
    }

    /// The rest of the time.
    pub fn left(&self) -> Duration {
        let now_ns = now_ns();
        let step = Duration::from_nanos(now_ns.saturating_sub(self.asked_ns.replace(now_ns)));
        self.left.set(self.left.get().saturating_sub(step.min(STEP_MAX)));
        self.left.get()
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// How long one wait may last.
    pub fn step(&self) -> Duration {
        self.left().min(STEP_MAX)
    }

    /// Sleeps before the next try; false if there is none.
    ///
    /// Errors: `EINTR`.
    fn pause(&mut self) -> Result<bool> {
        self.tries += 1;
        if self.tries > TRIES || self.is_over() {
            return Ok(false);
        }
        abstract_socket::wait_for_any::<OwnedFd>(&[], TRY_EVERY)?;
        Ok(true)
    }
}

impl Located {
    /// The stream whose memory a descriptor of another process may be. None if it is something else, or was closed meanwhile.
    fn of_process(node: &Node, found: Found) -> Result<Option<Located>> {
        let Some(pinned) = if_there(found.pin())? else { return Ok(None) };
        probe::at();
        let Some(pipe) = node.pipe_of(&pinned)? else { return Ok(None) };
        // Any process can give memory such a name. A privileged process sees also the memory of users that may not open
        // the node.
        let maker = pinned.status()?.owner;
        if ![files::own_user(), node.status.owner, ROOT].contains(&maker) {
            return Ok(None);
        }
        let Some(memory) = if_there(pinned.open(OFlags::RDWR))? else { return Ok(None) };
        let Some(region) = region(memory)? else { return Ok(None) };
        probe::at();
        // A process with the memory alone is about to join, or to leave, and cannot be joined.
        let pipe = Pipe::of_process(found, pipe)?;
        Ok(pipe.map(|pipe| Located { region, pipe, is_marked: false }))
    }

    /// The stream of a broker's descriptors: the memory and the pipe.
    pub fn of_files(node: &Node, [memory, pipe]: [OwnedFd; 2]) -> Result<Option<Located>> {
        let memory = Pinned::from_fd(memory);
        let Some(inode) = node.pipe_of(&memory)? else { return Ok(None) };
        let Some(region) = region(memory.into())? else { return Ok(None) };
        let pipe = Pipe::of_file(pipe, inode)?;
        Ok(pipe.map(|pipe| Located { region, pipe, is_marked: true }))
    }

    fn settled(&self) -> &AtomicU32 {
        settled(&self.region)
    }

    /// Opens one end.
    fn join(self, side: usize) -> Result<Joined> {
        // Before the pipe is opened, by which other processes see this one; see `FifoOptions::open`.
        let seen = opened(&self.region, 1 - side).load(Ordering::Acquire);
        probe::at();
        let doorbell = self.pipe.doorbell(side)?;
        Ok(Joined { stream: stream(self.region, side, doorbell), seen, is_marked: self.is_marked })
    }
}

/// None for memory that its maker is about to fill in.
fn region(memory: OwnedFd) -> Result<Option<Region>> {
    match Region::open(memory) {
        Ok(region) => refuse_driver(&region).map(|()| Some(region)),
        Err(error) if error.errno() == Errno::Nostr => Ok(None),
        Err(error) => Err(error),
    }
}

/// How often an end was opened by name.
pub(super) fn opened(region: &Region, side: usize) -> &AtomicU32 {
    &region.fixed.ends[side].0.opened
}

fn settled(region: &Region) -> &AtomicU32 {
    &region.fixed.header.0.settled
}

fn is_settled(region: &Region) -> bool {
    settled(region).load(Ordering::Acquire) == SETTLED
}

/// Decides about a stream; false if another process has decided otherwise.
fn decide(region: &Region, decision: u32) -> bool {
    let done = settled(region).compare_exchange(NEW, decision, Ordering::AcqRel, Ordering::Acquire);
    done.is_ok() || done == Err(decision)
}

impl Node {
    /// The stream that others have open, or a new one.
    ///
    /// Errors: `EACCES` if a hidden process has it open; `EINTR`.
    pub fn join(&self, side: usize, options: &Options, budget: &mut Budget) -> Result<Joined> {
        let (mut next, mut left) = (None, None);
        loop {
            let joined = match next.take() {
                Some(other) => Some(Located::join(other, side)?),
                None => match self.look(None, true, budget)? {
                    Look::Stream(located) => Some(located.join(side)?),
                    Look::Nothing => Some(self.make(side, options)?),
                    Look::Hidden => None,
                },
            };
            if let Some(joined) = joined {
                probe::at();
                let is_marked = self.hold(&joined.stream)?;
                probe::at();
                let region = &joined.stream.end.region;
                match self.settle(region, is_marked, budget)? {
                    Look::Nothing => return Ok(joined),
                    // That one led here. Who only looks at marks comes here too.
                    Look::Stream(other)
                        if joined.is_marked
                            && !other.is_marked
                            && left == Some(other.region.inode)
                            && is_settled(region) =>
                    {
                        return Ok(joined);
                    }
                    Look::Stream(other) => {
                        left = Some(region.inode);
                        next = Some(other);
                    }
                    Look::Hidden => {}
                }
                if next.is_some() && !budget.is_over() {
                    continue;
                }
            }
            if !budget.pause()? {
                let why = "the FIFO is open in a process that this one may not look into (another user's, or a privileged \
                           one), and that lets nobody in";
                return Err(Error::new(Errno::Acces, why));
            }
        }
    }

    /// Marks the node for a stream, and starts letting processes in that cannot see it. Returns whether it is marked.
    fn hold(&self, stream: &Handle) -> Result<bool> {
        // A process that sees the mark may ask at once to be let in.
        stream.end.endpoint.keep(self.file.as_fd());
        probe::at();
        let (marked, is_marked) = self.open_marked(&stream.end.region)?;
        stream.end.endpoint.hold_node(marked);
        Ok(is_marked)
    }

    /// Makes a stream that this process has joined, and marked if no locks were in the way, the common one. `Nothing`
    /// if it is; else the stream to join instead, or `Hidden` to look for it.
    fn settle(&self, region: &Region, is_marked: bool, budget: &mut Budget) -> Result<Look> {
        let mut rounds = 0;
        loop {
            match self.look(Some(region), is_marked, budget)? {
                Look::Nothing => {
                    return Ok(if decide(region, SETTLED) { Look::Nothing } else { Look::Hidden });
                }
                Look::Stream(other) => {
                    let own = settled(region).load(Ordering::Acquire);
                    let is_first = own == SETTLED || own == NEW && region.inode < other.region.inode;
                    let is_withdrawn = is_first && decide(&other.region, WITHDRAWN)
                        || other.settled().load(Ordering::Acquire) == WITHDRAWN;
                    if !is_withdrawn {
                        decide(region, WITHDRAWN);
                        return Ok(Look::Stream(other));
                    }
                    probe::at();
                    rounds += 1;
                    if rounds > if budget.is_over() { QUICK_TRIES } else { TRIES } {
                        return Ok(Look::Hidden);
                    }
                }
                Look::Hidden => {
                    if !budget.pause()? {
                        return Ok(Look::Hidden);
                    }
                }
            }
        }
    }

    /// Looks for a stream, other than `except`, that a process has open and that is not withdrawn. Without a mark of
    /// its own this process looks everywhere.
    fn look(&self, except: Option<&Region>, is_marked: bool, budget: &Budget) -> Result<Look> {
        let fits = |located: &Located| {
            except.is_none_or(|except| except.inode != located.region.inode)
                && located.settled().load(Ordering::Acquire) != WITHDRAWN
        };
        let (mut marks, mut hidden, mut gone) = (0, false, false);
        for mark in Marks::of(&self.file, except) {
            if marks > 0 && budget.is_over() {
                gone = true;
                break;
            }
            marks += 1;
            match self.of_mark(mark?)? {
                Look::Stream(located) if fits(&located) => {
                    return Ok(Look::Stream(Located { is_marked: true, ..located }));
                }
                Look::Stream(_) => {}
                Look::Hidden => hidden = true,
                Look::Nothing => gone = true,
            }
        }
        // The open waits only for users of the FIFO.
        let unknown = (hidden || gone) && self.trusts_marks();
        if unknown
            && hidden
            && let Some(located) = ask::ask(self, budget)?.filter(fits)
        {
            return Ok(Look::Stream(located));
        }
        // Later there is no next look.
        if unknown && budget.tries < QUICK_TRIES && !budget.is_over() {
            return Ok(Look::Hidden);
        }
        let is_kept_from_marking = || -> Result<bool> { Ok(marks == 0 && super::marks::are_locked(&self.file)?) };
        let elsewhere = hidden || gone || !is_marked || self.is_unmarked || except.is_none() && is_kept_from_marking()?;
        if !elsewhere {
            return Ok(Look::Nothing);
        }
        for found in descriptors::anywhere(|link| pipe_of_link(link.as_ref(), &self.name).is_some())? {
            if let Some(located) = Located::of_process(self, found)?
                && fits(&located)
            {
                return Ok(Look::Stream(located));
            }
        }
        if !unknown {
            return Ok(Look::Nothing);
        }
        let asked = if hidden { None } else { ask::ask(self, budget)?.filter(fits) };
        Ok(asked.map_or(Look::Hidden, Look::Stream))
    }

    /// The stream that a mark names: a descriptor of its memory, or another one of the same process. `Hidden` if the kernel does
    /// not show that process's descriptors; `Nothing` if it has none of a stream, or names no process.
    fn of_mark(&self, named: Option<Found>) -> Result<Look> {
        let Some(named) = named else { return Ok(Look::Nothing) };
        if named.pin().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            return Ok(Look::Hidden);
        }
        if let Some(located) = Located::of_process(self, named)? {
            return Ok(Look::Stream(located));
        }
        for found in if_there(descriptors::of_process(named.pid))?.unwrap_or_default() {
            if descriptors::link(found).is_ok_and(|link| pipe_of_link(&link, &self.name).is_some())
                && let Some(located) = Located::of_process(self, found)?
            {
                return Ok(Look::Stream(located));
            }
        }
        Ok(Look::Nothing)
    }

    /// The inode of the pipe of a stream of this node whose memory that is. None if it is something else.
    fn pipe_of(&self, memory: &Pinned) -> Result<Option<u64>> {
        let name = if_there(memory.memory_name())?.flatten();
        Ok(name.and_then(|name| pipe_of(&name, &self.name)))
    }

    fn make(&self, side: usize, options: &Options) -> Result<Joined> {
        let (source, sink) = files::shared_pipe()?;
        let own = if side == WRITER { sink } else { source };
        let inode = descriptors::inode(&own)?;
        let region = Region::create_fifo(&name_with_pipe(&self.name, inode), options, [inode; 2])?;
        probe::at();
        let seen = opened(&region, 1 - side).load(Ordering::Acquire);
        Ok(Joined { stream: stream(region, side, Doorbell::from_pipe(own)?), seen, is_marked: false })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
