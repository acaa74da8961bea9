//! Tests with load averages and pressure files.

use super::*;

#[test]
fn load_is_the_first_number() {
    assert_eq!(parse_loadavg("0.52 0.58 0.59 1/467 12345\n"), Some(0.52));
    assert_eq!(parse_loadavg(""), None);
    assert_eq!(parse_loadavg("nan 1 1"), None);
}

#[test]
fn pressure_is_that_of_some() {
    let text = "full avg10=9.00 avg60=0.00\nsome avg10=1.25 avg60=0.38 avg300=0.21 total=4932042\n";
    assert_eq!(parse_pressure(text), Some(1.25));
    assert_eq!(parse_pressure("full avg10=9.00"), None);
}
