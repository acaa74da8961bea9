//! Simulated comparisons over hosts: coverage and power of the statistic and of those that were refused, false discoveries
//! among many rows, and whether the advised number of hosts suffices. `HEADWATER_TIMES` multiplies the comparisons:
//! `HEADWATER_TIMES=250 cargo test --release -p headwater-results simulated -- --nocapture` prints the tables of docs/fleet.md.

use super::*;
use crate::testing::Random;

/// Standard deviation of launches within a host.
const WITHIN: f64 = 0.02;

const LAUNCHES: usize = 12;

const CHANGE: f64 = 0.03;

type Draw = fn(&mut Random) -> f64;

/// What hosts deviate by, in units of the difference between hosts.
const TAILS: [(&str, Draw); 3] = [
    ("normal", |random| random.normal()),
    ("Student's, 3 degrees", |random| {
        let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
        random.normal() / (squares / 3.0).sqrt()
    }),
    ("one in ten tenfold", |random| random.contaminated()),
];

fn times() -> usize {
    std::env::var("HEADWATER_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Returns the logarithms of a host's launches. One host in four has a third of the launches of the others, and they scatter
/// three times as much.
fn host(random: &mut Random, truth: f64) -> Sample {
    let (launches, within) = if random.unit() < 0.25 { (LAUNCHES / 3, 3.0 * WITHIN) } else { (LAUNCHES, WITHIN) };
    let mut side = |level: f64| (0..launches).map(|_| level + within * random.normal()).collect();
    Sample::Independent(side(0.0), side(truth))
}

/// An interval of logarithms.
type Interval = (f64, f64);

/// DerSimonian and Laird (1986), with a normal interval, and with that of Hartung, Knapp, Sidik and Jonkman, never narrower
/// than without the correction. Hosts are given by logarithm and standard error.
fn weighted(hosts: &[(f64, f64)]) -> [Interval; 2] {
    let n = hosts.len() as f64;
    let mean = |between: f64| {
        let weights = hosts.iter().map(|(_, error)| 1.0 / (error * error + between));
        let sum: f64 = weights.clone().sum();
        let mean = hosts.iter().zip(weights.clone()).map(|((value, _), weight)| value * weight).sum::<f64>() / sum;
        let q = hosts.iter().zip(weights.clone()).map(|((value, _), weight)| weight * (value - mean).powi(2));
        (mean, q.sum::<f64>(), sum, weights.map(|weight| weight * weight).sum::<f64>())
    };
    let (_, q, sum, squares) = mean(0.0);
    let between = ((q - (n - 1.0)) / (sum - squares / sum)).max(0.0);
    let (centre, q, sum, _) = mean(between);
    let correction = (q / (n - 1.0)).max(1.0).sqrt();
    let quantiles = [1.96, student::quantile(0.05, hosts.len() - 1) * correction];
    quantiles.map(|quantile| (centre - quantile / sum.sqrt(), centre + quantile / sum.sqrt()))
}

/// All launches as if they were of one host.
fn pooled(samples: &[Sample], ratios: &mut Ratios) -> Interval {
    let mut sides = [Vec::new(), Vec::new()];
    for sample in samples {
        let Sample::Independent(before, after) = sample else { continue };
        sides[0].extend(before);
        sides[1].extend(after);
    }
    let [before, after] = sides;
    let ratio = ratios.of(&Sample::Independent(before, after)).expect("there are launches");
    (ratio.low.ln(), ratio.high.ln())
}

const METHODS: [&str; 4] = ["over hosts", "HKSJ", "DL", "pooled"];

/// The intervals of all methods, in the order of [`METHODS`].
fn intervals(samples: &[Sample], ratios: &mut Ratios, is_long: bool) -> [Interval; 4] {
    let found: Vec<Ratio> = samples.iter().map(|sample| ratios.of(sample).expect("there are launches")).collect();
    let logarithms: Vec<f64> = found.iter().map(|ratio| ratio.value.ln()).collect();
    let ours = over(&logarithms, ratios, 0.05).expect("there are hosts");
    assert!(ours.confidence >= 0.95 - 1e-9, "{ours:?}");
    let errors = found.iter().map(|ratio| ratio.standard_error().expect("there are several launches"));
    let [dl, hksj] = weighted(&logarithms.iter().copied().zip(errors).collect::<Vec<_>>());
    // It is slow, and asserted nowhere.
    let pooled = if is_long { pooled(samples, ratios) } else { (0.0, 0.0) };
    [(ours.low.ln(), ours.high.ln()), hksj, dl, pooled]
}

#[test]
fn simulated_intervals_over_hosts_have_their_coverage() {
    let rounds = 8 * times();
    let (mut ratios, mut random) = (Ratios::default(), Random::new(19));
    let (mut misses, mut all) = ([0; 4], 0);
    let share = |count: usize| 100.0 * count as f64 / rounds as f64;
    println!("covered of 100 by {METHODS:?}; +3 % found by {}", METHODS[0]);
    for (tail, draw) in TAILS {
        for between in [0.0, 0.005, 0.02, 0.1] {
            for n in [2, 3, 5, 10, 40] {
                let (mut held, mut found) = ([0; 4], 0);
                for _ in 0..rounds {
                    let mut samples = Vec::new();
                    for _ in 0..n {
                        let truth = CHANGE + between * draw(&mut random);
                        samples.push(host(&mut random, truth));
                    }
                    let intervals = intervals(&samples, &mut ratios, times() >= 100);
                    for (held, (low, high)) in held.iter_mut().zip(intervals) {
                        *held += usize::from(low <= CHANGE && CHANGE <= high);
                    }
                    found += usize::from(intervals[0].0 > 0.0);
                }
                misses.iter_mut().zip(held).for_each(|(misses, held)| *misses += rounds - held);
                all += rounds;
                let missed = (rounds - held[0]) as f64 / rounds as f64;
                let held = held.map(|held| format!("{:6.1}", share(held))).join("");
                println!("{tail:22}{:5.1} %{n:4} hosts{held}  {:6.1}", between * 100.0, share(found));
                let deviation = (0.05 * 0.95 / rounds as f64).sqrt();
                assert!(missed <= 0.05 + 4.0 * deviation, "{tail}, {between}, {n} hosts: {missed}");
            }
        }
    }
    let share = misses.map(|misses| misses as f64 / f64::from(u32::try_from(all).expect("a count")));
    println!("missed in all: {share:?}");
    assert!(share[0] <= 0.05 + 3.0 * (0.05 * 0.95 / all as f64).sqrt(), "{share:?}");
    // The simulation would show a method whose intervals are too narrow.
    assert!(share[2] > 0.06, "{share:?}");
}

/// Rows of a comparison, and those among them that differ.
const ROWS: usize = 20;
const DIFFERENT: usize = 4;

/// Returns the verdicts on rows of which the first `different` have changed: found rows, and rows wrongly found.
fn family(random: &mut Random, ratios: &mut Ratios, draw: Draw, hosts: usize, different: usize) -> [usize; 2] {
    let tests: Vec<(f64, f64)> = (0..ROWS)
        .map(|row| {
            let truth = if row < different { 0.10 } else { 0.0 };
            let values: Vec<f64> = (0..hosts).map(|_| truth + WITHIN * draw(random)).collect();
            let ratio = over(&values, ratios, 0.05).expect("there are hosts");
            (ratio.p, ratio.p_reachable)
        })
        .collect();
    let found = family::judge(&tests, 0.05);
    let count = |rows: std::ops::Range<usize>| found[rows].iter().filter(|member| member.significant).count();
    [count(0..different), count(different..ROWS)]
}

#[test]
fn simulated_false_discoveries_over_hosts_stay_below_the_rate() {
    let rounds = 8 * times();
    let (mut ratios, mut random) = (Ratios::default(), Random::new(20));
    println!("false discoveries of 100 where nothing differs; where 4 of 20 rows differ by 10 %; found of these");
    for (tail, draw) in TAILS {
        for hosts in [2, 3, 5, 10, 40] {
            let (mut any, mut share, mut found) = (0, 0.0, 0);
            for _ in 0..rounds {
                let [_, wrong] = family(&mut random, &mut ratios, draw, hosts, 0);
                any += usize::from(wrong > 0);
                let [right, wrong] = family(&mut random, &mut ratios, draw, hosts, DIFFERENT);
                share += wrong as f64 / (right + wrong).max(1) as f64;
                found += right;
            }
            let of_rounds = |count: f64| 100.0 * count / rounds as f64;
            let [any, share, found] = [any as f64, share, found as f64 / DIFFERENT as f64].map(of_rounds);
            println!("{tail:22}{hosts:4} hosts  {any:6.1}  {share:6.1}  {found:6.1}");
            let bound = 5.0 + 400.0 * (0.05 * 0.95 / rounds as f64).sqrt();
            assert!(any <= bound && share <= bound, "{tail}, {hosts} hosts: {any} and {share}");
        }
    }
}

#[test]
fn simulated_the_advised_number_of_hosts_finds_four_of_five_differences() {
    let rounds = 50 * times();
    let mut random = Random::new(21);
    for spread in [0.02, 0.04] {
        let rules = Rules::default();
        for needed in Needs::new(rules, 1).table(spread) {
            let hosts = needed.hosts.expect("few enough");
            let found = (0..rounds).filter(|_| {
                let drawn = (0..hosts).map(|_| needed.effect.ln_1p() + spread * random.normal());
                over(&drawn.collect::<Vec<f64>>(), &mut Ratios::default(), rules.alpha)
                    .is_some_and(|ratio| ratio.p <= 0.05)
            });
            let found = 100.0 * found.count() as f64 / rounds as f64;
            println!(
                "{:3.0} % where hosts differ by {:3.0} %: {hosts} hosts, found {found:.1} of 100",
                needed.effect * 100.0,
                spread * 100.0
            );
            let error = 400.0 * (0.2 * 0.8 / rounds as f64).sqrt();
            let bound = 78.0 - error;
            assert!(found >= bound, "{found} with {needed:?}");
            assert!(hosts <= 3 || found < 90.0 + error, "fewer than {hosts} hosts would do: {found}");
        }
    }
}
