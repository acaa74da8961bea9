//! `cargo xtask ci`: everything that must hold before a change is merged, step by step, with the time of each. After a
//! failed step the others still run. `.ci/run` calls it on a clean clone.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::shell::{self, cargo};
use crate::{archive, commands, crash, crosscheck, deny, fleet, package, readme, semver, tidy};

mod command;
mod leftovers;
mod sample;
mod schema;

/// The steps to leave out.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Leave a step out; repeatable
    #[arg(long, value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(STEPS.iter().chain(&LONG_STEPS).map(|step| step.name)))]
    skip: Vec<String>,
    /// The long form: every test with many rounds has ten times as many, the Debian package is made and tested, the command is built with musl and used, the examples for many
    /// hosts are run, the experiments are compiled, and the README is followed. Each step prints its time; the whole was never timed
    #[arg(long)]
    long: bool,
}

/// The steps of the long form alone. Its kills, fuzzers, waits and soak at full length are tasks of their own.
const LONG_STEPS: [Step; 6] = [
    Step {
        name: "long-test",
        run: || shell::run(cargo(&["test", "--workspace", "--no-fail-fast"]).env("HEADWATER_TIMES", "10")),
    },
    Step { name: "musl", run: command::musl },
    Step { name: "package", run: || package::run(&package::Options::default()) },
    Step { name: "experiments", run: experiments },
    Step { name: "fleet", run: || fleet::run(&fleet::Options::default()) },
    Step { name: "readme", run: || readme::run(&readme::Options::default()) },
];

struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// The steps, the cheap ones first.
const STEPS: [Step; 16] = [
    Step { name: "fmt", run: || shell::run(&mut cargo(&["fmt", "--all", "--check"])) },
    Step { name: "tidy", run: || tidy::run(&tidy::Options::default()) },
    Step { name: "deny", run: deny::run },
    Step {
        name: "clippy",
        run: || shell::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])),
    },
    Step { name: "doc", run: doc },
    Step { name: "semver", run: || semver::run(&semver::Options::default()) },
    Step { name: "test", run: || shell::run(&mut cargo(&["test", "--workspace"])) },
    Step { name: "archive", run: archive::run },
    Step { name: "c-library", run: c_library },
    Step { name: "features", run: features },
    Step { name: "commands", run: || commands::run(&commands::Options::default()) },
    Step { name: "crash", run: crash::briefly },
    Step { name: "build", run: command::build },
    Step { name: "sample", run: sample::run },
    Step { name: "crosscheck", run: crosscheck::coarse::run },
    Step { name: "web", run: web },
];

/// Builds the public documentation with every feature.
fn doc() -> Result<()> {
    let mut arguments = vec!["doc", "--no-deps", "--all-features"];
    for package in [
        "headwater-os",
        "headwater-shm",
        "headwater-trace",
        "headwater-trace-tools",
        "headwater-streams",
        "headwater-terminals",
    ] {
        arguments.extend(["--package", package]);
    }
    shell::run(cargo(&arguments).env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Tests the C library as it is installed: its size, what `make install` installs, and the programs of the conformance suite that are
/// linked with it. `cargo test` runs these with a debug build, linked and preloaded.
fn c_library() -> Result<()> {
    let arguments = ["test", "--package", "headwater-capi", "--test", "install", "--test", "conformance", "--"];
    let tests = ["install", "pkg_config", "the_page_of_the_library", "linked::", "--include-ignored"];
    shell::run(cargo(&arguments).args(tests).env("HEADWATER_CAPI_PROFILE", "clib"))
}

/// Builds a program with each feature of the tracer, which compiles the crates below it once more.
fn features() -> Result<()> {
    shell::run(&mut cargo(&["test", "--package", "headwater-trace", "--test", "features", "--", "--include-ignored"]))
}

/// Compiles and tests the experiments, which no other step does: a change of a crate may break them.
fn experiments() -> Result<()> {
    let of_experiments = |command| {
        let mut cargo = cargo(&[command, "--locked", "--all-targets", "--manifest-path", "experiments/Cargo.toml"]);
        cargo.env("CARGO_TARGET_DIR", shell::target_directory().join("experiments"));
        cargo
    };
    shell::run(of_experiments("clippy").args(["--", "--deny", "warnings"]))?;
    shell::run(&mut of_experiments("test"))
}

/// Checks the page's script: types, freshness, and tests in a browser on reports of the release build.
fn web() -> Result<()> {
    let headwater = shell::release_build()?;
    shell::run(shell::command("web/ci.sh").env("HEADWATER", headwater))
}

/// Runs the steps in order.
pub fn run(options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    let long = LONG_STEPS.iter().filter(|_| options.long);
    for step in STEPS.iter().chain(long).filter(|step| !options.skip.iter().any(|name| name == step.name)) {
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
