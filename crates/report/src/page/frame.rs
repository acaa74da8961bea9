//! The data that all sections use, and the first lines of the page.

use std::collections::HashMap;

use headwater_results::compare::Comparison;
use headwater_results::overhead::is_overhead;
use headwater_results::published;
use headwater_results::schema::{RowResult, Run};

use super::{PageOptions, TraceLink};
use crate::chart::{self, Figure, Source};
use crate::markup::{escape, shorten, whole};
use crate::rows;
use crate::text::{plural, short_list};

/// The last lines.
pub(super) const FOOTER: &str = "<footer><p>Made by <code>headwater report</code>. This file is complete: it loads nothing, and \
    keeps what it says when it is sent or archived.</p></footer>\n";

/// The most runs that are listed individually.
const RUNS_LISTED: usize = 24;

/// The most characters of a name in running text.
const NAME_MAX: usize = 120;

/// A page that is being built.
pub(super) struct Page<'a> {
    /// The headline.
    pub title: String,
    /// Runs, panels and comparisons.
    pub source: Source<'a>,
    /// Traces in the directories of the runs.
    pub traces: Vec<TraceLink>,
    /// The figures of every chart, by the chart's name.
    pub figures: HashMap<&'static str, Vec<Figure>>,
}

impl<'a> Page<'a> {
    /// Returns a page about `runs`.
    pub fn new(runs: &'a [(String, &'a Run)], comparisons: &'a [Comparison], options: &PageOptions) -> Page<'a> {
        let source = Source::new(runs, comparisons, options.baseline.as_deref());
        let mut figures: HashMap<&str, Vec<Figure>> =
            chart::TABLE.iter().map(|chart| (chart.name, chart.figures(&source))).collect();
        let mut number = 0;
        for chart in chart::TABLE {
            for figure in figures.get_mut(chart.name).into_iter().flatten() {
                figure.number = number;
                number += 1;
            }
        }
        let title = options.title.clone().unwrap_or_else(|| headline(runs));
        Page { title, source, traces: options.traces.clone(), figures }
    }

    /// Returns all figures by their numbers.
    pub fn numbered(&self) -> Vec<&Figure> {
        chart::TABLE.iter().filter_map(|chart| self.figures.get(chart.name)).flatten().collect()
    }

    /// Whether there are several runs, so that each figure must name its run.
    pub fn has_several(&self) -> bool {
        self.source.runs.len() > 1
    }

    /// Returns the number of figures: one for each metric of each measured row.
    pub fn line_count(&self) -> usize {
        self.source.runs.iter().flat_map(|(_, run)| rows::all_measured(run)).map(|row| row.metrics.len()).sum()
    }

    /// Returns the runs that are listed individually, and the number of the others.
    pub fn listed(&self) -> (&[(&'a str, &'a Run)], usize) {
        let listed = self.source.runs.len().min(RUNS_LISTED);
        (&self.source.runs[..listed], self.source.runs.len() - listed)
    }
}

/// Returns the headline: the question that the runs answer. Datasets of one report are named by its title.
fn headline(runs: &[(String, &Run)]) -> String {
    let tables: Vec<_> = rows::unique(runs.iter().map(|(_, run)| table_of(run).map(|table| table.title)));
    if let [Some(title)] = tables[..] {
        return title.to_owned();
    }
    let [(_, run)] = runs else {
        let names: Vec<&str> = runs.iter().map(|(name, _)| name.as_str()).collect();
        let names: Vec<String> = chart::short_names(&names).iter().map(|name| shorten(name, NAME_MAX)).collect();
        return format!("How do {} differ?", short_list(&names, 3));
    };
    let host = Some(&*run.header.environment.host).filter(|host| !host.is_empty());
    format!("{} on {}?", question(run), shorten(host.unwrap_or("this machine"), NAME_MAX))
}

