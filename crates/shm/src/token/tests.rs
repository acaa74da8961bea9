use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use headwater_os::child::Child;
use headwater_os::fence::Fence;
use headwater_os::memory::SharedMemory;

use super::*;
use crate::member::MEMBERS;
use crate::{Apart, Member};

/// A region with a table, one token, and a word that the token protects.
struct Shared {
    memory: Arc<SharedMemory>,
    fence: Fence,
}

const TABLE_BYTES: usize = MEMBERS * size_of::<Apart<Member>>();

impl Shared {
    fn new() -> Shared {
        let memory = SharedMemory::create("token-test", TABLE_BYTES + 4096).expect("memory");
        Shared { memory: Arc::new(memory), fence: Fence::best() }
    }

    fn join(&self) -> (Membership, Token) {
        let table = Placed::slice_at(&self.memory, 0, MEMBERS).expect("inside");
        (Membership::join(&table, self.fence, &[&self.words()]).expect("a slot"), Token::new(self.words(), 0))
    }

    fn words(&self) -> Placed<TokenWords> {
        Placed::at(&self.memory, TABLE_BYTES).expect("inside")
    }

    fn count(&self) -> Placed<AtomicU64> {
        Placed::at(&self.memory, TABLE_BYTES + 1024).expect("inside")
    }
}

/// Adds one by a load and a store: a lost one shows that two were inside.
fn add_one(shared: &Shared, me: &Membership, token: &mut Token) {
    let add = |count: Placed<AtomicU64>| count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    if token.enter(me) {
        add(shared.count());
        token.leave(me);
    } else {
        token.hold(me).expect("hold");
        add(shared.count());
        token.release(me);
    }
}

#[test]
fn a_lone_user_enters_by_its_bias() {
    let shared = Shared::new();
    let (me, mut token) = shared.join();
    assert!(!token.enter(&me));
    assert_eq!(token.hold(&me).expect("free"), Hold::Fresh);
    token.release(&me);
    assert!(token.enter(&me));
    token.leave(&me);
    assert_eq!(token.hold(&me).expect("ours"), Hold::Kept);
    token.release(&me);
}

#[test]
fn a_holder_remembers_until_another_has_held_it() {
    let shared = Shared::new();
    let (me, mut token) = shared.join();
    let (other, mut others) = shared.join();
    let hold = |me: &Membership, token: &mut Token| {
        let hold = token.hold(me).expect("free");
        token.release(me);
        hold
    };
    for _ in 0..5 {
        // Taken away, it is a lock for a while.
        assert_eq!(hold(&me, &mut token), Hold::Fresh);
        assert_eq!(hold(&me, &mut token), Hold::Kept);
        assert_eq!(hold(&other, &mut others), Hold::Fresh);
        assert_eq!(hold(&other, &mut others), Hold::Kept);
    }
    token.forget();
    assert_eq!(hold(&me, &mut token), Hold::Fresh);
    // Another one in its slot, where the last holder was.
    let number = me.number();
    drop(me);
    let (heir, mut heirs) = shared.join();
    assert_eq!(heir.number(), number);
    assert_eq!(hold(&heir, &mut heirs), Hold::Fresh);
}

#[test]
fn a_token_is_biased_again_after_a_while() {
    let shared = Shared::new();
    let ((me, mut token), (other, mut others)) = (shared.join(), shared.join());
    for _ in 0..20 {
        for (me, token) in [(&me, &mut token), (&other, &mut others)] {
            let uses = (0..1000).take_while(|_| {
                let entered = token.enter(me);
                if entered {
                    token.leave(me);
                } else {
                    token.hold(me).expect("free");
                    token.release(me);
                }
                !entered
            });
            assert!(uses.count() <= 150);
        }
    }
}

#[test]
fn only_one_is_inside() {
    let shared = Shared::new();
    const EACH: u64 = 200_000;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let (me, mut token) = shared.join();
                for _ in 0..EACH {
                    add_one(&shared, &me, &mut token);
                }
                token.retire();
            });
        }
    });
    assert_eq!(shared.count().load(Ordering::Relaxed), 3 * EACH);
}

