use super::*;
use crate::schema::Better;
use crate::testing::{Random, noise, row};

fn launch(value: f64) -> LaunchFacts {
    LaunchFacts {
        value: Some(value),
        batches: 40,
        modes: None,
        resolution: Some(BatchResolution { step_ns: 0.0, batch_ns: 1e6 }),
        steady: true,
        steal: 0.0,
        foreign_load: 0.0,
        throttled_s: 0.0,
        involuntary_switches: 0.0,
        measured_s: 0.5,
    }
}

/// Returns the flags of twelve launches, each changed by `change`, which receives its number.
fn flags(change: impl Fn(usize, &mut LaunchFacts)) -> Vec<Flag> {
    let values = noise(&mut Random::new(1), 12, 0.01);
    let mut launches: Vec<LaunchFacts> = values.into_iter().map(launch).collect();
    launches.iter_mut().enumerate().for_each(|(i, launch)| change(i, launch));
    let values: Vec<f64> = launches.iter().filter_map(|launch| launch.value).collect();
    flags_of_row(&row("pipe/stream/64/two-cpus"), &launches, Estimate::of_launches(&values).as_ref(), 1.0)
}

#[test]
fn a_clean_row_has_no_flag() {
    assert_eq!(flags(|_, _| ()), []);
}

#[test]
fn each_disturbance_has_its_flag_and_no_other() {
    assert_eq!(flags(|i, launch| launch.steady = i >= 4), [Flag::NotSteady { launches: 4 }]);
    assert_eq!(flags(|i, launch| launch.steady = i >= 3), []);
    assert_eq!(flags(|_, launch| launch.steal = 0.03125), [Flag::Stolen { share: 0.03125 }]);
    assert_eq!(flags(|_, launch| launch.steal = 0.009), []);
    assert_eq!(flags(|_, launch| launch.foreign_load = 0.25), [Flag::ForeignLoad { share: 0.25 }]);
    assert_eq!(flags(|_, launch| launch.foreign_load = 0.019), []);
    assert_eq!(flags(|_, launch| launch.throttled_s = 0.25), [Flag::Throttled { seconds: 3.0 }]);
    assert_eq!(flags(|_, launch| launch.throttled_s = 0.004), []);
    assert_eq!(
        flags(|_, launch| launch.involuntary_switches = 100.0),
        [Flag::InvoluntarySwitches { per_second: 200.0 }]
    );
    assert_eq!(flags(|_, launch| launch.involuntary_switches = 40.0), []);
    assert_eq!(flags(|i, launch| launch.batches = 3 + i as u64), [Flag::TooFewSamples { n: 3 }]);
    let coarse = BatchResolution { step_ns: 100.0, batch_ns: 1000.0 };
    assert_eq!(
        flags(|_, launch| launch.resolution = Some(coarse)),
        [Flag::Quantised { step_ns: 100.0, batch_ns: 1000.0 }]
    );
    let modes = Some(Modes { lower: 1.0, upper: 2.0 });
    assert_eq!(flags(|_, launch| launch.modes = modes), [Flag::TwoModes { ratio: 2.0, lower: 1.0, upper: 2.0 }]);
}

#[test]
fn one_cause_is_one_flag() {
    let double_from_sixth =
        flags(|i, launch| launch.value = launch.value.map(|value| if i < 6 { value } else { 2.0 * value }));
    assert!(
        matches!(double_from_sixth[..], [Flag::ChangePoint { at_launch: 6, .. }, Flag::WideInterval { .. }]),
        "{double_from_sixth:?}"
    );
}

#[test]
fn switches_on_a_shared_cpu_are_not_flagged() {
    let many: Vec<LaunchFacts> = noise(&mut Random::new(1), 12, 0.01)
        .into_iter()
        .map(|v| LaunchFacts { involuntary_switches: 1e5, ..launch(v) })
        .collect();
    let mut row = row("pipe/stream/64/same-cpu");
    row.placement = Placement::SameCpu;
    assert_eq!(flags_of_row(&row, &many, None, 1.0), []);
    row.placement = Placement::TwoCpus;
    assert_eq!(flags_of_row(&row, &many, None, 1.0).len(), 1);
    row.workers = Some(5);
    assert_eq!(flags_of_row(&row, &many, None, 1.0), []);
}

#[test]
fn without_launches_there_are_no_flags() {
    assert_eq!(flags_of_row(&row("a"), &[], None, 1.0), []);
    let empty = LaunchFacts::of(&LaunchRecord::default(), None);
    assert_eq!(flags_of_row(&row("a"), &[empty], None, 1.0), []);
}

#[test]
fn few_launches_and_extreme_numbers_are_accepted() {
    for n in 1..=3 {
        let launches: Vec<LaunchFacts> = (0..n)
            .map(|i| LaunchFacts {
                steal: f64::NAN,
                foreign_load: f64::INFINITY,
                measured_s: f64::NAN,
                throttled_s: f64::NAN,
                involuntary_switches: f64::NAN,
                ..launch(f64::from(i))
            })
            .collect();
        assert_eq!(flags_of_row(&row("a"), &launches, None, f64::NAN), [Flag::FewLaunches { n: n as u32 }]);
    }
}

#[test]
fn facts_are_about_the_rows_own_figure() {
    let mut record = LaunchRecord {
        batch_operations: 1000,
        elapsed_s: 3.0,
        warm_up_s: 1.0,
        steady: true,
        ..LaunchRecord::default()
    };
    record.series.insert("rate".to_owned(), vec![1e6, 2e6, f64::NAN, 4e6]);
    record.series.insert("other".to_owned(), vec![7.0; 9]);
    record.counters.insert("sender_involuntary_switches".to_owned(), 3.0);
    record.counters.insert("receiver_involuntary_switches".to_owned(), 4.0);
    record.counters.insert("throttled_s".to_owned(), 0.5);
    let metric = Metric { name: "rate".to_owned(), unit: "messages/s".to_owned(), better: Better::Higher };
    let facts = LaunchFacts::of(&record, Some(&metric));
    assert_eq!(facts.value, Some(2e6));
    assert_eq!(facts.batches, 3);
    assert_eq!(facts.resolution, Some(BatchResolution { step_ns: 0.0, batch_ns: 500_000.0 }));
    assert_eq!((facts.involuntary_switches, facts.throttled_s, facts.measured_s), (7.0, 0.5, 2.0));
}

#[test]
fn only_times_and_rates_of_operations_have_a_duration() {
    let of = |unit: &str| {
        let metric = Metric { name: "m".to_owned(), unit: unit.to_owned(), better: Better::Lower };
        durations_ns(&[2.0], &metric, 10).map(|durations| durations[0])
    };
    assert_eq!([of("ns"), of("us"), of("ms"), of("s")], [Some(20.0), Some(2e4), Some(2e7), Some(2e10)]);
    assert_eq!([of("messages/s"), of("operations/s")], [Some(5e9); 2]);
    assert_eq!([of("ratio"), of("bytes/s")], [None; 2]);
}
