//! `cargo xtask semver`: compares what the crates with a promised API offer to what they offered when the baseline in `docs/api`
//! was accepted. `ci` calls it too. docs/decisions/0015-what-is-promised.md says why it has two judges.
//!
//! The first judge is the listing: one line for each public item, with its whole signature. A line that is gone or different
//! fails the check; a new one does not. The second judge is cargo-semver-checks, if it is installed. It knows more rules, but
//! building it takes as long as half of CI.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::shell;

mod listing;
mod rustdoc;

use rustdoc::Api;

/// The crates whose API follows semantic versioning. headwater-os and headwater-shm are published, but parts of these two.
const PACKAGES: [&str; 3] = ["headwater-streams", "headwater-terminals", "headwater-trace"];

/// The folder of the baseline. For each crate the listing as text, and the JSON for cargo-semver-checks.
const FOLDER: &str = "docs/api";

/// What the check needs that is not part of the toolchain.
const INSTALL: &str = "cargo install cargo-semver-checks --version 0.51.0 --locked";

/// What to do with the present API.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Make the present API the baseline, instead of comparing
    #[arg(long)]
    accept: bool,
    /// Fail if cargo-semver-checks is not installed
    #[arg(long)]
    strict: bool,
}

/// Compares each crate, or writes the baseline.
///
/// # Errors
/// If something that was promised is gone or different, or the documentation cannot be made.
pub fn run(options: &Options) -> Result<()> {
    let has_judge = has_semver_checks()?;
    if options.strict && !has_judge {
        bail!("semver: cargo-semver-checks is not installed: {INSTALL}");
    }
    let mut broken = Vec::new();
    for package in PACKAGES {
        let api = Api::present(package)?;
        if options.accept {
            accept(package, &api)?;
        } else if !is_kept(package, &api, has_judge)? {
            broken.push(package);
        }
    }
    if !broken.is_empty() {
        bail!(
            "semver: the API of {} has lost something. If that is meant, say it in CHANGELOG.md, raise the version if this \
             one was published, and run: cargo xtask semver --accept",
            broken.join(" and ")
        );
    }
    if !options.accept && !has_judge {
        println!("semver: compared by the listings alone; for all rules: {INSTALL}");
    }
    Ok(())
}

fn listing_path(package: &str) -> PathBuf {
    shell::root().join(FOLDER).join(format!("{package}.txt"))
}

fn json_path(package: &str) -> PathBuf {
    shell::root().join(FOLDER).join(format!("{package}.json.zlib"))
}

fn accept(package: &str, api: &Api) -> Result<()> {
    fs::create_dir_all(shell::root().join(FOLDER))?;
    let listing = listing_path(package);
    fs::write(&listing, listing::text(&listing::lines(api)?)).with_context(|| listing.display().to_string())?;
    api.store(&json_path(package))?;
    println!("semver: {package}: wrote {FOLDER}/{package}.txt and .json.zlib");
    Ok(())
}

/// Prints what has changed; returns whether all that was promised is still there.
fn is_kept(package: &str, api: &Api, has_judge: bool) -> Result<bool> {
    let path = listing_path(package);
    let accepted = fs::read_to_string(&path)
        .with_context(|| format!("{}: `cargo xtask semver --accept` writes it", path.display()))?;
    let change = listing::compare(&accepted, &listing::lines(api)?);
    change.gone.iter().for_each(|line| println!("- {line}"));
    change.new.iter().for_each(|line| println!("+ {line}"));
    println!("semver: {package}: {} lines are gone, {} are new", change.gone.len(), change.new.len());
    let listing_is_kept = change.gone.is_empty();
    Ok((!has_judge || passes_semver_checks(package, api)?) && listing_is_kept)
}

fn has_semver_checks() -> Result<bool> {
    let mut command = shell::cargo(&["semver-checks", "--version"]);
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) => Ok(status.success()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Asks cargo-semver-checks, which prints what it finds.
fn passes_semver_checks(package: &str, api: &Api) -> Result<bool> {
    let baseline = Api::stored(&json_path(package))?;
    let accepted = shell::target_directory().join(format!("semver/{package}-accepted.json"));
    baseline.write(&accepted)?;
    let present = shell::target_directory().join(format!("semver/{package}-present.json"));
    api.write(&present)?;
    let mut command = shell::cargo(&["semver-checks", "--baseline-rustdoc"]);
    command.args([&accepted as &Path, "--current-rustdoc".as_ref(), &present]);
    if baseline.version() == api.version() {
        // A version that has not changed promises as much as one in which only the last number has: additions alone.
        command.args(["--release-type", "minor"]);
    }
    Ok(command.status().context("cannot start cargo semver-checks")?.success())
}
