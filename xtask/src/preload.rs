//! `cargo xtask preload`: preloads the C library into programs that use no streams, and compares what they do with a run without
//! it: scripts of coreutils, a shell and git, and Python's own tests of descriptors, processes and signals. One file per kind.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::shell;

mod python;
mod scripts;

/// What is compared.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The library; without it the release build of the tree
    #[arg(long)]
    library: Option<PathBuf>,
    /// The Python whose tests are run; its package `test` must be installed
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Only these scripts and modules (coreutils, shell, git, test_os, ...)
    names: Vec<String>,
}

impl Options {
    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }
}

/// Compares, and prints every difference.
///
/// # Errors
/// If there is a difference, or a program of the comparison cannot be run.
pub fn run(options: &Options) -> Result<()> {
    let library = match &options.library {
        Some(library) => library.canonicalize()?,
        None => build()?,
    };
    let mut differences = scripts::compare(options, &library)?;
    differences.extend(python::compare(options, &library)?);
    for difference in &differences {
        println!("DIFFERENT {difference}");
    }
    if !differences.is_empty() {
        bail!("preload: {} differences between programs with {} and without it", differences.len(), library.display());
    }
    println!("preload: no difference");
    Ok(())
}

fn build() -> Result<PathBuf> {
    let target = shell::target_directory();
    let build = target.join("capi/release");
    shell::run(
        shell::command("make")
            .args(["-C", "crates/capi", "PROFILE=release"])
            .args([format!("TARGET={}", target.display()), format!("BUILD={}", build.display())]),
    )?;
    let library = build.join("libheadwater.so");
    ensure!(library.exists(), "{} was not built", library.display());
    Ok(library.canonicalize()?)
}

/// A command with a time limit, whose own settings of the library are the defaults. The library, if there is one, is preloaded into
/// the program and its descendants, and not into timeout(1).
fn program(library: Option<&Path>, words: &[&Path]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "900", "env"]);
    if let Some(library) = library {
        command.arg(format!("LD_PRELOAD={}", library.display()));
    }
    command
        .args(words)
        .env_remove("LD_PRELOAD")
        .env_remove("HEADWATER_PIPE")
        .env_remove("HEADWATER_ATTACH")
        .env_remove("HEADWATER_FIFO");
    command
}
