//! Opening a name, and detaching what is attached to it, in a process that does not hold the attachment.
//!
//! Nothing that another process says is believed before the kernel has said that a process of the node's owner, or of root,
//! listens at the socket. A step waits for a limited time; only the server of a connection is waited for as long as it takes.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::abstract_socket::{self, Connection};
use headwater_os::clock::now_ns;
use headwater_os::descriptors::Pinned;
use headwater_os::futex;
use headwater_shm::probe;

use super::AttachedOptions;
use super::node::{self, CHALLENGE_LEN, Challenge, Look};
use super::protocol::{Answer, Asked};
use crate::error::{Errno, Error, Result, fixed};
use crate::head::handle::Handle;
use crate::open::admission::Admission;
use crate::open::device::DeviceOptions;

/// How long an open, and a detach, waits for the holder's answer; the second if it must not wait.
const FOR_ANSWERS: Duration = Duration::from_millis(500);
const WITHOUT_WAITING: Duration = Duration::from_millis(200);
/// How often the locks are looked at again when no process listens, and the time in between: the holder is about to end.
const TRIES: u32 = 20;
const TRY_EVERY: Duration = Duration::from_millis(1);
/// A process that waits for a connection looks again by itself at this interval.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Another process may have been forked from the holder, and keep the connection to it open after its end. So it is made again after
/// this time.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// What became of one attempt.
enum Attempt {
    Stream(Box<Handle>),
    Detached,
    /// The process that listens may not attach streams.
    Stranger,
    /// No process listens, or it has ended meanwhile.
    Gone,
    /// The holder has too much to do, or the connection was long in coming.
    Again,
}

/// An open, or a detach, that is under way.
struct Asking<'n> {
    node: &'n Pinned,
    identity: [u64; 2],
    asked: Asked,
    /// As in the options.
    driver: Option<&'static str>,
    nonblocking: bool,
    until_ns: u64,
    /// The request has gone to a holder.
    was_asked: bool,
}

/// Opens what is attached to a node. None if nothing is, or this process may not open the node.
pub(super) fn open(node: &Pinned, options: &AttachedOptions) -> Result<Option<Handle>> {
    let Some(looks) = node::open_to_look(node).filter(|looks| node::is_marked(looks)) else { return Ok(None) };
    match ask(node, &looks, Asked::Open, options)? {
        Some(Attempt::Stream(mut stream)) => {
            stream.nonblocking = options.nonblocking;
            Ok(Some(*stream))
        }
        Some(_) => Err(node::strange()),
        None => Ok(None),
    }
}

/// Detaches what is attached to a node. False if nothing is.
pub(super) fn detach(node: &Pinned, looks: &OwnedFd) -> Result<bool> {
    match ask(node, looks, Asked::Detach, &AttachedOptions::new())? {
        Some(Attempt::Detached) => Ok(true),
        Some(_) => Err(node::strange()),
        None => Ok(false),
    }
}

fn ask(node: &Pinned, looks: &OwnedFd, asked: Asked, options: &AttachedOptions) -> Result<Option<Attempt>> {
    let &AttachedOptions { nonblocking, driver } = options;
    let patience = if nonblocking { WITHOUT_WAITING } else { FOR_ANSWERS };
    let until_ns = now_ns() + patience.as_nanos() as u64;
    let identity = node::identity(node)?;
    let mut asking = Asking { node, identity, asked, driver, nonblocking, until_ns, was_asked: false };
    let mut tries = 0;
    loop {
        let Look::Marked(tokens) = node::look(looks)? else {
            // A holder that detaches may end before it has answered.
            return Ok((asking.was_asked && asked == Asked::Detach).then_some(Attempt::Detached));
        };
        let (mut is_gone, mut is_busy) = (false, tokens.is_empty());
        for token in tokens {
            probe::at();
            match asking.attempt(token)? {
                Attempt::Stranger => {}
                Attempt::Gone => is_gone = true,
                Attempt::Again => is_busy = true,
                done => return Ok(Some(done)),
            }
        }
        if !is_gone && !is_busy {
            // Locks of strangers, who may not attach a stream.
            return Ok(None);
        }
        if now_ns() >= asking.until_ns {
            return Err(fixed!(
                Busy,
                "the process that holds the attached stream does not answer: it is stopped, or about to end"
            ));
        }
        tries += u32::from(is_gone);
        if tries > TRIES {
            return Err(fixed!(
                Nxio,
                "the file is locked as by an attached stream, but the process that holds it cannot be reached: it is in \
                 another network namespace, or only its forked children are left"
            ));
        }
        abstract_socket::wait_for_any::<OwnedFd>(&[], TRY_EVERY)?;
    }
}

