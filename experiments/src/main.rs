//! `cargo experiment NAME`: measurements and tests that answer one question each. One file per experiment; README.md says
//! what each asks and needs. They are run by hand, and nothing else calls them.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod calibrate;
mod loaded;
#[expect(dead_code, reason = "xtask uses the rest")]
#[path = "../../xtask/src/lttng.rs"]
mod lttng;
mod overhead_scale;
#[expect(dead_code, reason = "xtask uses the rest")]
#[path = "../../xtask/src/shell.rs"]
mod shell;
mod trace_cost;

/// Measurements and tests that answer one question each; experiments/README.md has them.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo experiment")]
struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Debug, Subcommand)]
enum Experiment {
    /// Time compare, report and export over runs of 50,000 rows
    Bench(bench::Options),
    /// Slow one transport down by about 3 % and see whether the comparison finds it
    Calibrate(calibrate::Options),
    /// Repeat all tests while busy threads load the machine, and name those that fail
    Loaded(loaded::Options),
    /// What tracing costs a build of Linux and the compression of 300 MB
    OverheadScale(overhead_scale::Options),
    /// What an event of the tracer costs, beside a bare store and LTTng-UST, by turns
    TraceCost(trace_cost::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().experiment {
        Experiment::Bench(options) => bench::run(&options),
        Experiment::Calibrate(options) => calibrate::run(&options),
        Experiment::Loaded(options) => loaded::run(&options),
        Experiment::OverheadScale(options) => overhead_scale::run(&options),
        Experiment::TraceCost(options) => trace_cost::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("experiment: {error:#}");
            ExitCode::FAILURE
        }
    }
}
