use super::{Stages, YIELD_NS_MAX};

/// How many waits go without a yield until the next one may.
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
