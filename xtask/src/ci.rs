//! `cargo xtask ci`: everything that must hold before a change is merged, step by step, with the time of each. After a
//! failed step the others still run. `.ci/run` calls it on a clean clone.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::shell::{self, cargo};
use crate::{crash, semver, tidy};

mod leftovers;
mod sample;
mod schema;

/// The steps to leave out.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Leave a step out; repeatable
    #[arg(long, value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(STEPS.map(|step| step.name)))]
    skip: Vec<String>,
}

struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// The steps, the cheap ones first.
const STEPS: [Step; 10] = [
    Step { name: "fmt", run: || shell::run(&mut cargo(&["fmt", "--all", "--check"])) },
    Step { name: "tidy", run: || tidy::run(&tidy::Options::default()) },
    Step {
        name: "clippy",
        run: || shell::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])),
    },
    Step { name: "doc", run: doc },
    Step { name: "semver", run: || semver::run(&semver::Options::default()) },
    Step { name: "test", run: || shell::run(&mut cargo(&["test", "--workspace"])) },
    Step { name: "crash", run: crash::briefly },
    Step { name: "build", run: || shell::release_build().map(drop) },
    Step { name: "sample", run: sample::run },
    Step { name: "web", run: web },
];

/// Builds the public documentation with every feature.
fn doc() -> Result<()> {
    let mut arguments = vec!["doc", "--no-deps", "--all-features"];
    for package in ["headwater-os", "headwater-shm", "headwater-trace", "headwater-trace-tools", "headwater-streams"] {
        arguments.extend(["--package", package]);
    }
    shell::run(cargo(&arguments).env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Checks the page's script: types, freshness, and tests in a browser on reports of the release build.
fn web() -> Result<()> {
    let headwater = shell::release_build()?;
    shell::run(shell::command("web/ci.sh").env("HEADWATER", headwater))
}

/// Runs the steps in order.
pub fn run(options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    for step in STEPS.iter().filter(|step| !options.skip.iter().any(|name| name == step.name)) {
        println!("ci: {} ...", step.name);
        let started = Instant::now();
        let result = (step.run)();
        let elapsed_s = started.elapsed().as_secs_f64();
        match result {
            Ok(()) => println!("ci: {} ok, {elapsed_s:.1} s", step.name),
            Err(error) => {
                println!("ci: {} FAILED, {elapsed_s:.1} s: {error:#}", step.name);
                failed.push(step.name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("ci: {} failed", failed.join(", "));
    }
    Ok(())
}
