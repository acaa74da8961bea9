//! `cargo xtask trace-peers`: records one program with the tracer, with LTTng-UST and with perf, by turns: what each costs
//! the program and itself, what is lost, and what is left if the recorder is killed. The program is one in C that is compiled
//! with an event of the same three fields for each tool (examples/trace-peers/paced.h). Run it by hand, on an idle machine.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use headwater_results::estimate::median;
use headwater_results::random::Random;

use crate::shell;
use recorders::{Bench, Killed, Load, Recorded, Tool};

mod recorders;

/// Rounds of arithmetic before an event: half a microsecond.
const WORK: u64 = 1000;

/// The settings of the comparison.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Turns of each tool
    #[arg(long, default_value_t = 8)]
    rounds: usize,
    /// Events of a program that emits them as fast as it can
    #[arg(long, default_value_t = 500_000)]
    count: u64,
    /// Events a second of the other one
    #[arg(long, default_value_t = 100_000)]
    rate: u64,
    /// The seconds that it takes
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Turns in which the recorder is killed
    #[arg(long, default_value_t = 3)]
    kills: usize,
    /// Seed of the order
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What was measured of a tool.
struct Column {
    tool: Tool,
    fast: Vec<Recorded>,
    flood: Vec<Recorded>,
    paced: Vec<Recorded>,
    killed: Vec<Killed>,
}

/// Builds everything, measures the tools by turns and prints a table in Markdown.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.rounds > 0, "no round, no figure");
    let headwater = shell::release_build()?;
    shell::run(&mut shell::cargo(&["build", "--release", "--package", "headwater-trace-c"]))?;
    let programs = shell::target_directory().join("trace-peers");
    make(&programs)?;
    let place = tempfile::tempdir()?;
    let mut bench = Bench::new(&headwater, &programs, place.path())?;
    let mut columns: Vec<Column> = Tool::ALL
        .iter()
        .map(|tool| Column { tool: *tool, fast: Vec::new(), flood: Vec::new(), paced: Vec::new(), killed: Vec::new() })
        .collect();
    let mut random = Random::new(options.seed);
    let paced_load = Load { count: options.rate * options.seconds, rate: options.rate, work: WORK };
    let fast_load = Load { count: options.count, rate: 0, work: WORK };
    // The first round warms up.
    for round in 0..=options.rounds {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        random.shuffle(&mut order);
        for at in order {
            let Column { tool, fast, flood, paced, .. } = &mut columns[at];
            let [of_fast, of_flood, of_paced] = [
                bench.record(*tool, fast_load)?,
                bench.record(*tool, Load { work: 0, ..fast_load })?,
                bench.record(*tool, paced_load)?,
            ];
            if round > 0 {
                fast.push(of_fast);
                flood.push(of_flood);
                paced.push(of_paced);
            }
        }
    }
    for _ in 0..options.kills {
        for Column { tool, killed, .. } in &mut columns {
            killed.push(bench.kill(*tool, paced_load)?);
        }
    }
    print!("{}", table(&columns, options));
    Ok(())
}

fn make(programs: &Path) -> Result<()> {
    let library: PathBuf = shell::target_directory().join("release");
    let mut command = shell::command("make");
    command.args(["--no-print-directory", "-C", "examples/trace-peers", "paced"]);
    command.arg(format!("OUT={}", programs.display())).arg(format!("LIBRARY={}", library.display()));
    shell::run(&mut command)
}

/// A row of the table.
struct Row {
    about: String,
    cell: fn(&Column) -> String,
}

