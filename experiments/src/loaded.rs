//! `cargo experiment loaded`: repeats the tests while other threads load the machine, and names those that failed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo};

/// The extent of the test.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// So many times
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Threads that use the CPUs meanwhile and never sleep
    #[arg(long, default_value_t = 4)]
    load: usize,
    /// Arguments of cargo test behind `--`, to select packages, test programs and tests
    #[arg(last = true, default_value = "--workspace")]
    arguments: Vec<String>,
}

/// Builds the tests, and runs them beside the load. Prints what failing test programs print.
pub fn run(options: &Options) -> Result<()> {
    let test = |last: &str| {
        let mut command = cargo(&["test", "--no-fail-fast", last]);
        command.args(&options.arguments);
        command
    };
    shell::run(&mut test("--no-run"))?;
    let is_over = AtomicBool::new(false);
    let failed = std::thread::scope(|scope| {
        for _ in 0..options.load {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let failed = rounds(options, || test("--quiet"));
        is_over.store(true, Ordering::Relaxed);
        failed
    })?;
    for (name, count) in &failed {
        println!("failed in {count} of {} rounds: {name}", options.rounds);
    }
    if !failed.is_empty() {
        bail!("{} tests failed beside {} busy threads", failed.len(), options.load);
    }
    println!("no test failed in {} rounds beside {} busy threads", options.rounds, options.load);
    Ok(())
}

/// In how many rounds each test failed that did.
fn rounds(options: &Options, test: impl Fn() -> std::process::Command) -> Result<BTreeMap<String, u32>> {
    let mut failed = BTreeMap::new();
    for round in 1..=options.rounds {
        let started = Instant::now();
        let (output, input) = pipe()?;
        let mut command = test();
        command.stdout(input.try_clone()?).stderr(input);
        let mut child = command.spawn().context("cannot start cargo")?;
        // It has the writing end of the pipe, which else would never end.
        drop(command);
        let mut names: Vec<String> = Vec::new();
        let mut is_failure = false;
        for line in BufReader::new(output).lines() {
            let line = line?;
            // The output of a failed program begins with this heading, and ends with the names of its failed tests, each behind four spaces.
            is_failure = (is_failure || line == "failures:") && !line.starts_with("running ");
            if is_failure {
                println!("{line}");
            }
            names.extend(failed_test(&line).filter(|_| is_failure));
        }
        let status = child.wait()?;
        names.sort();
        names.dedup();
        if !status.success() && names.is_empty() {
            names.push("a test program that ended without naming a test".into());
        }
        println!(
            "round {round} of {}: {:.0} s, {} failed",
            options.rounds,
            started.elapsed().as_secs_f64(),
            names.len()
        );
        for name in names {
            *failed.entry(name).or_insert(0) += 1;
        }
    }
    Ok(failed)
}

/// The name of a failed test in the list that stands at the end of the output.
fn failed_test(line: &str) -> Option<String> {
    let name = line.strip_prefix("    ")?;
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_:.-/() ".contains(letter));
    (is_name && !name.starts_with(' ')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_failed_tests_are_found_in_their_list() {
        assert_eq!(failed_test("    gate::a_signal_ends_a_poll").as_deref(), Some("gate::a_signal_ends_a_poll"));
        assert_eq!(failed_test("    src/lib.rs - Stream (line 5)").as_deref(), Some("src/lib.rs - Stream (line 5)"));
        assert_eq!(failed_test("             at /rustc/panicking.rs:689:5"), None);
        assert_eq!(failed_test("thread 'gate::a_signal' panicked"), None);
    }
}
