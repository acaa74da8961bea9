//! Tests of Student's distribution against tables.

use super::*;

#[test]
fn quantiles_are_those_of_the_tables() {
    let table = [
        (0.05, 1, 12.706_205),
        (0.05, 2, 4.302_653),
        (0.05, 9, 2.262_157),
        (0.001, 4, 8.610_302),
        (0.05, 999, 1.962_341),
        (0.2, 30, 1.310_415),
    ];
    for (alpha, degrees, expected) in table {
        let found = quantile(alpha, degrees);
        assert!((found - expected).abs() < 1e-5, "{alpha}, {degrees}: {found}");
        assert!((beyond(found, degrees) - alpha).abs() < 1e-9, "{alpha}, {degrees}");
    }
    // 1 - 2/pi * atan(t), exactly, with one degree of freedom; far out it must not vanish.
    assert!((beyond(1e6, 1) / (2.0 / std::f64::consts::PI / 1e6) - 1.0).abs() < 1e-9);
    assert_eq!(beyond(0.0, 7), 1.0);
}

#[test]
fn the_interval_is_that_of_a_textbook() {
    // Student's own example, Cushny and Peebles: hours of sleep gained (Biometrika 1908).
    let hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
    let found = shift(&hours, 0.05).expect("there are values");
    assert!((found.centre - 1.58).abs() < 1e-12 && (found.p - 0.002_833).abs() < 1e-6, "{found:?}");
    assert!((found.low - 0.700_114).abs() < 1e-5 && (found.high - 2.459_886).abs() < 1e-5, "{found:?}");
}

#[test]
fn one_host_decides_nothing() {
    let found = shift(&[0.5], 0.05).expect("a value");
    assert_eq!((found.p, found.confidence, found.n), (1.0, 0.0, 1));
    assert!(shift(&[], 0.05).is_none() && shift(&[f64::NAN, 1.0], 0.05).is_none());
}
