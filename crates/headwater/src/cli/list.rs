//! `headwater list`: prints suites, their rows, and which rows this machine cannot run.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::anyhow;
use headwater_gauge::harness::launch::ConductorError;
use headwater_gauge::harness::run::{BlockRunner, probe};
use headwater_gauge::harness::scratch::Scratch;
use headwater_gauge::plan::{Plan, RunRequest, selection};
use headwater_gauge::{facilities, patterns, suites, transports};
use headwater_os::cpu;
use headwater_os_tools::signal::StopSignals;
use serde_json::json;

use super::output::out;
use super::{ListArguments, published, status};

pub(super) fn list(arguments: &ListArguments) -> anyhow::Result<u8> {
    if published::is_asked(arguments) {
        return published::list(arguments);
    }
    if arguments.selection.is_empty() && !arguments.all && !arguments.json {
        return overview();
    }
    let mut selection = arguments.selection.clone();
    if arguments.all {
        selection.splice(0..0, suites::TABLE.iter().map(|suite| format!("{}{}", selection::SUITE, suite.name)));
    }
    let wishes = RunRequest {
        selection,
        sizes: arguments.sizes.clone(),
        placements: arguments.placement.clone(),
        transport_commands: arguments.transport_cmd.clone(),
        ..RunRequest::default()
    };
    let cpus = cpu::allowed()?;
    let plan = Plan::new(&wishes, cpus.len(), || 0)?;
    let reasons = reasons(&plan, &cpus)?;
    let mut out = out();
    // A width has a limit; a transport of the command line may have any name.
    let widest = plan.rows.iter().map(|planned| planned.row.id.len()).max().unwrap_or(0).min(200);
    for planned in &plan.rows {
        let row = &planned.row;
        let reason = reasons.get(&row.id);
        if arguments.json {
            writeln!(out, "{}", json!({ "row": row, "runs": reason.is_none(), "reason": reason }))?;
        } else {
            match reason {
                None => writeln!(out, "{:widest$}  runs", row.id)?,
                Some(reason) => writeln!(out, "{:widest$}  skipped: {reason}", row.id)?,
            }
        }
    }
    if !arguments.json {
        writeln!(out, "\n{} rows, {} of them cannot run here.", plan.rows.len(), reasons.len())?;
    }
    Ok(status::OK)
}

fn reasons(plan: &Plan, cpus: &[u32]) -> anyhow::Result<BTreeMap<String, String>> {
    let stop = StopSignals::watch()?;
    let scratch = Scratch::new()?;
    let runner = BlockRunner::new(plan, cpus).map_err(|error| anyhow!(error))?;
    probe(&runner, &scratch, &stop).map_err(|error| match error {
        ConductorError::Stopped(_) => anyhow!("interrupted"),
        ConductorError::Broken(what) => anyhow!("cannot find out what runs here: {what}"),
    })
}

/// What there is, without rows.
fn overview() -> anyhow::Result<u8> {
    let mut out = out();
    let width = super::show::width();
    let mut section = |title: &str, entries: Vec<(&str, String)>| -> std::io::Result<()> {
        writeln!(out, "{}", wrapped(title, width, 0))?;
        for (name, summary) in entries {
            writeln!(out, "{}", wrapped(&format!("  {name:INDENT$} {summary}"), width, INDENT + 3))?;
        }
        writeln!(out)
    };
    let doubtful: Vec<String> =
        selection::doubtful().into_iter().map(|(suite, other)| format!("{suite} or {other}")).collect();
    section(
        "What can be typed: suites, and filters of their rows (of overview without a suite)",
        vec![
            ("SUITE", "a suite below".to_owned()),
            (
                "WORD",
                "any part of a row's name: a transport, a pattern, a size, a placement; * and ? are wildcards"
                    .to_owned(),
            ),
            (
                "A/B/C/D",
                "the parts from the left: transport/pattern/size/placement, as `list SUITE` shows them".to_owned(),
            ),
            ("KIND:WORD", format!("where a word beside others has two readings: {}", doubtful.join(", "))),
        ],
    )?;
    section("Suites", suites::TABLE.iter().map(|suite| (suite.name, suite.summary.to_owned())).collect())?;
    section(
        "Transports",
        transports::TABLE
            .iter()
            .map(|entry| (entry.info.name, format!("{}; {}", entry.info.summary, entry.info.blocking)))
            .collect(),
    )?;
    section(
        "Patterns",
        patterns::TABLE.iter().map(|entry| (entry.info.name, entry.info.summary.to_owned())).collect(),
    )?;
    for facility in facilities::TABLE {
        let title = format!("Facility {}: {}", facility.info.name, facility.info.summary);
        section(
            &title,
            (facility.subjects)().iter().map(|subject| (subject.name, subject.summary.to_owned())).collect(),
        )?;
    }
    let more = "`headwater list SUITE` and `headwater list --all` show the rows, and which cannot run here and why; \
                `headwater list published` shows the tables of reports.";
    writeln!(out, "{}", wrapped(more, width, 0))?;
    Ok(status::OK)
}

/// Columns of a name in the sections.
const INDENT: usize = 21;

/// Breaks `text` at spaces to lines of `width` columns, each after the first indented by `indent`.
fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for (at, word) in text.split(' ').enumerate() {
        let line = lines.last_mut().expect("there is a first line");
        let is_begun = line.chars().any(|character| character != ' ');
        if is_begun && line.len() + 1 + word.len() > width {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            // Before the first word there is no space, not even before an empty one: the text may begin with spaces.
            line.push_str(if at == 0 { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn a_long_summary_continues_below_its_beginning() {
        assert_eq!(wrapped("a bb ccc dddd", 8, 2), "a bb ccc\n  dddd");
        assert_eq!(wrapped("short", 8, 2), "short");
        assert_eq!(wrapped("  nam  one two three", 12, 7), "  nam  one\n       two\n       three");
    }
}
