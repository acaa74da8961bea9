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

#[test]
fn a_plain_loop_agrees_only_with_a_narrow_interval_near_one() {
    let estimate = |low, high| Estimate { median: (low + high) / 2.0, low, high, confidence: 0.95, n: 12 };
    for ((low, high), expected) in [
        ((0.97, 1.02), Agreement::Agrees),
        ((0.90, 0.96), Agreement::Agrees),
        ((1.04, 1.18), Agreement::Agrees),
        ((0.90, 1.06), Agreement::Undecided),
        ((0.20, 4.00), Agreement::Undecided),
        ((1.06, 1.09), Agreement::Differs),
        ((0.80, 0.94), Agreement::Differs),
        ((1.50, 4.00), Agreement::Differs),
    ] {
        assert_eq!(Agreement::of(&estimate(low, high)), expected, "{low} .. {high}");
    }
}
