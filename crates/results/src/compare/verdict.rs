//! The verdict on a row, from its ratio and the result of its family of tests (MEASURING.md section 2.7).

use super::ratio::least;
use super::{Ratio, Rules, Verdict};
use crate::normal::normal_quantile;
use crate::schema::Better;
use crate::significance::{family, shift};

/// Advice to measure more than this many times as long is omitted.
const MORE_TIMES_MAX: f64 = 10.0;

/// Returns the verdict on a ratio, given the result of its family of `tests` tests, and the logarithm by which all rows moved.
pub fn verdict(
    ratio: &Ratio,
    member: family::Member,
    tests: usize,
    movement: f64,
    better: Better,
    rules: Rules,
) -> Verdict {
    let effect = least(ratio.value.ln(), if ratio.paired { 0.0 } else { movement });
    let minimum = rules.minimum_effect.ln_1p();
    // An interval is wider than the test where the spread between runs is known from few rows.
    let excludes_equality = ratio.low > 1.0 || ratio.high < 1.0;
    if member.significant && effect.abs() >= minimum && excludes_equality {
        let improved = (effect > 0.0) == (better == Better::Higher);
        return if improved { Verdict::Better } else { Verdict::Worse };
    }
    // A row that could not have been called different is not called equivalent either, and a single launch has no
    // interval.
    let within = ratio.n > 1 && ratio.low.ln() >= -minimum && ratio.high.ln() <= minimum;
    if within && member.reachable {
        return Verdict::Equivalent;
    }
    Verdict::Inconclusive {
        more_blocks: more_blocks(ratio, member, tests, rules),
        more_hosts: None,
        below_floor: false,
    }
}

/// Returns the smallest number of blocks, or of launches of each side, with which a difference of a single one of `rows` rows can
/// be found at the level `alpha`. Rows of the same blocks are tested together, and need no more than one alone.
pub fn blocks_for_family(alpha: f64, rows: usize, paired: bool) -> usize {
    let tests = if paired { 1 } else { rows.max(1) };
    shift::blocks_for(alpha / tests as f64, paired)
}

/// Estimates how many more blocks would decide: enough for the test to reach its level, and enough for the end of the
/// interval to reach the deciding value. The launches' part of the interval's width decreases with the square root of
/// the number of blocks; the drift's part does not.
pub(crate) fn more_blocks(ratio: &Ratio, member: family::Member, tests: usize, rules: Rules) -> Option<u32> {
    let n = f64::from(ratio.n);
    let effect = ratio.value.ln().abs();
    let minimum = rules.minimum_effect.ln_1p();
    let of_drift = normal_quantile(1.0 - rules.alpha / 2.0) * rules.drift;
    let square = |half_width: f64| half_width.powi(2) - of_drift.powi(2);
    let for_test = if member.reachable { n } else { blocks_for_family(rules.alpha, tests, ratio.paired) as f64 };
    let half_width = (ratio.high.ln() - ratio.low.ln()) / 2.0;
    let of_launches = square(half_width);
    let for_width = if ratio.n < 2 || of_launches <= 0.0 && of_drift == 0.0 {
        n
    } else {
        // Either the interval excludes 1, or it is within the minimum effect. Where the row alone would be different, it is
        // the other rows for which it must be so more clearly.
        let level = |tests: usize| normal_quantile(1.0 - rules.alpha / (2 * tests) as f64);
        let of_family = if ratio.p <= rules.alpha && effect >= minimum { level(tests.max(1)) / level(1) } else { 1.0 };
        let wanted = square(if effect >= minimum { effect } else { minimum - effect });
        if wanted > 0.0 { n * of_family.powi(2) * of_launches.max(0.0) / wanted } else { f64::INFINITY }
    };
    let more = for_test.max(for_width).ceil() - n;
    let useful = more <= MORE_TIMES_MAX * n.max(6.0);
    // If the estimate is satisfied and the verdict is still open, advise at least one block.
    useful.then(|| (more as u32).max(1))
}
