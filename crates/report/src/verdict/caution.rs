//! Limits of the verdict because of few launches or the state of the machine.

use headwater_results::estimate::COVERAGE_MIN;
use headwater_results::flags::Flag;
use headwater_results::overhead::is_overhead;
use headwater_results::schema::Run;

use crate::rows;
use crate::text::list;

/// The share of disturbed rows from which a sentence mentions them. Single ones are only marked in the tables.
const SHARE_MIN: f64 = 0.5;

/// What qualifies every sentence, and so precedes them.
pub(super) fn few_launches(run: &Run) -> Vec<String> {
    few(run).into_iter().collect()
}

/// What the answers hold for, and so precedes them: on a busy machine another mechanism may be the fastest, such as one with
/// large buffers, whose sender continues while its receiver waits for a CPU.
pub(super) fn busy(run: &Run) -> Vec<String> {
    load(run).map(|load| format!("{load}. {OTHERWISE}")).into_iter().collect()
}

/// The same beside a short answer.
pub(super) fn busy_short(run: &Run) -> Option<String> {
    load(run).map(|_| format!("The machine was not idle. {OTHERWISE}"))
}

/// What explains wide intervals, and so follows what was found.
pub(super) fn disturbed(run: &Run) -> Vec<String> {
    load(run).map(|load| format!("{load}. The intervals are wider for it.")).into_iter().collect()
}

const OTHERWISE: &str = "On an idle one another mechanism may be the fastest.";

fn few(run: &Run) -> Option<String> {
    let estimates = rows::all_measured(run).filter_map(rows::own).map(|own| own.estimate);
    let most = estimates.max_by_key(|estimate| estimate.n)?;
    match most.n {
        1 if is_overhead(run) => Some("One block shows no difference.".to_owned()),
        1 => Some("One launch of each row shows what was, not what to choose. Measure 12 or more.".to_owned()),
        few if most.confidence < COVERAGE_MIN => {
            let coverage = (most.confidence * 100.0).floor();
            Some(format!(
                "{few} launches show what was, not what to choose: an interval covers only {coverage:.0} %. Measure 12 or more."
            ))
        }
        _ => None,
    }
}

/// Names the other load that used the processors: `The machine was not idle: other programs took CPU time in 25 of 25 rows`.
fn load(run: &Run) -> Option<String> {
    type Disturbance = (&'static str, fn(&Flag) -> bool);
    const DISTURBANCES: [Disturbance; 3] = [
        ("other programs took CPU time", |flag| matches!(flag, Flag::ForeignLoad { .. })),
        ("the hypervisor took CPU time", |flag| matches!(flag, Flag::Stolen { .. })),
        ("the CPU quota stopped it", |flag| matches!(flag, Flag::Throttled { .. })),
    ];
    let total = rows::all_measured(run).count();
    let frequent = DISTURBANCES.into_iter().filter_map(|(words, is_it)| {
        let count = rows::all_measured(run).filter(|row| row.flags.iter().any(is_it)).count();
        (count as f64 >= SHARE_MIN * total as f64 && count > 0).then(|| format!("{words} in {count} of {total} rows"))
    });
    let frequent: Vec<String> = frequent.collect();
    (!frequent.is_empty()).then(|| format!("The machine was not idle: {}", list(&frequent)))
}
