//! The figures of docs/simulations.md, "Two runs, one after the other": false and found rows by the movement of all rows, and
//! by the drift within the runs alone, as before. It asserts nothing; the tests beside it do, with fewer rounds.
//!
//! `cargo test --release -p headwater-results simulated_runs -- --ignored --nocapture`

use super::*;
use crate::compare::noise::UNKNOWN;
use crate::compare::simulation::{regressive, times, two_speeds};

/// How the two runs differ: a name, what all rows differ by, and what each row differs by. All are standard deviations.
const APART: [(&str, f64, f64); 5] = [
    ("nothing", 0.0, 0.0),
    ("all rows alike, 3 %", 0.03, 0.0),
    ("each row, 1 %", 0.0, 0.01),
    ("each row, 3 %", 0.0, 0.03),
    ("all rows 3 %, each row 1 %", 0.03, 0.01),
];

#[test]
#[ignore = "minutes"]
fn simulated_runs() {
    println!(
        "of 100, before and now: equal rows called better or worse; comparisons with such a row; a row of -10 % found; of -33 %"
    );
    for (name, common, own) in APART {
        for launches in [6, 12, 30] {
            for rows in [1, 4, 16, 48, 153, 1071] {
                let mut random = Random::new(((u64::from(launches)) << 32) | rows as u64);
                let rounds = if rows > 200 { 20 } else { 100 };
                let mut shares = [[0.0; 2]; 4];
                for _ in 0..rounds {
                    let apart = Apart { common: common * random.normal(), own };
                    for (at, factor) in [1.0, 0.9, 0.667].into_iter().enumerate() {
                        let runs = runs(&mut random, rows, launches, apart, 1, factor);
                        let unknown = if rows < ROWS_MIN { UNKNOWN } else { 0.0 };
                        let drift = noise::drift_between(&runs).map_or(0.0, |drift| drift.deviation).max(unknown);
                        let now = compare(
                            &side("r", 0, &runs[0]),
                            &side("r", 1, &runs[1]),
                            Rules::default().with_drift(drift),
                        );
                        let before = compared(&runs, Rules { hosts_differ: true, ..Rules::default() });
                        for (method, comparison) in [before, now].iter().enumerate() {
                            let different = count(comparison, is_different);
                            if at == 0 {
                                shares[0][method] += different as f64 / (rows * rounds) as f64;
                                shares[1][method] += f64::from(u8::from(different > 0)) / rounds as f64;
                            } else {
                                let found = comparison.rows[0].verdict == Verdict::Worse;
                                shares[at + 1][method] += f64::from(u8::from(found)) / rounds as f64;
                            }
                        }
                    }
                }
                let words = |shares: [f64; 2]| shares.map(|share| format!("{:6.1}", 100.0 * share)).join("");
                println!("{name:28}{launches:3}{rows:6} | {}", shares.map(words).join(" | "));
            }
        }
    }
}

#[test]
#[ignore = "minutes"]
fn simulated_power() {
    println!(
        "of 100, before and now: changed rows found; comparisons with a false row; false ones among the rows called different; noise floor in %"
    );
    let mut cells = Vec::new();
    for scatter in [0.01, 0.03, 0.08] {
        for common in [0.0, 0.03] {
            for own in [0.0, 0.01, 0.03] {
                for (changed, factor) in [(32, 1.05), (32, 1.095), (42, 1.05), (42, 1.095)] {
                    cells.push((scatter, common, own, changed, factor));
                }
            }
        }
    }
    let rows = 316;
    let rounds = 20;
    for (scatter, common, own, changed, factor) in cells {
        let mut random = Random::new(7);
        let noise = move |random: &mut Random, walk: &[f64]| walk.iter().map(|_| scatter * random.normal()).collect();
        let mut shares = [[0.0; 2]; 4];
        for round in 0..rounds {
            let common = if round % 2 == 0 { common } else { -common };
            let runs = runs_of(&noise, &mut random, rows, 12, Apart { common, own }, changed, 1.0 / factor);
            let both = [true, false].map(|hosts_differ| compared(&runs, Rules { hosts_differ, ..Rules::default() }));
            for (method, comparison) in both.iter().enumerate() {
                let of_changed = |row: &&RowComparison| row.label.parse::<usize>().expect("a number") < changed;
                let found =
                    comparison.rows.iter().filter(of_changed).filter(|row| row.verdict == Verdict::Worse).count();
                let different: Vec<_> = comparison.rows.iter().filter(|row| is_different(row)).collect();
                let wrong = different.iter().filter(|row| !of_changed(row)).count();
                shares[0][method] += found as f64 / (changed * rounds) as f64;
                shares[1][method] += f64::from(u8::from(wrong > 0)) / rounds as f64;
                shares[2][method] += wrong as f64 / (different.len().max(1) * rounds) as f64;
                shares[3][method] += comparison.rules.noise_floor() / rounds as f64;
            }
        }
        let words = |shares: [f64; 2]| shares.map(|share| format!("{:6.1}", 100.0 * share)).join("");
        println!("{scatter:5}{common:5}{own:5}{changed:4}{factor:6} | {}", shares.map(words).join(" | "));
    }
}

