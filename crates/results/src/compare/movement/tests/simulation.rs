//! The figures of docs/validation.md, "Two runs, one after the other": false and found rows by the movement of all rows, and
//! by the drift within the runs alone, as before. It asserts nothing; the tests beside it do, with fewer rounds.
//!
//! `cargo test --release -p headwater-results simulated_runs -- --ignored --nocapture`

use super::*;
use crate::compare::noise::UNKNOWN;

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
