use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use headwater_os::child::Child;
use headwater_os::fence::Fence;
use headwater_os::memory::SharedMemory;

use super::*;
use crate::members::{MEMBERS, Members};
use crate::sync::{ProcessId, now_ns};
use crate::{CachePadded, Limit, Member};

/// A region with a table of members, a lock, and a counter that the lock protects.
struct Shared {
    memory: Arc<SharedMemory>,
    fence: Fence,
}

const TABLE_BYTES: usize = MEMBERS * size_of::<CachePadded<Member>>();

impl Shared {
    fn new() -> Shared {
        let memory = SharedMemory::create("lock-test", TABLE_BYTES + 4096).expect("memory");
        Shared { memory: Arc::new(memory), fence: Fence::best() }
    }

    fn join(&self) -> (Membership, BiasedLock) {
        (
            Membership::join(&self.table(), self.fence, &[&self.words()]).expect("a slot"),
            BiasedLock::new(self.words(), 0),
        )
    }

    fn slots(&self) -> Placed<[CachePadded<Member>]> {
        Placed::slice_at(&self.memory, 0, MEMBERS).expect("inside")
    }

    fn table(&self) -> Members {
        Members::fixed(self.slots())
    }

    fn words(&self) -> Placed<BiasedLockWords> {
        Placed::at(&self.memory, TABLE_BYTES).expect("inside")
    }

    fn count(&self) -> Placed<AtomicU64> {
        Placed::at(&self.memory, TABLE_BYTES + 1024).expect("inside")
    }
}

/// Adds one by a load and a store. A lost addition shows that two members were inside.
fn add_one(shared: &Shared, me: &Membership, lock: &mut BiasedLock) {
    let add = |count: Placed<AtomicU64>| count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    if !lock.enter(me) {
        lock.hold(me).expect("hold");
    }
    add(shared.count());
    lock.leave(me);
}

#[test]
fn single_user_enters_by_its_bias() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    assert!(!lock.enter(&me));
    assert_eq!(lock.hold(&me).expect("free"), Hold::Stale);
    lock.leave(&me);
    assert!(lock.enter(&me));
    lock.leave(&me);
    assert_eq!(lock.hold(&me).expect("ours"), Hold::Kept);
    lock.leave(&me);
}

#[test]
fn hold_is_stale_after_another_member_held_the_lock() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    let (other, mut others) = shared.join();
    let hold = |me: &Membership, lock: &mut BiasedLock| {
        let hold = lock.hold(me).expect("free");
        lock.leave(me);
        hold
    };
    for _ in 0..5 {
        // After its bias was removed, it is an ordinary lock for a while.
        assert_eq!(hold(&me, &mut lock), Hold::Stale);
        assert_eq!(hold(&me, &mut lock), Hold::Kept);
        assert_eq!(hold(&other, &mut others), Hold::Stale);
        assert_eq!(hold(&other, &mut others), Hold::Kept);
    }
    lock.forget();
    assert_eq!(hold(&me, &mut lock), Hold::Stale);
    lock.hold(&me).expect("free");
    lock.doubt();
    lock.leave(&me);
    assert!(!lock.enter(&me), "after a doubt the next entry is a hold");
    assert_eq!(hold(&me, &mut lock), Hold::Stale);
    // Another member takes the slot of the last holder.
    let number = me.number();
    drop(me);
    let (heir, mut heirs) = shared.join();
    assert_eq!(heir.number(), number);
    assert_eq!(hold(&heir, &mut heirs), Hold::Stale);
}

#[test]
fn lock_becomes_biased_again() {
    let shared = Shared::new();
    let ((me, mut lock), (other, mut others)) = (shared.join(), shared.join());
    for _ in 0..20 {
        for (me, lock) in [(&me, &mut lock), (&other, &mut others)] {
            let uses = (0..1000).take_while(|_| {
                let entered = lock.enter(me);
                if !entered {
                    lock.hold(me).expect("free");
                }
                lock.leave(me);
                !entered
            });
            assert!(uses.count() <= 150);
        }
    }
}

#[test]
fn only_one_member_is_inside() {
    let shared = Shared::new();
    const EACH: u64 = 200_000;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let (me, mut lock) = shared.join();
                for _ in 0..EACH {
                    add_one(&shared, &me, &mut lock);
                }
                lock.retire();
            });
        }
    });
    assert_eq!(shared.count().load(Ordering::Relaxed), 3 * EACH);
}

