//! The path of the repository, and functions that run other programs in it. Called by every task, and by the experiments.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Returns the repository's top directory.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the repository")
}

/// Returns Cargo's directory for build results.
pub fn target_directory() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Returns a command that runs in the repository, without input.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Returns the Cargo that runs this task.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = command(env::var("CARGO").as_deref().unwrap_or("cargo"));
    command.args(arguments);
    command
}

/// Runs a program to its end; it inherits the standard streams.
///
/// # Errors
/// If it cannot be started or does not end with 0.
pub fn run(command: &mut Command) -> Result<()> {
    let words = words(command);
    let status = command.status().with_context(|| format!("cannot start {words}"))?;
    if !status.success() {
        bail!("{words}: {status}");
    }
    Ok(())
}

/// Runs a program to its end and returns what it printed; it inherits standard error.
///
/// # Errors
/// If it cannot be started or does not end with 0.
pub fn output(command: &mut Command) -> Result<String> {
    let words = words(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {words}"))?;
    if !output.status.success() {
        bail!("{words}: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{words} printed what is not UTF-8"))
}

fn words(command: &Command) -> String {
    let words: Vec<OsString> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(OsString::from).collect();
    words.join(" ".as_ref()).to_string_lossy().into_owned()
}

/// Builds the release and returns the path of the command.
///
/// # Errors
/// If it does not build.
pub fn release_build() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--release", "--package", "headwater"]))?;
    Ok(target_directory().join("release/headwater"))
}

/// Runs one test program in a long form, which the environment variables select. `build` are arguments of Cargo,
/// `filter` selects tests (all, if it is empty). Prints the time that it took.
///
/// # Errors
/// If a test fails, or `filter` selects none.
pub fn long_test(build: &[&str], filter: &str, settings: &[(&str, String)]) -> Result<()> {
    let started = std::time::Instant::now();
    let test = |arguments: &[&str]| {
        let mut command = cargo(&["test"]);
        command.args(build).arg("--").args(arguments).arg(filter);
        command
    };
    // The names of tests change; a run that selects none of them would succeed.
    if !output(&mut test(&["--list"]))?.lines().any(|line| line.ends_with(": test")) {
        bail!("no test of {} has {filter:?} in its name", build.join(" "));
    }
    run(test(&["--nocapture", "--test-threads", "1"]).envs(settings.iter().map(|(name, value)| (name, value))))?;
    println!("{}: {:.0} s", build.join(" "), started.elapsed().as_secs_f64());
    Ok(())
}
