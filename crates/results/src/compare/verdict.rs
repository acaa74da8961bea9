//! From a ratio and its place in the family to a verdict (MEASURING.md section 2.7).

use super::{Ratio, Rules, Verdict};
use crate::schema::Better;
use crate::significance::{family, ranks, sign_flip};

/// Advice to measure more than this many times as long as was measured is no advice.
const MORE_TIMES_MAX: f64 = 10.0;

/// The verdict on a ratio, given what its family of `tests` tests says of it.
pub fn verdict(ratio: &Ratio, member: family::Member, tests: usize, better: Better, rules: Rules) -> Verdict {
    let effect = ratio.value.ln();
    let minimum = rules.minimum_effect.ln_1p();
    if member.significant && effect.abs() >= minimum {
        let improved = (effect > 0.0) == (better == Better::Higher);
        return if improved { Verdict::Better } else { Verdict::Worse };
    }
    // A row that could not have been called different is not called equivalent either, and one launch has no interval.
    let within = ratio.n > 1 && ratio.low.ln() >= -minimum && ratio.high.ln() <= minimum;
    if within && member.reachable {
        return Verdict::Equivalent;
    }
    Verdict::Inconclusive { more_blocks: more_blocks(ratio, member, tests, rules) }
}

/// About how many blocks more would settle it: as many as the test needs to be able to speak, and as many as bring the
/// interval's end to where it decides, its width shrinking with the square root of the blocks.
fn more_blocks(ratio: &Ratio, member: family::Member, tests: usize, rules: Rules) -> Option<u32> {
    let n = f64::from(ratio.n);
    let effect = ratio.value.ln().abs();
    let minimum = rules.minimum_effect.ln_1p();
    let half_width = (ratio.high.ln() - ratio.low.ln()) / 2.0;
    let for_test =
        if member.reachable { n } else { f64::from(blocks_for(rules.alpha / tests.max(1) as f64, ratio.paired)) };
    let for_width = if ratio.n < 2 || half_width == 0.0 {
        n
    } else {
        // Either the interval leaves 1 behind, or it comes to lie within the minimum effect.
        let to_differ = if effect >= minimum { half_width / effect } else { f64::INFINITY };
        let to_be_equal = if effect < minimum { half_width / (minimum - effect) } else { f64::INFINITY };
        n * to_differ.min(to_be_equal).powi(2)
    };
    let more = for_test.max(for_width).ceil() - n;
    let useful = more <= MORE_TIMES_MAX * n.max(6.0);
    // Where the count says enough and the verdict still is open, one block more is the least advice.
    useful.then(|| (more as u32).max(1))
}

/// The least number of blocks at which a test can give a p-value of `p`.
fn blocks_for(p: f64, paired: bool) -> u32 {
    let reachable = |n: u32| match paired {
        true => sign_flip::p_reachable(n as usize),
        false => ranks::independent_reachable(n as usize, n as usize),
    };
    (1..=sign_flip::EXACT_MAX as u32).find(|&n| reachable(n) <= p).unwrap_or(sign_flip::EXACT_MAX as u32)
}
