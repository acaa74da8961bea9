//! The steps about the command as it is installed: `build`, its size, and `musl`, one static file.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, cargo};

/// Makes the release build, and prints its size.
pub fn build() -> Result<()> {
    let headwater = shell::release_build()?;
    let bytes = fs::metadata(&headwater).with_context(|| headwater.display().to_string())?.len();
    println!("  headwater: {bytes} bytes");
    Ok(())
}

const MUSL: &str = "x86_64-unknown-linux-musl";

/// Builds the static program, and uses it: it must start without a dynamic linker, measure a pipe, and examine the machine.
pub fn musl() -> Result<()> {
    shell::run(shell::command("rustup").args(["target", "add", MUSL])).context("the standard library for musl")?;
    shell::run(&mut cargo(&["build", "--package", "headwater", "--target", MUSL]))?;
    let program = shell::target_directory().join(MUSL).join("debug/headwater");
    let headwater = || shell::command(&program.to_string_lossy());
    let sections = shell::output(shell::command("readelf").arg("--program-headers").arg(&program))?;
    ensure!(!sections.contains("INTERP"), "{} asks for a dynamic linker", program.display());

    let version = shell::output(headwater().arg("--version"))?;
    ensure!(version.starts_with("headwater "), "headwater --version printed {version:?}");
    let place = shell::target_directory().join(format!("ci-musl-{}", std::process::id()));
    let mut run = headwater();
    run.args(["run", "pipe", "streams-pipe", "--launches", "2", "--time", "10ms", "--quiet", "--output"]).arg(&place);
    shell::run(&mut run)?;
    fs::remove_dir_all(&place).with_context(|| place.display().to_string())?;
    println!("  {}: {} bytes", version.trim(), fs::metadata(&program)?.len());
    // Found by rustix in the C library, or not at all: then every reading is a system call.
    let (is, wanted) =
        (clock_read(headwater())?, clock_read(shell::command(&shell::release_build()?.to_string_lossy()))?);
    ensure!(is == wanted, "doctor says of the clock: {is}; of the dynamic program's: {wanted}");
    Ok(())
}

/// Returns the status of doctor's finding about the time of a reading of the clock.
fn clock_read(mut headwater: Command) -> Result<String> {
    // Its exit status says whether the machine needs attention, which is not the program's matter.
    let doctor = headwater.args(["doctor", "--json"]).output().context("headwater doctor")?;
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&doctor.stdout).context("headwater doctor --json")?;
    let finding = findings.iter().find(|finding| finding["topic"] == "clock read");
    Ok(finding.context("doctor has nothing about the clock")?["status"].to_string())
}
