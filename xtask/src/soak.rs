//! `cargo xtask soak`: checks that hundreds of millions of messages arrive in order and complete, and that a thousand
//! pipes work at once. The short form is an ordinary test.

use anyhow::Result;

use crate::shell;

/// The extent of the test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Messages through one pipe; a thousand pipes at once carry a five-hundredth of it
    #[arg(long, default_value_t = 100_000_000)]
    messages: u64,
}

/// Runs the release build, at full speed.
pub fn run(options: &Options) -> Result<()> {
    let settings = [("HEADWATER_MESSAGES", options.messages.to_string())];
    shell::long_test(&["--package", "headwater-streams", "--test", "soak", "--release"], "", &settings)
}
