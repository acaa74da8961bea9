//! `cargo xtask package`: makes the Debian package of the command, the archive's program and the C libraries, then installs, uses and removes it in a
//! clean root. Called by hand and before a release; it needs root, dpkg and, for the first time, a Debian mirror.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::archive;
use crate::shell::{self, cargo};

mod check;
mod copyright;

/// What builds packages; installed into target/tools where it is missing.
const CARGO_DEB: &str = "3.8.0";

/// The release of the clean root, if none is named.
const SUITE: &str = "bookworm";

/// How far to go.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Make the package and do not test it, which needs no root
    #[arg(long)]
    build_only: bool,
    /// The Debian release of the clean root
    #[arg(long, default_value = SUITE)]
    suite: String,
}

impl Default for Options {
    fn default() -> Options {
        Options { build_only: false, suite: SUITE.into() }
    }
}

/// Makes the package and tests it.
pub fn run(options: &Options) -> Result<()> {
    let headwater = shell::release_build()?;
    stage()?;
    let package = build()?;
    let bytes = fs::metadata(&headwater)?.len();
    println!("package: {}, {} bytes; headwater in it {bytes} bytes", package.display(), fs::metadata(&package)?.len());
    if options.build_only {
        return Ok(());
    }
    check::check(&folder(), &options.suite, &package)
}

/// Everything that this task makes is below it.
fn folder() -> PathBuf {
    // Cargo.toml of headwater names it.
    shell::root().join("target/package")
}

/// Installs the archive's program, the man pages, the C libraries and the copyright file where Cargo.toml of headwater takes them from.
fn stage() -> Result<()> {
    let stage = folder().join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    let program = archive::release_build()?;
    fs::create_dir_all(folder().join("bin"))?;
    fs::copy(&program, folder().join("bin/headwater-archive")).with_context(|| program.display().to_string())?;
    let pages = stage.join("usr/share/man/man1");
    fs::create_dir_all(&pages)?;
    // The archive's own page stands for the one that headwater alone has.
    for folder in ["docs/man", "archive/man"] {
        for entry in fs::read_dir(shell::root().join(folder))? {
            let page = entry?;
            fs::copy(page.path(), pages.join(page.file_name()))?;
        }
    }
    let multiarch = shell::output(shell::command("cc").arg("-print-multiarch"))?;
    let libraries = format!("/usr/lib/{}", multiarch.trim());
    for library in ["crates/capi", "crates/trace-c"] {
        let mut make = shell::command("make");
        make.args(["-s", "-C", library, "install", "PREFIX=/usr"]).arg(format!("LIBDIR={libraries}"));
        make.arg(format!("TARGET={}", shell::target_directory().display()));
        shell::run(make.arg(format!("DESTDIR={}", stage.display())))?;
    }
    for entry in fs::read_dir(stage.join(&libraries[1..]))? {
        let path = entry?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("a") => shell::run(shell::command("strip").arg("--strip-debug").arg(path))?,
            // The file itself; its other names are links.
            Some("0") => shell::run(shell::command("strip").arg("--strip-unneeded").arg(path))?,
            _ => {}
        }
    }
    // Outside the stage: cargo-deb has an option for it.
    fs::write(folder().join("copyright"), copyright::text()?).context("the copyright file")
}

/// Runs cargo-deb and returns the package's path.
fn build() -> Result<PathBuf> {
    let tools = shell::target_directory().join("tools");
    let deb = tools.join("bin/cargo-deb");
    if !deb.exists() {
        println!("package: installing cargo-deb {CARGO_DEB} into {}", tools.display());
        let install = ["install", "cargo-deb", "--locked", "--version", CARGO_DEB, "--root"];
        shell::run(cargo(&install).arg(&tools))?;
    }
    let to = folder().join("deb");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(&to)?;
    let mut command = shell::command(&deb.to_string_lossy());
    command.args(["deb", "--package", "headwater", "--no-build", "--no-strip", "--output"]);
    shell::run(command.arg(&to))?;
    only_file(&to)
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    match &files[..] {
        [file] => Ok(file.path()),
        _ => bail!("{}: one package was expected, there are {} files", folder.display(), files.len()),
    }
}
