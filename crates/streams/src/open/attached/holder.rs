//! The process that holds an attachment: the table of its attachments, and for each a thread that lets in the processes that open the
//! name.
//!
//! The thread waits for no process. What comes from a process that opens the name is one byte; descriptors are never taken. It works
//! while no thread is in fork(3), so that a child has nothing of what is open for a moment. A forked child holds the attachment too,
//! and starts a thread of its own with its first call.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::abstract_socket::{self, Connection, Listener};
use headwater_os::background::Background;
use headwater_os::descriptors::{self, Sender};
use headwater_os::epoll::{Interest, Set};
use headwater_os::fork_mutex::ForkMutex;
use headwater_os::{files, fork};
use headwater_shm::probe;

use super::node::{self, Challenge, Look, Marks};
use super::protocol::{Answer, Asked};
use crate::error::{Errno, Error, Result, fixed};
use crate::head::handle::Handle;
use crate::modules::connld;
use crate::open::admission::Admission;
use crate::open::device::DeviceOptions;
use crate::options::Options;
use crate::process::endpoint::Endpoint;
use crate::process::opened;

/// Processes that are let in at a time; each takes a descriptor. The oldest that has asked for nothing yet gives way.
const VISITORS: usize = 256;
/// How often a connection is tried that the server's end has no room for.
const RETRY: Duration = Duration::from_millis(5);
/// How long the thread rests when it cannot wait, or has no descriptor left.
const REST: Duration = Duration::from_millis(50);
/// How often it looks whether the file has a name left. inotify(7) would tell, but to close one of its descriptors takes the kernel some
/// 10 ms, for which a detach would wait.
const WATCH: Duration = Duration::from_secs(1);

/// Numbers in the set of what the thread waits for. Visitors have higher ones.
const STOPPED: u64 = 0;
const LISTENER: u64 = 1;
const FIRST_VISITOR: u64 = 2;

/// The attachments of this process.
static TABLE: ForkMutex<Vec<Attachment>> = ForkMutex::new(Vec::new());
/// The process whose threads run, by its fork epoch.
static HERE: AtomicU64 = AtomicU64::new(0);

/// One attachment.
#[derive(Debug)]
struct Attachment {
    // First, so that it has ended before what it uses is given up.
    thread: Option<Background>,
    held: Arc<Held>,
}

/// What keeps the attachment, in this process.
#[derive(Debug)]
struct Held {
    marks: Marks,
    identity: [u64; 2],
    listener: Listener,
    /// None once it is detached here.
    stream: ForkMutex<Option<Handle>>,
}

/// Attaches an end to a node that this process may mark. What the end's descriptors are is held until it is detached.
pub(super) fn attach(end: &Endpoint, node: OwnedFd) -> Result<()> {
    fork::held_off(|| {
        let files: std::io::Result<Vec<OwnedFd>> = end.descriptors().map(|fd| fd.try_clone_to_owned()).collect();
        let mut stream = Handle::of_files(files?, Admission::Any, &DeviceOptions::new())?;
        stream.nonblocking = true;
        stream.end.helps = true;
        let identity = node::identity(&node)?;
        let (marks, listener) = Marks::set(node)?;
        let held = Arc::new(Held { marks, identity, listener, stream: ForkMutex::new(Some(stream)) });
        let thread = start(&held)?;
        probe::at();
        opened::at_join(keep_here);
        TABLE.with(|table| {
            if HERE.load(Ordering::Relaxed) != fork::epoch() {
                restart(table);
            }
            table.push(Attachment { thread: Some(thread), held });
        });
        Ok(())
    })
}

/// Detaches what this process holds. False if what is attached to the node, if anything, is held by others alone.
pub(super) fn detach_own(looks: &OwnedFd) -> Result<bool> {
    let identity = node::identity(looks)?;
    // What another process has detached may not have left the table yet.
    let Look::Marked(tokens) = node::look(looks)? else { return Ok(false) };
    let is_it = |held: &Arc<Held>| held.identity == identity && tokens.contains(&held.marks.token);
    let Some(attachment) = take(is_it) else { return Ok(false) };
    attachment.held.give_up();
    drop(attachment.thread);
    attachment.held.close();
    Ok(true)
}

fn take(is_it: impl Fn(&Arc<Held>) -> bool) -> Option<Attachment> {
    TABLE.with(|table| {
        let at = table.iter().position(|attachment| is_it(&attachment.held))?;
        Some(table.swap_remove(at))
    })
}

/// In a forked child: lets processes in from now on, as its parent does.
fn keep_here() {
    if HERE.load(Ordering::Relaxed) != fork::epoch() {
        TABLE.with(restart);
    }
}

