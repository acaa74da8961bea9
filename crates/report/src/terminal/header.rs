//! The first lines: machine, date, request, and status.

use headwater_results::overhead::is_overhead;
use headwater_results::published;
use headwater_results::schema::{RowOutcome, Run, RunStatus};

use super::Section;
use super::page::Page;
use crate::rows;
use crate::style::strong;
use crate::text::{command_line, plural, wrap, wrap_parts};
use crate::units;

/// The launches that a decision takes. A run with fewer is a quick look (MEASURING, design of a run).
const LAUNCHES_OF_A_DECISION: u32 = 12;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    if let Some(table) = published::source_of(&run.header.run_id) {
        return Some(of_report(page, table));
    }
    let asked = [date(&run.header.started_at), command_line(&run.header.command)].join(style.dot());
    let lines = [asked, effort(run), status(run)].into_iter().filter(|line| !line.is_empty());
    let lines = lines.map(|line| wrap(&line, style.columns(), 2));
    let machine = wrap_parts(&machine(run), style.dot(), style.columns(), 2);
    Some([machine].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
}

/// Describes the origin of published figures.
fn of_report(page: &Page<'_>, table: &published::Table) -> String {
    let &Page { run, style, .. } = page;
    let environment = &run.header.environment;
    let cpus = match environment.cpu.online {
        0 => String::new(),
        cpus => plural(cpus as usize, "CPU"),
    };
    let known = [&*environment.cpu.model, &cpus, &environment.kernel.version, &environment.kernel.release];
    let known = known.into_iter().filter(|text| !text.is_empty()).map(str::to_owned);
    let host = Some(&*environment.host).filter(|host| !host.is_empty()).map(strong);
    let machine: Vec<String> = host.into_iter().chain(known).collect();
    let named = [strong(&run.header.run_id), format!("figures of {}.", table.citation)].join(style.dot());
    let lines = [wrap(&named, style.columns(), 2), wrap_parts(&machine, style.dot(), style.columns(), 2)];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn machine(run: &Run) -> Vec<String> {
    let environment = &run.header.environment;
    let cpus = match environment.cpu.affinity.len() {
        0 => "unknown number of CPUs".to_owned(),
        cpus => plural(cpus, "CPU"),
    };
    let virtualisation = environment.virtualisation.as_deref().filter(|&name| name != "none");
    let under = virtualisation.map(|name| format!(" under {name}")).unwrap_or_default();
    vec![
        strong(&known(&environment.host, "unknown host")),
        known(&environment.cpu.model, "unknown CPU"),
        format!("{cpus}{under}"),
        format!("Linux {}", known(&environment.kernel.release, "of unknown release")),
    ]
}

/// Returns a text, or `otherwise` if it is empty.
fn known(text: &str, otherwise: &str) -> String {
    // Model names may contain several successive blanks.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { otherwise.to_owned() } else { text }
}

/// Formats an RFC 3339 time as `2025-01-31 12:30 UTC`, or returns it unchanged.
fn date(at: &str) -> String {
    match (at.get(..10), at.get(10..11), at.get(11..16), at.ends_with('Z')) {
        (Some(day), Some("T"), Some(minute), true) => format!("{day} {minute} UTC"),
        _ => at.to_owned(),
    }
}

fn effort(run: &Run) -> String {
    let settings = &run.header.settings;
    // Imported results may not state their duration.
    let time = match settings.time_s {
        0.0 => String::new(),
        time_s => format!(" of {}", units::duration_ns(time_s * 1e9)),
    };
    let launches = rows::launches(run);
    let in_time = match settings.budget_s {
        Some(budget_s) if settings.launches == 0 => {
            format!(" in at most {}", units::duration_ns(budget_s * 1e9))
        }
        _ => String::new(),
    };
    let effort = format!("{launches}{time} per row{in_time}, seed {}.", settings.seed);
    match rows::launches_done(run).unwrap_or(settings.launches) {
        few if few < LAUNCHES_OF_A_DECISION => {
            format!("A quick look: {effort} For a decision take {LAUNCHES_OF_A_DECISION} launches or more.")
        }
        _ => crate::text::capital(&effort),
    }
}

fn status(run: &Run) -> String {
    let count = |wanted: fn(&RowOutcome) -> bool| run.results.iter().filter(|row| wanted(&row.outcome)).count();
    let pending = count(|outcome| matches!(outcome, RowOutcome::Pending));
    match run.status {
        RunStatus::Complete => String::new(),
        RunStatus::Interrupted => {
            let rest = match pending {
                0 => "some rows have fewer launches than planned".to_owned(),
                pending => format!("{} had no turn", plural(pending, "row")),
            };
            let then = if is_overhead(run) { "what there is counts" } else { "`headwater run --resume DIR` goes on" };
            format!("{} {rest}; {then}.", strong("Interrupted:"))
        }
        RunStatus::Partial => {
            let failed = count(|outcome| matches!(outcome, RowOutcome::Failed { .. }));
            let skipped = count(|outcome| matches!(outcome, RowOutcome::Skipped { .. }));
            let parts: Vec<String> = [(failed, "failed"), (skipped, "cannot run here"), (pending, "had no turn")]
                .iter()
                .filter(|(rows, _)| *rows > 0)
                .map(|(rows, what)| format!("{} {what}", plural(*rows, "row")))
                .collect();
            let rest = if parts.is_empty() { "some launches failed".to_owned() } else { parts.join(", ") };
            format!("{} {rest}; the reasons are below.", strong("Partial:"))
        }
    }
}
