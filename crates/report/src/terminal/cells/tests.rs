use super::*;

const STYLE: Style = Style { colour: false, width: 80, unicode: true };

#[test]
fn a_spread_is_half_the_interval_in_per_cent() {
    let estimate = |low, median, high, n| Estimate { median, low, high, confidence: 0.96, n };
    assert_eq!(spread(&estimate(90.0, 100.0, 114.0, 12), &STYLE), "±12%");
    assert_eq!(spread(&estimate(99.6, 100.0, 100.4, 12), &STYLE), "±0.4%");
    assert_eq!(spread(&estimate(100.0, 100.0, 100.0, 12), &STYLE), "±0%");
    assert_eq!(spread(&estimate(0.0, 0.1, 100.0, 12), &STYLE), "±>999%");
    assert_eq!(spread(&estimate(0.0, 0.0, 1.0, 12), &STYLE), "");
    assert_eq!(spread(&estimate(100.0, 100.0, 100.0, 1), &STYLE), "");
    let ascii = Style { unicode: false, ..STYLE };
    assert_eq!(spread(&estimate(90.0, 100.0, 110.0, 12), &ascii), "+-10%");
}

#[test]
fn numbers_of_a_table_have_the_same_decimals() {
    let all = |values: &[f64]| -> Vec<String> {
        let fixed = Fixed::of(values.iter().copied());
        values.iter().map(|&value| fixed.text(value)).collect()
    };
    assert_eq!(all(&[0.412, 11.2, 134.0]), ["0.41", "11.20", "134.00"]);
    assert_eq!(all(&[94.5, 1023.06]), ["94.5", "1,023.1"]);
    assert_eq!(all(&[734.0, 1102.0]), ["734", "1,102"]);
    assert_eq!(all(&[94.5, 101_581.7]), ["94", "101,582"]);
    assert_eq!(all(&[99.96, 999.96]), ["100.0", "1000.0"]);
    assert_eq!(all(&[0.0]), ["0"]);
    assert_eq!(Fixed::of([]).text(5.0), "5");
}
