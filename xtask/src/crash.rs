//! `cargo xtask crash`: processes that use a stream are killed, at every place between two stores and at random times.
//! The short form is a step of `cargo xtask ci`; what is set in the environment makes the test long.

use anyhow::Result;

use crate::shell;

/// How often.
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
}

/// The long form.
pub fn run(options: &Options) -> Result<()> {
    let settings = [
        ("HEADWATER_ROUNDS", options.rounds.to_string()),
        ("HEADWATER_SEED", options.seed.to_string()),
        ("HEADWATER_CASE", options.case.clone()),
    ];
    shell::streams_test("kill", &["--features", "probes"], &settings)
}

/// Some of the places.
pub fn briefly() -> Result<()> {
    shell::streams_test("kill", &["--features", "probes"], &[])
}
