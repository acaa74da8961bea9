use super::{Scale, Spread};

fn ticks(spread: Spread, range: (f64, f64), count: usize) -> Vec<f64> {
    Scale::new(spread, range, (0.0, 100.0)).ticks(count)
}

#[test]
fn ends_of_the_range_are_ends_of_the_axis() {
    for (spread, low, high) in [
        (Spread::Linear, -3.0, 9.0),
        (Spread::LinearSize, 0.0, 65536.0),
        (Spread::Log2, 1.0, 65536.0),
        (Spread::Log10, 2e3, 5e9),
        (Spread::Percentile, 1.0, 99.99),
    ] {
        let scale = Scale::new(spread, (low, high), (700.0, 20.0));
        assert!((scale.at(low).expect("a place") - 700.0).abs() < 1e-9, "{spread:?}");
        assert!((scale.at(high).expect("a place") - 20.0).abs() < 1e-9, "{spread:?}");
    }
}

#[test]
fn a_factor_has_one_length_on_a_logarithm_and_a_nine_on_percentiles() {
    let sizes = Scale::new(Spread::Log2, (1.0, 16.0), (0.0, 4.0));
    assert!((sizes.at(8.0).expect("a place") - 3.0).abs() < 1e-9);
    let percentiles = Scale::new(Spread::Percentile, (0.0, 99.9), (0.0, 3.0));
    assert!((percentiles.at(90.0).expect("a place") - 1.0).abs() < 1e-9);
    assert!((percentiles.at(99.0).expect("a place") - 2.0).abs() < 1e-9);
}

#[test]
fn invalid_values_have_no_position() {
    let scale = Scale::new(Spread::Log10, (1.0, 10.0), (0.0, 1.0));
    assert_eq!(scale.at(0.0), None);
    assert_eq!(scale.at(-1.0), None);
    assert_eq!(scale.at(f64::NAN), None);
    assert_eq!(scale.at(f64::INFINITY), None);
    assert_eq!(scale.within(1e9), Some(1.0));
}

#[test]
fn ticks_are_round_and_few() {
    assert_eq!(ticks(Spread::Linear, (0.0, 9.3), 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
    assert_eq!(
        ticks(Spread::LinearSize, (0.0, 65536.0), 8),
        [0.0, 8192.0, 16384.0, 32768.0, 65536.0],
        "powers of two on a linear axis too, and none closer to another than an eighth of it"
    );
    assert_eq!(ticks(Spread::Log2, (1.0, 64.0), 20), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert_eq!(ticks(Spread::Log2, (1.0, 64.0), 4), [1.0, 4.0, 16.0, 64.0]);
    assert_eq!(
        ticks(Spread::Log2, (1.0, 65536.0), 11),
        [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0]
    );
    assert_eq!(ticks(Spread::Log10, (1e3, 1e6), 4), [1e3, 1e4, 1e5, 1e6]);
    assert_eq!(ticks(Spread::Log10, (1e3, 1e5), 4), [1e3, 3e3, 1e4, 3e4, 1e5]);
    assert_eq!(ticks(Spread::Log10, (1.0, 10.0), 4), [1.0, 2.0, 5.0, 10.0]);
    assert_eq!(
        ticks(Spread::Log2, (32.0, 65536.0), 3),
        [32.0, 4096.0, 65536.0],
        "a size of 256 B would touch that of 32 B"
    );
    assert_eq!(ticks(Spread::Percentile, (0.0, 99.9), 9), [0.0, 50.0, 90.0, 99.0, 99.9]);
}

#[test]
fn every_range_can_be_drawn() {
    for spread in [Spread::Linear, Spread::LinearSize, Spread::Log2, Spread::Log10, Spread::Percentile] {
        for range in
            [(0.0, 0.0), (5.0, 5.0), (-1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY), (1e-300, 1e300), (9.0, 2.0)]
        {
            let scale = Scale::new(spread, range, (0.0, 100.0));
            let (low, high) = scale.ends();
            assert!(low < high && scale.at(high).is_some(), "{spread:?} {range:?}");
            assert!(scale.ticks(6).len() < 1001, "{spread:?} {range:?}");
            let (low, high) = Scale::rounded(spread, range, 6);
            assert!(low < high, "{spread:?} {range:?}");
        }
    }
}

#[test]
fn rounded_ends_contain_the_range() {
    assert_eq!(Scale::rounded(Spread::Linear, (0.0, 9.3), 5), (0.0, 10.0));
    assert_eq!(Scale::rounded(Spread::Linear, (-12.0, 31.0), 5), (-20.0, 40.0));
    assert_eq!(Scale::rounded(Spread::Log10, (3.1, 5.5e6), 7), (2.0, 1e7));
    assert_eq!(Scale::rounded(Spread::Log10, (2e3, 8e5), 7), (2e3, 1e6));
}

#[test]
fn a_logarithmic_axis_is_labelled_at_its_round_ends() {
    assert_eq!(ticks(Spread::Log10, (2.0, 5e5), 7), [2.0, 10.0, 1e2, 1e3, 1e4, 1e5, 5e5]);
    let close = "10 and 1 M would touch them";
    assert_eq!(ticks(Spread::Log10, (5.0, 2e6), 7), [5.0, 1e2, 1e3, 1e4, 1e5, 2e6], "{close}");
    let other = "an end that is not round has none";
    assert_eq!(ticks(Spread::Log10, (3.1, 7.2e5), 7), [10.0, 1e2, 1e3, 1e4, 1e5], "{other}");
}
