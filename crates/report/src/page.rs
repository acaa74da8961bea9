//! The report: one self-contained HTML file that makes no request. Called by `headwater report`.
//!
//! It is readable as it stands: words, still charts, tables. A script, if it may run, makes the charts answer; the policy
//! in the head lets that one script and that one style sheet run and forbids everything else, every request among it. A
//! new section is a file with a `SECTION` and its line below. No page is larger than [`PAGE_BYTES_MAX`]: what does not
//! fit is left out in stated steps, and the page says so.

use headwater_results::compare::Comparison;
use headwater_results::schema::Run;

use crate::markup::escape;

mod allowance;
mod comparison;
mod cost;
mod data;
mod environment;
mod figures;
mod flags;
mod frame;
mod legend;
mod operations;
mod overhead;
mod payload;
mod policy;
mod reproduce;
mod rows;
mod summary;
mod table;
mod traces;
mod uses;

use allowance::Allowance;
use frame::Page;
pub use traces::TraceLink;

/// No page is larger, whatever the runs hold.
pub const PAGE_BYTES_MAX: usize = 1_500_000;

/// The style sheet, built from web/.
const STYLE: &str = include_str!("../../../web/dist/page.css");

/// The script, built from web/.
const SCRIPT: &str = include_str!("../../../web/dist/page.js");

/// What the reader asked for.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// The headline; without one it is made of the runs' names.
    pub title: Option<String>,
    /// What improvements are improvements on: the name of a run, a subject or a variant.
    pub baseline: Option<String>,
    /// Traces that lie beside the runs.
    pub traces: Vec<TraceLink>,
}

/// A part of the page.
struct Section {
    /// Its anchor; tests and links know it.
    id: &'static str,
    /// Its heading.
    title: &'static str,
    /// What stands below the heading; `None` if there is nothing to show.
    draw: fn(&Page<'_>, &mut Allowance) -> Option<String>,
}

/// The page, from top to bottom.
static TABLE: &[Section] = &[
    summary::SECTION,
    comparison::SECTION,
    overhead::SECTION,
    figures::PERFORMANCE,
    figures::DELAY,
    figures::THROUGHPUT,
    figures::IMPROVEMENT,
    figures::DISTRIBUTION,
    figures::HEATMAP,
    figures::OTHERS,
    uses::SECTION,
    operations::SECTION,
    cost::SECTION,
    traces::SECTION,
    rows::SECTION,
    environment::SECTION,
    flags::SECTION,
    reproduce::SECTION,
];

/// The mark by which [`is_page`] knows a page.
const GENERATOR: &str = r#"<meta name="generator" content="headwater report">"#;

/// Whether a file that begins so is a page of ours, which a newer one may replace.
pub fn is_page(beginning: &str) -> bool {
    beginning.contains(GENERATOR)
}

/// The whole page about `runs`, each with its name, and `comparisons` between them. It is never larger than
/// [`PAGE_BYTES_MAX`].
pub fn page(runs: &[(String, &Run)], comparisons: &[Comparison], options: &PageOptions) -> String {
    let page = Page::new(runs, comparisons, options);
    let mut allowance = Allowance::new(PAGE_BYTES_MAX - STYLE.len() - SCRIPT.len(), page.line_count());
    let sections: Vec<(&Section, String)> =
        TABLE.iter().filter_map(|section| Some((section, (section.draw)(&page, &mut allowance)?))).collect();
    let links: String = sections
        .iter()
        .map(|(section, _)| format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.title))
        .collect();
    let body: String = sections
        .iter()
        .map(|(section, text)| {
            let Section { id, title, .. } = section;
            format!(
                "<section id=\"{id}\" aria-labelledby=\"h-{id}\"><h2 id=\"h-{id}\">{title}</h2>\n{text}</section>\n"
            )
        })
        .collect();
    let (head, header, footer) = (head(&page.title), frame::header(&page), frame::FOOTER);
    let frame_bytes = head.len() + header.len() + links.len() + body.len() + footer.len();
    // What is left belongs to the data; the rest of the skeleton is smaller than its reserve.
    let payload = payload::element(&page, allowance.left_of(frame_bytes));
    format!(
        "{head}<body>\n<a class=\"skip\" href=\"#summary\">Skip to the summary</a>\n{header}\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n<main>\n{body}{}</main>\n{footer}{}\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        payload.note, payload.element
    )
}

fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n{GENERATOR}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>\n",
        policy::policy(STYLE, SCRIPT),
        escape(title)
    )
}

#[cfg(test)]
mod tests;
