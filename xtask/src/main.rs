//! `cargo xtask`: the developer tools of the project. One file per command; none is part of the product.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod archive;
mod ci;
mod clean_root;
mod commands;
mod crash;
mod crosscheck;
mod crosscheck_lmbench;
mod crosscheck_netperf;
mod deny;
mod docs;
mod fleet;
mod fuzz;
mod lttng;
mod package;
mod preload;
mod readme;
mod schedule;
mod semver;
mod shell;
mod soak;
mod tidy;
mod trace_peers;

/// The developer tools of the project.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Everything that must hold before a change is merged
    Ci(ci::Options),
    /// Run the commands that documents show
    Commands(commands::Options),
    /// Check the project's rules (CONTRIBUTING.md lists them)
    Tidy(tidy::Options),
    /// Write what is generated: JSON Schemas, man pages, completions
    Docs,
    /// Fill an archive with a million launches, and measure adding and queries
    ArchiveScale(archive::ScaleOptions),
    /// Measure the kernel's transports with Headwater and with plain C programs in the same blocks, and compare
    Crosscheck(crosscheck::Options),
    /// Measure the rows of suite lmbench with Headwater and with plain C programs by turns, and compare
    CrosscheckLmbench(crosscheck_lmbench::Options),
    /// Measure the rows of suite netperf with Headwater and with netperf by turns, and compare
    CrosscheckNetperf(crosscheck_netperf::Options),
    /// Check licences, sources and versions of the dependencies against deny.toml
    Deny,
    /// Kill processes that use a stream, at every place between two stores and at random times
    Crash(crash::Options),
    /// Let a peer scribble over the memory of streams and abuse their descriptors while they are used
    Fuzz(fuzz::Options),
    /// Run the examples for many hosts: on a Slurm cluster and over Ansible on this machine, and check the Kubernetes manifests
    Fleet(fleet::Options),
    /// Make the Debian package, and install, use and remove it in a clean system
    Package(package::Options),
    /// Preload the C library into programs that use no streams, and compare them with runs without it
    Preload(preload::Options),
    /// Follow the README in a clean system, from a clean clone
    Readme(readme::Options),
    /// Wait in every form while processes are killed, stopped, replaced or forked
    Schedule(schedule::Options),
    /// Compare the API of the published crates with the accepted one, or accept the present one
    Semver(semver::Options),
    /// Send messages by the hundred million, and through a thousand pipes at once
    Soak(soak::Options),
    /// Record one program with the tracer, LTTng-UST and perf by turns, and kill each recorder once
    TracePeers(trace_peers::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Task::Ci(options) => ci::run(&options),
        Task::Commands(options) => commands::run(&options),
        Task::Tidy(options) => tidy::run(&options),
        Task::Docs => docs::run(),
        Task::ArchiveScale(options) => archive::scale(&options),
        Task::Crosscheck(options) => crosscheck::run(&options),
        Task::CrosscheckLmbench(options) => crosscheck_lmbench::run(&options),
        Task::CrosscheckNetperf(options) => crosscheck_netperf::run(&options),
        Task::Crash(options) => crash::run(&options),
        Task::Deny => deny::run(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Fleet(options) => fleet::run(&options),
        Task::Package(options) => package::run(&options),
        Task::Preload(options) => preload::run(&options),
        Task::Readme(options) => readme::run(&options),
        Task::Schedule(options) => schedule::run(&options),
        Task::Semver(options) => semver::run(&options),
        Task::Soak(options) => soak::run(&options),
        Task::TracePeers(options) => trace_peers::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
