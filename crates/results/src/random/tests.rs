//! Tests that the order is reproducible and uniform.

use super::Random;

#[test]
fn a_seed_gives_the_published_sequence() {
    // The first values of SplitMix64 from seed 1234567, as its authors' reference code prints them.
    let mut random = Random::new(1_234_567);
    let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
    assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
}

#[test]
fn every_order_of_three_is_about_equally_frequent() {
    let mut random = Random::new(1);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..6000 {
        let mut items = [0, 1, 2];
        random.shuffle(&mut items);
        *counts.entry(items).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    // Six standard deviations of a binomial(6000, 1/6) are 173.
    assert!(counts.values().all(|&count| (827..=1173).contains(&count)), "{counts:?}");
}

#[test]
fn a_shuffle_is_a_permutation() {
    let mut items: Vec<u32> = (0..100).collect();
    Random::new(9).shuffle(&mut items);
    assert_ne!(items, (0..100).collect::<Vec<_>>());
    items.sort_unstable();
    assert_eq!(items, (0..100).collect::<Vec<_>>());
}
