use headwater_gauge::plan::rows::of_transport;
use headwater_gauge::{patterns, transports};

use super::*;

fn row() -> Row {
    let entry = |name| transports::find(name).expect("a transport");
    of_transport(entry("tcp").info, patterns::find("stream").expect("a pattern").info, 64, None, Placement::TwoCpus)
}

fn turns(ours: &[f64], external: &[f64], alone: &[f64]) -> Turns<f64> {
    Turns { figures: vec![ours.to_vec(), external.to_vec(), alone.to_vec()], missing: None }
}

#[test]
fn a_row_is_judged_by_ratios_within_blocks_against_both_forms_of_the_program() {
    // The machine becomes ten times slower in the middle.
    let drift = [10.0, 10.1, 9.9, 10.0, 1.0, 1.01, 0.99, 1.0];
    let by = |factor: f64| drift.map(|figure| figure * factor);
    for (external, alone, expected) in [
        (by(1.0), by(1.01), "agrees"),
        // A definition that is wrong for both sides that Headwater times shows against the program alone.
        (by(1.0), by(0.25), "differs from C alone"),
        (by(0.25), by(1.0), "differs from C timed by headwater"),
        (by(1.0), [5.0, 20.0, 5.0, 20.0, 0.5, 2.0, 0.5, 2.0], "interval too wide"),
    ] {
        let (line, verdict) = line(&row(), &turns(&drift, &external, &alone));
        assert_eq!(verdict, expected, "{line}");
        assert!(line.ends_with(&format!("| 8 | {expected} |")), "{line}");
    }
}

#[test]
fn further_blocks_follow_while_an_interval_is_too_wide() {
    let (same, wide) = ([1.0; 8], [0.5, 2.0, 0.5, 2.0, 0.5, 2.0, 0.5, 2.0]);
    assert!(is_enough(&turns(&same, &same, &same), 8));
    assert!(!is_enough(&turns(&same, &same, &same), 9), "the blocks that were asked for");
    assert!(!is_enough(&turns(&same, &same, &wide), 8) && !is_enough(&turns(&same, &wide, &same), 8));
}

#[test]
fn a_filter_names_whole_components() {
    let wanted = ["pipe".to_owned(), "tcp/rtt".to_owned()];
    let is = |id| is_wanted(id, &wanted);
    assert!(is("pipe/stream/64/two-cpus") && is("tcp/rtt/1/same-cpu"));
    assert!(!is("pipe-1m/stream/64/two-cpus") && !is("tcp/stream/1/same-cpu") && !is("tcp-nagle/rtt/1/same-cpu"));
}

#[test]
fn a_row_without_figures_has_its_reason() {
    let missing = Turns { missing: Some("no room".to_owned()), ..turns(&[1.0], &[1.0], &[1.0]) };
    let (line, verdict) = line(&row(), &missing);
    assert!(line.ends_with("| 1 | no room |") && verdict == "not measured", "{line}");
}