#[test]
fn bias_is_removed_from_a_running_member() {
    let shared = Shared::new();
    let stop = AtomicBool::new(false);
    let mut taken = 0;
    let mut worked = 0;
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let (me, mut lock) = shared.join();
            let mut worked = 0;
            while !stop.load(Ordering::Relaxed) {
                add_one(&shared, &me, &mut lock);
                worked += 1;
            }
            worked
        });
        let (me, mut lock) = shared.join();
        for _ in 0..200 {
            std::thread::sleep(Duration::from_micros(200));
            add_one(&shared, &me, &mut lock);
            taken += 1;
        }
        stop.store(true, Ordering::Relaxed);
        worked = worker.join().expect("worker");
    });
    assert_eq!(shared.count().load(Ordering::Relaxed), taken + worked);
}

#[test]
fn lock_of_a_dead_holder_is_taken_over() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    for biased in [false, true] {
        let mut child = Child::fork(|| {
            let (me, mut lock) = shared.join();
            let _ = lock.hold(&me);
            if biased {
                lock.leave(&me);
                lock.enter(&me);
            }
            // Not dropped, as if the process was killed inside.
            std::mem::forget((me, lock));
            0
        })
        .expect("fork");
        child.wait().expect("wait");
        let start = Instant::now();
        assert_eq!(lock.hold(&me).expect("taken over"), Hold::Stale);
        assert!(start.elapsed() < Duration::from_secs(2));
        lock.leave(&me);
        lock.retire();
    }
}

#[test]
fn slot_of_a_dead_member_is_reused() {
    let shared = Shared::new();
    for _ in 0..MEMBERS + 3 {
        let mut child = Child::fork(|| {
            let (me, mut lock) = shared.join();
            let _ = lock.hold(&me);
            std::mem::forget((me, lock));
            0
        })
        .expect("fork");
        child.wait().expect("wait");
    }
    // The new member has the number of a dead holder, and is not taken for it.
    let (_me, _lock) = shared.join();
    let (other, mut lock) = shared.join();
    lock.hold(&other).expect("free");
}

#[test]
fn join_keeps_live_members() {
    let shared = Shared::new();
    let members: Vec<_> = (0..MEMBERS).map(|_| shared.join()).collect();
    assert!(matches!(Membership::join(&shared.table(), shared.fence, &[]), Err(Error::Full(MEMBERS))));
    drop(members);
    shared.join();
}

#[test]
fn notice_reaches_the_biased_member() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    lock.hold(&me).expect("free");
    lock.leave(&me);
    shared.join().1.notify(4);
    assert!(!lock.enter(&me));
    assert_eq!(lock.hold(&me).expect("ours"), Hold::Kept);
    assert_eq!(lock.notices(), 4);
    assert_eq!(lock.take_notices(), 4);
    lock.leave(&me);
    assert!(lock.enter(&me));
    lock.leave(&me);
}

#[test]
fn member_without_a_bias_enters_with_no_lock_word() {
    let shared = Shared::new();
    let (me, lock) = shared.join();
    for word in
        (0..64).map(|bit| 1 << bit).chain((0..64).map(|bit| !(1 << bit))).chain([0, u64::MAX, NO_BIAS, BIAS_BITS])
    {
        shared.words().lock.store(word, Ordering::Relaxed);
        assert!(!lock.enter(&me) && !lock.enter_inner(&me), "{word:#x}");
        assert!(!lock.is_biased_to_us(), "{word:#x}");
    }
}

#[test]
fn invalid_lock_word_does_not_hang() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    let (_other, _) = shared.join();
    me.set_limit(Limit::Now);
    for word in
        (0..64).map(|bit| 1 << bit).chain([u64::MAX, HELD | 200, BIASED | HELD, SEIZING | 1 | 77 << VICTIM_SHIFT])
    {
        shared.words().lock.store(word, Ordering::Relaxed);
        if lock.hold(&me).is_ok() {
            lock.leave(&me);
        }
        lock.forget();
    }
}

#[test]
fn inner_lock_does_not_release_the_outer() {
    let shared = Shared::new();
    let (me, mut outer) = shared.join();
    let inner_words = Placed::at(&shared.memory, TABLE_BYTES + 512).expect("inside");
    let mut inner = BiasedLock::new(inner_words, 1);
    for lock in [&mut outer, &mut inner] {
        lock.hold(&me).expect("free");
        lock.leave(&me);
    }
    assert!(outer.enter(&me));
    assert!(inner.enter_inner(&me), "biased");
    inner.leave_inner(&me);
    // A thread that wants the outer lock waits until we have left it.
    let taken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (other, mut lock) = shared.join();
            lock.hold(&other).expect("in the end");
            taken.store(true, Ordering::SeqCst);
            lock.leave(&other);
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!taken.load(Ordering::SeqCst));
        outer.leave(&me);
    });
    assert!(taken.load(Ordering::SeqCst));
}

/// The two ways to hold a lock: without a bias and with one.
const WAYS: [bool; 2] = [false, true];

