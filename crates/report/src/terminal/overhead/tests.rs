use headwater_results::estimate::Estimate;

use super::*;

fn arm(finding: Finding) -> Arm {
    let cost = Some(Cost { times: 1.052, low: 1.031, high: 1.074, n: 20 });
    let (value, value_best, median) = (None, None, Estimate::of_launches(&[1.05]));
    let (best, events, lost, event_ns, predicted) = (Some(1.06), None, None, None, None);
    let (name, is_counted_exactly) = ("drain".to_owned(), true);
    Arm { name, finding, value, value_best, cost, median, best, events, lost, is_counted_exactly, event_ns, predicted }
}

#[test]
fn a_figure_stands_only_where_the_null_arm_supports_it() {
    let cell = |finding| cell(&arm(finding), Some(0.083));
    let found = cell(Finding::Found);
    assert_eq!((found.value.as_str(), found.spread.as_str()), ("+5.2 %", "[+3.1 %, +7.4 %]"));
    assert_eq!(cell(Finding::Below), Cell::plain("below 8.3 %"), "what counts, not what was measured");
    let others = [Finding::Open { more_blocks: Some(7) }, Finding::Open { more_blocks: None }, Finding::Unsupported];
    for finding in others {
        let cell = cell(finding);
        assert!(!format!("{}{}", cell.value, cell.spread).contains('%'), "{cell:?}");
    }
}

#[test]
fn changes_are_percent_and_from_twice_on_factors() {
    assert_eq!([0.97, 1.004, 1.5, 2.44, 74.4].map(change), ["-3.0 %", "+0.40 %", "+50 %", "2.44 x", "74.4 x"]);
}
