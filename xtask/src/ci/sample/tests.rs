use headwater_results::estimate::Estimate;
use headwater_results::schema::{Better, Metric, MetricResult, Placement};

use super::*;

fn metric(name: &str) -> Metric {
    Metric { name: name.into(), unit: "messages/s".into(), better: Better::Higher }
}

fn result(outcome: RowOutcome, values: &[(&str, f64)]) -> RowResult {
    let row = Row {
        id: "pipe/stream/64/two-cpus".into(),
        subject: "pipe".into(),
        pattern: "stream".into(),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::TwoCpus,
        size_bytes: Some(64),
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics: vec![metric("rate"), metric("loss")],
    };
    let metrics = values.iter().map(|(name, value)| MetricResult {
        metric: metric(name),
        estimate: Estimate { median: *value, low: *value, high: *value, confidence: 0.5, n: 1 },
        launches: vec![*value],
        blocks: vec![0],
    });
    RowResult {
        row,
        outcome,
        metrics: metrics.collect(),
        percentiles: Default::default(),
        counters: Default::default(),
        flags: Vec::new(),
        failures: Vec::new(),
    }
}

#[test]
fn a_row_has_a_value_or_a_reason() {
    let reason = |text: &str| text.to_owned();
    for (outcome, values, good) in [
        (RowOutcome::Measured, &[("rate", 1.0), ("loss", 0.0)][..], true),
        (RowOutcome::Measured, &[], false),
        (RowOutcome::Measured, &[("rate", 0.0)], false),
        (RowOutcome::Measured, &[("loss", 0.5)], false),
        (RowOutcome::Skipped { reason: reason("msgsize_max is 8192") }, &[], true),
        (RowOutcome::Skipped { reason: reason(" ") }, &[], false),
        (RowOutcome::Failed { reason: reason("peer stuck") }, &[], false),
        (RowOutcome::Pending, &[], false),
    ] {
        let result = result(outcome, values);
        assert_eq!(fault(&result).is_none(), good, "{result:?}");
    }
}
