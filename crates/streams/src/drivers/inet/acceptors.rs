//! The endpoints of this process that may accept connections of a listener, by the number that T_CAPABILITY_REQ has told.
//!
//! The socket is handed over within the process that accepts: it has both endpoints. A forked child knows those of its parent.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use headwater_os::clock::now_ns;
use headwater_os::fork;
use headwater_shm::Limit;

use crate::error::{Result, fixed};
use crate::head::handle::Handle;
use crate::plumb::queue::Queue;
use crate::process::endpoint::Endpoint;

/// How long a listener waits for another user of the endpoint that accepts. It has its own stream's lock, so two that wait for
/// each other do so for this time.
const HELD_NS: u64 = 10_000_000;

/// Locked for moments, in which no thread forks.
static KNOWN: Mutex<Vec<(u32, Weak<Endpoint>)>> = Mutex::new(Vec::new());

/// The number by which an endpoint is named to accept a connection.
pub(super) fn number(queue: &Queue<'_, '_, '_>) -> u32 {
    // The kernel counts sockets up, from 1 on.
    queue.cookie() as u32
}

/// As [`number`], and this process finds the endpoint by it from now on.
pub(super) fn note(queue: &Queue<'_, '_, '_>) -> u32 {
    let number = number(queue);
    if let Some(endpoint) = queue.endpoint() {
        with(|known| {
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
            with(|known| known.iter().find(|(other, _)| *other == number).map(|(_, endpoint)| endpoint.clone()));
        found?.upgrade().map(Acceptor)
    }

    /// Calls `action` with the write queue of the driver there, from within a procedure of another stream.
    pub fn with<T>(&self, action: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<T>) -> Result<T> {
        let mut handle = Handle::on(self.0.clone());
        handle.run_inside(true, Limit::Until(now_ns() + HELD_NS), |run| {
            let at = run.chain.len().checked_sub(1).ok_or_else(|| fixed!(Proto, "the stream has no driver"))?;
            action(&mut Queue { run, at })
        })
    }
}

fn with<R>(action: impl FnOnce(&mut Vec<(u32, Weak<Endpoint>)>) -> R) -> R {
    fork::held_off(|| action(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner)))
}
