//! The UDP report.

use super::{AS_FAST, Case, Claim, Needs, Unit, Wording, by_dataset, is_about};

const ON_THE_SITE: Wording =
    Wording::Quoted { from: "the author's performance page, openss7.org/udp_perf.html, of the report" };

/// Ubuntu 6.10.
const UBUNTU_TABLE: &str = "4";

/// Returns cases for sent and received messages, each relative to sockets, by table.
fn both_ways(subject: &str, holds: impl Fn(&Case) -> bool) -> Vec<Case> {
    let of = |metric, name| {
        by_dataset("udp", subject, "udp", metric, &holds)
            .into_iter()
            .map(move |case| Case { of: format!("table {}, {name}", case.of), ..case })
    };
    let (received, sent) = (of("rx_rate", "received"), of("tx_rate", "sent"));
    received.zip(sent).flat_map(|(received, sent)| [received, sent]).collect()
}

/// "As much as 30-40%".
pub(super) const AS_MUCH_AS_30_TO_40: Claim = Claim {
    table: "udp",
    says: "UDP over STREAMS is faster than over sockets by \"as much as 30-40%\"",
    wording: Wording::Quoted { from: "the report" },
    how: "Rate of xti-udp over udp at each size; holds where it is 30 % higher at some size, in whole percent, and one table is \
          enough.",
    unit: Unit::Change,
    needs: Needs::One,
    check: || both_ways("xti-udp", |case| per_cent(case.high) >= 30.0),
};

/// "About 5 %".
pub(super) const UBUNTU: Claim = Claim {
    table: "udp",
    says: "On Ubuntu 6.10 the gain is about 5 %",
    wording: Wording::InSense,
    how: "The same ratio for table 4; holds where the mean change is about 5 %.",
    unit: Unit::Change,
    needs: Needs::Every,
    check: || {
        let cases = both_ways("xti-udp", |case| is_about(case.mean - 1.0, 0.05));
        cases.into_iter().filter(|case| case.of.starts_with(&format!("table {UBUNTU_TABLE},"))).collect()
    },
};

/// "40% to 60%".
pub(super) const FORTY_TO_SIXTY: Claim = Claim {
    table: "udp",
    says: "Linux Fast-STREAMS UDP is \"about 40% to 60% faster than Linux UDP\"",
    wording: ON_THE_SITE,
    how: "The same ratio; holds where the mean, in whole percent, lies between 40 and 60.",
    unit: Unit::Change,
    needs: Needs::Every,
    check: || both_ways("xti-udp", |case| (40.0..=60.0).contains(&per_cent(case.mean))),
};

/// STREAMS over sockets.
pub(super) const XTIOS: Claim = Claim {
    table: "udp",
    says: "STREAMS over sockets runs \"as fast (or faster)\" as sockets alone",
    wording: ON_THE_SITE,
    how: "Rate of xti-inet-udp over udp at each size; holds where the mean is at most 2 % lower.",
    unit: Unit::Change,
    needs: Needs::Every,
    check: || both_ways("xti-inet-udp", |case| case.mean >= AS_FAST),
};

/// Returns a ratio as a change in whole percent.
fn per_cent(ratio: f64) -> f64 {
    ((ratio - 1.0) * 100.0).round()
}