/// Returns the table.
fn table(columns: &[Column], options: &Options) -> String {
    let Options { count, rate, seconds, .. } = options;
    let row = |about: String, cell| Row { about, cell };
    let paced = rate * seconds;
    let rows = [
        row(format!("{count} events at once: time of the program, times that without events"), |tool| {
            range(&tool.fast, |turn| turn.with_ns / turn.without_ns)
        }),
        row("of these lost; reported as lost".to_owned(), |tool| losses(&tool.fast)),
        row(format!("{count} events without work between them: lost; reported as lost"), |tool| losses(&tool.flood)),
        row("time of the program for one of these, ns".to_owned(), |tool| {
            range(&tool.flood, |turn| (turn.with_ns - turn.without_ns) / turn.emitted as f64)
        }),
        row(format!("{rate} events a second: CPU time of the program for an event, ns"), |tool| {
            range(&tool.paced, |turn| (turn.with_ns - turn.without_ns) / turn.emitted as f64)
        }),
        row("of these lost; reported as lost".to_owned(), |tool| losses(&tool.paced)),
        row("CPU of the recorder meanwhile, % of one".to_owned(), |tool| {
            range(&tool.paced, |turn| turn.recorder_ns / turn.wall_ns * 100.0)
        }),
        row("bytes on disk for an event".to_owned(), |tool| {
            range(&tool.fast, |turn| turn.bytes as f64 / turn.found.max(1) as f64)
        }),
        row("from the start of recorder and program to the first event, ms".to_owned(), |tool| {
            range(&tool.fast, |turn| turn.start_ns * 1e-6)
        }),
        row(format!("kill -9 of the recorder after half of {paced} events: found afterwards"), |tool| {
            found(&tool.killed, |killed| killed.found)
        }),
        row("the same, with files of the tool put together by hand".to_owned(), |tool| {
            found(&tool.killed, |killed| killed.found_by_hand)
        }),
    ];
    let line = |first: &str, cells: &mut dyn Iterator<Item = String>| {
        cells.fold(format!("| {first} |"), |line, cell| format!("{line} {cell} |")) + "\n"
    };
    let mut text = line("", &mut columns.iter().map(|column| column.tool.name().to_owned()));
    text += &format!("|{}\n", "---|".repeat(columns.len() + 1));
    for Row { about, cell } in &rows {
        text += &line(about, &mut columns.iter().map(cell));
    }
    text
}

/// Returns the median with the least and the most.
fn range(turns: &[Recorded], figure: fn(&Recorded) -> f64) -> String {
    let values: Vec<f64> = turns.iter().map(figure).collect();
    let (least, most) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)));
    let shown = |value: f64| match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    median(&values)
        .map_or_else(String::new, |median| format!("{} ({} to {})", shown(median), shown(least), shown(most)))
}

/// Returns the most events that were lost in a turn, and the most that the tool reported; whether they differ in any.
fn losses(turns: &[Recorded]) -> String {
    let lost = |turn: &Recorded| turn.emitted.saturating_sub(turn.found);
    let most = turns.iter().map(lost).max().unwrap_or(0);
    let reported = turns.iter().map(|turn| turn.reported).max().unwrap_or(0);
    let is_each = turns.iter().all(|turn| lost(turn) == turn.reported);
    format!("{most}; {reported}{}", if is_each { "" } else { " (not the same)" })
}

fn found(turns: &[Killed], figure: fn(&Killed) -> Option<u64>) -> String {
    let figures: Vec<u64> = turns.iter().filter_map(figure).collect();
    match (figures.iter().min(), figures.iter().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(found: u64, reported: u64) -> Recorded {
        Recorded { emitted: 100, found, reported, ..Recorded::default() }
    }

    #[test]
    fn a_loss_that_is_not_reported_is_named() {
        assert_eq!(losses(&[turn(100, 0), turn(90, 10)]), "10; 10");
        assert_eq!(losses(&[turn(100, 10), turn(90, 0)]), "10; 10 (not the same)");
    }

    #[test]
    fn a_table_has_a_cell_for_each_tool() {
        let column = |tool, with_ns| Column {
            tool,
            fast: vec![Recorded { with_ns, without_ns: 2.0, ..turn(90, 10) }],
            flood: Vec::new(),
            paced: vec![turn(100, 0)],
            killed: vec![Killed { found: Some(7), found_by_hand: None }],
        };
        let options = Options { rounds: 1, count: 100, rate: 50, seconds: 2, kills: 1, seed: 1 };
        let text = table(&[column(Tool::Ours, 3.0), column(Tool::Lttng, 5.0)], &options);
        assert!(text.lines().all(|line| line.matches('|').count() == 4), "{text}");
        assert!(text.contains("| 1.50 (1.50 to 1.50) | 2.50 (2.50 to 2.50) |"), "{text}");
        assert!(text.contains("| 10; 10 | 10; 10 |") && text.contains("found afterwards | 7 | 7 |"), "{text}");
    }
}
