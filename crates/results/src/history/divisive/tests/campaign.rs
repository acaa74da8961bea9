//! The figures of docs/validation.md, "Statistics and verdicts": false alarms, and delays of detection, simulated at length. It
//! asserts nothing; the tests beside it do, with fewer series.
//!
//! `cargo test --release -p headwater-results campaign -- --ignored --nocapture`

use super::{false_alarms, normal, two_speeds};
use crate::history::divisive::Search;
use crate::testing::Random;

type Noise = fn(&mut Random) -> f64;

/// Runs of 2 % around one level; the same, three in ten 2.1 times as slow.
const NOISES: [(&str, Noise); 2] = [("normal, 2 %", normal), ("two speeds", two_speeds)];

/// A machine that drifts: seven tenths of a run's deviation are left in the next one.
fn drifting(random: &mut Random, length: usize) -> Vec<f64> {
    let mut level = 0.02 * random.normal();
    let step = |level: f64, random: &mut Random| 0.7 * level + 0.02 * (1.0 - 0.49_f64).sqrt() * random.normal();
    (0..length)
        .map(|_| {
            level = step(level, random);
            level
        })
        .collect()
}

#[test]
#[ignore = "minutes"]
fn false_alarms_of_histories_without_a_change() {
    for (name, noise) in NOISES {
        for (length, series) in [(20, 2000), (50, 2000), (100, 2000), (200, 1000)] {
            println!("{name}: {length} runs, {series} histories: {:.1} %", 100.0 * false_alarms(noise, length, series));
        }
    }
    let mut random = Random::new(1);
    let mut search = Search::at(0.05);
    for length in [20, 50, 100] {
        let alarms = (0..500).filter(|_| !search.changes(&drifting(&mut random, length), 0.05).is_empty()).count();
        println!("drifting: {length} runs, 500 histories: {:.1} %", alarms as f64 / 5.0);
    }
}

#[test]
#[ignore = "minutes"]
fn false_alarms_of_histories_that_are_looked_at_after_every_run() {
    for alpha in [0.05, 0.01] {
        for (name, noise) in NOISES {
            let mut random = Random::new(2);
            let mut search = Search::at(alpha);
            let mut alarm = || {
                let values: Vec<f64> = (0..100).map(|_| noise(&mut random)).collect();
                (20..=100).any(|length| search.best(&values[..length]).is_some_and(|split| split.p <= alpha))
            };
            let alarms = (0..200).filter(|_| alarm()).count();
            println!(
                "{name}, alpha {alpha}: a look after each of runs 20 to 100, 200 histories: {:.1} %",
                alarms as f64 / 2.0
            );
        }
    }
}

#[test]
#[ignore = "minutes"]
fn delays_of_detection() {
    const BEFORE: usize = 40;
    const AFTER_MAX: usize = 40;
    const HISTORIES: usize = 200;
    for (name, noise) in NOISES {
        for step in [0.03_f64, 0.05, 0.10] {
            let mut random = Random::new(3);
            let mut search = Search::at(0.05);
            let mut delay = || {
                let values: Vec<f64> = (0..BEFORE + AFTER_MAX)
                    .map(|at| noise(&mut random) + if at >= BEFORE { step.ln_1p() } else { 0.0 })
                    .collect();
                // An alarm somewhere else is not the detection of this step.
                let is_near = |at: usize| at.abs_diff(BEFORE) <= 5;
                (2..=AFTER_MAX).find(|after| {
                    search.best(&values[..BEFORE + after]).is_some_and(|split| split.p <= 0.05 && is_near(split.at))
                })
            };
            let mut delays: Vec<usize> = (0..HISTORIES).map(|_| delay().unwrap_or(usize::MAX)).collect();
            delays.sort_unstable();
            let at = |share: f64| match delays[(share * HISTORIES as f64) as usize] {
                usize::MAX => "-".to_owned(),
                delay => delay.to_string(),
            };
            let found = delays.iter().filter(|delay| **delay <= AFTER_MAX).count();
            println!(
                "{name}, step {:.0} %: median {} runs, 9 of 10 within {}; {:.0} % within {AFTER_MAX}",
                100.0 * step,
                at(0.5),
                at(0.9),
                100.0 * found as f64 / HISTORIES as f64
            );
        }
    }
}
