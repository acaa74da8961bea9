use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;
use crate::child::Child;
use crate::own_process::run_in_own_process;

/// Makes values that count how many were made.
fn counted(made: &AtomicUsize) -> impl Fn() -> usize + '_ {
    || made.fetch_add(1, Ordering::Relaxed)
}

#[test]
fn thread_finds_its_value_again() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(10));
    *values.get(counted(&made)) += 5;
    assert_eq!(*values.get(counted(&made)), 15);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(*values.get(counted(&made)), 11));
    });
    assert_eq!(*values.get(counted(&made)), 15);
}

#[test]
fn threads_with_equal_last_bits_share_no_value() {
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
fn value_of_an_ended_thread_is_reused() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    for _ in 0..50 {
        // Joining the thread, and not only the scope, waits until the kernel has removed it.
        thread::scope(|scope| scope.spawn(|| drop(values.get(counted(&made)))).join().expect("a value"));
    }
    // The kernel may report a thread as alive for a moment after it was joined.
    assert!(made.load(Ordering::Relaxed) <= 5, "{made:?} values for one thread at a time");
}

#[test]
fn reused_value_has_one_owner() {
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
fn nested_call_gets_its_own_value() {
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
fn later_nested_calls_are_nested_too() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let outer = values.get(counted(&made));
    for _ in 0..3 {
        let inner = values.get(counted(&made));
        assert_eq!((*inner, inner.is_nested()), (1, true));
    }
    drop(outer);
    // Whichever value the next call gets, the call is the outermost one.
    let outer = values.get(counted(&made));
    assert!(!outer.is_nested());
    assert!(values.get(counted(&made)).is_nested());
}

#[test]
fn child_keeps_the_value_of_the_forking_thread() {
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
        // A new thread of the child gets neither the value of the parent's other thread nor that of the forking thread.
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
fn is_used_by_another_sees_the_first_thread_of_a_child() {
    let Some(_alone) = run_in_own_process() else { return };
    let (values, barrier) = (PerThread::default(), Barrier::new(2));
    drop(values.get(|| 0));
    // A thread that the child does not have holds a value.
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
fn values_are_dropped_with_the_set() {
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
fn is_used_by_another_is_true_during_the_call() {
    let values = PerThread::default();
    let (ready, done) = (Barrier::new(2), Barrier::new(2));
    let own = values.get(|| 0);
    assert!(!values.is_used_by_another(), "the thread's own call does not count");
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
fn every_nested_call_is_marked() {
    let (values, made) = (PerThread::default(), AtomicUsize::new(0));
    let place = values.place(counted(&made)).expect("no call is under way");
    for _ in 0..3 {
        let outer = values.get(counted(&made));
        assert_eq!((*outer, outer.is_nested()), (0, false));
        // The second nested call finds a free value, and is still nested.
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
