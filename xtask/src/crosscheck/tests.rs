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
    // The machine became ten times slower after block 0, and each side lost one launch.
    let (ours, plain) = (rates(&[0, 2, 3], &[110.0, 11.0, 9.0]), rates(&[0, 1, 2], &[100.0, 10.0, 10.0]));
    assert_eq!(paired(&ours, &plain), [1.1, 1.1]);
}
