//! What the number of launches allows to be said at all.

use headwater_results::estimate::COVERAGE_MIN;
use headwater_results::schema::Run;

use crate::rows;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let estimates = || rows::all_measured(run).filter_map(rows::own).map(|own| own.estimate);
    let Some(most) = estimates().max_by_key(|estimate| estimate.n) else { return Vec::new() };
    match most.n {
        1 => vec!["One launch per row shows no difference; what is called fastest was so in that launch.".to_owned()],
        few if most.confidence < COVERAGE_MIN => {
            let coverage = (most.confidence * 100.0).floor();
            vec![format!("With {few} launches an interval covers {coverage:.0} % only: what follows is a hint.")]
        }
        _ => Vec::new(),
    }
}
