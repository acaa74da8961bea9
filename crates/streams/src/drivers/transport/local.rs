//! What a process knows of the peers of an endpoint, so that it does not look them up for each message.

use std::sync::{Arc, Mutex, Weak};

use super::memory;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::Peer;
use crate::process::local::LocalState;

/// How many receivers of datagrams are known at once.
const RECEIVERS_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Known {
    /// Receivers of datagrams, the one of the last datagram first. No thread waits for the locks.
    receivers: Mutex<Vec<Receiver>>,
    /// The other end of the connection.
    other: Mutex<Weak<Peer>>,
}

impl LocalState for Known {}

#[derive(Debug)]
struct Receiver {
    address: memory::Address,
    /// Which of the receiver's bindings it is.
    binds: u32,
    peer: Weak<Peer>,
}

pub(super) fn known(queue: &mut Queue<'_, '_, '_>) -> Arc<Known> {
    queue.local(|_: &Known| true, Known::default)
}

impl Known {
    /// The receiver of an address, as it was found before.
    pub fn receiver(&self, address: &[u8]) -> Option<(Arc<Peer>, u32)> {
        let mut receivers = self.receivers.try_lock().ok()?;
        let at = receivers.iter().position(|receiver| receiver.address.bytes() == address)?;
        receivers.swap(0, at);
        Some((receivers[0].peer.upgrade()?, receivers[0].binds))
    }

    pub fn note_receiver(&self, address: &memory::Address, peer: &Arc<Peer>, binds: u32) {
        if let Ok(mut receivers) = self.receivers.try_lock() {
            receivers.retain(|receiver| receiver.address.bytes() != address.bytes());
            receivers.truncate(RECEIVERS_MAX - 1);
            receivers.insert(0, Receiver { address: *address, binds, peer: Arc::downgrade(peer) });
        }
    }

    pub fn forget_receiver(&self, address: &[u8]) {
        if let Ok(mut receivers) = self.receivers.try_lock() {
            receivers.retain(|receiver| receiver.address.bytes() != address);
        }
    }
}

/// The other end of a connection; None: its last process has gone.
pub(super) fn find_other(queue: &mut Queue<'_, '_, '_>, other: memory::Other) -> Result<Option<Arc<Peer>>> {
    let id = (other.minor, other.cookie);
    let known = known(queue);
    let last = known.other.try_lock().ok().and_then(|last| last.upgrade());
    if let Some(last) = last.filter(|last| last.id() == id) {
        return Ok(Some(last));
    }
    let found = queue.find_peer(other.minor)?.filter(|peer| peer.id() == id);
    if let Some(found) = &found
        && let Ok(mut last) = known.other.try_lock()
    {
        *last = Arc::downgrade(found);
    }
    Ok(found)
}
