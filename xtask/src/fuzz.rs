//! `cargo xtask fuzz`: uses streams while a hostile peer writes anything into their memory and sends anything to their
//! file descriptors, sends malformed primitives to the providers of transports, and changes files before they are read. The short form is an ordinary test. Overflow checks are on, as in all test builds.

use anyhow::Result;

use crate::{archive, shell};

/// The extent of the test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Minutes for each part
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Only one part
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Seed of the first case; each further one has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What the hostile peer can access.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Part {
    /// The memory alone
    Memory,
    /// The sockets, too; of a FIFO its pipe, its node and the sockets of keepers; ends that tasks use
    Descriptors,
    /// The primitives that a transport's provider gets
    Primitives,
    /// The memory, as a member of another user, while the system calls of the process are supervised
    Member,
    /// Files with random changes: runs, traces, output of other programs, tables of autopush, archives
    Readers,
}

/// With the feature `probes`, waits for a token are shorter, so that more cases fit in a minute.
pub fn run(options: &Options) -> Result<()> {
    let seconds = options.minutes * 60;
    let settings = [("HEADWATER_SECONDS", seconds.to_string()), ("HEADWATER_SEED", options.seed.to_string())];
    let run = |test, filter| {
        shell::long_test(&["--package", "headwater-streams", "--test", test, "--features", "probes"], filter, &settings)
    };
    let readers = || {
        shell::long_test(&["--package", "headwater", "--test", "readers"], "", &settings)?;
        shell::run(archive::of_archive("test").args(["damaged", "--", "--nocapture"]).envs(settings.clone()))
    };
    match options.part {
        None => run("hostile", "").and_then(|()| run("providers", "fuzzed_primitives")).and_then(|()| readers()),
        Some(Part::Memory) => run("hostile", "scribbled_memory"),
        Some(Part::Descriptors) => run("hostile", "abused_descriptors"),
        Some(Part::Primitives) => run("providers", "fuzzed_primitives"),
        Some(Part::Member) => run("hostile", "member::"),
        Some(Part::Readers) => readers(),
    }
}
