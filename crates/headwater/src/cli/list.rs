//! `headwater list`: prints suites, their rows, and which rows this machine cannot run.

use std::collections::BTreeMap;
use std::io::{Write, stdout};

use anyhow::anyhow;
use headwater_os::cpu;
use headwater_os_tools::signal::StopSignals;
use serde_json::json;

use super::{ListArguments, published, status};
use crate::harness::launch::ConductorError;
use crate::harness::run::{BlockRunner, probe};
use crate::harness::scratch::Scratch;
use crate::plan::{Plan, RunRequest};
use crate::{facilities, patterns, suites, transports};

pub(super) fn list(arguments: &ListArguments) -> anyhow::Result<u8> {
    if published::is_asked(arguments) {
        return published::list(arguments);
    }
    if arguments.selection.is_empty() && !arguments.all && !arguments.json {
        return overview();
    }
    let mut selection = arguments.selection.clone();
    if arguments.all {
        selection.splice(0..0, suites::TABLE.iter().map(|suite| suite.name.to_owned()));
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
    let mut out = stdout().lock();
    let widest = plan.rows.iter().map(|planned| planned.row.id.len()).max().unwrap_or(0);
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
    let mut out = stdout().lock();
    let mut section = |title: &str, entries: Vec<(&str, String)>| -> std::io::Result<()> {
        writeln!(out, "{title}")?;
        for (name, summary) in entries {
            writeln!(out, "  {name:16} {summary}")?;
        }
        writeln!(out)
    };
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
    writeln!(
        out,
        "`headwater list SUITE` and `headwater list --all` show the rows, and which cannot run here and why; \
         `headwater list published` shows the tables of reports."
    )?;
    Ok(status::OK)
}