/// Enters the lock and stays inside.
fn stay_in(me: &Membership, lock: &mut BiasedLock, biased: bool) {
    lock.hold(me).expect("free");
    if biased {
        lock.leave(me);
        assert!(lock.enter(me));
    }
}

#[test]
fn hold_respects_its_limit() {
    for biased in WAYS {
        let shared = Shared::new();
        let ((me, mut lock), (other, mut others)) = (shared.join(), shared.join());
        stay_in(&other, &mut others, biased);
        for _ in 0..3 {
            me.set_limit(Limit::Now);
            assert!(matches!(lock.hold(&me), Err(Error::WouldBlock)));
            let start = Instant::now();
            me.set_limit(Limit::Until(now_ns() + 30_000_000));
            assert!(matches!(lock.hold(&me), Err(Error::TimedOut)));
            assert!(start.elapsed() >= Duration::from_millis(30));
            me.set_limit(Limit::Until(5));
            assert!(matches!(lock.hold(&me), Err(Error::TimedOut)));
        }
        others.leave(&other);
        assert_eq!(others.enter(&other), biased, "a hold that fails does not change the bias");
        if biased {
            others.leave(&other);
        }
        lock.hold(&me).expect("now it is free");
    }
}

/// The holder may be a call of the same thread, which a signal handler has interrupted.
#[test]
fn brief_limit_is_shorter_than_now() {
    for biased in WAYS {
        let shared = Shared::new();
        let ((me, mut lock), (other, mut others)) = (shared.join(), shared.join());
        stay_in(&other, &mut others, biased);
        let refused_within = |lock: &mut BiasedLock, limit| {
            let start = Instant::now();
            me.set_limit(limit);
            assert!(matches!(lock.hold(&me), Err(Error::WouldBlock)));
            start.elapsed()
        };
        // Take the shortest of several, because the machine may be busy.
        let brief = (0..30).map(|_| refused_within(&mut lock, Limit::Brief)).min().expect("some");
        assert!(brief < Duration::from_millis(3), "{brief:?}");
        assert!(refused_within(&mut lock, Limit::Now) >= Duration::from_millis(10));
        others.leave(&other);
        me.set_limit(Limit::Brief);
        // The bias of a member that is not inside is removed.
        lock.hold(&me).expect("it is free");
    }
}

/// The member that is inside stays alone there while another one waits without success.
#[test]
fn signal_ends_the_wait_for_a_lock() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: installs a handler that does nothing, for a signal that nothing else here uses.
    unsafe { libc::signal(libc::SIGUSR1, nothing as extern "C" fn(libc::c_int) as usize) };
    for biased in WAYS {
        let shared = Shared::new();
        let (other, mut others) = shared.join();
        stay_in(&other, &mut others, biased);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let (me, mut lock) = shared.join();
                // SAFETY: no arguments, always succeeds.
                tell.send(unsafe { libc::pthread_self() }).expect("the test waits");
                lock.hold(&me)
            });
            let thread = told.recv().expect("it runs");
            while !waiter.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
                // SAFETY: the thread has not been joined, so its number is valid.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            }
            assert!(matches!(waiter.join().expect("waiter"), Err(Error::Interrupted)));
        });
        others.leave(&other);
    }
}

/// The holder is stopped for longer than any waiter's limit, and then continues unaffected.
#[test]
fn stopped_holder_keeps_its_lock() {
    check_stopped_holder(false);
}

#[test]
fn stopped_holder_keeps_its_bias() {
    check_stopped_holder(true);
}

fn check_stopped_holder(biased: bool) {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    me.set_limit(Limit::Now);
    let mut child = Child::fork(|| {
        let (me, mut lock) = shared.join();
        stay_in(&me, &mut lock, biased);
        shared.count().store(1, Ordering::Release);
        // SAFETY: the signal goes to this process alone.
        unsafe { libc::raise(libc::SIGSTOP) };
        let alone = shared.count().load(Ordering::Acquire) == 1;
        lock.leave(&me);
        i32::from(!alone)
    })
    .expect("fork");
    while shared.count().load(Ordering::Acquire) == 0 {
        yield_now();
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2300) {
        assert!(matches!(lock.hold(&me), Err(Error::WouldBlock)));
    }
    // SAFETY: the pid is our own child's, which is not reaped.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGCONT) };
    me.set_limit(Limit::Signal);
    lock.hold(&me).expect("the holder leaves");
    shared.count().store(2, Ordering::Release);
    assert!(child.wait().expect("wait").success());
}

