//! The step `archive` of `cargo xtask ci`: the archive is a workspace of its own, so that nothing else compiles a database.
//! Format, lints and tests; the tests run the two commands together, and a PostgreSQL that they start themselves.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::shell::{self, cargo, target_directory};

/// The manifest of the archive's workspace.
pub const MANIFEST: &str = "archive/Cargo.toml";

/// The options of `archive-scale`.
#[derive(Debug, clap::Args)]
pub struct ScaleOptions {
    /// The hosts; with fewer than a thousand there are as many launches and nights fewer
    #[arg(long, default_value_t = 1000)]
    hosts: u32,
    /// The database: sqlite, postgresql; without it both
    #[arg(long, default_value = "")]
    only: String,
}

/// Fills an archive with a million launches of a simulated fleet, and measures adding and the usual queries.
///
/// # Errors
/// If something fails.
pub fn scale(options: &ScaleOptions) -> Result<()> {
    let filter = format!("a_million_launches_in_{}", options.only);
    let test = ["--release", "--locked", &filter, "--", "--ignored", "--nocapture", "--test-threads=1"];
    let headwater = shell::release_build()?;
    let mut test_of_size = of_archive("test");
    test_of_size.args(test).env("HEADWATER", headwater).env("HEADWATER_ARCHIVE_HOSTS", options.hosts.to_string());
    shell::run(&mut test_of_size)
}

/// Makes the release build, and returns its path.
///
/// # Errors
/// If it fails.
pub fn release_build() -> Result<PathBuf> {
    shell::run(of_archive("build").args(["--release", "--locked"]))?;
    Ok(target_directory().join("archive/release/headwater-archive"))
}

/// Returns Cargo for the archive's workspace. Its build results stay apart: the two workspaces have features of their own.
pub fn of_archive(command: &str) -> Command {
    let mut cargo = cargo(&[command, "--manifest-path", MANIFEST]);
    cargo.env("CARGO_TARGET_DIR", target_directory().join("archive"));
    cargo
}

/// Checks and tests the archive.
///
/// # Errors
/// If a check or a test fails.
pub fn run() -> Result<()> {
    shell::run(of_archive("fmt").arg("--check"))?;
    shell::run(of_archive("clippy").args(["--locked", "--all-targets", "--", "--deny", "warnings"]))?;
    shell::run(&mut cargo(&["build", "--package", "headwater"]))?;
    shell::run(of_archive("test").arg("--locked").env("HEADWATER", target_directory().join("debug/headwater")))
}
