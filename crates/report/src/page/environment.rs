//! The machine before and after a run, or several machines; differences are marked.

use std::collections::BTreeMap;

use headwater_results::published;
use headwater_results::schema::Environment;

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use super::table::scrolled;
use crate::markup::{escape, shorten, whole};
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "environment", title: "Environment", draw };

/// The most environments side by side.
const COLUMNS_MAX: usize = 8;

/// The most facts.
const FACTS_MAX: usize = 400;

/// The most characters of a value.
const VALUE_MAX: usize = 240;

/// An environment and its heading.
type Column<'a> = (String, &'a Environment);

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let columns = columns(page);
    let facts: Vec<Vec<(String, String)>> = columns.iter().map(|(_, environment)| facts(environment)).collect();
    let mut names: Vec<&String> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (name, _) in facts.iter().flatten() {
        if known.insert(name) && names.len() < FACTS_MAX {
            names.push(name);
        }
    }
    let mut lines = String::new();
    let mut left_out = 0;
    for name in names {
        let values: Vec<&str> = facts.iter().map(|facts| value_of(facts, name)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        let cells: String =
            values.iter().map(|value| format!("<td>{}</td>", escape(&shorten(value, VALUE_MAX)))).collect();
        let class = if differs { " class=\"differs\"" } else { "" };
        let line = format!("<tr{class}><th scope=\"row\">{}</th>{cells}</tr>", escape(&shorten(name, 80)));
        if allowance.takes_table(line.len()) {
            lines += &line;
        } else {
            left_out += 1;
        }
    }
    if lines.is_empty() {
        return None;
    }
    let heads: String =
        columns.iter().map(|(name, _)| format!("<th scope=\"col\">{}</th>", whole(&shorten(name, 60)))).collect();
    let note = if columns.len() > 1 { "<p class=\"note\">Lines that differ are marked.</p>\n" } else { "" };
    let rest = if left_out > 0 {
        format!("<p class=\"note\">{left_out} facts left out for want of room.</p>\n")
    } else {
        String::new()
    };
    let table = scrolled(&format!(
        "<table class=\"facts\"><thead><tr><th scope=\"col\">fact</th>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    ));
    Some(format!("{note}<details><summary>All facts about the machine</summary>{table}</details>\n{rest}"))
}

/// Returns the environments before and after one run, or those at the beginning of several.
fn columns<'a>(page: &Page<'a>) -> Vec<Column<'a>> {
    let measured = page.source.runs.iter().filter(|(_, run)| published::source_of(&run.header.run_id).is_none());
    let columns: Vec<Column<'a>> =
        measured.clone().take(COLUMNS_MAX).map(|(name, run)| ((*name).to_owned(), &run.header.environment)).collect();
    match (&columns[..], measured.clone().next()) {
        ([(_, before)], Some((_, run))) => {
            let after = run.environment_after.as_ref().map(|after| ("after".to_owned(), after));
            [("before".to_owned(), *before)].into_iter().chain(after).collect()
        }
        _ => columns,
    }
}

fn value_of<'f>(facts: &'f [(String, String)], name: &str) -> &'f str {
    facts.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

/// Returns all facts in the order of the document.
fn facts(environment: &Environment) -> Vec<(String, String)> {
    let Environment {
        host,
        machine,
        cpu,
        kernel,
        memory,
        limits,
        load,
        virtualisation,
        cgroup,
        clock,
        scheduling,
        tracing,
    } = environment;
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    let bytes = |bytes: u64| (bytes > 0).then(|| units::size_in_words(bytes));
    add("host", Some(host.clone()));
    add("machine, hashed id", machine.clone());
    add("CPU", Some(cpu.model.clone()));
    add("architecture", Some(cpu.architecture.clone()));
    add("CPUs on line", (cpu.online > 0).then(|| cpu.online.to_string()));
    add("CPUs allowed", Some(cpu.affinity.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")));
    add("threads per core", cpu.threads_per_core.map(|threads| threads.to_string()));
    add("microcode", cpu.microcode.clone());
    add("frequency governor", cpu.governor.clone());
    add("virtualisation", virtualisation.clone());
    add("kernel", Some(kernel.release.clone()));
    add("kernel build", Some(kernel.version.clone()));
    add("preemption", kernel.preemption.clone());
    add("kernel command line", kernel.command_line.clone());
    add("memory", bytes(memory.total_bytes / 1048576 * 1048576));
    add("memory available", bytes(memory.available_bytes / 1048576 * 1048576));
    add("transparent huge pages", memory.transparent_huge_pages.clone());
    add("load over one minute", Some(units::significant(load.average_1min)));
    add("stolen since boot", Some(units::percent(load.steal_since_boot)));
    for (what, share) in &load.pressure_some_avg10 {
        add(&format!("pressure, {what}"), Some(units::percent(share / 100.0)));
    }
    for (what, size) in &cpu.cache_bytes {
        add(&format!("cache {what}"), bytes(*size));
    }
    add(
        "other runs of headwater",
        (!load.other_measurements.is_empty()).then(|| load.other_measurements.len().to_string()),
    );
    let groups: [(&str, &BTreeMap<String, String>); 7] = [
        ("clock", clock),
        ("cgroup", cgroup),
        ("scheduling", scheduling),
        ("mitigation", &cpu.mitigations),
        ("limit", &limits.resource),
        ("sysctl", &limits.sysctl),
        ("tracing", tracing),
    ];
    for (group, members) in groups {
        for (name, value) in members {
            add(&format!("{group}: {name}"), Some(value.clone()));
        }
    }
    facts
}
