//! The report on the Linux Trace Toolkit.

use super::{Case, Claim, Needs, Unit, Wording, is_about, run};
use crate::schema::{Better, Run};

const IN_THE_MAIL: Wording = Wording::Quoted { from: "the report, a mail of 27 October 2002 to the linux-kernel list" };

/// The claimed maximum cost of tracing with its daemon off.
const BOUND_OFF: f64 = 1.005;

/// The claimed cost of tracing with its daemon on, as a change.
const COST_ON: f64 = 0.02;

/// The maximum cost in the author's earlier paper (K. Yaghmour and M. Dagenais, USENIX 2000: "< 2.5%").
const BOUND: f64 = 1.025;

/// Workloads without the daemon.
pub(super) const DAEMON_OFF: Claim = Claim {
    table: "ltt",
    says: "With tracing on and its daemon off, set 1 shows a decrease \"equal or below 0.5%\"",
    wording: IN_THE_MAIL,
    how: "Time of each workload in configuration C over that in A; holds where no workload is more than 0.5 % longer.",
    unit: Unit::Change,
    needs: Needs::Every,
    check: || cases(IS_WORKLOAD, &["c"], BOUND_OFF, |case| case.high <= BOUND_OFF),
};

/// Workloads with the daemon.
pub(super) const DAEMON_ON: Claim = Claim {
    table: "ltt",
    says: "With the daemon writing everything, the impact on the workloads of set 1 \"is around 2.0%\"",
    wording: IN_THE_MAIL,
    how: "Time of each workload in configuration D over that in A; holds where the mean change is about 2 %.",
    unit: Unit::Change,
    needs: Needs::Every,
    check: || cases(IS_WORKLOAD, &["d"], BOUND, |case| is_about(case.mean - 1.0, COST_ON)),
};

/// Single operations.
pub(super) const ROWS: Claim = Claim {
    table: "ltt",
    says: "Do single operations stay below the 2.5 % of the author's paper too?",
    wording: Wording::Asked,
    how: "Each LMbench row in configuration B, C and D over A, as a cost (a bandwidth's inverse); the clock frequency is left \
          out. Holds where no row costs more than 2.5 %.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: || cases(|pattern| !IS_WORKLOAD(pattern), &["b", "c", "d"], BOUND, |case| case.high <= BOUND),
};

/// Whether rows of a pattern belong to set 1.
const IS_WORKLOAD: fn(&str) -> bool = |pattern| pattern == "workload";

/// Returns a case for each machine and configuration, from the rows whose pattern `is_meant` accepts; the remark counts
/// those within `bound`.
fn cases(is_meant: fn(&str) -> bool, configurations: &[&str], bound: f64, holds: impl Fn(&Case) -> bool) -> Vec<Case> {
    let names = ["up", "smp4"].into_iter().flat_map(|machine| configurations.iter().map(move |name| (machine, name)));
    let of_name = |(machine, configuration): (&str, &&str)| {
        let name = format!("{machine}-{configuration}");
        let costs = costs(&run("ltt", &name)?, &run("ltt", &format!("{machine}-a"))?, is_meant);
        Some(case(&name, &costs, bound, &holds))
    };
    names.filter_map(of_name).collect()
}

fn case(name: &str, costs: &[(String, f64)], bound: f64, holds: impl Fn(&Case) -> bool) -> Case {
    let ratios: Vec<f64> = costs.iter().map(|(_, cost)| *cost).collect();
    let case = Case::of(name.to_owned(), &ratios, holds);
    let within = ratios.iter().filter(|cost| **cost <= bound).count();
    let worst = costs.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(row, _)| row);
    let per_cent = ((bound - 1.0) * 1e3).round() / 10.0;
    case.remarked(format!("{within} of {} within {per_cent} %; the worst is {worst}", ratios.len()))
}

/// Returns the cost of each row of the accepted patterns, as a multiple of the base.
fn costs(run: &Run, base: &Run, is_meant: fn(&str) -> bool) -> Vec<(String, f64)> {
    let cost = |run: &Run, id: &str| {
        let own = run.results.iter().find(|result| result.row.id == id)?.metrics.first()?;
        let value = own.estimate.median;
        // The processor's frequency is not a cost.
        (own.metric.name != "clock").then_some(if own.metric.better == Better::Lower { value } else { 1.0 / value })
    };
    let meant = run.results.iter().filter(|result| is_meant(&result.row.pattern));
    let ids = meant.map(|result| &result.row.id);
    let name = |id: &str| id.split('/').take(2).collect::<Vec<_>>().join("/");
    ids.filter_map(|id| Some((name(id), cost(run, id)? / cost(base, id)?))).collect()
}
