use std::sync::atomic::AtomicU32;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_os::fence::Fence;

use super::*;
use crate::{BiasedLock, BiasedLockWords, Limit, Membership};

const WORDS_AT: usize = MEMBERS * size_of::<CachePadded<Member>>();
const CHUNKS_AT: usize = WORDS_AT + 4096;

/// A region with a table that grows, and a lock.
struct Shared(Arc<SharedMemory>);

impl Shared {
    fn new() -> Shared {
        Shared(Arc::new(SharedMemory::create_growable("members-test", CHUNKS_AT).expect("memory")))
    }

    fn used(&self) -> Placed<AtomicU32> {
        Placed::at(&self.0, WORDS_AT + 64).expect("inside")
    }

    /// Returns the table as a process has it that has just attached.
    fn table(&self) -> Members {
        let first = Placed::slice_at(&self.0, 0, MEMBERS).expect("inside");
        Members::growing(first, self.used(), &self.0, CHUNKS_AT)
    }

    fn lock(&self) -> Placed<BiasedLockWords> {
        Placed::at(&self.0, WORDS_AT).expect("inside")
    }

    fn join(&self, table: &Members) -> Result<Membership, Error> {
        Membership::join(table, Fence::best(), &[&self.lock()])
    }
}

#[test]
fn full_table_grows() {
    let shared = Shared::new();
    let table = shared.table();
    let members: Vec<Membership> = (0..1000).map(|_| shared.join(&table).expect("it grows")).collect();
    let mut numbers: Vec<u32> = members.iter().map(Membership::number).collect();
    numbers.dedup();
    assert_eq!(numbers, (1..=1000).collect::<Vec<u32>>());
    assert_eq!((table.len(), shared.used().load(Ordering::Relaxed)), (1024, 4));
    let lock = || BiasedLock::new(shared.lock(), 0);
    for pair in members.chunks_exact(2) {
        let [one, other] = pair else { unreachable!() };
        let (mut ones, mut others) = (lock(), lock());
        ones.hold(one).expect("free");
        other.set_limit(Limit::Now);
        assert!(matches!(others.hold(other), Err(Error::WouldBlock)), "{} is inside", one.number());
        ones.leave(one);
        others.hold(other).expect("free again");
        others.leave(other);
        others.retire();
    }
}

#[test]
fn lock_of_a_dead_member_in_a_chunk_is_taken_over() {
    let shared = Shared::new();
    let table = shared.table();
    let living: Vec<Membership> = (0..100).map(|_| shared.join(&table).expect("it grows")).collect();
    let mut child = Child::fork(|| {
        let me = shared.join(&shared.table()).expect("the table has room");
        let mut lock = BiasedLock::new(shared.lock(), 0);
        let _ = lock.hold(&me);
        std::mem::forget((me, lock));
        0
    })
    .expect("fork");
    child.wait().expect("wait");
    // A process that has not mapped the chunk yet finds the holder there.
    let me = Membership::join(&shared.table(), Fence::best(), &[]).expect("room");
    me.set_limit(Limit::Until(crate::sync::now_ns() + Duration::from_secs(10).as_nanos() as u64));
    let mut lock = BiasedLock::new(shared.lock(), 0);
    lock.hold(&me).expect("its holder is dead");
    lock.leave(&me);
    drop(living);
}

#[test]
fn table_grows_only_for_live_members() {
    let shared = Shared::new();
    let table = shared.table();
    // Live members have half of the first part. Processes that end without freeing their slots take the rest again and again.
    let living: Vec<Membership> = (0..MEMBERS / 2).map(|_| shared.join(&table).expect("room")).collect();
    for _ in 0..3 * MEMBERS {
        let mut child = Child::fork(|| {
            std::mem::forget(shared.join(&table));
            0
        })
        .expect("fork");
        child.wait().expect("wait");
    }
    assert_eq!(table.len(), MEMBERS);
    drop(living);
}

#[test]
fn wrong_number_of_chunks_is_an_error() {
    let shared = Shared::new();
    let members: Vec<Membership> = (0..MEMBERS).map(|_| shared.join(&shared.table()).expect("room")).collect();
    for wrong in [1, 5, CHUNKS as u32, u32::MAX] {
        shared.used().store(wrong, Ordering::Relaxed);
        let refused = shared.join(&shared.table()).expect_err("there is no such chunk");
        assert!(matches!(refused, Error::Corrupt(TABLE)), "{wrong}: {refused}");
    }
    shared.used().store(0, Ordering::Relaxed);
    assert!(matches!(members[0].other(MEMBERS as u32 + 1), Err(Error::Corrupt(LOCK_HOLDER))));
    assert!(matches!(members[0].other(u32::MAX), Err(Error::Corrupt(LOCK_HOLDER))));
}
