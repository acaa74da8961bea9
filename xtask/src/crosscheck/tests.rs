use headwater_results::schema::{Better, Metric};

use super::*;

fn rates(blocks: &[u32], launches: &[f64]) -> MetricResult {
    MetricResult {
        metric: Metric { name: "rate".into(), unit: "messages/s".into(), better: Better::Higher },
        estimate: Estimate::of_launches(launches).expect("launches"),
        launches: launches.to_vec(),
        blocks: blocks.to_vec(),
    }
}

#[test]
fn a_ratio_is_taken_within_its_block() {
    // The machine became ten times slower after block 0, and each lost one launch.
    let (ours, plain) = (rates(&[0, 2, 3], &[110.0, 11.0, 9.0]), rates(&[0, 1, 2], &[100.0, 10.0, 10.0]));
    assert_eq!(paired(&ours, &plain), [1.1, 1.1]);
}

#[test]
fn the_verdict_looks_at_the_interval_too() {
    for (values, expected) in [
        ([0.99, 1.0, 1.0, 1.0, 1.0, 1.01], "yes, with its interval"),
        ([0.8, 1.0, 1.0, 1.0, 1.0, 1.01], "yes, its interval reaches further"),
        ([1.06, 1.07, 1.07, 1.07, 1.07, 1.08], "no"),
        ([0.93, 0.94, 0.94, 0.94, 0.94, 0.94], "no"),
    ] {
        assert_eq!(verdict(&Estimate::of_launches(&values).expect("values")), expected, "{values:?}");
    }
}
