use super::{QUICK_IN_ROW, Stages, TIMED_OF, YIELD_NS_MAX};

/// The number of waits without a yield until the next one may yield.
fn barred(stages: &mut Stages) -> u32 {
    std::iter::repeat_with(|| stages.allowed()).take_while(|allowed| !allowed).count() as u32
}

#[test]
fn quick_stages_bar_nothing() {
    let mut stages = Stages::default();
    for _ in 0..10 {
        assert_eq!(barred(&mut stages), 0);
        assert!(stages.took(YIELD_NS_MAX));
    }
}

#[test]
fn slow_stages_bar_ever_more_waits_until_a_quick_one() {
    let mut stages = Stages::default();
    let waits: Vec<u32> = (0..5)
        .map(|_| {
            assert!(!stages.took(YIELD_NS_MAX + 1));
            barred(&mut stages)
        })
        .collect();
    assert_eq!(waits, [64, 256, 1024, 4096, 4096]);
    stages.took(1000);
    assert_eq!(barred(&mut stages), 0);
    stages.took(u64::MAX);
    assert_eq!(barred(&mut stages), 64);
}

#[test]
fn yields_are_timed_until_they_are_trusted_and_now_and_then_after() {
    let mut stages = Stages::default();
    let timed =
        |stages: &mut Stages, yields: u32| (0..yields).filter(|_| !stages.trusts() && stages.took(1000)).count();
    assert_eq!(timed(&mut stages, QUICK_IN_ROW), QUICK_IN_ROW as usize);
    assert_eq!(timed(&mut stages, 10 * TIMED_OF), 10);
    assert!(!stages.took(YIELD_NS_MAX + 1));
    assert_eq!(timed(&mut stages, QUICK_IN_ROW), QUICK_IN_ROW as usize, "a slow one: from the beginning");
}

/// The number of waits for a peer on another CPU that skip the spin until one spins, successfully or not.
fn waits_without_a_spin(stages: &mut Stages, comes: bool) -> u32 {
    for waits in 0.. {
        let mut looks = 0;
        let stage = stages.pass(false, || {
            looks += 1;
            comes
        });
        if looks > 0 {
            assert_eq!(stage.is_some(), comes);
            return waits;
        }
    }
    unreachable!("it spins again")
}

#[test]
fn a_spin_in_vain_bars_ever_more_spins_until_one_pays() {
    let mut stages = Stages::default();
    let waits: Vec<u32> = (0..9).map(|_| waits_without_a_spin(&mut stages, false)).collect();
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 64, 64]);
    assert_eq!(waits_without_a_spin(&mut stages, true), 64);
    assert_eq!(waits_without_a_spin(&mut stages, true), 0, "it paid");
    assert_eq!(waits_without_a_spin(&mut stages, false), 0);
    assert_eq!(waits_without_a_spin(&mut stages, true), 1);
}

#[test]
fn looks_in_vain_bar_the_next_wait_and_slow_yields_bar_many() {
    let looks = |stages: &mut Stages, comes: bool| {
        let mut looks = 0;
        let stage = stages.pass_anywhere(|| {
            looks += 1;
            comes
        });
        assert_eq!(stage.is_some(), comes && looks > 0);
        looks
    };
    let mut stages = loop {
        let mut stages = Stages::default();
        assert_eq!(looks(&mut stages, true), 1);
        // On a loaded machine the yield may have been a slow one.
        if stages.barred == 0 {
            break stages;
        }
    };
    assert!(looks(&mut stages, false) > 0, "it paid");
    assert_eq!(looks(&mut stages, false), 0, "it was in vain");
    let mut stages = Stages::default();
    stages.took(YIELD_NS_MAX + 1);
    assert!((0..64).all(|_| looks(&mut stages, true) == 0));
    assert_eq!(looks(&mut stages, true), 1);
}