#[cold]
fn restart(table: &mut Vec<Attachment>) {
    HERE.store(fork::epoch(), Ordering::Relaxed);
    for attachment in table {
        if !attachment.thread.as_ref().is_some_and(Background::is_here) {
            attachment.thread = start(&attachment.held).ok();
        }
    }
}

fn start(held: &Arc<Held>) -> Result<Background> {
    let held = held.clone();
    Ok(Background::start(move |stopped| drop(Door::open(&held, stopped).map(Door::keep)))?)
}

impl Held {
    /// The name is plain again, for all processes.
    fn give_up(&self) {
        self.marks.give_up();
        probe::at();
        // Other processes that hold the attachment are told by this.
        let _ = self.listener.end();
    }

    /// Closes the end here.
    fn close(&self) {
        drop(self.stream.with(Option::take));
    }
}

/// A process that has connected.
#[derive(Debug)]
struct Visitor {
    number: u64,
    socket: Connection,
    challenge: Challenge,
    /// It has asked for a connection, for which the server's end has no room yet.
    waits: Option<Box<[Handle; 2]>>,
}

/// What a visitor's turn has led to.
enum Turn {
    Stays,
    Leaves,
    /// It has detached the stream.
    Detaches,
}

/// The thread's state.
struct Door<'h> {
    held: &'h Arc<Held>,
    set: Set,
    visitors: Vec<Visitor>,
    next: u64,
}

impl<'h> Door<'h> {
    fn open(held: &'h Arc<Held>, stopped: BorrowedFd<'_>) -> Result<Door<'h>> {
        let set = Set::new()?;
        let to_read = Interest { to_read: true, to_write: false };
        set.watch(stopped, STOPPED, to_read)?;
        set.watch(held.listener.as_fd(), LISTENER, to_read)?;
        Ok(Door { held, set, visitors: Vec::new(), next: FIRST_VISITOR })
    }

    /// Lets processes in until the stream is detached or the thread is to end.
    fn keep(mut self) {
        loop {
            let timeout = if self.visitors.iter().any(|visitor| visitor.waits.is_some()) { RETRY } else { WATCH };
            let Ok(ready) = self.set.wait(timeout) else {
                std::thread::sleep(REST);
                continue;
            };
            let is_ready = |number| ready.iter().any(|ready| ready.number == number);
            if is_ready(STOPPED) {
                return;
            }
            let is_ended = ready.iter().any(|ready| ready.number == LISTENER && ready.has_ended);
            // A procedure of a module that panics has been reported on the process's standard error.
            let round = fork::held_off(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    let numbers: Vec<u64> = ready.iter().map(|ready| ready.number).collect();
                    self.round(&numbers)
                }))
            });
            let detached = match round {
                Ok(detached) => detached,
                Err(_) => {
                    std::thread::sleep(REST);
                    None
                }
            };
            if is_ended || detached.is_some() || ready.is_empty() && self.has_no_name() {
                return self.end(detached);
            }
        }
    }

    /// Whether the file has been removed, so that no process can open it any more.
    fn has_no_name(&self) -> bool {
        files::names(&self.held.marks.node).is_ok_and(|names| names == 0)
    }

    /// The stream is detached: by a visitor, by another process that holds the attachment, or by the end of the file's last name.
    fn end(self, detached_by: Option<Visitor>) {
        let Door { held, set, visitors, .. } = self;
        drop((set, visitors));
        held.give_up();
        // Another stream may be attached there by now.
        let attachment = take(|other| Arc::ptr_eq(other, held));
        held.close();
        if let Some(visitor) = detached_by {
            let _ = Answer::Detached.send(&visitor.socket, &[]);
        }
        drop(attachment);
    }

    /// Does what there is to do. Returns the visitor that has detached the stream.
    fn round(&mut self, ready: &[u64]) -> Option<Visitor> {
        if ready.contains(&LISTENER) && self.admit().is_err() {
            std::thread::sleep(REST);
        }
        let (mut at, mut others_wait) = (0, false);
        // In the order in which they have come.
        while at < self.visitors.len() {
            let visitor = &mut self.visitors[at];
            let is_ready = ready.contains(&visitor.number);
            let turn = match visitor.waits.take() {
                Some(pair) if is_ready => {
                    // It has nothing more to say: it has left.
                    drop(pair);
                    Turn::Leaves
                }
                Some(pair) => connect(self.held, visitor, pair),
                None if is_ready => listen_to(self.held, visitor, others_wait),
                None => Turn::Stays,
            };
            others_wait |= matches!(turn, Turn::Stays) && visitor.waits.is_some();
            match turn {
                Turn::Stays => at += 1,
                Turn::Leaves => drop(self.visitors.remove(at)),
                Turn::Detaches => return Some(self.visitors.remove(at)),
            }
        }
        None
    }

    fn admit(&mut self) -> Result<()> {
        while let Some(socket) = self.held.listener.accept()? {
            if self.visitors.len() == VISITORS {
                let oldest = self.visitors.iter().position(|visitor| visitor.waits.is_none()).unwrap_or(0);
                self.visitors.remove(oldest);
            }
            let challenge = Challenge::new()?;
            let number = self.next;
            self.next += 1;
            probe::at();
            let told = abstract_socket::send(&socket, &challenge.bytes());
            let watched = self.set.watch(socket.as_fd(), number, Interest { to_read: true, to_write: false });
            if told.is_ok() && watched.is_ok() {
                self.visitors.push(Visitor { number, socket, challenge, waits: None });
            }
        }
        Ok(())
    }
}