type Launch = fn(&mut Random) -> f64;

/// The kinds of noise of one row's launches, as [`crate::compare::simulation`] has them for blocks.
const NOISES: [(&str, Launch); 5] = [
    ("normal", |random| 0.02 * random.normal()),
    ("one in ten tenfold", |random| 0.02 * random.contaminated()),
    ("two speeds, 3 in 10 slow", |random| two_speeds(random, 0.3)),
    ("one in ten doubled", |random| two_speeds(random, 0.1)),
    ("steps of 1 %", |random| random.normal().round() * 0.01),
];

fn noises() -> Vec<(&'static str, Box<Launches>)> {
    let independent = NOISES.into_iter().map(|(name, launch)| {
        let noise = move |random: &mut Random, walk: &[f64]| walk.iter().map(|_| launch(random)).collect();
        (name, Box::new(noise) as Box<Launches>)
    });
    let drift = |random: &mut Random, walk: &[f64]| walk.iter().map(|level| level + 0.02 * random.normal()).collect();
    let regressive = |random: &mut Random, walk: &[f64]| regressive(random, walk.len());
    let others: [(_, Box<Launches>); 2] =
        [("drift of 3 % a block", Box::new(drift)), ("AR(1) of 0.6", Box::new(regressive))];
    independent.chain(others).collect()
}

/// Returns of 100 comparisons those with a false row, and of 100 changed rows those found, before and now.
fn rates(
    noise: &Launches,
    rows: usize,
    launches: u32,
    apart: Apart,
    changed: usize,
    factor: f64,
    rounds: usize,
) -> [[f64; 2]; 2] {
    let mut random = Random::new((u64::from(launches) << 32) | rows as u64);
    let mut shares = [[0.0; 2]; 2];
    for _ in 0..rounds {
        let apart = Apart { common: apart.common * random.normal(), ..apart };
        let runs = runs_of(noise, &mut random, rows, launches, apart, changed, factor);
        let unknown = if rows < ROWS_MIN { UNKNOWN } else { 0.0 };
        let drift = noise::drift_between(&runs).map_or(0.0, |drift| drift.deviation);
        let now = Rules::default().with_drift(drift.max(unknown));
        let before = Rules { hosts_differ: true, ..Rules::default().with_drift(drift) };
        for (method, rules) in [before, now].into_iter().enumerate() {
            let comparison = compare(&side("r", 0, &runs[0]), &side("r", 1, &runs[1]), rules);
            let (of_changed, others) = comparison.rows.split_at(changed);
            let found = of_changed.iter().filter(|row| row.verdict == Verdict::Worse).count();
            shares[0][method] += 100.0 * f64::from(u8::from(others.iter().any(is_different))) / rounds as f64;
            shares[1][method] += 100.0 * found as f64 / (changed.max(1) * rounds) as f64;
        }
    }
    shares
}

#[test]
#[ignore = "minutes"]
fn simulated_noises_of_runs() {
    println!(
        "all rows 3 % apart, each 1 %, of 100, before and now: comparisons of equal rows with a false one; of a tenth of the rows with -10 % found"
    );
    for (name, noise) in noises() {
        for launches in [3, 5, 6, 8, 12, 20, 30] {
            for rows in [1, 16, 102, 127, 186, 316, 1071] {
                let rounds = times() * if rows > 200 { 20 } else { 60 };
                let apart = Apart { common: 0.03, own: 0.01 };
                let [wrong, _] = rates(&*noise, rows, launches, apart, 0, 1.0, rounds);
                let [_, found] = rates(&*noise, rows, launches, apart, rows.div_ceil(10), 0.9, rounds);
                let words = |shares: [f64; 2]| shares.map(|share| format!("{share:6.1}")).join("");
                println!("{name:26}{launches:3}{rows:6} | {} | {}", words(wrong), words(found));
            }
        }
    }
}
