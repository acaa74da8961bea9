//! Tests against printed tables and against counting every rearrangement.

use super::*;

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-12, "{what}: {found}, not {expected}");
}

#[test]
fn signed_ranks_are_those_of_the_tables() {
    let mut counts = NullCounts::default();
    // Wilcoxon's table for n = 8: a sum of 3 or less has probability 5 / 256 on one side.
    close(counts.at_most(Design::Paired(8), 3), 5.0 / 256.0, "n = 8");
    close(counts.at_most(Design::Paired(6), 0), 1.0 / 64.0, "n = 6");
    // The critical values at 5 % on two sides of n = 12 and n = 20 are 13 and 52.
    assert_eq!(counts.end_rank(Design::Paired(12), 0.05), 14);
    assert_eq!(counts.end_rank(Design::Paired(20), 0.05), 53);
    assert_eq!(counts.end_rank(Design::Paired(5), 0.05), 0, "2 / 2^5 is above 5 %");
}

#[test]
fn rank_sums_are_those_of_the_tables() {
    let mut counts = NullCounts::default();
    // Mann and Whitney's table for n = m = 4: P(U <= 2) = 0.057.
    close(counts.at_most(Design::Independent(4, 4), 2), 4.0 / 70.0, "4 and 4");
    close(counts.at_most(Design::Independent(4, 5), 0), 1.0 / 126.0, "4 and 5");
    // The critical values at 5 % on two sides of 12 and 12, and of 10 and 8, are 37 and 17.
    assert_eq!(counts.end_rank(Design::Independent(12, 12), 0.05), 38);
    assert_eq!(counts.end_rank(Design::Independent(10, 8), 0.05), 18);
    assert_eq!(counts.end_rank(Design::Independent(3, 3), 0.05), 0, "2 / 20 is above 5 %");
}

#[test]
fn the_distributions_agree_with_counting_one_by_one() {
    let signed = signed_ranks(7);
    let mut counted = vec![0.0; signed.len()];
    for signs in 0u32..1 << 7 {
        let sum: usize = (0..7).filter(|rank| signs >> rank & 1 == 1).map(|rank| rank + 1).sum();
        counted[sum] += 1.0 / 128.0;
    }
    signed.iter().zip(&counted).for_each(|(found, expected)| close(*found, *expected, "signed ranks"));
    let sums = rank_sums(4, 3);
    let mut counted = vec![0.0; sums.len()];
    for chosen in (0u32..1 << 7).filter(|chosen| chosen.count_ones() == 3) {
        // The number of launches of the first side (bits that are not set) above each of the second.
        let pairs: u32 =
            (0..7).filter(|bit| chosen >> bit & 1 == 1).map(|bit| (!chosen & 0x7f) >> bit).map(u32::count_ones).sum();
        counted[pairs as usize] += 1.0 / 35.0;
    }
    sums.iter().zip(&counted).for_each(|(found, expected)| close(*found, *expected, "rank sums"));
}

#[test]
fn the_approximation_continues_the_count() {
    let mut counts = NullCounts::default();
    for (counted, design) in [
        (cumulative(Design::Paired(120)), Design::Paired(120)),
        (cumulative(Design::Independent(60, 50)), Design::Independent(60, 50)),
    ] {
        assert!(!design.is_counted());
        for (count, expected) in counted.iter().enumerate() {
            let found = counts.at_most(design, count);
            assert!((found - expected).abs() < 1e-3, "{design:?}, {count}: {found}, not {expected}");
        }
    }
}

#[test]
fn the_smallest_p_value_is_that_of_all_pairs_on_one_side() {
    let mut counts = NullCounts::default();
    for design in [Design::Paired(1), Design::Paired(12), Design::Independent(1, 1), Design::Independent(6, 4)] {
        close((2.0 * counts.at_most(design, 0)).min(1.0), design.p_reachable(), &format!("{design:?}"));
    }
}
