//! What the option means, and which exit status a comparison has.

use headwater_results::compare::{Comparison, Ratio};

use super::*;
use crate::sources;

#[test]
fn shares_are_read_with_and_without_a_sign() {
    for (text, expected) in [("5%", 0.05), ("0.05", 0.05), (" 2.5%", 0.025), ("99%", 0.99)] {
        let share = text.parse::<Share>().expect(text).0;
        assert!((share - expected).abs() < 1e-12, "{text}: {share}");
    }
    for text in ["", "%", "0", "1", "100%", "-5%", "five", "NaN"] {
        assert!(text.parse::<Share>().is_err(), "{text}");
    }
}

#[test]
fn conditions_of_failure_are_read() {
    let of = |regression, improvement| Ok(FailOn { regression, improvement });
    assert_eq!("never".parse(), of(None, None));
    assert_eq!("regression".parse(), of(Some(0.0), None));
    assert_eq!("regression:50%".parse(), of(Some(0.5), None));
    assert_eq!("improvement:200%".parse(), of(None, Some(2.0)));
    assert_eq!("regression:5%,improvement:50%".parse(), of(Some(0.05), Some(0.5)));
    for text in [
        "",
        "regression:",
        "regression:0",
        "regression:100%",
        "improvement",
        "improvement:0",
        "regressions:5%",
        "regression,never",
    ] {
        assert!(text.parse::<FailOn>().is_err(), "{text}");
    }
}

/// A comparison of one row of a rate, whose ratio has this interval.
fn compared(value: f64, low: f64, high: f64, verdict: Verdict) -> Vec<Compared> {
    let (_, run) = sources::load("published:pipes/fc6").expect("it is compiled in").remove(0);
    let result = &run.results[0];
    let ratio = Ratio { value, low, high, confidence: 0.95, n: 12, paired: true, p: 0.001, p_reachable: 0.0005 };
    let row = RowComparison {
        row: result.row.clone(),
        label: result.row.id.clone(),
        metric: result.metrics[0].metric.clone(),
        baseline: result.metrics[0].estimate,
        candidate: result.metrics[0].estimate,
        ratio: Some(ratio),
        p_adjusted: Some(0.001),
        verdict,
        hosts: None,
    };
    let comparison = Comparison {
        baseline: "a".to_owned(),
        candidate: "b".to_owned(),
        rules: Rules::default(),
        rows: vec![row],
        left_out: vec![],
        geometric_mean: None,
        hosts: None,
        movement: None,
        resemblance: None,
    };
    vec![Compared { comparison, environment: vec![], noise: String::new() }]
}

fn check(compared: &[Compared], fail_on: &str, expect: u8) {
    let found = fail_on.parse::<FailOn>().expect("a condition").status(&[], compared);
    assert_eq!(found, expect, "{fail_on}: {compared:?}");
}

#[test]
fn the_exit_status_says_what_was_found() {
    let worse = compared(0.9, 0.88, 0.92, Verdict::Worse);
    check(&worse, "regression", status::REGRESSION);
    check(&worse, "regression:5%", status::REGRESSION);
    check(&worse, "regression:20%", status::OK);
    check(&worse, "never", status::OK);
    check(&compared(1.1, 1.05, 1.15, Verdict::Better), "regression", status::OK);
    let open = compared(0.99, 0.96, 1.02, Verdict::OPEN);
    check(&open, "regression", status::INCONCLUSIVE);
    check(&open, "regression:5%", status::OK);
    check(&compared(1.0, 0.99, 1.01, Verdict::Equivalent), "regression", status::OK);
}

#[test]
fn an_interval_that_reaches_as_far_is_never_passed_whatever_its_verdict() {
    let hidden = Verdict::Inconclusive { more_blocks: None, more_hosts: None, below_floor: true };
    check(&compared(0.469, 0.16, 1.4, hidden), "regression:5%", status::INCONCLUSIVE);
    check(&compared(0.469, 0.16, 1.4, hidden), "never", status::OK);
    // Equivalent within a large minimum effect, and worse by less than the threshold with an interval beyond it.
    check(&compared(0.98, 0.9, 1.05, Verdict::Equivalent), "regression:5%", status::INCONCLUSIVE);
    check(&compared(0.97, 0.94, 0.99, Verdict::Worse), "regression:5%", status::INCONCLUSIVE);
    check(&compared(0.97, 0.96, 0.99, Verdict::Worse), "regression:5%", status::OK);
    // Three launches exclude nothing, however alike they are.
    let mut few = compared(1.0, 0.99, 1.01, Verdict::OPEN);
    let ratio = few[0].comparison.rows[0].ratio.as_mut().expect("it has one");
    (ratio.n, ratio.confidence) = (3, 0.75);
    check(&few, "regression:5%", status::INCONCLUSIVE);
}

