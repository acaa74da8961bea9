//! `cargo experiment trace-cost`: measures the cost of an event of the tracer in each way that a program can emit it,
//! compared with storing a record with a time stamp, and with LTTng-UST if requested. Every arm is a program that waits
//! for a request; a round asks each arm once, in random order. Run it by hand, on an idle machine.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use headwater_results::estimate::{Estimate, median};
use headwater_results::random::Random;

use crate::shell;

mod lttng;

/// Batches per request to an arm, of 20,000 events each.
const BATCHES: usize = 10;

/// The settings of the measurement.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Turns of each arm
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// The CPU of all of them
    #[arg(long, default_value_t = 1)]
    cpu: u32,
    /// LTTng-UST too: needs Debian's lttng-tools and liblttng-ust-dev
    #[arg(long)]
    lttng: bool,
    /// Seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// An arm: its names, and the program that measures it.
struct Arm {
    about: &'static str,
    program: usize,
    name: &'static str,
    least: f64,
    /// The median of each request.
    medians: Vec<f64>,
}

/// A running program of arms.
struct Program {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// A requirement on two arms: the ratio of the first to the second, or their difference in ns.
struct Bound {
    about: &'static str,
    of: (&'static str, &'static str),
    judge: Judge,
}

enum Judge {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    DifferenceAtMost(f64),
}

const EMPTY: &str = "empty loop";
const OFF: &str = "event, no session";
const UNWANTED: &str = "event, not of the session";
const BARE: &str = "bare: 32 B and rdtsc";
const PER_CPU: &str = "event, logs of CPUs";
const PER_THREAD: &str = "event, logs of threads";
const BARE_PAIR: &str = "bare, two threads";
const PER_CPU_PAIR: &str = "logs of CPUs, two threads";
const PER_THREAD_PAIR: &str = "own logs, two threads";
const FROM_C: &str = "event from C";
const TRACING: &str = "event of tracing";
const TRACING_OFF: &str = "event of tracing, off";
const LTTNG: &str = "LTTng-UST, snapshot";

/// Builds everything, measures the arms alternately and prints two tables.
pub fn run(options: &Options) -> Result<()> {
    let place = shell::target_directory().join("release");
    shell::run(&mut shell::cargo(&["build", "--release", "--package", "headwater-trace-c"]))?;
    let own = shell::target_directory().join("experiments");
    let mut cargo = shell::cargo(&["build", "--release", "--locked", "--manifest-path", "experiments/Cargo.toml"]);
    shell::run(cargo.args(["--example", "cost"]).env("CARGO_TARGET_DIR", &own))?;
    let peers = shell::target_directory().join("trace-peers");
    let cost = own.join("release/examples/cost");
    make("ours", &peers, &place)?;
    let session = PathBuf::from(format!("/dev/shm/headwater-trace-cost-{}", std::process::id()));
    shell::run(shell::command(&cost.to_string_lossy()).arg(&session))?;
    let peer = if options.lttng {
        make("lttng", &peers, &place)?;
        Some(lttng::Session::start()?)
    } else {
        None
    };
    let measured = measure(options, &session, &cost, &peers);
    // The processes that had mapped it have ended.
    std::fs::remove_file(&session).with_context(|| session.display().to_string())?;
    drop(peer);
    print(&measured?);
    Ok(())
}

fn make(what: &str, into: &Path, library: &Path) -> Result<()> {
    let mut command = shell::command("make");
    command.args(["--no-print-directory", "-C", "examples/trace-peers", what]);
    command.arg(format!("OUT={}", into.display())).arg(format!("LIBRARY={}", library.display()));
    shell::run(&mut command)
}

fn measure(options: &Options, session: &Path, cost: &Path, peers: &Path) -> Result<Vec<Arm>> {
    let in_session = |program: &Path, logs: &str, cpu: Option<u32>| {
        let mut command = cpu.map_or_else(|| shell::command(&program.to_string_lossy()), |cpu| pinned(program, cpu));
        command.env("HEADWATER_TRACE", session).env("HEADWATER_TRACE_LOGS", logs);
        Program::start(command)
    };
    let mut programs = vec![
        in_session(cost, "", Some(options.cpu))?,
        in_session(cost, "thread", Some(options.cpu))?,
        in_session(&peers.join("ours"), "", Some(options.cpu))?,
        Program::start(pinned(cost, options.cpu))?,
        // Two threads have a CPU each.
        in_session(cost, "", None)?,
        in_session(cost, "thread", None)?,
    ];
    let arm = |about, program, name| Arm { about, program, name, least: f64::INFINITY, medians: Vec::new() };
    let mut arms = vec![
        arm(EMPTY, 0, "loop"),
        arm(OFF, 3, "off"),
        arm(UNWANTED, 0, "off"),
        arm(BARE, 0, "bare"),
        arm(PER_CPU, 0, "event"),
        arm(PER_THREAD, 1, "event"),
        arm(BARE_PAIR, 4, "bare-pair"),
        arm(PER_CPU_PAIR, 4, "event-pair"),
        arm(PER_THREAD_PAIR, 5, "event-pair"),
        arm(FROM_C, 2, "event"),
        arm(TRACING, 0, "tracing"),
        arm(TRACING_OFF, 0, "tracing-off"),
    ];
    if options.lttng {
        arms.push(arm(LTTNG, programs.len(), "event"));
        programs.push(Program::start(pinned(&peers.join("lttng"), options.cpu))?);
    }
    let mut random = Random::new(options.seed);
    // The first round warms up.
    for round in 0..=options.rounds {
        let mut order: Vec<usize> = (0..arms.len()).collect();
        random.shuffle(&mut order);
        for at in order {
            let arm = &mut arms[at];
            let batches = programs[arm.program].ask(arm.name)?;
            if round > 0 {
                arm.least = batches.iter().copied().fold(arm.least, f64::min);
                arm.medians.push(median(&batches).context("no batch")?);
            }
        }
    }
    programs.into_iter().try_for_each(Program::end)?;
    Ok(arms)
}

fn pinned(program: &Path, cpu: u32) -> Command {
    let mut command = shell::command("taskset");
    command.args(["--cpu-list", &cpu.to_string()]).arg(program);
    command
}

impl Program {
    fn start(mut command: Command) -> Result<Program> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start an arm")?;
        let to = child.stdin.take().context("no input")?;
        let from = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Program { child, to, from })
    }

    /// Returns the ns per event of several batches.
    fn ask(&mut self, arm: &str) -> Result<Vec<f64>> {
        writeln!(self.to, "{arm} {BATCHES}")?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let batches: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        ensure!(batches.len() == BATCHES, "arm {arm} answered {line:?}");
        Ok(batches)
    }

    fn end(mut self) -> Result<()> {
        drop(self.to);
        ensure!(self.child.wait()?.success(), "an arm failed");
        Ok(())
    }
}

