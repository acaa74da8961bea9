//! The summary in words: the results of each run, of comparisons, and how to read the figures.

use headwater_results::schema::{RowOutcome, Run, RunStatus};

use super::allowance::Allowance;
use super::frame::{self, Page};
use super::{Section, comparison, legend};
use crate::markup::{escape, shorten};
use crate::text::plural;
use crate::verdict::verdict;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "summary", title: "Summary", draw };

/// The most sentences of one run.
const SENTENCES_MAX: usize = 40;

/// The most characters of a sentence.
const SENTENCE_MAX: usize = 1200;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let mut html = comparison::words(page);
    let (runs, _) = page.listed();
    // The datasets of a report share one description.
    let mut last = None;
    for (name, run) in runs {
        let mut words = status(run);
        words.extend(verdict(run));
        let items: String = words
            .iter()
            .take(SENTENCES_MAX)
            .map(|sentence| format!("<li>{}</li>", escape(&shorten(sentence, SENTENCE_MAX))))
            .collect();
        let heading =
            if page.has_several() { format!("<h3>{}</h3>\n", escape(&shorten(name, 120))) } else { String::new() };
        let table = frame::table_of(run).map(|table| table.name);
        let about = if table == last { String::new() } else { about(run) };
        last = table;
        let text = format!("{heading}{about}<ul class=\"verdict\">{items}</ul>\n");
        if !allowance.takes_table(text.len()) {
            html += "<p class=\"note\">The words about further runs are left out for want of room.</p>\n";
            break;
        }
        html += &text;
    }
    html += &legend::paragraph(page);
    Some(html)
}

/// Describes a published table.
fn about(run: &Run) -> String {
    let table = frame::table_of(run);
    table.map_or_else(String::new, |table| format!("<p>{}. {}</p>\n", escape(table.title), escape(table.what)))
}

/// Describes what is missing in a run.
fn status(run: &Run) -> Vec<String> {
    let count = |wanted: fn(&RowOutcome) -> bool| run.results.iter().filter(|row| wanted(&row.outcome)).count();
    let parts = [
        (count(|outcome| matches!(outcome, RowOutcome::Failed { .. })), "failed"),
        (count(|outcome| matches!(outcome, RowOutcome::Skipped { .. })), "cannot run there"),
        (count(|outcome| matches!(outcome, RowOutcome::Pending)), "had no turn"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(rows, _)| *rows > 0)
        .map(|(rows, what)| format!("{} {what}", plural(*rows, "row")))
        .collect();
    let rest = if parts.is_empty() { "some launches are missing".to_owned() } else { parts.join(", ") };
    match run.status {
        RunStatus::Complete => Vec::new(),
        RunStatus::Interrupted => vec![format!("Interrupted: {rest}.")],
        RunStatus::Partial => vec![format!("Partial: {rest}.")],
    }
}
