//! The report on the Linux Trace Toolkit.

use super::{Case, Claim, Needs, Unit, Wording, run};
use crate::schema::{Better, Run};

/// What tracing may cost by the report.
const BOUND: f64 = 1.025;

/// Workloads.
pub(super) const WORKLOADS: Claim = Claim {
    table: "workloads",
    says: "Tracing costs a workload less than about 2 to 2.5 %",
    wording: Wording::InSense,
    how: "Time of each workload in configuration C and D over that in A; holds where no workload is more than 2.5 % longer.",
    unit: Unit::Change,
    needs: Needs::Every,
    check: || cases("workloads", &["c", "d"]),
};

/// Single operations.
pub(super) const ROWS: Claim = Claim {
    table: "ltt",
    says: "Does that bound hold for single operations too?",
    wording: Wording::Asked,
    how: "Each LMbench row in configuration B, C and D over A, as a cost (a bandwidth's inverse); the clock frequency is left \
          out. Holds where no row costs more than 2.5 %.",
    unit: Unit::Times,
    needs: Needs::Every,
    check: || cases("ltt", &["b", "c", "d"]),
};

fn cases(table: &str, configurations: &[&str]) -> Vec<Case> {
    let of_machine = |machine: &'static str| {
        let base = run(table, &format!("{machine}-a"));
        configurations.iter().filter_map(move |configuration| {
            let name = format!("{machine}-{configuration}");
            let costs = costs(&run(table, &name)?, base.as_ref()?);
            Some(case(&name, &costs))
        })
    };
    ["up", "smp4"].into_iter().flat_map(of_machine).collect()
}

fn case(name: &str, costs: &[(String, f64)]) -> Case {
    let ratios: Vec<f64> = costs.iter().map(|(_, cost)| *cost).collect();
    let case = Case::of(name.to_owned(), &ratios, |case| case.high <= BOUND);
    let within = ratios.iter().filter(|cost| **cost <= BOUND).count();
    let worst = costs.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(row, _)| row);
    case.remarked(format!("{within} of {} within 2.5 %; the worst is {worst}", ratios.len()))
}

/// What each row costs, as a multiple of the base.
fn costs(run: &Run, base: &Run) -> Vec<(String, f64)> {
    let cost = |run: &Run, id: &str| {
        let own = run.results.iter().find(|result| result.row.id == id)?.metrics.first()?;
        let value = own.estimate.median;
        // The processor's frequency is no cost.
        (own.metric.name != "clock").then_some(if own.metric.better == Better::Lower { value } else { 1.0 / value })
    };
    let ids = run.results.iter().map(|result| &result.row.id);
    let name = |id: &str| id.split('/').take(2).collect::<Vec<_>>().join("/");
    ids.filter_map(|id| Some((name(id), cost(run, id)? / cost(base, id)?))).collect()
}
