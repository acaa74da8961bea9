use std::cell::Cell;

use headwater_shm::sync::AtomicU32;

use super::*;

/// Counts what would interrupt other CPUs.
#[derive(Default)]
struct Counted(Cell<u32>);

impl Barrier for &Counted {
    fn is_asymmetric(&self) -> bool {
        true
    }

    fn heavy(&self) -> Result<()> {
        self.0.set(self.0.get() + 1);
        Ok(())
    }
}

fn side() -> Side {
    Side { sleep: AtomicU32::new(0), wanted: AtomicU32::new(0) }
}

fn flags(side: &Side) -> u32 {
    side.sleep.load(Ordering::Relaxed)
}

#[test]
fn the_second_waiter_needs_no_barrier_until_none_has_come_for_long() {
    let (side, mut quiet, barriers) = (side(), 0, Counted::default());
    assert_eq!(look_at(&side, &mut quiet), 0, "nothing was asked of the other side");
    assert_eq!(announce(&side, FUTEX, 0, &barriers).expect("a barrier"), FUTEX | FENCING | FENCED);
    for _ in 0..3 * QUIET {
        assert_ne!(look_at(&side, &mut quiet) & FENCED, 0, "a waiter relies on it");
    }
    side.sleep.fetch_and(!FUTEX, Ordering::Relaxed);
    for _ in 0..QUIET - 1 {
        assert_eq!(look_at(&side, &mut quiet), FENCING | FENCED);
    }
    announce(&side, BELL, RINGING, &barriers).expect("no call");
    assert_eq!(barriers.0.get(), 1, "the first waiter's");
    look_at(&side, &mut quiet);
    side.sleep.fetch_and(!BELL, Ordering::Relaxed);
    for _ in 0..QUIET {
        look_at(&side, &mut quiet);
    }
    assert_eq!(flags(&side), 0, "no waiter has come for long");
    announce(&side, FUTEX, 0, &barriers).expect("a barrier");
    assert_eq!(barriers.0.get(), 2, "nobody passes fences any more");
}

#[test]
fn a_waiter_at_a_steady_rate_stays_on_the_futex_and_one_that_waits_long_does_not_go_there() {
    let ms = |count: u64| count * 1_000_000;
    for (waited, first, later) in [
        (ms(0), FUTEX_NS, FUTEX_NS),
        (ms(4), FUTEX_NS, ms(8)),
        (ms(25), FUTEX_NS, ms(50)),
        (ms(26), 0, 0),
        (u64::MAX, 0, 0),
    ] {
        assert_eq!((futex_ns_after(waited, true), futex_ns_after(waited, false)), (first, later), "{waited}");
    }
    assert_eq!(futex_ns_within(ms(2), ms(1), 0), ms(2), "a steady rate");
    assert_eq!(futex_ns_within(ms(50), ms(40), 0), ms(50), "the longest");
}

#[test]
fn the_end_of_a_process_that_writes_little_is_noticed_soon_and_steady_messages_program_no_timer() {
    let mut futex = OnFutex::NEW;
    futex.went_beyond(3_000_000);
    assert_eq!(futex.ns, FUTEX_NS, "that was the other process's start");
    for _ in 0..STEADY {
        futex.ended(5000);
        assert_eq!(futex.ns, FUTEX_NS);
    }
    futex.ended(5000);
    assert_eq!(futex.ns, STEADY_NS);
    futex.went_beyond(20_000_000);
    assert_eq!((futex.ns, futex.steady), (40_000_000, 0));
    (0..40).for_each(|_| futex.ended(5000));
    assert_eq!(futex.ns, STEADY_NS, "short waits bring it back");
    futex.went_beyond(30_000_000);
    assert_eq!(futex.ns, 0);
}

#[test]
fn a_real_fence_needs_no_flag() {
    let side = side();
    assert_eq!(announce(&side, BELL, RINGING, Fence::Symmetric).expect("no call"), BELL);
}

#[test]
fn a_flag_is_cleared_after_the_other_side_was_told_and_stays_if_it_was_set_anew() {
    let side = side();
    side.sleep.store(BELL | LOOK, Ordering::Relaxed);
    let told = tell_by_descriptor(&side, || {
        assert_eq!(flags(&side), RINGING | LOOK, "whoever comes now tells, too");
        tell_by_descriptor(&side, || ()).expect("as if the first had died");
        announce(&side, BELL, RINGING, Fence::Symmetric).expect("no call")
    });
    assert!(told.is_some());
    assert_eq!(flags(&side), BELL | LOOK);
    assert_eq!(tell_by_descriptor(&side, || ()), Some(()));
    assert_eq!((flags(&side), tell_by_descriptor(&side, || ())), (LOOK, None));
}
