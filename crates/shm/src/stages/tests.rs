use super::{Crowd, LOOK_NS_MAX, Look, QUICK_IN_ROW, SPIN_NS, Slice, Stages, TIMED_OF, YIELD_NS_MAX, now_ns};

/// Returns the number of waits that must not yield until the next one may.
fn barred(stages: &mut Stages) -> u32 {
    std::iter::repeat_with(|| stages.allowed()).take_while(|allowed| !allowed).count() as u32
}

#[test]
fn quick_yields_bar_no_waits() {
    let mut stages = Stages::default();
    for _ in 0..10 {
        assert_eq!(barred(&mut stages), 0);
        assert!(stages.took(YIELD_NS_MAX));
    }
}

#[test]
fn slow_yields_bar_more_and_more_waits() {
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
fn quick_yields_are_timed_less_often() {
    let mut stages = Stages::default();
    let timed =
        |stages: &mut Stages, yields: u32| (0..yields).filter(|_| !stages.trusts() && stages.took(1000)).count();
    assert_eq!(timed(&mut stages, QUICK_IN_ROW), QUICK_IN_ROW as usize);
    assert_eq!(timed(&mut stages, 10 * TIMED_OF), 10);
    assert!(!stages.took(YIELD_NS_MAX + 1));
    assert_eq!(timed(&mut stages, QUICK_IN_ROW), QUICK_IN_ROW as usize, "after a slow yield all are timed again");
}

/// Returns the number of waits for a peer on another CPU that skip the spin before one spins, with or without success.
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
fn failed_spins_bar_more_and_more_spins() {
    let mut stages = Stages::default();
    let waits: Vec<u32> = (0..9).map(|_| waits_without_a_spin(&mut stages, false)).collect();
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 64, 64]);
    assert_eq!(waits_without_a_spin(&mut stages, true), 64);
    assert_eq!(waits_without_a_spin(&mut stages, true), 0, "it paid");
    assert_eq!(waits_without_a_spin(&mut stages, false), 0);
    assert_eq!(waits_without_a_spin(&mut stages, true), 1);
}

#[test]
fn failed_checks_bar_one_wait_and_slow_yields_many() {
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

/// Passes slices of a look until it is over; returns how many, and how it ended.
fn slices(stages: &mut Stages, crowd: &Crowd, same_cpu: bool, mut ready: impl FnMut() -> bool) -> (u32, Slice) {
    let mut look = Look::default();
    for number in 1.. {
        match stages.pass_slice(&mut look, crowd, same_cpu, &mut ready) {
            Slice::Again => {}
            end => return (number, end),
        }
    }
    unreachable!("a look ends")
}

#[test]
fn a_look_ends_with_what_it_waits_for() {
    let (mut stages, crowd) = (Stages::default(), Crowd::new());
    assert_eq!(slices(&mut stages, &crowd, false, || true), (1, Slice::Came));
    let (mut looks, begun_ns) = (0, now_ns());
    let comes_late = || {
        looks += 1;
        looks > 30
    };
    // Unless the CPU is taken away for so long that the look is over.
    let (_, end) = slices(&mut stages, &crowd, false, comes_late);
    assert!(end == Slice::Came && crowd.comes.get() > 0 || now_ns() - begun_ns >= SPIN_NS, "{end:?}");
}

#[test]
fn a_look_in_vain_ends_soon_and_bars_the_next() {
    let (mut stages, crowd) = (Stages::default(), Crowd::new());
    let (count, end) = slices(&mut stages, &crowd, false, || false);
    assert!(end == Slice::Over && count <= 21, "{count}");
    assert_eq!(slices(&mut stages, &crowd, false, || false), (1, Slice::Over), "barred");
    let mut looks = 0;
    let never = || {
        looks += 1;
        false
    };
    assert_eq!(slices(&mut stages, &crowd, false, never).1, Slice::Over);
    assert!(looks > 1, "one that looks again");
}

#[test]
fn a_look_lasts_while_others_of_its_thread_are_successful() {
    let (mut stages, crowd) = (Stages::default(), Crowd::new());
    let (mut look, begun_ns) = (Look::default(), now_ns());
    while stages.pass_slice(&mut look, &crowd, false, || false) == Slice::Again {
        assert_eq!(slices(&mut Stages::default(), &crowd, false, || true), (1, Slice::Came));
    }
    let lasted_ns = now_ns() - begun_ns;
    assert!(lasted_ns >= LOOK_NS_MAX, "{lasted_ns}");
}

#[test]
fn a_look_among_others_does_not_spin() {
    let (mut stages, crowd) = (Stages::default(), Crowd::new());
    let mut look = Look::default();
    let mut looks = 0;
    assert_eq!(stages.pass_slice(&mut look, &crowd, false, || false), Slice::Again);
    let mut other = Look::default();
    assert_eq!(Stages::default().pass_slice(&mut other, &crowd, false, || false), Slice::Again);
    let count = || {
        looks += 1;
        false
    };
    assert_ne!(stages.pass_slice(&mut look, &crowd, false, count), Slice::Came);
    assert_eq!(looks, 1);
}

#[test]
fn on_the_cpu_of_the_other_side_other_work_goes_before_a_yield() {
    let (mut stages, crowd) = (Stages::default(), Crowd::new());
    let (mut look, mut looks) = (Look::default(), 0);
    let mut never = || {
        looks += 1;
        false
    };
    assert_eq!(stages.pass_slice(&mut look, &crowd, true, &mut never), Slice::Again);
    assert_eq!(stages.pass_slice(&mut look, &crowd, true, &mut never), Slice::Over);
    assert!(looks > 2, "it has yielded: {looks}");
}
