//! Many rows tested at once: Benjamini and Hochberg's control of the false discovery rate, and which rows can reach
//! significance.
//!
//! With few launches an exact test has a smallest possible p-value. A row that could not be called different with any
//! data is not evidence of equality, so each row gets a flag whether it could have reached significance (after Gilbert,
//! 2005).

/// The result for one test of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// The p-value adjusted for the family, at most 1.
    pub p_adjusted: f64,
    /// Whether it is significant at the family's level.
    pub significant: bool,
    /// Whether its smallest possible p-value would have been significant, with the other tests unchanged.
    pub reachable: bool,
}

/// Judges tests, each given as its p-value and its smallest possible p-value, so that the expected share of false ones
/// among those called significant is at most `alpha`.
///
/// Tests that could not be significant even alone are not counted: they cannot be discoveries, and counting them would
/// only hide others.
pub fn judge(tests: &[(f64, f64)], alpha: f64) -> Vec<Member> {
    let can = |&&(_, smallest): &&(f64, f64)| smallest <= alpha;
    let count = tests.iter().filter(can).count();
    let mut order: Vec<usize> = (0..tests.len()).filter(|&at| tests[at].1 <= alpha).collect();
    order.sort_by(|&a, &b| tests[a].0.total_cmp(&tests[b].0));
    let mut members = vec![Member { p_adjusted: 1.0, significant: false, reachable: false }; tests.len()];
    // From the largest down: an adjusted value is never above that of a larger p-value.
    let mut smallest_so_far = 1.0_f64;
    let mut discoveries = 0;
    for (below, &at) in order.iter().enumerate().rev() {
        let rank = below + 1;
        smallest_so_far = smallest_so_far.min(tests[at].0 * count as f64 / rank as f64);
        members[at].p_adjusted = smallest_so_far;
        members[at].significant = smallest_so_far <= alpha;
        discoveries += usize::from(members[at].significant);
    }
    for &at in &order {
        let threshold = alpha * (discoveries + 1).min(count) as f64 / count as f64;
        members[at].reachable = members[at].significant || tests[at].1 <= threshold;
    }
    members
}

#[cfg(test)]
mod tests;
