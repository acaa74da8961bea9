use super::*;

#[test]
fn the_verdict_looks_at_the_interval_too() {
    for (values, expected) in [
        ([0.99, 1.0, 1.0, 1.0, 1.0, 1.01], "yes, with its interval"),
        ([0.8, 1.0, 1.0, 1.0, 1.0, 1.01], "yes, its interval reaches further"),
        ([1.06, 1.07, 1.07, 1.07, 1.07, 1.08], "no"),
        ([0.90, 0.92, 0.93, 0.94, 1.01, 1.02], "cannot be told apart"),
        ([0.93, 0.94, 0.94, 0.94, 0.94, 0.94], "no"),
    ] {
        assert_eq!(verdict(&Estimate::of_launches(&values).expect("values")), expected, "{values:?}");
    }
}
