//! Loom's models of members that take a lock. Loom tries every order of their steps, with the memory model of the language and not
//! that of one processor.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p headwater-shm --release loom`

use loom::thread;

/// Runs the model in all orders with at most `preemptions` forced switches. All published bugs of such algorithms needed two.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Two members and a lock: they are never both inside, whichever has the bias and however it changes hands.
#[test]
#[allow(unsafe_code, reason = "loom's cell")]
fn loom_lock_admits_one_member() {
    explore(3, || {
        let shared = Table::new();
        let inside = loom::sync::Arc::new(loom::cell::UnsafeCell::new(0));
        let other = {
            let (shared, inside) = (shared.clone(), inside.clone());
            thread::spawn(move || shared.use_twice(&inside))
        };
        shared.use_twice(&inside);
        other.join().expect("other");
        // SAFETY: the other thread has ended.
        inside.with(|count| assert_eq!(unsafe { *count }, 4));
    });
}

/// Three members take a lock without a bias, and two may sleep at the same time. Each is woken: in the model, a sleeper without a
/// wake-up sleeps for ever, which loom reports.
#[test]
fn loom_no_sleeper_is_forgotten() {
    explore(2, || {
        let shared = Table::with(3);
        // They join before, one after the other. The other model covers the orders of joining.
        let [first, second, own] = [(); 3].map(|()| shared.join());
        let others = [first, second].map(|me| {
            let shared = shared.clone();
            thread::spawn(move || shared.hold_once(&me))
        });
        shared.hold_once(&own);
        others.into_iter().for_each(|other| other.join().expect("other"));
    });
}

/// A table of members and a lock in it.
#[derive(Clone)]
struct Table {
    members: crate::Members,
    words: crate::sync::Placed<crate::BiasedLockWords>,
}

impl Table {
    fn new() -> Table {
        Table::with(2)
    }

    fn with(slots: usize) -> Table {
        Table {
            members: crate::Members::model(slots),
            words: crate::sync::Placed::new(crate::biased_lock::model_words()),
        }
    }

    fn join(&self) -> crate::Membership {
        crate::Membership::join(&self.members, crate::sync::Fence, &[&self.words]).expect("a slot")
    }

    fn hold_once(&self, me: &crate::Membership) {
        let mut lock = crate::BiasedLock::new(self.words.clone(), 0);
        lock.hold(me).expect("in the end");
        lock.leave(me);
        lock.retire();
    }

    #[allow(unsafe_code, reason = "loom's cell")]
    fn use_twice(&self, inside: &loom::cell::UnsafeCell<u32>) {
        let me = self.join();
        let mut lock = crate::BiasedLock::new(self.words.clone(), 0);
        for _ in 0..2 {
            if !lock.enter(&me) {
                lock.hold(&me).expect("hold");
            }
            // SAFETY: the lock admits one member. Otherwise loom reports it.
            inside.with_mut(|count| unsafe { *count += 1 });
            lock.leave(&me);
        }
        lock.retire();
    }
}
