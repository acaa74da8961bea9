//! Asks the brokers of the processes that have a FIFO open to be let in: see `broker`.
//!
//! Any process may listen under the name of a broker. A limited number is asked at a time, all within the time that the
//! open has, and none is trusted before the kernel has reported which process it is and that it has the node open for
//! reading and for writing.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use headwater_os::abstract_socket::{self, Connection, Peer};
use headwater_os::descriptors;
use headwater_os::files::OFlags;
use headwater_shm::probe;

use super::broker::{beginning, show, shows};
use super::meet::{Budget, Located};
use super::node::Node;
use super::pipe::if_there;
use crate::error::Result;

/// How many are asked at a time, and how long the open waits for them while others are left.
const AT_A_TIME: usize = 16;
const TURN: Duration = Duration::from_millis(50);

/// The stream that one of them has given access to. None if none has.
///
/// Errors: `EINTR`; `EMFILE`.
pub(super) fn ask(node: &Node, budget: &Budget) -> Result<Option<Located>> {
    let beginning = beginning(&node.name);
    let names = abstract_socket::names(&beginning)?;
    if names.is_empty() {
        return Ok(None);
    }
    // Before any broker is asked, which then checks it at once. Another thread of ours that closes the same node
    // removes the claims; then the broker refuses, and is asked again.
    let file = node.open_both()?;
    show(&file)?;
    let mut names = names.iter().filter_map(|name| Some((name.as_str(), process_of(name, &beginning)?))).peekable();
    while names.peek().is_some() && !budget.is_over() {
        let mut asked = Vec::new();
        while asked.len() < AT_A_TIME
            && let Some((name, pid)) = names.next()
        {
            asked.extend(connect(name, pid)?);
            if budget.is_over() {
                break;
            }
        }
        // The part of the time that is reserved for the others.
        let kept = if names.peek().is_some() { budget.left().saturating_sub(TURN) } else { Duration::ZERO };
        if let Some(located) = first_of(node, &file, asked, budget, kept)? {
            return Ok(Some(located));
        }
    }
    Ok(None)
}

/// The process that listens under a name, according to the name.
fn process_of(name: &str, beginning: &str) -> Option<u32> {
    name.strip_prefix(beginning)?.split('-').next()?.parse().ok()
}

/// A connection to a broker whose name is correct. Other listeners are not waited for.
fn connect(name: &str, pid: u32) -> Result<Option<(Connection, Peer)>> {
    let Some(socket) = if_there(abstract_socket::connect(name, Duration::from_secs(1)))? else { return Ok(None) };
    let Some(peer) = if_there(Peer::from_socket(&socket))? else { return Ok(None) };
    // A child of a broker's process has the socket, and no thread.
    let is_broker = peer.pid() == pid && peer.is_alive()?;
    Ok(is_broker.then_some((socket, peer)))
}

/// The first stream that comes over one of these connections, until only `kept` of the time is left.
fn first_of(
    node: &Node,
    file: &OwnedFd,
    mut asked: Vec<(Connection, Peer)>,
    budget: &Budget,
    kept: Duration,
) -> Result<Option<Located>> {
    while !asked.is_empty() && budget.left() > kept {
        let sockets: Vec<_> = asked.iter().map(|(socket, _)| socket.as_fd()).collect();
        let ready = abstract_socket::wait_for_any(&sockets, budget.step().min(budget.left().saturating_sub(kept)))?;
        probe::at();
        for at in (0..ready.len()).rev().filter(|at| ready[*at]) {
            let (socket, broker) = asked.swap_remove(at);
            if !shows(file, &broker)? {
                continue;
            }
            let Some(files) = if_there(descriptors::receive(socket.as_fd()))? else { continue };
            probe::at();
            let Ok(files) = <[OwnedFd; 2]>::try_from(files) else { continue };
            // Files that are no stream are ignored.
            if let Ok(Some(located)) = Located::of_files(node, files) {
                return Ok(Some(located));
            }
        }
    }
    Ok(None)
}

impl Node {
    fn open_both(&self) -> Result<OwnedFd> {
        Ok(self.pinned.open(OFlags::RDWR | OFlags::NONBLOCK)?)
    }
}