/// A member of another PID namespace: its death cannot be detected, so it counts as alive.
#[test]
fn holder_in_another_namespace_keeps_its_lock_until_its_side_is_gone() {
    for biased in WAYS {
        let shared = Shared::new();
        let (me, mut lock) = shared.join();
        let mut child = Child::fork(|| {
            let (me, mut lock) = shared.join();
            me.set_side(1);
            stay_in(&me, &mut lock, biased);
            std::mem::forget((me, lock));
            0
        })
        .expect("fork");
        child.wait().expect("wait");
        let table = shared.slots();
        let place = &table[1].0.place;
        for namespace in [0, 77] {
            place.store(namespace << 32 | place.load(Ordering::Relaxed) & u64::from(u32::MAX), Ordering::Relaxed);
            me.set_limit(Limit::Now);
            assert!(matches!(lock.hold(&me), Err(Error::WouldBlock)), "namespace {namespace}");
        }
        me.note_gone(0);
        assert!(matches!(lock.hold(&me), Err(Error::WouldBlock)), "that was another side");
        me.note_gone(1);
        assert_eq!(lock.hold(&me).expect("taken over"), Hold::Stale);
    }
}

/// Simulates an exec: the same process with another program.
#[test]
fn locks_and_slots_are_free_after_exec() {
    let shared = Shared::new();
    let table = shared.slots();
    for _ in 0..3 {
        for _ in 0..MEMBERS {
            let (me, mut lock) = shared.join();
            lock.hold(&me).expect("the last holder has executed another program");
            let slot = &table[me.number() as usize - 1].0;
            slot.image.store(ProcessId::own().image() ^ 1, Ordering::Relaxed);
            std::mem::forget((me, lock));
        }
    }
}

#[test]
fn forked_child_keeps_its_parents_membership() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    lock.hold(&me).expect("free");
    let held = std::cell::Cell::new(Some((me, lock)));
    let mut child = Child::fork(|| {
        drop(held.take());
        0
    })
    .expect("fork");
    child.wait().expect("wait");
    let (other, mut others) = shared.join();
    other.set_limit(Limit::Now);
    assert!(matches!(others.hold(&other), Err(Error::WouldBlock)));
    let (me, mut lock) = held.take().expect("ours");
    lock.leave(&me);
    others.hold(&other).expect("free");
}

#[test]
fn killed_waiter_costs_one_wake_up() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    lock.hold(&me).expect("free");
    let mut child = Child::fork(|| {
        let (me, mut lock) = shared.join();
        let _ = lock.hold(&me);
        0
    })
    .expect("fork");
    while shared.words().lock.load(Ordering::Relaxed) & WAITERS == 0 {
        yield_now();
    }
    child.kill();
    child.wait().expect("wait");
    lock.leave(&me);
    assert_eq!(shared.words().lock.load(Ordering::Relaxed) & WAITERS, 0);
    lock.hold(&me).expect("free");
    lock.leave(&me);
    assert!(lock.enter(&me), "the lock is biased again");
    lock.leave(&me);
}

/// A member left the lock, and died before it woke the sleepers.
#[test]
fn waiter_gets_the_lock_without_a_wake_up() {
    let shared = Shared::new();
    let ((other, mut others), waits) = (shared.join(), AtomicBool::new(false));
    others.hold(&other).expect("free");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let (me, mut lock) = shared.join();
            waits.store(true, Ordering::Relaxed);
            lock.hold(&me).map(|_| Instant::now())
        });
        while !waits.load(Ordering::Relaxed) || shared.words().lock.load(Ordering::Relaxed) & WAITERS == 0 {
            yield_now();
        }
        let left = Instant::now();
        shared.words().lock.store(0, Ordering::Release);
        let had = waiter.join().expect("waiter").expect("free");
        assert!(had - left < Duration::from_millis(500), "{:?}", had - left);
    });
}

/// The word of a slot's former member is not taken for that of the next member.
#[test]
fn tag_differs_between_members_of_a_slot() {
    let shared = Shared::new();
    let held = || {
        let (me, mut lock) = shared.join();
        lock.hold(&me).expect("free");
        (me.number(), shared.words().lock.load(Ordering::Relaxed))
    };
    let (one, other) = (held(), held());
    assert!(one.0 == other.0 && one.1 != other.1, "{one:x?} {other:x?}");
}

#[test]
fn each_of_many_sleepers_is_woken() {
    let shared = Shared::new();
    let (me, mut lock) = shared.join();
    lock.hold(&me).expect("free");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (me, mut lock) = shared.join();
                for _ in 0..3 {
                    lock.hold(&me).expect("in the end");
                    std::thread::sleep(Duration::from_micros(300));
                    let count = shared.count();
                    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    lock.leave(&me);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(30));
        lock.leave(&me);
    });
    assert_eq!(shared.count().load(Ordering::Relaxed), 24);
    assert_eq!(shared.words().lock.load(Ordering::Relaxed) & WAITERS, 0);
}
