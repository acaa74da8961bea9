//! `cargo xtask crash`: processes that use a stream are killed, at every place between two stores and at random times;
//! `--trace`: programs that are traced, and who carries their records, at random times. The short form is a step of `cargo xtask ci`; what is set in the environment makes the test long.

use anyhow::Result;

use crate::shell;

/// The test of streams, compiled with places at which a process can kill itself.
const STREAMS: &[&str] = &["--package", "headwater-streams", "--test", "kill", "--features", "probes"];

/// The extent of the test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Rounds, each with scripts of its own: in each every place between two stores, and some random times
    #[arg(long, default_value_t = 3)]
    rounds: u64,
    /// Seed of the first round
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the cases whose names hold this text
    #[arg(long, default_value = "")]
    case: String,
    /// Kill traced programs and their consumers instead: each round one program, one consumer, and both
    #[arg(long)]
    trace: bool,
}

/// Runs the long form.
pub fn run(options: &Options) -> Result<()> {
    if options.trace {
        let settings = [("HEADWATER_ROUNDS", options.rounds.to_string())];
        return shell::long_test(
            &["--package", "headwater-trace-tools", "--test", "session"],
            "kill::after_",
            &settings,
        );
    }
    let settings = [
        ("HEADWATER_ROUNDS", options.rounds.to_string()),
        ("HEADWATER_SEED", options.seed.to_string()),
        ("HEADWATER_CASE", options.case.clone()),
    ];
    shell::long_test(STREAMS, "", &settings)
}

/// Tests some of the places.
pub fn briefly() -> Result<()> {
    shell::long_test(STREAMS, "", &[])
}