impl Asking<'_> {
    fn left(&self) -> Duration {
        Duration::from_nanos(self.until_ns.saturating_sub(now_ns()))
    }

    fn attempt(&mut self, token: u64) -> Result<Attempt> {
        let socket = match abstract_socket::connect(&node::socket_name(self.identity, token), FOR_ANSWERS) {
            Ok(socket) => socket,
            Err(error) => {
                return match error.kind() {
                    std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound => Ok(Attempt::Gone),
                    std::io::ErrorKind::WouldBlock => Ok(Attempt::Again),
                    _ => Err(error.into()),
                };
            }
        };
        if !node::is_holder(&socket, self.node)? {
            return Ok(Attempt::Stranger);
        }
        probe::at();
        // Kept until the answer has come: the proof.
        let mut _both = None;
        if self.asked == Asked::Open {
            let both = node::open_both(self.node).ok_or_else(|| {
                fixed!(Acces, "an attached stream is opened by users who may both read and write the file")
            })?;
            let Some(challenge) = self.challenge(&socket)? else { return Ok(Attempt::Gone) };
            if !challenge.answer(&both)? {
                return Err(fixed!(
                    Acces,
                    "locks of other processes on the file keep this one from proving its rights"
                ));
            }
            _both = Some(both);
        }
        probe::at();
        if self.asked.send(&socket).is_err() {
            return Ok(Attempt::Gone);
        }
        self.was_asked = true;
        probe::at();
        self.answer(&socket)
    }

    /// The number that the holder wants to be answered. None if it leaves.
    fn challenge(&self, socket: &Connection) -> Result<Option<Challenge>> {
        let mut bytes = [0; CHALLENGE_LEN + 1];
        self.wait(socket)?;
        match abstract_socket::receive(socket, &mut bytes, Duration::ZERO) {
            Ok(CHALLENGE_LEN) => Ok(bytes.first_chunk().map(|bytes| Challenge::of(*bytes))),
            Ok(0) => Ok(None),
            Ok(_) => Err(node::strange()),
            Err(error) if is_reset(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a packet, or the end of the connection.
    ///
    /// Errors: `EINTR`; `EBUSY` when the time is over.
    fn wait(&self, socket: &Connection) -> Result<()> {
        loop {
            if abstract_socket::wait_for_any(&[socket], self.left())?[0] {
                return Ok(());
            }
            if self.left().is_zero() {
                return Err(fixed!(
                    Busy,
                    "the process that holds the attached stream does not answer: it is stopped, or about to end"
                ));
            }
        }
    }

    fn answer(&mut self, socket: &Connection) -> Result<Attempt> {
        if self.asked == Asked::Detach {
            // The challenge, which a detach does not answer.
            if self.challenge(socket)?.is_none() {
                return Ok(Attempt::Gone);
            }
        }
        let mut waits = false;
        loop {
            if waits && !self.nonblocking {
                // As long as it takes, or a signal handler runs.
                if !abstract_socket::wait_for_any(&[socket], ASK_AGAIN)?[0] {
                    self.until_ns = now_ns() + FOR_ANSWERS.as_nanos() as u64;
                    return Ok(Attempt::Again);
                }
            } else if waits {
                match self.wait(socket) {
                    Err(error) if error.errno() == Errno::Busy => return Err(not_received()),
                    done => done?,
                }
            } else {
                self.wait(socket)?;
            }
            let (answer, files) = match Answer::receive(socket) {
                Ok(Some(received)) => received,
                Ok(None) => return Err(node::strange()),
                Err(error) if is_reset(&error) => return Ok(Attempt::Gone),
                Err(error) => return Err(error.into()),
            };
            probe::at();
            match answer {
                Answer::Wait if !waits => waits = true,
                Answer::Detached => return Ok(Attempt::Detached),
                Answer::Refused(errno) => {
                    return Err(Error::new(errno, "the process that holds the attached stream has refused this one"));
                }
                Answer::Stream => {
                    let user = abstract_socket::peer_user(socket)?;
                    let admission = self.driver.map_or(Admission::by_user(user), Admission::Driver);
                    return taken(files, admission).map(Box::new).map(Attempt::Stream);
                }
                Answer::Connection => {
                    let stream = taken(files, Admission::Pipes)?;
                    self.wait_for_server(&stream)?;
                    return Ok(Attempt::Stream(Box::new(stream)));
                }
                Answer::Wait => return Err(node::strange()),
            }
        }
    }

    /// Waits until the server has received the other end.
    ///
    /// Errors: `ENXIO` when it never will; `EAGAIN` when the time of an open that must not wait is over; `EINTR`.
    fn wait_for_server(&self, stream: &Handle) -> Result<()> {
        let words = stream.end.peer_words();
        loop {
            let opened = words.opened.load(Ordering::Acquire);
            // A receiver without a free descriptor could not tell, and is seen by its first call.
            if opened != 0 || words.joined.load(Ordering::Acquire) != 0 {
                return Ok(());
            }
            if stream.end.doorbell().is_alone()? {
                return Err(fixed!(Nxio, "the server has ended, or dropped the connection unseen"));
            }
            let left = if self.nonblocking { self.left() } else { LOOK_EVERY };
            if left.is_zero() {
                return Err(not_received());
            }
            if futex::wait(&words.opened, 0, Some(left.min(LOOK_EVERY)))? == futex::Slept::Interrupted {
                return Err(fixed!(Intr, "a signal handler ran"));
            }
        }
    }
}

#[cold]
fn not_received() -> Error {
    fixed!(Again, "the server has not received the connection yet, and the open is not to wait")
}

/// The end that came with an answer.
fn taken(files: Vec<OwnedFd>, admission: Admission<'_>) -> Result<Handle> {
    Handle::of_files(files, admission, &DeviceOptions::new()).map_err(|error| match error.errno() {
        Errno::Mfile | Errno::Acces => error,
        _ => Error::new(Errno::Proto, format!("{}: {error}", node::strange())),
    })
}

/// Whether the other side of a connection is gone.
fn is_reset(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}
