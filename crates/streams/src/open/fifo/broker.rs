//! Lets in processes that may open a FIFO but cannot see the descriptors of the processes that have it open: other
//! users, mostly.
//!
//! A process has to hand them the descriptors, and between two calls nothing of this library runs. So a process that
//! has a FIFO open which other users may open too keeps a thread that waits for them, at a socket whose name contains
//! the node. A name protects nothing, and neither side hands the other anything before it has checked that the other
//! may open the node: each claims a byte of it for reading and one for writing, at places of its own process number,
//! and the kernel reports to the other which process has claimed them. A process that has no more than one permission,
//! or none, can make no such claims.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headwater_os::abstract_socket::{Connection, Listener, Peer};
use headwater_os::background::Background;
use headwater_os::descriptors::{self, Found};
use headwater_os::files::{self, OFlags};
use headwater_os::ofd_lock::{self, Right};
use headwater_os::own_numbers;
use headwater_shm::probe;

use super::marks;
use super::node::name_of_memory;
use crate::error::Result;
use crate::process::endpoint::Endpoint;

/// The bytes of the node that are claimed, each by the process of that number. They lie below those that are marked.
const CLAIMS_TO_READ: u64 = 1 << 40;
const CLAIMS_TO_WRITE: u64 = 2 << 40;

/// How long a broker waits when it has no descriptor left for a process that comes.
const REST: Duration = Duration::from_millis(50);

/// Read and write permission of a class of users that is not the owner.
const GROUP: u32 = 0o060;
const OTHERS: u32 = 0o006;

/// A thread that lets other processes in, until its last handle is dropped.
#[derive(Debug)]
pub(crate) struct Broker {
    /// Dropped first: a process that comes next must not reach it.
    thread: Background,
    gate: Arc<Gate>,
}

/// The files that the thread uses.
#[derive(Debug)]
struct Gate {
    listener: Listener,
    /// Open for reading and writing.
    node: OwnedFd,
    /// The memory, and the pipe, which is pinned and not open: so it does not count as an open end.
    files: [OwnedFd; 2],
}

impl Broker {
    /// Starts a broker, if other users may open the node.
    pub fn start(end: &Endpoint, node: BorrowedFd<'_>) -> Result<Option<Broker>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let status = files::status(node)?;
        let to_others = [GROUP, OTHERS].into_iter().any(|both| status.permissions & both == both);
        if !to_others && status.owner == files::own_user() && descriptors::are_visible() {
            return Ok(None);
        }
        let pipe = Found::own(end.doorbell().as_fd()).pin()?;
        let files = [own_numbers::copy(end.region.as_fd())?, pipe.into()];
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}-{count}", beginning(&name_of_memory(status)), std::process::id());
        let node = Found::own(node).open(OFlags::RDWR | OFlags::NONBLOCK)?;
        // Of this process, which a forked child's handle is not: other processes look for the brokers of processes that
        // have marked the node.
        marks::set(&node, &end.region)?;
        let gate = Arc::new(Gate { listener: Listener::bind(&name)?, node, files });
        let thread = Background::start({
            let gate = gate.clone();
            move |stopped| gate.keep(stopped)
        })?;
        Ok(Some(Broker { thread, gate }))
    }

    /// The broker in this process, which a forked child does not have yet.
    pub fn here(self, end: &Endpoint) -> Option<Broker> {
        if self.thread.is_here() {
            return Some(self);
        }
        Broker::start(end, self.gate.node.as_fd()).ok().flatten()
    }
}

impl Gate {
    fn keep(&self, stopped: BorrowedFd<'_>) {
        while let Ok(false) = self.listener.wait_beside(stopped) {
            match self.listener.accept() {
                // A process that is refused finds the socket closed.
                Ok(Some(socket)) => drop(self.admit(&socket)),
                Ok(None) => {}
                // No descriptor is left, and a process still waits.
                Err(_) => std::thread::sleep(REST),
            }
        }
    }

    fn admit(&self, socket: &Connection) -> std::io::Result<()> {
        let peer = Peer::from_socket(socket)?;
        show(&self.node)?;
        if shows(&self.node, &peer)? {
            let files: [BorrowedFd<'_>; 2] = std::array::from_fn(|at| self.files[at].as_fd());
            probe::at();
            descriptors::send(socket.as_fd(), &files)?;
            probe::at();
        }
        Ok(())
    }
}

/// The prefix of the names of brokers' sockets.
pub(super) fn beginning(name: &str) -> String {
    format!("{name}-")
}

/// Proves to other processes that this one has the node open for reading and for writing.
pub(super) fn show(node: &OwnedFd) -> std::io::Result<()> {
    let own = u64::from(std::process::id());
    ofd_lock::claim(node, Right::Read, CLAIMS_TO_READ + own)?;
    ofd_lock::claim(node, Right::Write, CLAIMS_TO_WRITE + own)
}

/// Whether the process at the other side of a socket has proved that.
pub(super) fn shows(node: &OwnedFd, peer: &Peer) -> std::io::Result<bool> {
    let pid = peer.pid();
    let claimed =
        |right: Right, from: u64| ofd_lock::claimant(node, from + u64::from(pid)).map(|who| who == Some((pid, right)));
    // Last: so the number was its own, and was not reused.
    Ok(claimed(Right::Read, CLAIMS_TO_READ)? && claimed(Right::Write, CLAIMS_TO_WRITE)? && peer.is_alive()?)
}