fn print(arms: &[Arm]) {
    println!("{:<26} {:>9} {:>9}  95 %", "ns per event", "least", "median");
    for arm in arms {
        if let Some(ns) = Estimate::of_launches(&arm.medians) {
            println!("{:<26} {:>9.2} {:>9.2}  [{:.2}, {:.2}]", arm.about, arm.least, ns.median, ns.low, ns.high);
        }
    }
    println!("\n{:<54} {:>7} {:>7}  {:<16} wanted", "", "least", "median", "95 %");
    let bounds = [
        Bound { about: "logs of CPUs / bare", of: (PER_CPU, BARE), judge: Judge::RatioAtMost(1.6) },
        Bound { about: "logs of threads / bare", of: (PER_THREAD, BARE), judge: Judge::RatioAtMost(1.3) },
        Bound { about: "bare, two threads / one", of: (BARE_PAIR, BARE), judge: Judge::RatioAtMost(1.2) },
        Bound { about: "logs of CPUs, two threads / one", of: (PER_CPU_PAIR, PER_CPU), judge: Judge::RatioAtMost(1.2) },
        Bound {
            about: "logs of threads, two threads / one",
            of: (PER_THREAD_PAIR, PER_THREAD),
            judge: Judge::RatioAtMost(1.2),
        },
        Bound { about: "from C / bare", of: (FROM_C, BARE), judge: Judge::RatioAtMost(1.5) },
        Bound { about: "LTTng-UST / logs of CPUs", of: (LTTNG, PER_CPU), judge: Judge::RatioAtLeast(4.0) },
        Bound {
            about: "event of tracing - empty loop, ns",
            of: (TRACING, EMPTY),
            judge: Judge::DifferenceAtMost(60.0),
        },
        Bound { about: "no session - empty loop, ns", of: (OFF, EMPTY), judge: Judge::DifferenceAtMost(0.5) },
    ];
    for bound in &bounds {
        let find = |about: &str| arms.iter().find(|arm| arm.about == about);
        if let (Some(one), Some(other)) = (find(bound.of.0), find(bound.of.1)) {
            println!("{}", bound.line(one, other));
        }
    }
}