/// A visitor has asked for something, or left.
fn listen_to(held: &Held, visitor: &mut Visitor, others_wait: bool) -> Turn {
    let done = match Asked::receive(&visitor.socket) {
        Some(Asked::Open) => let_in(held, visitor, others_wait),
        Some(Asked::Detach) => {
            let may = abstract_socket::peer(&visitor.socket)
                .is_ok_and(|peer| node::is_owned_by(&held.marks.node, peer.user).unwrap_or(false));
            if may {
                return Turn::Detaches;
            }
            Err(node::not_owner())
        }
        None => return Turn::Leaves,
    };
    refuse(visitor, done)
}

/// Tells a visitor what has failed.
fn refuse(visitor: &Visitor, done: Result<Turn>) -> Turn {
    done.unwrap_or_else(|error| {
        let _ = Answer::Refused(error.errno()).send(&visitor.socket, &[]);
        Turn::Leaves
    })
}

fn let_in(held: &Held, visitor: &mut Visitor, others_wait: bool) -> Result<Turn> {
    if !visitor.challenge.is_answered(&held.marks.node)? {
        return Err(Error::new(Errno::Acces, "no proof of the permissions"));
    }
    probe::at();
    let is_done = held.stream.with(|stream| -> Result<bool> {
        let Some(stream) = stream else { return Ok(true) };
        if stream.list()?.iter().any(|module| module == connld::NAME) {
            return Ok(false);
        }
        let files: Vec<BorrowedFd<'_>> = stream.end.endpoint.descriptors().collect();
        Answer::Stream.send(&visitor.socket, &files)?;
        probe::at();
        Ok(true)
    });
    if is_done? {
        return Ok(Turn::Leaves);
    }
    let (near, far) = Options::new().pair()?;
    let pair = Box::new([near, far]);
    let turn = if others_wait {
        visitor.waits = Some(pair);
        Turn::Stays
    } else {
        connect(held, visitor, pair)
    };
    if matches!(turn, Turn::Stays) {
        Answer::Wait.send(&visitor.socket, &[])?;
    }
    Ok(turn)
}

/// Sends one end of a pipe to the server, and the other to the visitor, if the server's end has room.
fn connect(held: &Held, visitor: &mut Visitor, pair: Box<[Handle; 2]>) -> Turn {
    let [near, far] = &*pair;
    let files: Vec<BorrowedFd<'_>> = far.end.endpoint.descriptors().collect();
    let sent = abstract_socket::peer(&visitor.socket).map_err(Error::from).and_then(|peer| {
        let Sender { user, group } = peer;
        let send = |stream: &mut Handle| stream.send_files(&files, Some(Sender { user, group }));
        held.stream.with(|stream| stream.as_mut().map(send).transpose())
    });
    probe::at();
    match sent {
        Err(error) if error.errno() == Errno::Again => {
            visitor.waits = Some(pair);
            return Turn::Stays;
        }
        // The server has closed its end.
        Err(error) if error.errno() == Errno::Pipe => {
            return refuse(visitor, Err(fixed!(Nxio, "no process has the other end of the attached stream")));
        }
        Err(error) => return refuse(visitor, Err(error)),
        // It was detached here.
        Ok(None) => return Turn::Leaves,
        Ok(Some(())) => {}
    }
    let files: Vec<BorrowedFd<'_>> = near.end.endpoint.descriptors().collect();
    let _ = Answer::Connection.send(&visitor.socket, &files);
    probe::at();
    Turn::Leaves
}

/// For the protocol.
pub(super) fn send(socket: impl AsFd, bytes: &[u8], files: &[BorrowedFd<'_>]) -> Result<()> {
    Ok(descriptors::send_with(socket.as_fd(), bytes, files)?)
}
