//! The flags: the meaning of each letter, how many rows have it, and its numbers.

use headwater_results::flags::Flag;
use headwater_results::schema::{RowOutcome, RowResult};

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use super::table::scrolled;
use crate::markup::{prose, shorten, whole};
use crate::meaning::meaning;
use crate::rows;
use crate::text::{plural, short_list};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "flags", title: "Flags", draw };

/// The most flagged rows that are listed with their numbers.
const LISTED_MAX: usize = 200;

/// The most reasons for rows without a figure.
const REASONS_MAX: usize = 40;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let rows: Vec<&RowResult> = page.source.runs.iter().flat_map(|(_, run)| rows::all_measured(run)).collect();
    let html = [kinds(&rows), listed(&rows, allowance), absent(page, allowance)].concat();
    (!html.is_empty()).then_some(html)
}

/// Returns the letters with their meanings, in alphabetical order.
pub(super) fn meanings(rows: &[&RowResult]) -> Vec<(char, &'static str)> {
    let mut kinds: Vec<(char, &'static str)> = Vec::new();
    for flag in rows.iter().flat_map(|row| &row.flags) {
        if !kinds.iter().any(|(letter, _)| *letter == flag.letter()) {
            kinds.push((flag.letter(), meaning(flag)));
        }
    }
    kinds.sort_unstable();
    kinds
}

fn kinds(rows: &[&RowResult]) -> String {
    let kinds = meanings(rows);
    if kinds.is_empty() {
        return String::new();
    }
    let lines: String = kinds
        .iter()
        .map(|(letter, meaning)| {
            let count = rows.iter().filter(|row| row.flags.iter().any(|flag| flag.letter() == *letter)).count();
            format!(
                "<tr><th scope=\"row\"><span class=\"flags\">{letter}</span></th><td>{}</td><td class=\"num\">{count} of {}</td></tr>",
                prose(meaning),
                rows.len()
            )
        })
        .collect();
    format!(
        "<p>A flag is a reason for doubt that stands beside the figure; no value is ever changed or dropped for it.</p>\n{}",
        scrolled(&format!(
            "<table class=\"facts\"><thead><tr><th scope=\"col\">letter</th><th scope=\"col\">meaning</th><th scope=\"col\" \
             class=\"num\">rows</th></tr></thead><tbody>{lines}</tbody></table>"
        ))
    )
}

fn listed(rows: &[&RowResult], allowance: &mut Allowance) -> String {
    let flagged: Vec<&&RowResult> = rows.iter().filter(|row| !row.flags.is_empty()).collect();
    let line = |row: &&&RowResult| {
        let sentences: Vec<String> = row.flags.iter().map(Flag::sentence).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            whole(&shorten(&row.row.id, 120)),
            prose(&sentences.join("; "))
        )
    };
    let (lines, shown) = allowance.take_lines(flagged.iter().take(LISTED_MAX).map(line));
    if shown == 0 {
        return String::new();
    }
    let of = if shown < flagged.len() { format!("the first {shown} of ") } else { String::new() };
    format!(
        "<details><summary>Flags with their numbers: {of}{}</summary>{}</details>\n",
        plural(flagged.len(), "row"),
        scrolled(&format!(
            "<table class=\"facts\"><thead><tr><th scope=\"col\">row</th><th scope=\"col\">flags</th></tr></thead>\
             <tbody>{lines}</tbody></table>"
        ))
    )
}

/// Lists rows without a figure, by reason.
fn absent(page: &Page<'_>, allowance: &mut Allowance) -> String {
    let mut groups: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for result in page.source.runs.iter().flat_map(|(_, run)| &run.results) {
        let (word, reason) = match &result.outcome {
            RowOutcome::Failed { reason } => ("failed", reason.as_str()),
            RowOutcome::Skipped { reason } => ("skipped", reason.as_str()),
            RowOutcome::Measured if !result.failures.is_empty() => ("failed launches", result.failures[0].as_str()),
            RowOutcome::Measured | RowOutcome::Pending => continue,
        };
        match groups.iter().position(|(other, known, _)| *other == word && *known == reason) {
            Some(place) => groups[place].2.push(&result.row.id),
            None if groups.len() < REASONS_MAX => groups.push((word, reason, vec![&result.row.id])),
            None => {}
        }
    }
    let mut items = String::new();
    for (word, reason, ids) in &groups {
        let names: Vec<String> = ids.iter().map(|id| shorten(id, 80)).collect();
        let item = format!(
            "<li><strong>{word}</strong>, {}: {} <span class=\"about\">{}</span></li>\n",
            plural(ids.len(), "row"),
            prose(&shorten(reason.trim_end_matches('.'), 400)),
            whole(&short_list(&names, 3))
        );
        if allowance.takes_table(item.len()) {
            items += &item;
        }
    }
    if items.is_empty() { String::new() } else { format!("<h3>Not measured</h3>\n<ul class=\"absent\">{items}</ul>\n") }
}
