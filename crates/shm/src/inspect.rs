//! Members and locks as a process sees them that is not a member: decoded from a copy of their bytes.
//!
//! Called by the inspection of streams. It accepts any bytes; most bytes name no process.

use std::mem::offset_of;

use headwater_os::watch::ProcessId;

use crate::biased_lock::{BIASED, BiasedLockWords, HELD, HOLDER, SEIZING, WAITERS};
use crate::member::Member;

/// A member, decoded from its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenMember {
    /// The process of the member.
    pub process: ProcessId,
    /// The member's side of the stream; `None` if it is not set yet.
    pub side: Option<usize>,
    /// The locks that the member is inside by its bias, one bit for each.
    pub busy: u32,
}

impl SeenMember {
    /// Decodes the bytes of a [`Member`]. Returns `None` if the slot is free, or its new member is not published yet.
    pub fn decode(bytes: &[u8]) -> Option<SeenMember> {
        let place = double(bytes, offset_of!(Member, place))?;
        let birth = double(bytes, offset_of!(Member, birth))?;
        let image = double(bytes, offset_of!(Member, image))?;
        let side = word(bytes, offset_of!(Member, side))?;
        let busy = word(bytes, offset_of!(Member, busy))?;
        let is_there = place != 0 && birth != 0;
        let side = (side as usize).checked_sub(1).filter(|side| *side < 2);
        is_there.then_some(SeenMember { process: ProcessId::from_words(place, birth, image), side, busy })
    }
}

/// A lock, decoded from its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeenLock {
    /// The slot of the member that the lock names: the holder, or the member to which the lock is biased.
    pub member: Option<usize>,
    /// The lock is held without a bias.
    pub is_held: bool,
    /// The lock is biased to the member. The member is inside if its busy word says so.
    pub is_biased: bool,
    /// Another member may be sleeping until it gets the lock.
    pub is_awaited: bool,
    /// The number of times that a bias was removed.
    pub seizures: u32,
}

impl SeenLock {
    /// Decodes the bytes of a [`BiasedLockWords`]. Returns `None` if there are too few.
    pub fn decode(bytes: &[u8]) -> Option<SeenLock> {
        let lock = double(bytes, offset_of!(BiasedLockWords, lock))?;
        Some(SeenLock {
            member: ((lock & HOLDER) as usize).checked_sub(1),
            is_held: lock & (HELD | SEIZING) != 0,
            is_biased: lock & BIASED != 0,
            is_awaited: lock & WAITERS != 0,
            seizures: word(bytes, offset_of!(BiasedLockWords, seizures))?,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn double(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_os::fence::Fence;
    use headwater_os::memory::SharedMemory;

    use super::*;
    use crate::{BiasedLock, CachePadded, MEMBERS, Members, Membership, Placed};

    /// Copies bytes out of shared memory.
    fn copy(memory: &SharedMemory, at: usize, len: usize) -> Vec<u8> {
        let byte = |at| memory.get::<std::sync::atomic::AtomicU8>(at).expect("inside");
        (at..at + len).map(|at| byte(at).load(std::sync::atomic::Ordering::Relaxed)).collect()
    }

    #[test]
    fn member_and_lock_are_decoded_from_a_copy() {
        const LOCK: usize = MEMBERS * size_of::<CachePadded<Member>>();
        let memory = Arc::new(SharedMemory::create("headwater-test-seen", LOCK + 64).expect("memory"));
        let table = Members::fixed(Placed::slice_at(&memory, 0, MEMBERS).expect("inside"));
        let words: Placed<BiasedLockWords> = Placed::at(&memory, LOCK).expect("inside");
        let member = |slot: usize| SeenMember::decode(&copy(&memory, slot * 128, 128));
        assert_eq!(member(0), None);
        let membership = Membership::join(&table, Fence::best(), &[&words]).expect("it is empty");
        membership.set_side(1);
        let seen = member(0).expect("it has joined");
        assert_eq!((seen.process.pid(), seen.side), (std::process::id(), Some(1)));
        assert_eq!(member(1), None);
        let lock = || SeenLock::decode(&copy(&memory, LOCK, 16)).expect("sixteen bytes");
        assert_eq!(lock(), SeenLock::default());
        let mut own = BiasedLock::new(words.clone(), 0);
        own.hold(&membership).expect("it is free");
        assert_eq!((lock().member, lock().is_held), (Some(0), true));
        own.leave(&membership);
        assert!(!lock().is_held);
    }

    #[test]
    fn decode_accepts_any_bytes() {
        for len in 0..200 {
            for byte in [0, 1, 0x7f, 0xff] {
                let bytes = vec![byte; len];
                assert!(SeenMember::decode(&bytes).is_none_or(|seen| seen.side.is_none_or(|side| side < 2)));
                assert_eq!(SeenLock::decode(&bytes).is_some(), len >= size_of::<BiasedLockWords>());
            }
        }
    }
}
