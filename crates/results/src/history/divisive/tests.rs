use super::{Search, VALUES_MIN};
use crate::testing::Random;

mod campaign;

/// The two-speed machine of MEASURING.md section 6: three runs in ten are 2.1 times as slow.
pub(super) fn two_speeds(random: &mut Random) -> f64 {
    let slow = if random.unit() < 0.3 { 2.1_f64.ln() } else { 0.0 };
    slow + 0.02 * random.normal()
}

pub(super) fn normal(random: &mut Random) -> f64 {
    0.02 * random.normal()
}

/// Returns the share of series without a change in which one is found.
pub(super) fn false_alarms(noise: fn(&mut Random) -> f64, length: usize, series: usize) -> f64 {
    let mut random = Random::new(length as u64);
    let mut search = Search::at(0.05);
    let mut alarm = || {
        let values: Vec<f64> = (0..length).map(|_| noise(&mut random)).collect();
        !search.changes(&values, 0.05).is_empty()
    };
    (0..series).filter(|_| alarm()).count() as f64 / series as f64
}

#[test]
fn at_most_one_in_twenty_series_without_a_change_has_a_false_alarm() {
    // Of 300 series with a true rate of 5 %, at most 9 % have an alarm in 99.8 of 100 cases.
    for length in [12, 30] {
        for (name, noise) in [("normal", normal as fn(&mut Random) -> f64), ("two speeds", two_speeds)] {
            let share = false_alarms(noise, length, 300);
            assert!(share <= 0.09, "{name}, {length} runs: {share}");
        }
    }
}

#[test]
fn a_step_is_found_where_it_is() {
    let mut random = Random::new(3);
    let values: Vec<f64> = (0..60).map(|at| normal(&mut random) + if at >= 37 { 0.05 } else { 0.0 }).collect();
    let found = Search::at(0.05).changes(&values, 0.05);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].at.abs_diff(37) <= 2 && found[0].p <= 0.002, "{found:?}");
}

#[test]
fn a_step_back_is_a_second_change() {
    let mut random = Random::new(4);
    let level = |at: usize| if (30..45).contains(&at) { 0.08 } else { 0.0 };
    let values: Vec<f64> = (0..80).map(|at| normal(&mut random) + level(at)).collect();
    let at: Vec<usize> = Search::at(0.05).changes(&values, 0.05).iter().map(|split| split.at).collect();
    assert!(at.len() == 2 && at[0].abs_diff(30) <= 1 && at[1].abs_diff(45) <= 1, "{at:?}");
}

#[test]
fn a_step_within_one_of_two_speeds_is_found() {
    let mut random = Random::new(5);
    let values: Vec<f64> = (0..120).map(|at| two_speeds(&mut random) + if at >= 60 { 0.1 } else { 0.0 }).collect();
    let found = Search::at(0.05).changes(&values, 0.05);
    assert!(found.len() == 1 && found[0].at.abs_diff(60) <= 6, "{found:?}");
}

#[test]
fn ten_values_can_show_a_change_and_eight_cannot() {
    let steps = |length: usize| -> Vec<f64> {
        (0..length).map(|at| if at < length / 2 { at as f64 } else { 100.0 + at as f64 }).collect()
    };
    let best = |length| Search::at(0.05).best(&steps(length)).expect("enough values");
    let (few, enough) = (best(8), best(VALUES_MIN));
    assert!(few.p > 0.05, "{few:?}");
    assert!(enough.p <= 0.03 && enough.at == VALUES_MIN / 2, "{enough:?}");
}

#[test]
fn equal_values_and_odd_ones_are_no_change() {
    let mut search = Search::at(0.05);
    assert!(search.changes(&[1.0; 50], 0.05).is_empty());
    assert!(search.changes(&[], 0.05).is_empty());
    assert!(search.changes(&[1.0, 2.0, 3.0], 0.05).is_empty());
    assert!(search.best(&[1.0, f64::NAN, 2.0, 3.0]).is_none());
    assert!(search.best(&[f64::NEG_INFINITY, f64::INFINITY, 0.0, 1.0, 2.0]).is_some());
}

#[test]
fn the_order_of_magnitude_of_a_value_does_not_matter() {
    let mut random = Random::new(6);
    let values: Vec<f64> = (0..50).map(|at| normal(&mut random) + if at >= 20 { 0.04 } else { 0.0 }).collect();
    let stretched: Vec<f64> = values.iter().map(|value| (20.0 * value).exp()).collect();
    assert_eq!(Search::at(0.05).changes(&values, 0.05), Search::at(0.05).changes(&stretched, 0.05));
}
