//! The summary in words: the results of each run, of comparisons, and how to read the figures.

use headwater_results::schema::{Placement, RowOutcome, Run, RunStatus};

use super::allowance::Allowance;
use super::frame::{self, Page};
use super::{Section, comparison, figures, legend};
use crate::chart::Figure;
use crate::markup::{escape, prose, shorten};
use crate::text::plural;
use crate::verdict::{answers, verdict};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "summary", title: "Summary", draw };

/// The most sentences of one run.
const SENTENCES_MAX: usize = 40;

/// The sentences of one run that are read at first sight. Further ones are folded.
const SENTENCES_OPEN: usize = 5;

/// The most characters that precede the chart where both are below each other: with them the top of the chart is on the
/// first screen of a phone.
const ANSWER_MAX: usize = 320;

/// The most characters of a sentence.
const SENTENCE_MAX: usize = 1200;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let (results, cautions) = comparison::sentences(page.source.comparisons);
    let (mut answer, mut html) = (list(&results), list(&cautions));
    let (runs, _) = page.listed();
    // The datasets of a report share one description.
    let mut last = None;
    for (name, run) in runs {
        let mut words = verdict(run);
        words.extend(status(run));
        words.truncate(SENTENCES_MAX);
        let heading =
            if page.has_several() { format!("<h3>{}</h3>\n", escape(&shorten(name, 120))) } else { String::new() };
        let table = frame::table_of(run).map(|table| table.name);
        let about = if table == last { String::new() } else { about(run) };
        last = table;
        // With several runs the answer is their comparison; the words about each run are folded.
        let open = if page.source.comparisons.is_empty() { SENTENCES_OPEN } else { 0 };
        // One run has its answer in a sentence for each use, or else in its first sentences.
        // Below short answers the sentences with all figures are folded.
        let is_alone = !page.has_several() && about.is_empty();
        let short = if is_alone { answers(run) } else { Vec::new() };
        let first = if is_alone && short.is_empty() { answer_of(&words) } else { 0 };
        let (first, words) = words.split_at(first);
        answer += &(list(&short) + &list(first));
        let text = format!(
            "{heading}{about}{}",
            sentences(words, if short.is_empty() { open.saturating_sub(first.len()) } else { 0 })
        );
        if !allowance.takes_table(text.len()) {
            html += "<p class=\"note\">The words about further runs are left out for want of room.</p>\n";
            break;
        }
        html += &text;
    }
    html += &legend::paragraph(page);
    Some(match lead(page, allowance) {
        Some(figure) => frame::lead(&answer, &figure, &html),
        None => answer + &html,
    })
}

/// Returns how many of the sentences precede the chart: at least one.
pub(super) fn answer_of(words: &[String]) -> usize {
    let lengths = words.iter().scan(0, |characters, sentence| {
        *characters += sentence.chars().count();
        Some(*characters)
    });
    lengths.take_while(|characters| *characters <= ANSWER_MAX).count().max(1).min(words.len())
}

fn list(words: &[String]) -> String {
    if words.is_empty() {
        return String::new();
    }
    let item = |sentence: &String| format!("<li>{}</li>\n", prose(&shorten(sentence, SENTENCE_MAX)));
    format!("<ul class=\"verdict\">\n{}</ul>\n", words.iter().map(item).collect::<String>())
}

/// Returns the sentences as a list, the ones after the first `open` folded.
fn sentences(words: &[String], open: usize) -> String {
    // One more sentence takes no more room than the line that unfolds it.
    if words.len() <= open + 1 {
        return list(words);
    }
    let (first, others) = words.split_at(open);
    let first = list(first);
    let of = if open > 0 { "more " } else { "" };
    format!(
        "{first}<details class=\"more\"><summary>{}</summary>\n{}</details>\n",
        plural(others.len(), &format!("{of}sentence")),
        list(others)
    )
}

/// The charts from which the first one of the page is taken.
const LEADS: [&str; 8] =
    ["performance", "delay", "heatmap", "dots", "distribution", "improvement", "forest", "overhead"];

/// Returns the first figure of the page, beside the words: of two CPUs if there is one.
fn lead(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let of = |view: &str| page.figures.get(view).into_iter().flatten();
    let main = |figure: &&Figure| figure.placement == Some(Placement::TwoCpus) && figure.pattern == "stream";
    let is_far = |figure: &&Figure| figure.placement == Some(Placement::TwoCpus);
    let figure = LEADS
        .iter()
        .find_map(|view| of(view).find(main).or_else(|| of(view).find(is_far)).or_else(|| of(view).next()))?;
    let html = figures::opening(figure, "lead") + "</figure>\n";
    allowance.takes_figure(html.len()).then_some(html)
}

/// Describes a published table.
fn about(run: &Run) -> String {
    let table = frame::table_of(run);
    table.map_or_else(String::new, |table| format!("<p>{}. {}</p>\n", escape(table.title), escape(table.what)))
}

/// Says that launches are missing. Rows without a figure have a sentence of the verdict.
fn status(run: &Run) -> Option<String> {
    let is_whole = run.results.iter().all(|row| row.outcome == RowOutcome::Measured);
    match run.status {
        RunStatus::Interrupted => Some("The run was interrupted: rows have fewer launches than planned.".to_owned()),
        RunStatus::Partial if is_whole => Some("Some launches failed.".to_owned()),
        RunStatus::Partial | RunStatus::Complete => None,
    }
}
