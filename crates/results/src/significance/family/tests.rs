//! Tests with the published example, and of the false discovery rate.

use super::*;
use crate::significance::shift::ShiftEstimator;
use crate::testing::Random as Noise;

#[test]
fn the_paper_s_example_has_four_discoveries() {
    // Benjamini and Hochberg (1995), section 4: fifteen p-values, four of them rejected at 0.05.
    let p = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0,
    ];
    let members = judge(&p.map(|p| (p, 0.0)), 0.05);
    assert_eq!(members.iter().filter(|member| member.significant).count(), 4);
    assert!((members[3].p_adjusted - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
    assert!(members.iter().all(|member| member.reachable));
}

#[test]
fn adjusted_values_keep_the_order() {
    let members = judge(&[(0.04, 0.0), (0.03, 0.0), (0.5, 0.0)], 0.05);
    assert!((members[0].p_adjusted - 0.06).abs() < 1e-12);
    // 0.03 * 3 alone would be 0.09, above the value of a larger p.
    assert!((members[1].p_adjusted - 0.06).abs() < 1e-12);
    assert_eq!(members[2].p_adjusted, 0.5);
}

#[test]
fn one_row_among_many_needs_more_launches_than_one_alone() {
    let smallest = 2.0 / 4096.0;
    let alone = judge(&[(smallest, smallest)], 0.05);
    assert!(alone[0].significant && alone[0].reachable);
    let mut many = vec![(0.6, smallest); 145];
    many[0].0 = smallest;
    let members = judge(&many, 0.05);
    assert!(!members[0].significant && !members[0].reachable, "{:?}", members[0]);
    // A change of a whole transport is found: nine rows share the threshold.
    many[..9].fill((smallest, smallest));
    let members = judge(&many, 0.05);
    assert!(members[..9].iter().all(|member| member.significant));
    assert!(members[9].reachable, "once nine are found a tenth could be");
}

#[test]
fn tests_that_can_never_be_significant_do_not_hide_others() {
    let mut tests = vec![(0.5, 0.25); 100];
    tests.push((0.03, 0.001));
    let members = judge(&tests, 0.05);
    assert!(members[100].significant);
    assert!(members[..100].iter().all(|member| !member.significant && !member.reachable));
}

#[test]
fn false_discoveries_stay_below_the_rate() {
    // 40 rows of 12 blocks, 10 of them different: the share of false ones among the discoveries.
    let mut noise = Noise::new(5);
    let mut shifts = ShiftEstimator::at(0.05);
    let (mut shares, mut any_false_when_all_equal) = (0.0, 0);
    for _ in 0..200 {
        let mut family = |different: usize| -> Vec<bool> {
            let tests: Vec<(f64, f64)> = (0..40)
                .map(|row| {
                    let shift = if row < different { 2.0 } else { 0.0 };
                    let values: Vec<f64> = (0..12).map(|_| shift + noise.normal()).collect();
                    let found = shifts.paired(&values).expect("twelve values");
                    (found.p, found.p_reachable)
                })
                .collect();
            judge(&tests, 0.05).iter().map(|member| member.significant).collect()
        };
        let found = family(10);
        let wrong = found[10..].iter().filter(|found| **found).count() as f64;
        let all = found.iter().filter(|found| **found).count() as f64;
        assert!(all >= 8.0, "only {all} of 10 real differences were found");
        shares += wrong / all;
        any_false_when_all_equal += u32::from(family(0).contains(&true));
    }
    assert!(shares / 200.0 <= 0.05, "{}", shares / 200.0);
    // Three standard deviations above 10 of 200.
    assert!(any_false_when_all_equal <= 19, "{any_false_when_all_equal} of 200");
}

#[test]
fn an_empty_family_has_no_results() {
    assert!(judge(&[], 0.05).is_empty());
}
