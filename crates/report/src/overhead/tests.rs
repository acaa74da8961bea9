use headwater_results::estimate::Estimate;

use super::*;
use crate::testing::overhead;

fn arm(finding: Finding) -> Arm {
    let cost = Some(Cost { times: 1.052, low: 1.031, high: 1.074, n: 20 });
    let (value, value_best, median) = (None, None, Estimate::of_launches(&[1.05]));
    let (best, events, lost, event_ns, predicted) = (Some(1.06), None, None, None, None);
    let (name, is_counted_exactly) = ("drain".to_owned(), true);
    Arm { name, finding, value, value_best, cost, median, best, events, lost, is_counted_exactly, event_ns, predicted }
}

fn line(arms: Vec<Arm>) -> Line {
    let run = overhead(12);
    let found = Overhead::of(&run).lines.into_iter().next().expect("there is one");
    Line { minimum_effect: Some(0.083), arms, ..found }
}

#[test]
fn a_figure_is_shown_only_if_the_null_arm_supports_it() {
    let cell = |finding| cell(&arm(finding), &line(Vec::new()));
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
fn a_prediction_is_named_and_comes_first_where_the_measured_figure_is_not_known() {
    let of = |finding| Arm { predicted: Some(0.0043), ..arm(finding) };
    let value = |finding| cell(&of(finding), &line(Vec::new())).value;
    assert_eq!(value(Finding::Below), "predicted +0.43 %; below 8.3 %");
    assert_eq!(value(Finding::Open { more_blocks: Some(7) }), "predicted +0.43 %; open, 7 more");
    assert_eq!(value(Finding::Found), "+5.2 %");
}

#[test]
fn a_run_on_one_cpu_is_beside_the_machine_of_the_report_that_had_one() {
    let mut run = overhead(12);
    let cells = |run: &Run| {
        let tables = tables(&Overhead::of(run), run, "+-");
        let old: Vec<_> = tables[2].grid.lines[0].cells.iter().rev().take(3).map(|cell| cell.value.clone()).collect();
        (tables[2].words.clone(), old)
    };
    run.header.environment.cpu.affinity = vec![0];
    let (words, old) = cells(&run);
    assert!(words.ends_with("with one CPU."), "{words}");
    assert_eq!(old, ["2.78 x", "+1.7 %", "346 ns"], "D and C of null_call, up: 0.963 and 0.352 over 0.346 us");
    run.header.environment.cpu.affinity = vec![0, 1];
    let (words, other) = cells(&run);
    assert!(words.ends_with("with four."), "{words}");
    assert_ne!(other, old);
}

#[test]
fn a_null_arm_that_was_measured_once_is_not_called_missing() {
    let unsupported = arm(Finding::Unsupported);
    assert_eq!(cell(&unsupported, &line(Vec::new())).value, "no null arm");
    let null = Arm { name: NULL.to_owned(), value: Estimate::of_launches(&[1.0]), ..arm(Finding::Null) };
    assert_eq!(cell(&unsupported, &line(vec![null])).value, "open");
}

#[test]
fn measured_and_predicted_costs_are_shown_side_by_side() {
    let run = overhead(12);
    let tables = tables(&Overhead::of(&run), &run, "+-");
    let line = |label: &str| {
        let found = tables[1].grid.lines.iter().find(|line| line.label == label).expect("it is there");
        found.cells.iter().map(|cell| cell.value.as_str()).collect::<Vec<_>>()
    };
    // 400,000 events of about 70 ns in 0.52 s.
    assert_eq!(line("compile, flight")[4..], ["400,000", "0", "69.9", "+5.4 %"]);
    assert_eq!(line("compile, user-drain")[4..], ["0", "0", "-", "-"]);
    assert_eq!(line("compile, off")[4..], ["-"; 4]);
    assert!(tables[1].words.contains("whole machine"), "{}", tables[1].words);
    assert_eq!(absent(&Overhead::of(&run)), ["strace: strace is not installed."]);
}

#[test]
fn changes_are_percent_and_from_twice_on_factors() {
    assert_eq!(change(1.00001), "< 0.01 %");
    assert_eq!([0.083, 1.99].map(least), ["8.3 %", "2.99 x"], "no change is below -100 %");
    assert_eq!([0.97, 1.004, 1.5, 2.44, 74.4].map(change), ["-3.0 %", "+0.40 %", "+50 %", "2.44 x", "74.4 x"]);
}
