//! `cargo xtask calibrate`: whether a real slowdown of a few per cent is found, and only where it is. It builds this very
//! source once more with a pause in every send of a pipe, and measures both builds as variants of one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// How it measures.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Launches per row and build
    #[arg(long, default_value_t = 12)]
    launches: u32,
    /// Measured time per launch
    #[arg(long, default_value = "50ms")]
    time: String,
    /// Rows: the slowed transport and others
    #[arg(default_values = ["pipe", "unix-stream", "unix-dgram", "sysv-mq"])]
    rows: Vec<String>,
}

/// What is slowed, and by what: a chain of multiplications, which with its way through memory takes 8 cycles each: about 3 % of a pipe's stream of
/// 64 B and of 64 KiB on a 2.5 GHz machine.
const FILE: &str = "crates/headwater/src/transports/pipe.rs";
const SEND: &str = "        Ok(rustix::io::write(descriptor, message)?)";
const SLOW_SEND: &str = "        let mut chain = message.len() as u64 | 1;
        for _ in 0..3 + message.len() / 480 {
            chain = std::hint::black_box(chain.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        }
        std::hint::black_box(chain);
        Ok(rustix::io::write(descriptor, message)?)";

/// Builds both, measures both, and prints the comparison.
pub fn run(options: &Options) -> Result<()> {
    let headwater = shell::release_build()?;
    let slow = slow_build()?;
    let output = shell::target_directory().join("calibrate/run");
    if output.exists() {
        fs::remove_dir_all(&output).with_context(|| output.display().to_string())?;
    }
    let mut command = Command::new(headwater);
    command.args(["run", "ipc"]).args(&options.rows).args(["--sizes", "64,64k", "--placement", "same-cpu"]);
    command.args(["--launches", &options.launches.to_string(), "--time", &options.time, "--variant", "fast="]);
    command.arg("--variant").arg(format!("slow={}", slow.display())).arg("--output").arg(&output);
    shell::run(&mut command)
}

/// The build with the pause, of the sources as they are committed.
fn slow_build() -> Result<PathBuf> {
    let sources = shell::target_directory().join("calibrate/sources");
    if sources.exists() {
        fs::remove_dir_all(&sources).with_context(|| sources.display().to_string())?;
    }
    shell::run(&mut git(&["worktree", "prune"]))?;
    shell::run(git(&["worktree", "add", "--quiet", "--detach"]).arg(&sources))?;
    let built = patch(&sources).and_then(|()| build(&sources));
    shell::run(git(&["worktree", "remove", "--force"]).arg(&sources))?;
    built
}

fn patch(sources: &Path) -> Result<()> {
    let file = sources.join(FILE);
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    if !text.contains(SEND) {
        bail!("{FILE}: the send that is to be slowed is not there; see xtask/src/calibrate.rs");
    }
    fs::write(&file, text.replace(SEND, SLOW_SEND)).with_context(|| file.display().to_string())
}

fn build(sources: &Path) -> Result<PathBuf> {
    let target = shell::target_directory().join("calibrate/target");
    let mut cargo = shell::cargo(&["build", "--release", "--quiet", "--package", "headwater"]);
    shell::run(cargo.current_dir(sources).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release/headwater"))
}

fn git(arguments: &[&str]) -> Command {
    let mut command = shell::command("git");
    command.args(arguments);
    command
}
