//! What a process knows of the peers of an endpoint, so that it does not look them up for each message.

use std::sync::{Arc, Mutex, Weak};

use super::memory;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::plumb::queue::peers::Peer;
use crate::process::local::LocalState;

/// How many receivers of datagrams are known at once.
const RECEIVERS_MAX: usize = 64;
/// An address that no endpoint of the library had is looked up again after so many datagrams: a look costs as much as several of them.
const LOOK_AGAIN: u32 = 256;

#[derive(Debug, Default)]
pub(in crate::drivers) struct Known {
    /// Receivers of datagrams, the one of the last datagram first. No thread waits for the locks.
    entries: Mutex<Vec<Entry>>,
    /// The other end of the connection.
    other: Mutex<Weak<Peer>>,
}

impl LocalState for Known {}

/// What is known of an address.
#[derive(Debug)]
struct Entry {
    address: memory::Address,
    /// Of which of the sender's own bindings it is.
    own_binds: u32,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Endpoint {
        binds: u32,
        peer: Weak<Peer>,
        source: memory::Address,
    },
    /// No endpoint of the library has it. It is looked up again after so many datagrams.
    Elsewhere {
        left: u32,
    },
}

/// An endpoint to which datagrams go.
#[derive(Debug, Clone)]
pub(in crate::drivers) struct Receiver {
    pub peer: Arc<Peer>,
    /// Which of its bindings it is.
    pub binds: u32,
    /// The address by which it knows the sender.
    pub source: memory::Address,
}

/// What [`Known::find`] finds.
#[derive(Debug)]
pub(in crate::drivers) enum Found {
    Receiver(Receiver),
    Elsewhere,
    Nothing,
}

pub(in crate::drivers) fn known(queue: &mut Queue<'_, '_, '_>) -> Arc<Known> {
    queue.local(|_: &Known| true, Known::default)
}

impl Known {
    /// What is known of an address by an endpoint in that binding.
    pub fn find(&self, address: &memory::Address, own_binds: u32) -> Found {
        let Ok(mut entries) = self.entries.try_lock() else { return Found::Nothing };
        let is_it = |entry: &Entry| entry.own_binds == own_binds && entry.address.bytes() == address.bytes();
        let Some(at) = entries.iter().position(is_it) else { return Found::Nothing };
        entries.swap(0, at);
        match &mut entries[0].place {
            Place::Endpoint { binds, peer, source } => match peer.upgrade() {
                Some(peer) => Found::Receiver(Receiver { peer, binds: *binds, source: *source }),
                None => Found::Nothing,
            },
            Place::Elsewhere { left } => match left.checked_sub(1) {
                Some(less) => {
                    *left = less;
                    Found::Elsewhere
                }
                None => Found::Nothing,
            },
        }
    }

    /// How many datagrams go to an address that no endpoint of the library has, before it is looked up again. The caller counts
    /// them: the next look here finds none left.
    pub fn take_left(&self, address: &memory::Address, own_binds: u32) -> u32 {
        let Ok(mut entries) = self.entries.try_lock() else { return 0 };
        let is_it = |entry: &&mut Entry| entry.own_binds == own_binds && entry.address.bytes() == address.bytes();
        match entries.iter_mut().find(is_it).map(|entry| &mut entry.place) {
            Some(Place::Elsewhere { left }) => std::mem::take(left),
            _ => 0,
        }
    }

    pub fn note_receiver(&self, address: &memory::Address, own_binds: u32, receiver: &Receiver) {
        let Receiver { peer, binds, source } = receiver;
        let place = Place::Endpoint { binds: *binds, peer: Arc::downgrade(peer), source: *source };
        self.note(Entry { address: *address, own_binds, place });
    }

    /// No endpoint of the library has the address, as far as the next datagrams go.
    pub fn note_elsewhere(&self, address: &memory::Address, own_binds: u32) {
        self.note(Entry { address: *address, own_binds, place: Place::Elsewhere { left: LOOK_AGAIN } });
    }

    fn note(&self, entry: Entry) {
        if let Ok(mut entries) = self.entries.try_lock() {
            entries.retain(|other| other.address.bytes() != entry.address.bytes());
            entries.truncate(RECEIVERS_MAX - 1);
            entries.insert(0, entry);
        }
    }

    pub fn forget(&self, address: &memory::Address) {
        if let Ok(mut entries) = self.entries.try_lock() {
            entries.retain(|entry| entry.address.bytes() != address.bytes());
        }
    }
}

/// The other end of a connection; None: its last process has gone.
pub(in crate::drivers) fn find_other(queue: &mut Queue<'_, '_, '_>, other: memory::Other) -> Result<Option<Arc<Peer>>> {
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
