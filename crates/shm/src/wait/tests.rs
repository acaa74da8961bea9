use super::{YIELD_NS_MAX, Yields};

/// How many waits go without a yield until the next one may.
fn barred(yields: &mut Yields) -> u32 {
    std::iter::repeat_with(|| yields.allowed()).take_while(|allowed| !allowed).count() as u32
}

#[test]
fn quick_yields_bar_nothing() {
    let mut yields = Yields::default();
    for _ in 0..10 {
        assert_eq!(barred(&mut yields), 0);
        assert!(yields.took(YIELD_NS_MAX));
    }
}

#[test]
fn slow_yields_bar_ever_more_waits_until_a_quick_one() {
    let mut yields = Yields::default();
    let waits: Vec<u32> = (0..5)
        .map(|_| {
            assert!(!yields.took(YIELD_NS_MAX + 1));
            barred(&mut yields)
        })
        .collect();
    assert_eq!(waits, [64, 256, 1024, 4096, 4096]);
    yields.took(1000);
    assert_eq!(barred(&mut yields), 0);
    yields.took(u64::MAX);
    assert_eq!(barred(&mut yields), 64);
}