#[test]
fn conditions_are_written_as_they_are_read() {
    for text in
        ["never", "regression", "regression:5%", "regression:2.5%", "improvement:50%", "regression,improvement:300%"]
    {
        let fail_on: FailOn = text.parse().expect("a condition");
        assert_eq!(String::from(fail_on).parse(), Ok(fail_on), "{text}");
    }
}

#[test]
fn a_row_that_one_side_lost_makes_it_partial() {
    let with = |kind: LeftOutKind, verdict: Verdict| {
        let mut compared = match verdict {
            Verdict::Worse => compared(0.9, 0.88, 0.92, verdict),
            _ => compared(1.0, 0.99, 1.01, verdict),
        };
        let row = "r".to_owned();
        compared[0].comparison.left_out.push(LeftOut { row, kind, reason: "failed".to_owned() });
        compared
    };
    check(&with(LeftOutKind::NotMeasured, Verdict::Equivalent), "regression", status::PARTIAL);
    check(&with(LeftOutKind::Incomparable, Verdict::Equivalent), "regression", status::PARTIAL);
    check(&with(LeftOutKind::Missing, Verdict::Equivalent), "regression", status::PARTIAL);
    check(&with(LeftOutKind::Missing, Verdict::Equivalent), "improvement:50%", status::PARTIAL);
    check(&with(LeftOutKind::OneSided, Verdict::Equivalent), "regression", status::OK);
    check(&with(LeftOutKind::NotMeasured, Verdict::Worse), "regression", status::REGRESSION);
}

#[test]
fn a_gate_that_does_not_pass_names_the_rows_and_the_share() {
    let reason = |compared: &[Compared], text: &str| {
        let fail_on = text.parse::<FailOn>().expect("a condition");
        fail_on.reason(fail_on.status(&[], compared), compared)
    };
    let worse = compared(0.8, 0.7, 0.9, Verdict::Worse);
    let name = worse[0].comparison.rows[0].label.clone();
    assert_eq!(reason(&worse, "regression:5%"), Some(format!("--fail-on regression:5%: {name} is worse by as much")));
    let open =
        compared(1.0, 0.9, 1.1, Verdict::Inconclusive { more_blocks: None, more_hosts: None, below_floor: false });
    let may = format!("--fail-on regression:5%: {name} may be worse by as much; more launches would decide");
    assert_eq!(reason(&open, "regression:5%"), Some(may));
    assert_eq!(reason(&open, "regression:50%"), None);
    assert_eq!(reason(&worse, "never"), None);
}

#[test]
fn an_improvement_that_is_not_believed_fails_and_a_smaller_or_unproved_one_does_not() {
    let better = compared(2.0, 1.9, 2.1, Verdict::Better);
    check(&better, "regression", status::OK);
    check(&better, "improvement:50%", status::REGRESSION);
    check(&better, "regression:5%,improvement:50%", status::REGRESSION);
    check(&better, "improvement:150%", status::OK);
    check(&compared(2.0, 0.9, 4.0, Verdict::OPEN), "improvement:50%", status::OK);
    let worse = compared(0.5, 0.4, 0.6, Verdict::Worse);
    check(&worse, "improvement:50%", status::OK);
    check(&worse, "regression:5%,improvement:50%", status::REGRESSION);
    // Half the time is twice the speed.
    let mut time = compared(0.5, 0.45, 0.55, Verdict::Better);
    time[0].comparison.rows[0].metric.better = Better::Lower;
    check(&time, "improvement:90%", status::REGRESSION);
    check(&time, "improvement:110%", status::OK);
    let fail_on: FailOn = "improvement:50%".parse().expect("a condition");
    let reason = fail_on.reason(status::REGRESSION, &better).expect("a reason");
    assert!(reason.contains(&better[0].comparison.rows[0].label) && reason.contains("not believed"), "{reason}");
}

#[test]
fn a_gate_that_lacks_rows_names_them_with_the_reason() {
    let mut lacks = compared(1.0, 0.99, 1.01, Verdict::Equivalent);
    let left = |row: &str, kind| LeftOut { row: row.to_owned(), kind, reason: "failed in b: killed".to_owned() };
    lacks[0].comparison.left_out = vec![left("new", LeftOutKind::OneSided), left("old", LeftOutKind::NotMeasured)];
    let fail_on: FailOn = "regression:5%".parse().expect("a condition");
    let reason = fail_on.reason(fail_on.status(&[], &lacks), &lacks);
    assert_eq!(reason.as_deref(), Some("--fail-on regression:5%: old cannot be compared (failed in b: killed)"));
}
