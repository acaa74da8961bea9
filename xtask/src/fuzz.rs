//! `cargo xtask fuzz`: random bytes are scribbled over the memory of streams while they are used. The short form is an
//! ordinary test. Overflows are checked, as in all builds for tests.

use anyhow::Result;

use crate::shell;

/// How long.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Minutes
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Seed of the first case; each further one has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// With the feature `probes` tokens are less patient, so that more cases fit in a minute.
pub fn run(options: &Options) -> Result<()> {
    let seconds = options.minutes * 60;
    let settings = [("HEADWATER_SECONDS", seconds.to_string()), ("HEADWATER_SEED", options.seed.to_string())];
    shell::long_test(&["--package", "headwater-streams", "--test", "hostile", "--features", "probes"], "", &settings)
}