#[test]
fn a_bias_is_taken_from_one_who_works_on() {
    let shared = Shared::new();
    let stop = AtomicBool::new(false);
    let mut taken = 0;
    let mut worked = 0;
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let (me, mut token) = shared.join();
            let mut worked = 0;
            while !stop.load(Ordering::Relaxed) {
                add_one(&shared, &me, &mut token);
                worked += 1;
            }
            worked
        });
        let (me, mut token) = shared.join();
        for _ in 0..200 {
            std::thread::sleep(Duration::from_micros(200));
            add_one(&shared, &me, &mut token);
            taken += 1;
        }
        stop.store(true, Ordering::Relaxed);
        worked = worker.join().expect("worker");
    });
    assert_eq!(shared.count().load(Ordering::Relaxed), taken + worked);
}

#[test]
fn a_token_held_by_the_dead_is_taken_over() {
    let shared = Shared::new();
    let (me, mut token) = shared.join();
    for biased in [false, true] {
        let mut child = Child::fork(|| {
            let (me, mut token) = shared.join();
            let _ = token.hold(&me);
            if biased {
                token.release(&me);
                token.enter(&me);
            }
            // Not dropped: as if killed inside.
            std::mem::forget((me, token));
            0
        })
        .expect("fork");
        child.wait().expect("wait");
        let start = Instant::now();
        assert_eq!(token.hold(&me).expect("taken over"), Hold::Fresh);
        assert!(start.elapsed() < Duration::from_secs(1));
        token.release(&me);
        token.retire();
    }
}

#[test]
fn a_slot_of_the_dead_is_used_again() {
    let shared = Shared::new();
    for _ in 0..MEMBERS + 3 {
        let mut child = Child::fork(|| {
            let (me, mut token) = shared.join();
            let _ = token.hold(&me);
            std::mem::forget((me, token));
            0
        })
        .expect("fork");
        child.wait().expect("wait");
    }
    // The newcomer has the number of a dead holder, and is not taken for it.
    let (_me, _token) = shared.join();
    let (other, mut token) = shared.join();
    token.hold(&other).expect("free");
}

#[test]
fn the_living_are_not_displaced() {
    let shared = Shared::new();
    let members: Vec<_> = (0..MEMBERS).map(|_| shared.join()).collect();
    let table = Placed::slice_at(&shared.memory, 0, MEMBERS).expect("inside");
    assert!(matches!(Membership::join(&table, shared.fence, &[]), Err(Error::Full(MEMBERS))));
    drop(members);
    shared.join();
}

#[test]
fn a_notice_reaches_the_biased() {
    let shared = Shared::new();
    let (me, mut token) = shared.join();
    token.hold(&me).expect("free");
    token.release(&me);
    shared.join().1.notify(4);
    assert!(!token.enter(&me));
    assert_eq!(token.hold(&me).expect("ours"), Hold::Kept);
    assert_eq!(token.notices(), 4);
    token.clear(4);
    token.release(&me);
    assert!(token.enter(&me));
    token.leave(&me);
}

#[test]
fn nonsense_in_the_word_is_an_error_and_no_hang() {
    let shared = Shared::new();
    let (me, mut token) = shared.join();
    let (_other, _) = shared.join();
    for word in
        (0..32).map(|bit| 1 << bit).chain([u32::MAX, HELD | 200, BIASED | HELD, SEIZING | 1 | 77 << VICTIM_SHIFT])
    {
        shared.words().lock.store(word, Ordering::Relaxed);
        if token.hold(&me).is_ok() {
            token.release(&me);
        }
        token.forget();
    }
    // A member that lives and does not hold it: given up after the patience.
    shared.words().lock.store(HELD | 2, Ordering::Relaxed);
    assert!(matches!(token.hold(&me), Err(Error::Corrupt(_))));
}

#[test]
fn an_inner_token_does_not_free_the_outer() {
    let shared = Shared::new();
    let (me, mut outer) = shared.join();
    let inner_words = Placed::at(&shared.memory, TABLE_BYTES + 512).expect("inside");
    let mut inner = Token::new(inner_words, 1);
    for token in [&mut outer, &mut inner] {
        token.hold(&me).expect("free");
        token.release(&me);
    }
    assert!(outer.enter(&me));
    let around = inner.enter_inner(&me).expect("biased");
    inner.leave_inner(&me, around);
    // Somebody who wants the outer one waits until we are out.
    let taken = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (other, mut token) = shared.join();
            token.hold(&other).expect("in the end");
            taken.store(true, Ordering::SeqCst);
            token.release(&other);
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!taken.load(Ordering::SeqCst));
        outer.leave(&me);
    });
    assert!(taken.load(Ordering::SeqCst));
}
