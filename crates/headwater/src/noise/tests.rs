//! What several measurements of a machine's noise say together.

use super::testing::record;
use super::*;

#[test]
fn one_bad_day_does_not_rule_the_machine() {
    let wild = record(3, 0.02, 0.55).after(record(2, 0.0, 0.06).after(record(1, 0.01, 0.05)));
    let floor = wild.floor(false);
    assert_eq!((floor.deviation, floor.measurements), (0.06, 3));
    assert_eq!(floor.words(), "median of 3 measurements, 2026-01-01 to 2026-01-03");
    assert_eq!(wild.floor(true).deviation, 0.01);
    let calm = record(4, 0.0, 0.04).after(wild);
    assert_eq!(calm.floor(false).deviation, 0.06, "of 0.04, 0.05, 0.06 and 0.55");
}

#[test]
fn a_record_keeps_the_newest_and_reads_those_of_before() {
    let all = (2..=20).fold(record(1, 0.0, 0.01), |older, day| record(day, 0.0, f64::from(day) / 100.0).after(older));
    assert_eq!(all.earlier.len(), KEPT);
    assert_eq!(all.floor(false).from_to, ["2026-01-12T00:00:00Z", "2026-01-20T00:00:00Z"]);
    let alone = record(1, 0.0, 0.1);
    let text = serde_json::to_string(&alone).expect("plain data");
    assert!(!text.contains("earlier"), "as it was written before there were several");
    let read: Record = serde_json::from_str(&text).expect("a record");
    assert_eq!(read, alone);
    assert_eq!(read.floor(false).words(), "measured 2026-01-01");
}