impl Bound {
    fn line(&self, one: &Arm, other: &Arm) -> String {
        let (figure, wanted): (fn(f64, f64) -> f64, String) = match self.judge {
            Judge::RatioAtMost(most) => (|a, b| a / b, format!("at most {most}")),
            Judge::RatioAtLeast(least) => (|a, b| a / b, format!("at least {least}")),
            Judge::DifferenceAtMost(most) => (|a, b| a - b, format!("at most {most}")),
        };
        let least = figure(one.least, other.least);
        let pairs: Vec<f64> = one.medians.iter().zip(&other.medians).map(|(a, b)| figure(*a, *b)).collect();
        let Some(pair) = Estimate::of_launches(&pairs) else { return String::new() };
        let holds = |figure: f64| match self.judge {
            Judge::RatioAtMost(most) | Judge::DifferenceAtMost(most) => figure <= most,
            Judge::RatioAtLeast(least) => figure >= least,
        };
        let verdict = match (holds(least), holds(pair.median)) {
            (true, true) => "holds",
            (false, false) => "missed",
            _ => "on the edge",
        };
        let interval = format!("[{:.2}, {:.2}]", pair.low, pair.high);
        format!("{:<54} {least:>7.2} {:>7.2}  {interval:<16} {wanted}: {verdict}", self.about, pair.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_judged_by_the_least_and_by_the_pairs() {
        let arm = |least, ns: f64| Arm { about: "", program: 0, name: "", least, medians: vec![ns; 8] };
        let bound = |judge| Bound { about: "x", of: ("", ""), judge };
        for (judge, one, other, verdict) in [
            (Judge::RatioAtMost(1.6), (15.0, 16.0), (10.0, 10.0), "at most 1.6: holds"),
            (Judge::RatioAtMost(1.6), (15.0, 17.0), (10.0, 10.0), "at most 1.6: on the edge"),
            (Judge::RatioAtMost(1.6), (17.0, 17.0), (10.0, 10.0), "at most 1.6: missed"),
            (Judge::RatioAtLeast(4.0), (40.0, 50.0), (10.0, 10.0), "at least 4: holds"),
            (Judge::RatioAtLeast(4.0), (39.0, 39.0), (10.0, 10.0), "at least 4: missed"),
            (Judge::DifferenceAtMost(0.5), (10.4, 10.5), (10.0, 10.0), "at most 0.5: holds"),
        ] {
            let line = bound(judge).line(&arm(one.0, one.1), &arm(other.0, other.1));
            assert!(line.ends_with(verdict), "{line}");
        }
    }
}
