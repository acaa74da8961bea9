//! Simulated comparisons of whole families: false and found rows for each noise, number of launches and number of rows, by the
//! rows' own tests alone and as `compare` judges. The tables of docs/simulations.md:
//! `cargo test --release -p headwater-results simulated_families -- --ignored --nocapture`; `HEADWATER_TIMES` multiplies the rounds.
//! The tests beside it assert the same of some cells.

use super::ratio::{Ratios, Sample};
use crate::significance::family::{self, Member, Together};
use crate::significance::student;
use crate::testing::Random;

/// Returns the log ratios of equal sides, by block.
type Noise = fn(&mut Random, usize) -> Vec<f64>;

fn blocks(random: &mut Random, n: usize, launch: fn(&mut Random) -> f64) -> Vec<f64> {
    (0..n).map(|_| launch(random) - launch(random)).collect()
}

pub(super) fn two_speeds(random: &mut Random, slow: f64) -> f64 {
    0.02 * random.normal() + if random.unit() < slow { 2f64.ln() } else { 0.0 }
}

/// One side under AR(1): six tenths of a launch's deviation are left in the next one of the row.
pub(super) fn regressive(random: &mut Random, n: usize) -> Vec<f64> {
    let mut level = 0.02 * random.normal();
    (0..n)
        .map(|_| {
            level = 0.6 * level + 0.8 * 0.02 * random.normal();
            level
        })
        .collect()
}

/// The kinds of noise, as logarithms; launches scatter by 2 % where nothing else is said.
const NOISES: [(&str, Noise); 7] = [
    ("normal", |random, n| blocks(random, n, |random| 0.02 * random.normal())),
    ("one in ten tenfold", |random, n| blocks(random, n, |random| 0.02 * random.contaminated())),
    ("two speeds, 3 in 10 slow", |random, n| blocks(random, n, |random| two_speeds(random, 0.3))),
    ("one in ten doubled", |random, n| blocks(random, n, |random| two_speeds(random, 0.1))),
    ("steps of 1 %", |random, n| blocks(random, n, |random| random.normal().round() * 0.01)),
    // A random walk of the machine, 3 % from block to block: the sides of a block are up to a block apart.
    ("drift of 3 % a block", |random, n| {
        blocks(random, n, |random| 0.02 * random.normal() + 0.03 * random.unit().sqrt() * random.normal())
    }),
    ("AR(1) of 0.6", |random, n| {
        let (a, b) = (regressive(random, n), regressive(random, n));
        a.into_iter().zip(b).map(|(a, b)| a - b).collect()
    }),
];

/// The judgements of a family that are compared.
const METHODS: [&str; 4] = ["own tests", "together", "both", "Student"];

/// The significant rows by each method.
fn judged(ratios: &mut Ratios, rows: &[Vec<f64>]) -> [Vec<bool>; 4] {
    let alpha = 0.05;
    let tests: Vec<(f64, f64, f64)> = rows
        .iter()
        .map(|row| {
            let ratio = ratios.of(&Sample::Paired(row.clone())).expect("values");
            (ratio.p, ratio.p_reachable, ratio.value.ln())
        })
        .collect();
    let family: Vec<(f64, f64)> = tests.iter().map(|(p, smallest, _)| (*p, *smallest)).collect();
    let with_rows: Vec<_> =
        family.iter().zip(rows).map(|((p, smallest), row)| (*p, *smallest, Some(&row[..]))).collect();
    let matters = |members: Vec<Member>| -> Vec<bool> {
        members.iter().zip(&tests).map(|(one, test)| one.significant && test.2.abs() >= 1.02f64.ln()).collect()
    };
    let joint: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
    let joint = crate::significance::joint::adjusted(&joint);
    let joint = joint.iter().zip(&family).map(|(joint, (p, _))| Member {
        p_adjusted: *joint,
        significant: joint.max(*p) <= alpha,
        reachable: true,
    });
    let of_student: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| (if row.len() > 1 { student::shift(row, alpha).expect("values").p } else { 1.0 }, 0.0))
        .collect();
    [
        matters(family::judge(&family, alpha)),
        matters(joint.collect()),
        matters(Together::of(&with_rows, alpha).judge(&family, alpha)),
        matters(family::judge(&of_student, alpha)),
    ]
}

/// What is found in one cell of the table, by each method, as shares of the rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Families of equal rows with a false row.
    false_families: [f64; 4],
    /// One row that is 5 % faster than its counterpart, and one that takes half as long again.
    found: [[f64; 4]; 2],
    /// A tenth of the rows is 5 % faster: the share of false ones among those found, and of those found.
    false_share: [f64; 4],
    found_share: [f64; 4],
}

fn cell(noise: Noise, launches: usize, rows: usize, rounds: usize) -> Cell {
    let mut random = Random::new(((launches as u64) << 32) | rows as u64);
    let mut ratios = Ratios::default();
    let mut cell = Cell::default();
    let share = 1.0 / rounds as f64;
    for _ in 0..rounds {
        let equal: Vec<Vec<f64>> = (0..rows).map(|_| noise(&mut random, launches)).collect();
        let mut with = |changed: usize, factor: f64| {
            let mut rows = equal.clone();
            rows[..changed].iter_mut().flatten().for_each(|value| *value += factor.ln());
            judged(&mut ratios, &rows)
        };
        let none = with(0, 1.0);
        let one = [1.05, 1.5].map(|factor| with(1, factor));
        let tenth = rows.div_ceil(10);
        let some = with(tenth, 1.05);
        for method in 0..METHODS.len() {
            let count = |found: &[bool]| found.iter().filter(|found| **found).count();
            cell.false_families[method] += share * f64::from(u8::from(none[method].contains(&true)));
            for (found, one) in cell.found.iter_mut().zip(&one) {
                found[method] += share * f64::from(u8::from(one[method][0]));
            }
            let (right, all) = (count(&some[method][..tenth]), count(&some[method]));
            cell.false_share[method] += share * (all - right) as f64 / all.max(1) as f64;
            cell.found_share[method] += share * right as f64 / tenth as f64;
        }
    }
    cell
}

pub(super) fn times() -> usize {
    std::env::var("HEADWATER_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[test]
#[ignore = "minutes"]
fn simulated_families() {
    println!(
        "of 100, by {METHODS:?}: equal families with a false row; one row of +5 %; of +50 %; a tenth of +5 %: false, found"
    );
    for (name, noise) in NOISES {
        for launches in [3, 5, 6, 8, 10, 12, 16, 20, 30] {
            for rows in [1, 16, 102, 127, 153, 186, 316, 1071] {
                let rounds = times() * if rows > 200 { 60 } else { 300 };
                let cell = cell(noise, launches, rows, rounds);
                let words = |shares: [f64; 4]| shares.map(|share| format!("{:5.1}", 100.0 * share)).join("");
                println!(
                    "{name:26}{launches:3}{rows:6} | {} | {} | {} | {} | {}",
                    words(cell.false_families),
                    words(cell.found[0]),
                    words(cell.found[1]),
                    words(cell.false_share),
                    words(cell.found_share)
                );
            }
        }
    }
}
