//! Tests of the options of `perftest`: which rows and intervals they mean.

use clap::Parser;

use super::super::{Cli, Command};
use super::*;

/// Parses a command line as the shell would split it.
fn parse(line: &str) -> Result<PerftestArguments, clap::Error> {
    match Cli::try_parse_from(format!("headwater perftest {line}").split_whitespace())?.command {
        Command::Perftest(arguments) => Ok(*arguments),
        other => panic!("{other:?}"),
    }
}

fn plan(line: &str) -> Plan {
    let arguments = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    arguments.plan(2).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The rows of a command line that has one size and one placement.
fn check_rows(line: &str, expected: &[&str]) {
    let plan = plan(&format!("-s 64 --placement free {line}"));
    let rows: Vec<&str> = plan.rows.iter().map(|planned| planned.row.id.as_str()).collect();
    assert_eq!(rows, expected, "{line}");
}

#[test]
fn a_short_command_line_means_the_same_as_the_long_one() {
    for (short, long, rows) in [
        ("", "--async", &["streams-pipe/stream/64/free"][..]),
        ("-r", "--rdwr", &["streams-pipe/single/64/free"]),
        ("-R", "--full", &["streams-pipe/perftest/64/free"]),
        ("--native", "--native --dry-run", &["pipe/stream/64/free"]),
        ("--both", "--both --push 0", &["pipe/stream/64/free", "streams-pipe/stream/64/free"]),
        ("-F", "--fifo", &["streams-fifo/stream/64/free"]),
        ("--push 2", "--push=2", &["streams-pipe+2xnullmod/stream/64/free"]),
        ("--push 2 -m srvmod", "--push 2 --module srvmod", &["streams-pipe+2xsrvmod/stream/64/free"]),
        ("-S", "--service", &["streams-pipe+1xsrvmod/stream/64/free"]),
        ("-S --push 3", "--service --push 3", &["streams-pipe+3xsrvmod/stream/64/free"]),
        ("-H", "--hold", &["streams-pipe+hold/stream/64/free"]),
        ("-M", "--mread", &["streams-pipe+mread/stream/64/free"]),
        ("--readfill", "--async --readfill", &["streams-pipe+readfill/stream/64/free"]),
        (
            "--both -HMR --readfill",
            "--both --hold --mread --readfill --full",
            &["pipe/perftest/64/free", "streams-pipe+hold+mread+readfill/perftest/64/free"],
        ),
        ("--lowat 8192", "--lowat 8k", &["streams-pipe+lowat=8192/stream/64/free"]),
        (
            "--hiwat 1m --lowat 4k",
            "--lowat 4096 --hiwat 1048576",
            &["streams-pipe+hiwat=1048576+lowat=4096/stream/64/free"],
        ),
        (
            "--both --push 0,1",
            "--both --push 0 --push 1",
            &["pipe/stream/64/free", "streams-pipe/stream/64/free", "streams-pipe+1xnullmod/stream/64/free"],
        ),
    ] {
        check_rows(short, rows);
        check_rows(long, rows);
    }
}

#[test]
fn times_become_launches() {
    for (line, launches, time_s, warm_up_s) in [
        ("", 12, 0.25, 0.05),
        ("-t 10 -i 1", 10, 1.0, 0.1),
        ("--time 1.2 --interval 100ms", 12, 0.1, 0.02),
        ("-t 1 -i 5", 1, 1.0, 0.1),
        ("-t 2s -i 1s -w 10ms", 2, 1.0, 0.01),
    ] {
        let settings = plan(line).settings;
        let found = (settings.launches, settings.time_s, settings.warm_up_s);
        let is_near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(found.0 == launches && is_near(found.1, time_s) && is_near(found.2, warm_up_s), "{line}: {found:?}");
        assert_eq!(settings.budget_s, None, "{line}");
    }
}

#[test]
fn without_a_size_the_sweep_is_that_of_the_paper() {
    // Two mechanisms at two placements.
    assert_eq!(plan("--both").rows.len(), SIZES.len() * 4);
    let one_process = plan("-r");
    assert!(one_process.rows.iter().all(|planned| planned.row.placement == Placement::SameCpu));
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    for (line, words) in [
        ("--native --push 1", "--both"),
        ("--native --hold", "--both"),
        ("--native --lowat 4k", "--both"),
        ("--push 1 -m frob", "frob"),
        ("--hiwat 4k --lowat 8k", "--hiwat"),
        ("-t 1h -i 1ms", "intervals"),
    ] {
        let error = parse(line).expect("clap accepts it").plan(2).expect_err(line).to_string();
        assert!(error.contains(words), "{line}: {error}");
    }
    for line in [
        "--native --both",
        "-r -R",
        "-r --async",
        "--push 65",
        "--push x",
        "--hiwat lots",
        "-s 0",
        "-S -m nullmod",
        "stray",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}
