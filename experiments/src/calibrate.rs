//! `cargo experiment calibrate`: checks that a real slowdown of a few percent is found, and only in the slowed rows. It
//! builds the same sources once more with a pause in every send of a pipe, and measures both builds as variants of one
//! run. With `--runs` it makes several runs, each with another order, and counts in how many each row was called worse.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell;

/// The settings of the measurement.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Launches per row and build
    #[arg(long, default_value_t = 12)]
    launches: u32,
    /// Measured time per launch
    #[arg(long, default_value = "50ms")]
    time: String,
    /// Runs: as many verdicts on each row
    #[arg(long, default_value_t = 1)]
    runs: u64,
    /// Seed of the first run's order; each further run has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rows: the slowed transport and others
    #[arg(default_values = ["pipe", "unix-stream", "unix-dgram", "sysv-mq"])]
    rows: Vec<String>,
}

/// The file that is patched, and the pause: a chain of multiplications of 8 cycles each. It takes 3 % of a pipe's
/// stream of 64 KiB, and 4 to 5 % of one of 64 B, where one multiplication is 1.7 %.
const FILE: &str = "crates/gauge/src/transports/pipe.rs";
const SEND: &str = "        library_calls::write(descriptor, message)\n";
const SLOW_SEND: &str = "        let mut chain = message.len() as u64 | 1;
        for _ in 0..2 + message.len() / 640 {
            chain = std::hint::black_box(chain.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        }
        std::hint::black_box(chain);
        library_calls::write(descriptor, message)
";

/// Builds both, measures both, and prints the comparisons.
pub fn run(options: &Options) -> Result<()> {
    let headwater = shell::release_build()?;
    let slow = slow_build()?;
    let mut runs = Vec::new();
    for seed in options.seed..options.seed + options.runs {
        let output = shell::target_directory().join(format!("calibrate/run-{seed}"));
        if output.exists() {
            fs::remove_dir_all(&output).with_context(|| output.display().to_string())?;
        }
        let mut command = Command::new(&headwater);
        command.args(["run", "ipc"]).args(&options.rows).args(["--sizes", "64,64k", "--placement", "same-cpu"]);
        command.args(["--launches", &options.launches.to_string(), "--time", &options.time, "--variant", "fast="]);
        command.args(["--seed", &seed.to_string()]);
        command.arg("--variant").arg(format!("slow={}", slow.display())).arg("--output").arg(&output);
        shell::run(&mut command)?;
        let mut command = Command::new(&headwater);
        let compared = shell::output(command.args(["compare", "--json", "--fail-on", "never"]).arg(&output))?;
        runs.push(verdicts(&compared).with_context(|| format!("the comparison of {}", output.display()))?);
    }
    print!("{}", table(&runs));
    Ok(())
}

/// The verdict of a run on a row.
#[derive(Clone, Debug, PartialEq)]
struct Verdict {
    row: String,
    ratio: f64,
    low: f64,
    high: f64,
    verdict: String,
}

/// Parses the verdicts on all rows from the output of `headwater compare --json`.
fn verdicts(compared: &str) -> Result<Vec<Verdict>> {
    let document: Value = serde_json::from_str(compared)?;
    let rows = document["comparisons"][0]["comparison"]["rows"].as_array().context("there are no rows")?;
    let verdict = |row: &Value| {
        let number = |name: &str| row["ratio"][name].as_f64();
        Some(Verdict {
            row: row["label"].as_str()?.to_owned(),
            ratio: number("value")?,
            low: number("low")?,
            high: number("high")?,
            verdict: row["verdict"]["verdict"].as_str()?.to_owned(),
        })
    };
    rows.iter().map(|row| verdict(row).with_context(|| format!("a row without ratio or verdict: {row}"))).collect()
}

/// Returns, as a Markdown table, how often each row got which verdict, and its ratio in each run.
fn table(runs: &[Vec<Verdict>]) -> String {
    let mut lines = vec!["| row | worse | better | ratio and interval of each run |".to_owned()];
    lines.push("|---|--:|--:|---|".to_owned());
    for row in runs.first().into_iter().flatten().map(|verdict| &verdict.row) {
        let of_row: Vec<&Verdict> = runs.iter().flatten().filter(|verdict| verdict.row == *row).collect();
        let called = |what: &str| of_row.iter().filter(|verdict| verdict.verdict == what).count();
        let figures = of_row.iter().map(|Verdict { ratio, low, high, .. }| format!("{ratio:.3} ({low:.3}..{high:.3})"));
        let figures = figures.collect::<Vec<_>>().join(", ");
        let (worse, better) = (called("worse"), called("better"));
        lines.push(format!("| {row} | {worse} of {} | {better} | {figures} |", of_row.len()));
    }
    lines.join("\n") + "\n"
}

/// Builds the committed sources with the pause, unless the last such build is up to date.
fn slow_build() -> Result<PathBuf> {
    let sources = shell::target_directory().join("calibrate/sources");
    let built = shell::target_directory().join("calibrate/target/release/headwater");
    let of_what = shell::target_directory().join("calibrate/of-what");
    let wanted =
        shell::output(&mut git(&["rev-parse", "HEAD:crates", "HEAD:Cargo.lock", "HEAD:Cargo.toml"]))? + SLOW_SEND;
    if built.is_file() && fs::read_to_string(&of_what).is_ok_and(|was| was == wanted) {
        return Ok(built);
    }
    if sources.exists() {
        fs::remove_dir_all(&sources).with_context(|| sources.display().to_string())?;
    }
    shell::run(&mut git(&["worktree", "prune"]))?;
    shell::run(git(&["worktree", "add", "--quiet", "--detach"]).arg(&sources))?;
    let outcome = patch(&sources).and_then(|()| build(&sources));
    shell::run(git(&["worktree", "remove", "--force"]).arg(&sources))?;
    outcome?;
    fs::write(&of_what, wanted).with_context(|| of_what.display().to_string())?;
    Ok(built)
}

fn patch(sources: &Path) -> Result<()> {
    let file = sources.join(FILE);
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    if !text.contains(SEND) {
        bail!("{FILE}: the send that is to be slowed is not there; see experiments/src/calibrate.rs");
    }
    fs::write(&file, text.replace(SEND, SLOW_SEND)).with_context(|| file.display().to_string())
}

fn build(sources: &Path) -> Result<()> {
    let target = shell::target_directory().join("calibrate/target");
    let mut cargo = shell::cargo(&["build", "--release", "--quiet", "--package", "headwater"]);
    shell::run(cargo.current_dir(sources).env("CARGO_TARGET_DIR", &target))
}

fn git(arguments: &[&str]) -> Command {
    let mut command = shell::command("git");
    command.args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_send_that_is_slowed_is_in_the_source() {
        let source = include_str!("../../crates/gauge/src/transports/pipe.rs");
        assert_eq!(source.matches(SEND).count(), 1, "{SEND}");
    }

    #[test]
    fn the_runs_that_call_a_row_worse_are_counted() {
        let run = |verdict: &str| {
            let text = format!(
                r#"{{"comparisons": [{{"comparison": {{"rows": [{{"label": "pipe/stream/64/same-cpu",
                "ratio": {{"value": 0.97, "low": 0.95, "high": 0.98}}, "verdict": {{"verdict": "{verdict}"}}}}]}}}}]}}"#
            );
            verdicts(&text).expect("rows")
        };
        let text = table(&[run("worse"), run("inconclusive"), run("worse")]);
        assert!(text.contains("| pipe/stream/64/same-cpu | 2 of 3 | 0 | 0.970 (0.950..0.980), 0.970"), "{text}");
        verdicts(r#"{"comparisons": []}"#).expect_err("no rows");
    }
}
