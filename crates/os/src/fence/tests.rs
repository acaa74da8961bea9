use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Fence;

#[test]
fn from_number_accepts_only_known_kinds() {
    for kind in [Fence::Symmetric, Fence::Asymmetric] {
        assert_eq!(Fence::from_number(kind as u32), Some(kind));
    }
    for number in [0, 3, u32::MAX] {
        assert_eq!(Fence::from_number(number), None);
    }
}

#[test]
fn best_kind_can_be_joined() {
    Fence::best().join().expect("what the probe chose");
    Fence::Symmetric.join().expect("needs nothing");
}

#[test]
fn forked_child_registers_again() {
    use std::sync::atomic::Ordering::Relaxed;
    if Fence::best() == Fence::Symmetric {
        return;
    }
    let registered = super::REGISTERED.load(Relaxed);
    assert_eq!(registered, crate::fork::epoch());
    let mut child = crate::child::Child::fork(|| {
        let joined = Fence::Asymmetric.join().is_ok() && Fence::Asymmetric.heavy().is_ok();
        i32::from(!joined || super::REGISTERED.load(Relaxed) == registered)
    })
    .expect("fork");
    assert!(child.wait().expect("wait").success());
}

/// The words of one side, on their own cache lines, so that a write stays in the store buffer for a while.
#[repr(align(128))]
struct Side {
    written: AtomicU32,
    arrived: AtomicU32,
}

const ROUNDS: u32 = 20_000;
/// The longest time of all rounds. On a busy machine each round may wait for a CPU.
const TIME: Duration = Duration::from_secs(5);
/// The value of `arrived` after the last round.
const OVER: u32 = u32::MAX;

/// Plays the rounds of one side until either side ends them. Returns for each round whether this side missed the other's
/// write.
fn play(own: &Side, other: &Side, order: impl Fn()) -> Vec<bool> {
    let start = Instant::now();
    let missed = (1..=ROUNDS).map_while(|round| {
        own.arrived.store(round, Ordering::SeqCst);
        let mut spins = 0;
        let arrived = loop {
            let arrived = other.arrived.load(Ordering::SeqCst);
            if arrived >= round {
                break arrived;
            }
            spins += 1;
            if spins % 1000 == 0 {
                std::thread::yield_now();
            }
        };
        if arrived == OVER || start.elapsed() > TIME {
            return None;
        }
        own.written.store(round, Ordering::Relaxed);
        order();
        Some(other.written.load(Ordering::Relaxed) < round)
    });
    let missed = missed.collect();
    own.arrived.store(OVER, Ordering::SeqCst);
    missed
}

/// Plays many rounds of Dekker's pattern: in no round do both sides miss the other's write.
fn check_one_side_sees(kind: Fence) {
    kind.join().expect("join");
    let sides = Arc::new([0, 1].map(|_| Side { written: AtomicU32::new(0), arrived: AtomicU32::new(0) }));
    let light_sides = sides.clone();
    let light = std::thread::spawn(move || play(&light_sides[0], &light_sides[1], || kind.light()));
    let heavy_missed = play(&sides[1], &sides[0], || kind.heavy().expect("heavy"));
    let light_missed = light.join().expect("light side");
    let both = light_missed.iter().zip(&heavy_missed).filter(|(light, heavy)| **light && **heavy).count();
    assert_eq!(both, 0, "rounds in which both sides missed the write");
    assert!(!light_missed.is_empty() && !heavy_missed.is_empty());
}

#[test]
fn symmetric_orders_both_sides() {
    check_one_side_sees(Fence::Symmetric);
}

#[test]
fn asymmetric_orders_both_sides_where_it_exists() {
    if Fence::best() == Fence::Asymmetric {
        check_one_side_sees(Fence::Asymmetric);
    }
}
