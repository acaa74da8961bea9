//! Tests against the example of the method's author, and of how often values are wrongly named.

use super::*;
use crate::testing::Random;

fn plain(values: &[f64]) -> Vec<Value> {
    values.iter().map(|&value| Value { value, excess: 0.0 }).collect()
}

fn named(values: &[Value], alpha: f64) -> Vec<f64> {
    furthest(values).iter().filter(|(_, p)| *p <= alpha).map(|(place, _)| values[*place].value).collect()
}

#[test]
fn outliers_are_those_of_the_authors_example() {
    // Rosner's data as in the NIST/SEMATECH Handbook, section 1.3.5.17.3: three outliers, of which the first two alone are
    // not significant.
    let data = [
        -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65, 1.69, 1.70,
        1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40,
        2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
    ];
    assert_eq!(named(&plain(&data), 0.05), [6.01, 5.42, 5.34]);
}

/// `HEADWATER_TIMES=33` prints the figures of docs/fleet.md.
#[test]
fn values_like_the_rest_are_named_as_often_as_promised() {
    let times: usize = std::env::var("HEADWATER_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let samples = 3000 * times;
    let mut random = Random::new(3);
    for n in [5, 10, 15, 20, 40] {
        let false_alarms = (0..samples).filter(|_| {
            let values: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            !named(&plain(&values), 0.05).is_empty()
        });
        let share = 100.0 * false_alarms.count() as f64 / samples as f64;
        println!("{n} values: {share:.2} of 100");
        // Of few values the test is exact, so that it must find some.
        let deviation = (5.0 * 95.0 / samples as f64).sqrt();
        assert!((2.5..=5.0 + 3.0 * deviation).contains(&share), "{n} values: {share} of 100");
    }
}

#[test]
fn an_uncertain_value_is_not_named() {
    let mut values = plain(&[0.0, 0.01, -0.01, 0.005, -0.004, 0.2]);
    assert_eq!(named(&values, 0.01), [0.2]);
    values[5].excess = 0.01;
    assert!(named(&values, 0.05).is_empty());
    // A host that differs while all others agree to the last bit.
    assert_eq!(named(&plain(&[1.0, 1.0, 1.0, 1.0, 2.0]), 0.05), [2.0]);
    assert!(named(&plain(&[1.0; 8]), 0.05).is_empty() && furthest(&plain(&[1.0; 4])).is_empty());
}
