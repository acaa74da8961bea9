//! The report: one self-contained HTML file that makes no request. Called by `headwater report`.
//!
//! It is complete without its script: text, charts, tables. The script draws nothing: it shows the words about a point,
//! hides and shows lines, and exchanges a drawing for the one on another scale. The
//! security policy in the head permits that one script and that one style sheet, and forbids everything else, including
//! all requests. A new section is a file with a `SECTION` and a line in the table below. No page is larger than
//! [`PAGE_BYTES_MAX`]: contents that do not fit are left out in a defined order, and the page says so.

use headwater_results::compare::Comparison;
use headwater_results::schema::Run;

use crate::markup::escape;

mod allowance;
mod comparison;
mod comparisons;
mod cost;
mod data;
mod environment;
mod figures;
mod flags;
mod frame;
mod history;
mod legend;
mod live;
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
pub use comparisons::comparison_page;
use frame::Page;
pub(crate) use frame::date;
pub use history::history_page;
pub use traces::TraceLink;

/// The maximum size of a page.
pub const PAGE_BYTES_MAX: usize = 1_500_000;

/// The style sheet, built from web/.
const STYLE: &str = include_str!("../../../web/dist/page.css");

/// The script, built from web/.
const SCRIPT: &str = include_str!("../../../web/dist/page.js");

/// The options of a page.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// The headline; by default it is made of the runs' names.
    pub title: Option<String>,
    /// The base of improvements: the name of a run, a subject or a variant.
    pub baseline: Option<String>,
    /// Traces in the directories of the runs.
    pub traces: Vec<TraceLink>,
}

/// A section of the page.
struct Section {
    /// Its anchor, used by links and tests.
    id: &'static str,
    /// Its heading.
    title: &'static str,
    /// Draws the contents below the heading; `None` if there is nothing to show.
    draw: fn(&Page<'_>, &mut Allowance) -> Option<String>,
}

/// The sections, from top to bottom.
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

/// The element by which [`is_page`] recognises a page.
const GENERATOR: &str = r#"<meta name="generator" content="headwater report">"#;

/// Whether a file with this beginning is a page of ours, which a newer one may replace.
pub fn is_page(beginning: &str) -> bool {
    beginning.contains(GENERATOR)
}

/// Returns the page about `runs`, each with its name, and `comparisons` between them. Its size is at most
/// [`PAGE_BYTES_MAX`].
pub fn page(runs: &[(String, &Run)], comparisons: &[Comparison], options: &PageOptions) -> String {
    let page = Page::new(runs, comparisons, options);
    let mut allowance = Allowance::new(PAGE_BYTES_MAX - STYLE.len() - SCRIPT.len(), page.line_count());
    let sections: Vec<(&Section, String)> =
        TABLE.iter().filter_map(|section| Some((section, (section.draw)(&page, &mut allowance)?))).collect();
    let visible = Visible::new(&page.title, &frame::header(&page), &sections);
    // The smaller part of what is left is for the data, which can be cut row by row.
    let live = live::element(page.numbered(), allowance.left_of(visible.bytes()) * 3 / 5);
    // All remaining bytes are for the data; the rest of the frame is smaller than its reserve.
    let payload = payload::element(&page, allowance.left_of(visible.bytes() + live.len()));
    visible.with_data(&payload.note, &(live + &payload.element))
}

/// The visible parts of a page.
struct Visible {
    head: String,
    /// From the beginning of the body to the last section.
    body: String,
}

impl Visible {
    fn new(title: &str, header: &str, sections: &[(&Section, String)]) -> Visible {
        let link = |Section { id, title, .. }: &Section| format!("<li><a href=\"#{id}\">{title}</a></li>\n");
        let links: String = sections.iter().map(|(section, _)| link(section)).collect();
        let body = sections.iter().map(|(Section { id, title, .. }, text)| {
            format!(
                "<section id=\"{id}\" aria-labelledby=\"h-{id}\"><h2 id=\"h-{id}\">{title}</h2>\n{text}</section>\n"
            )
        });
        let body = format!(
            "<body>\n<a class=\"skip\" href=\"#summary\">Skip to the summary</a>\n{header}<nav \
             aria-label=\"Sections\"><ul>{links}</ul></nav>\n<main>\n{}",
            body.collect::<String>()
        );
        Visible { head: head(title), body }
    }

    fn bytes(&self) -> usize {
        self.head.len() + self.body.len() + frame::FOOTER.len()
    }

    /// Returns the page with a note about its data, and the elements of data for its script.
    fn with_data(self, note: &str, data: &str) -> String {
        let Visible { head, body } = self;
        format!("{head}{body}{note}</main>\n{}{data}\n<script>{SCRIPT}</script>\n</body>\n</html>\n", frame::FOOTER)
    }
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
