use super::Figure;

fn json(value: f64) -> String {
    serde_json::to_string(&Figure(value)).expect("a number")
}

#[test]
fn four_significant_digits_are_kept() {
    for (value, text) in [
        (1_234_567.0, "1235000"),
        (0.000_123_456, "0.0001235"),
        (12.0, "12"),
        (-2.98765, "-2.988"),
        (0.0, "0"),
        (99_995.0, "100000"),
        (1.5e-9, "1.5e-9"),
    ] {
        assert_eq!(json(value), text, "{value}");
    }
}

#[test]
fn non_finite_values_are_absent_and_extremes_are_kept() {
    assert_eq!(json(f64::NAN), "null");
    assert_eq!(json(f64::INFINITY), "null");
    for value in [1e-320, f64::MIN_POSITIVE, 1e308, -1e308] {
        let back: f64 = json(value).parse().expect("a number");
        assert!((back / value - 1.0).abs() < 1e-3, "{value}");
    }
}
