use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;
use crate::child::Child;
use crate::own_process::run_in_own_process;

/// The number of values made, as the value.
fn counted(made: &AtomicUsize) -> impl Fn() -> usize + '_ {
    || made.fetch_add(1, Ordering::Relaxed)
}

#[test]
fn a_thread_finds_its_own_value_again() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(10));
    *values.get(counted(&made)) += 5;
    assert_eq!(*values.get(counted(&made)), 15);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(*values.get(counted(&made)), 11));
    });
    assert_eq!(*values.get(counted(&made)), 15);
}

#[test]
fn threads_whose_numbers_end_alike_do_not_share_a_value() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let together = Barrier::new(3 * RECENT);
    thread::scope(|scope| {
        for _ in 0..3 * RECENT {
            scope.spawn(|| {
                let first = *values.get(counted(&made));
                together.wait();
                for _ in 0..1000 {
                    assert_eq!(*values.get(counted(&made)), first);
                }
                together.wait();
            });
        }
    });
    assert_eq!(made.into_inner(), 3 * RECENT);
}

#[test]
fn the_value_of_a_thread_that_has_ended_goes_to_the_next() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    for _ in 0..50 {
        // `join` of a thread, not of a scope, waits until the kernel has none of that number.
        thread::scope(|scope| scope.spawn(|| drop(values.get(counted(&made)))).join().expect("a value"));
    }
    // The kernel may count one as alive for a moment after it was joined.
    assert!(made.load(Ordering::Relaxed) <= 5, "{made:?} values for one thread at a time");
}

#[test]
fn a_value_taken_over_has_one_owner() {
    let values = PerThread::<u64>::default();
    let ended = 16;
    for _ in 0..200 {
        let together = Barrier::new(ended);
        thread::scope(|scope| {
            for _ in 0..ended {
                scope.spawn(|| {
                    together.wait();
                    let mut held = values.get(|| 0);
                    *held += 1;
                    let seen = *held;
                    together.wait();
                    assert_eq!(*held, seen, "another thread has the same value");
                });
            }
        });
    }
}

#[test]
fn a_call_within_a_call_gets_a_value_of_its_own() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let outer = values.get(counted(&made));
    let inner = values.get(counted(&made));
    assert_eq!((*outer, outer.is_nested()), (0, false));
    assert_eq!((*inner, inner.is_nested()), (1, true));
    drop((outer, inner));
    assert!(!values.get(counted(&made)).is_nested());
    assert_eq!(made.into_inner(), 2);
}

#[test]
fn a_later_nested_value_is_nested_too() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let outer = values.get(counted(&made));
    for _ in 0..3 {
        let inner = values.get(counted(&made));
        assert_eq!((*inner, inner.is_nested()), (1, true));
    }
    drop(outer);
    // Whichever value the next call gets, it is that of the outermost call.
    let outer = values.get(counted(&made));
    assert!(!outer.is_nested());
    assert!(values.get(counted(&made)).is_nested());
}

#[test]
fn a_forked_child_goes_on_with_the_value_of_the_thread_that_forked() {
    let Some(_alone) = run_in_own_process() else { return };
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let (ready, done) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(values.get(counted(&made)));
            ready.wait();
            done.wait();
        });
        ready.wait();
        let own = *values.get(counted(&made));
        // A thread of the child finds neither the value of the parent's other thread nor that of the thread that forked.
        let mut child = Child::fork(|| {
            let kept = *values.get(counted(&made)) == own;
            let fresh = thread::scope(|scope| scope.spawn(|| *values.get(counted(&made))).join().expect("a value"));
            i32::from(!(kept && fresh == 2))
        })
        .expect("fork");
        let status = child.wait().expect("wait");
        done.wait();
        assert!(status.success(), "{status}");
    });
}

#[test]
fn a_forked_childs_first_thread_is_seen_by_its_others() {
    let Some(_alone) = run_in_own_process() else { return };
    let (values, barrier) = (PerThread::default(), Barrier::new(2));
    drop(values.get(|| 0));
    // Held by a thread that the child does not have.
    thread::scope(|scope| {
        scope.spawn(|| {
            let held = values.get(|| 1);
            barrier.wait();
            barrier.wait();
            drop(held);
        });
        barrier.wait();
        let mut child = Child::fork(|| {
            let is_seen =
                || thread::scope(|scope| scope.spawn(|| values.is_used_by_another()).join().expect("it ends"));
            let before = is_seen();
            let held = values.get(|| 2);
            let meanwhile = is_seen();
            drop(held);
            i32::from((before, meanwhile, is_seen()) != (false, true, false))
        })
        .expect("fork");
        let status = child.wait().expect("wait");
        barrier.wait();
        assert!(status.success(), "{status}");
    });
}

#[test]
fn values_are_dropped_with_the_whole() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = AtomicUsize::new(0);
    let values = PerThread::default();
    let outer = values.get(|| Counted(&dropped));
    drop(values.get(|| Counted(&dropped)));
    drop(outer);
    drop(values);
    assert_eq!(dropped.into_inner(), 2);
}

#[test]
fn a_call_of_another_thread_is_seen_while_it_lasts() {
    let values = PerThread::default();
    let (ready, done) = (Barrier::new(2), Barrier::new(2));
    let own = values.get(|| 0);
    assert!(!values.is_used_by_another(), "one's own call is no other's");
    thread::scope(|scope| {
        scope.spawn(|| {
            let held = values.get(|| 1);
            ready.wait();
            done.wait();
            drop(held);
        });
        ready.wait();
        assert!(values.is_used_by_another());
        done.wait();
    });
    assert!(!values.is_used_by_another());
    drop(own);
}

#[test]
fn every_nested_call_is_known_as_one() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let place = values.place(counted(&made)).expect("no call is under way");
    for _ in 0..3 {
        let outer = values.get(counted(&made));
        assert_eq!((*outer, outer.is_nested()), (0, false));
        // The second one finds a value that is free and nested all the same.
        for _ in 0..2 {
            let inner = values.get(counted(&made));
            assert_eq!((*inner, inner.is_nested()), (1, true));
            assert!(values.place(counted(&made)).is_none(), "the place of a nested call's value");
        }
        // SAFETY: of a value that exists, and of this thread.
        assert!(unsafe { place.hold() }.is_none(), "the value is in use");
        drop(outer);
        // SAFETY: as above.
        assert_eq!(unsafe { place.hold() }.as_deref(), Some(&0));
    }
}