/// Returns the question that a run answers, by what it has most rows of.
fn question(run: &Run) -> &'static str {
    if is_overhead(run) {
        return "What does tracing cost";
    }
    if run.header.settings.variants.len() > 1 {
        return "How do the variants differ";
    }
    let count = |is: fn(&RowResult) -> bool| run.results.iter().filter(|row| is(row)).count();
    let kinds = [
        (count(|row| row.row.size_bytes.is_some()), "Which way to pass messages is fastest"),
        (count(|row| row.row.workers.is_some()), "Which lock is fastest"),
        (count(|row| row.row.pattern == "lmbench"), "What do basic operations of the kernel cost"),
    ];
    let most = kinds.into_iter().rev().max_by_key(|(count, _)| *count).filter(|(count, _)| *count > 0);
    most.map_or("What was measured", |(_, question)| question)
}

/// Returns the table of a published run.
pub(super) fn table_of(run: &Run) -> Option<&'static published::Table> {
    published::source_of(&run.header.run_id)
}

/// Places the first chart beside the words, or on a narrow screen between the answer and the rest of the words.
pub(super) fn lead(answer: &str, figure: &str, rest: &str) -> String {
    format!(
        "<div class=\"lead\">\n<div class=\"answer\">\n{answer}</div>\n{figure}<div class=\"rest\">\n{rest}</div>\n</div>\n"
    )
}

/// Returns the headline and the list of runs. The script fills the element `controls` and shows it.
pub(super) fn header(page: &Page<'_>) -> String {
    let (runs, more) = page.listed();
    let name_of = |run: &Run| table_of(run).map(|table| table.name);
    let groups = runs.chunk_by(|(_, one), (_, other)| name_of(one).is_some() && name_of(one) == name_of(other));
    let items: String = groups.map(|group| format!("<li>{}</li>\n", group_line(group))).collect();
    let more = if more > 0 { format!("<li>and {} more</li>", plural(more, "run")) } else { String::new() };
    format!(
        "<header id=\"top\">\n<h1>{}</h1>\n<ul class=\"runs\">{items}{more}</ul>\n<div id=\"controls\" hidden></div>\n\
         </header>\n",
        whole(&shorten(&page.title, 2 * NAME_MAX))
    )
}

/// Formats datasets of one report, or one run, as a line.
fn group_line(group: &[(&str, &Run)]) -> String {
    let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
    match group {
        [(name, run), ..] => match table_of(run) {
            None => machine(name, run),
            Some(table) => {
                let words = shorten(&names.join(", "), 4 * NAME_MAX);
                format!("<strong>{}</strong> <span class=\"about\">{}</span>", escape(&words), escape(table.citation))
            }
        },
        [] => String::new(),
    }
}

/// Formats a run as a line: name, machine, date, effort.
fn machine(name: &str, run: &Run) -> String {
    let header = &run.header;
    let name = format!("<strong>{}</strong>", escape(&shorten(name, NAME_MAX)));
    let environment = &header.environment;
    let cpus = environment.cpu.affinity.len();
    let parts = [
        environment.host.clone(),
        environment.cpu.model.split_whitespace().collect::<Vec<_>>().join(" "),
        if cpus > 0 { plural(cpus, "CPU") } else { String::new() },
        if environment.kernel.release.is_empty() {
            String::new()
        } else {
            format!("Linux {}", environment.kernel.release)
        },
        date(&header.started_at),
        rows::launches(run),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| whole(&shorten(part, NAME_MAX))).collect();
    format!("{name} <span class=\"about\">{}</span>", parts.join(" \u{b7} "))
}

/// Formats an RFC 3339 time as `2025-01-31 12:30 UTC`, or returns it unchanged.
pub(crate) fn date(at: &str) -> String {
    match (at.get(..10), at.get(10..11), at.get(11..16), at.ends_with('Z')) {
        (Some(day), Some("T"), Some(minute), true) => format!("{day} {minute} UTC"),
        _ => at.to_owned(),
    }
}
