//! The endpoints of this process that may accept connections of a listener, by the number that T_CAPABILITY_REQ has told.
//!
//! The socket is handed over within the process that accepts: it has both endpoints. A forked child knows those of its parent.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::along_write_side;
use crate::process::endpoint::Endpoint;
use headwater_os::fork_mutex::ForkMutex;

/// How long a listener waits for another user of the endpoint that accepts. It has its own stream's lock, so two that wait for
/// each other do so for this time.
const HELD: Duration = Duration::from_millis(10);

/// Locked for moments, in which no thread forks.
static KNOWN: ForkMutex<Vec<(u32, Weak<Endpoint>)>> = ForkMutex::new(Vec::new());

/// The number by which an endpoint is named to accept a connection.
pub(super) fn number(queue: &Queue<'_, '_, '_>) -> u32 {
    // The kernel counts sockets up, from 1 on.
    queue.cookie() as u32
}

/// As [`number`], and this process finds the endpoint by it from now on.
pub(super) fn note(queue: &Queue<'_, '_, '_>) -> u32 {
    let number = number(queue);
    if let Some(endpoint) = queue.endpoint() {
        KNOWN.with(|known| {
            known.retain(|(other, endpoint)| *other != number && endpoint.strong_count() > 0);
            known.push((number, Arc::downgrade(endpoint)));
        });
    }
    number
}

/// An endpoint of this process.
#[derive(Debug)]
pub(super) struct Acceptor(Arc<Endpoint>);

impl Acceptor {
    /// The endpoint of a number; None: this process has none, or has not asked for its number.
    pub fn find(number: u32) -> Option<Acceptor> {
        let found =
            KNOWN.with(|known| known.iter().find(|(other, _)| *other == number).map(|(_, endpoint)| endpoint.clone()));
        found?.upgrade().map(Acceptor)
    }

    /// Calls `action` with the write queue of the driver there, from within a procedure of another stream.
    pub fn with<T>(&self, action: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<T>) -> Result<T> {
        along_write_side(&self.0, HELD, action)
    }
}
