//! `cargo xtask schedule`: readers and writers wait in every way, alone and in pairs, while a process is killed,
//! stopped, replaced by exec or forked. The short form is an ordinary test.

use anyhow::Result;

use crate::shell;

/// The extent of the test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Minutes for each of the 36 pairs of a writer's and a reader's form of waiting
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// So many runs at once, which divide the pairs and load the machine
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=36))]
    jobs: u64,
    /// Seed of the first round; each further one has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the pairs whose names hold this text: writer/reader, of level, edge, poll, library, tokio and blocking
    #[arg(long, default_value = "")]
    case: String,
    /// Only the rounds in which this happens: nothing, Kill, Freeze, Exec, Fork
    #[arg(long, default_value = "")]
    event: String,
}

/// With the feature `probes`, processes are also killed between two stores.
pub fn run(options: &Options) -> Result<()> {
    let seconds = (options.minutes * 60.0).ceil().max(1.0);
    let job = |number: u64| {
        let settings = [
            ("HEADWATER_SECONDS", seconds.to_string()),
            ("HEADWATER_SEED", options.seed.to_string()),
            ("HEADWATER_CASE", options.case.clone()),
            ("HEADWATER_EVENT", options.event.clone()),
            ("HEADWATER_JOBS", options.jobs.to_string()),
            ("HEADWATER_JOB", number.to_string()),
        ];
        shell::long_test(
            &["--package", "headwater-streams", "--test", "schedule", "--features", "probes"],
            "",
            &settings,
        )
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..options.jobs)
            .map(|number| {
                scope.spawn({
                    let job = &job;
                    move || job(number)
                })
            })
            .collect();
        jobs.into_iter().try_for_each(|job| job.join().expect("no panic"))
    })
}
