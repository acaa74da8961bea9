//! The pipe report.

use super::{Case, Claim, Needs, Unit, Wording, by_dataset, is_about, ratios, run};

const ON_THE_SITE: Wording =
    Wording::Quoted { from: "the author's performance page, openss7.org/streams_perf.html, of the report" };

const IN_THE_REPORT: Wording = Wording::Quoted { from: "the report" };

/// "About 5 times".
pub(super) const FIVE_TIMES: Claim = Claim {
    table: "pipes",
    says: "Linux Fast-STREAMS \"about 5 times faster than legacy Linux pipes\"",
    wording: ON_THE_SITE,
    how: "Rate of streams-pipe over pipe at each size; holds where the mean is about 5.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: || by_dataset("pipes", "streams-pipe", "pipe", "rate", |case| is_about(case.mean, 5.0)),
};

/// "Up to 5 times".
pub(super) const UP_TO_FIVE_TIMES: Claim = Claim {
    table: "pipes",
    says: "STREAMS pipes are faster than the kernel's by \"up to a factor of 5\"",
    wording: IN_THE_REPORT,
    how: "The same ratio; holds where it reaches 5 at some size, and one dataset is enough.",
    unit: Unit::Times,
    needs: Needs::One,
    check: || by_dataset("pipes", "streams-pipe", "pipe", "rate", |case| case.high >= 5.0),
};

/// "Across the entire range".
pub(super) const ENTIRE_RANGE: Claim = Claim {
    table: "pipes",
    says: "STREAMS pipes are superior \"across the entire range\" of sizes",
    wording: IN_THE_REPORT,
    how: "The same ratio; holds where it is above 1 at every size.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: entire_range,
};

fn entire_range() -> Vec<Case> {
    let remark = |name: &str| {
        let of_dataset = run("pipes", name).map(|run| ratios(&run, "streams-pipe", "pipe", "rate")).unwrap_or_default();
        let slower: Vec<u64> = of_dataset.iter().filter(|(_, ratio)| *ratio <= 1.0).map(|(size, _)| *size).collect();
        match (slower.first(), slower.last()) {
            (Some(first), Some(last)) => {
                format!(
                    "slower than the kernel's at {} of {} sizes, {first} to {last} B",
                    slower.len(),
                    of_dataset.len()
                )
            }
            _ => String::new(),
        }
    };
    let cases = by_dataset("pipes", "streams-pipe", "pipe", "rate", |case| case.low > 1.0);
    cases.into_iter().map(|case| Case { remark: remark(&case.of), ..case }).collect()
}

/// "300% to 600%".
pub(super) const THREE_TO_SIX: Claim = Claim {
    table: "pipes",
    says: "Linux Fast-STREAMS performs \"at about 300% to 600% of a Linux legacy pipe\"",
    wording: ON_THE_SITE,
    how: "The same ratio; holds where its mean lies between 3 and 6.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: || by_dataset("pipes", "streams-pipe", "pipe", "rate", |case| (3.0..=6.0).contains(&case.mean)),
};

/// LiS against the kernel.
pub(super) const LIS_SLOW: Claim = Claim {
    table: "pipes",
    says: "LiS \"remains at about 25% to 40% of a Linux legacy pipe\"",
    wording: ON_THE_SITE,
    how: "Rate of lis-pipe over pipe at each size; holds where the mean, in whole percent, lies between 25 and 40.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: || {
        let holds = |case: &Case| (25.0..=40.0).contains(&(case.mean * 100.0).round());
        by_dataset("pipes", "lis-pipe", "pipe", "rate", holds)
    },
};

/// STREAMS against LiS.
pub(super) const LIS_25: Claim = Claim {
    table: "pipes",
    says: "Linux Fast-STREAMS \"about 25 times faster than LiS pipes\"",
    wording: ON_THE_SITE,
    how: "Rate of streams-pipe over lis-pipe at each size; holds where the mean is about 25.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: || by_dataset("pipes", "streams-pipe", "lis-pipe", "rate", |case| is_about(case.mean, 25.0)),
};

/// STREAMS against LiS at its best.
pub(super) const LIS_UP_TO_25: Claim = Claim {
    table: "pipes",
    says: "STREAMS pipes are faster than those of LiS by \"up to a factor of 25\"",
    wording: IN_THE_REPORT,
    how: "The same ratio; holds where it reaches 25 at some size, and one dataset is enough.",
    unit: Unit::Times,
    needs: Needs::One,
    check: || by_dataset("pipes", "streams-pipe", "lis-pipe", "rate", |case| case.high >= 25.0),
};
