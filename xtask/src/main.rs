//! `cargo xtask`: the project's own chores. One file per command; nothing of it is part of the product.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod calibrate;
mod ci;
mod crash;
mod crosscheck;
mod crosscheck_lmbench;
mod crosscheck_netperf;
mod docs;
mod fuzz;
mod schedule;
mod shell;
mod soak;
mod tidy;
mod trace_cost;

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Everything that must hold before a change is merged
    Ci(ci::Options),
    /// Check the rules of the house that a machine can check (CONTRIBUTING.md lists them)
    Tidy(tidy::Options),
    /// Write what is generated: JSON Schemas, man pages, completions
    Docs,
    /// Slow one transport down by about 3 % and see whether the comparison finds it
    Calibrate(calibrate::Options),
    /// Time compare, report and export over runs of 50,000 rows
    Bench(bench::Options),
    /// Measure the kernel pipe with Headwater and with a plain C loop in the same blocks, and compare
    Crosscheck(crosscheck::Options),
    /// Measure the rows of suite lmbench with Headwater and with plain C programs by turns, and compare
    CrosscheckLmbench(crosscheck_lmbench::Options),
    /// Measure the rows of suite netperf with Headwater and with netperf by turns, and compare
    CrosscheckNetperf(crosscheck_netperf::Options),
    /// Kill processes that use a stream, at every place between two stores and at random times
    Crash(crash::Options),
    /// Let a peer scribble over the memory of streams and abuse their descriptors while they are used
    Fuzz(fuzz::Options),
    /// Wait in every form while processes are killed, stopped, replaced or forked
    Schedule(schedule::Options),
    /// Send messages by the hundred million, and through a thousand pipes at once
    Soak(soak::Options),
    /// What an event of the tracer costs, beside a bare store and LTTng-UST, by turns
    TraceCost(trace_cost::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Chore::Ci(options) => ci::run(&options),
        Chore::Tidy(options) => tidy::run(&options),
        Chore::Docs => docs::run(),
        Chore::Bench(options) => bench::run(&options),
        Chore::Calibrate(options) => calibrate::run(&options),
        Chore::Crosscheck(options) => crosscheck::run(&options),
        Chore::CrosscheckLmbench(options) => crosscheck_lmbench::run(&options),
        Chore::CrosscheckNetperf(options) => crosscheck_netperf::run(&options),
        Chore::Crash(options) => crash::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Schedule(options) => schedule::run(&options),
        Chore::Soak(options) => soak::run(&options),
        Chore::TraceCost(options) => trace_cost::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
