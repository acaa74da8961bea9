//! Conditions of the whole run that make its figures unusual: its priority, and other runs at the same time.

use headwater_results::schema::Run;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    priority(run).into_iter().chain(other_runs(run)).collect()
}

/// Names a priority that programs do not usually have.
fn priority(run: &Run) -> Option<String> {
    let words = run.header.environment.priority()?;
    Some(format!("The processes were not scheduled as usual: {words}."))
}

/// Names other runs that were there at the beginning or the end.
fn other_runs(run: &Run) -> Option<String> {
    let mut environments = std::iter::once(&run.header.environment).chain(&run.environment_after);
    let is_disturbed = environments.any(|environment| !environment.load.other_measurements.is_empty());
    is_disturbed.then(|| {
        "Another run of headwater measured on this machine at the same time: both disturb each other.".to_owned()
    })
}
