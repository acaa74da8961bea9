//! The traces of a run's rows: an excerpt on the page, the complete files beside it.

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use crate::markup::escape;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "traces", title: "Traces", draw };

/// A row's trace, and where its files are.
#[derive(Clone, Debug)]
pub struct TraceLink {
    /// The row's id.
    pub row: String,
    /// Number of events in the excerpt's trace.
    pub events: u64,
    /// Number of earlier events, which are not kept.
    pub earlier: u64,
    /// The head and the last lines of the time line.
    pub excerpt: String,
    /// The address of the complete time line.
    pub timeline: String,
    /// The address of the file for ui.perfetto.dev.
    pub perfetto: String,
}

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let mut html = String::from(
        "<p>One more launch of each row, after the measurement: what the programs said of themselves, with a column for each \
         thread; here the end of each. The files lie beside the run; ui.perfetto.dev opens the second.</p>\n",
    );
    let mut left_out = 0;
    for (at, trace) in page.traces.iter().enumerate() {
        // The first one is open, as an example.
        let open = if at == 0 { " open" } else { "" };
        let TraceLink { row, events, earlier, excerpt, timeline, perfetto } = trace;
        let earlier = if *earlier > 0 { format!(", the newest of {}", events + earlier) } else { String::new() };
        let text = format!(
            "<details{open}><summary>{}: {events} events{earlier}</summary>\n<p><a href=\"{}\">whole time line</a>, \
             <a href=\"{}\">for Perfetto</a></p>\n<pre>{}</pre></details>\n",
            escape(row),
            escape(timeline),
            escape(perfetto),
            excerpt.lines().map(escape).collect::<Vec<_>>().join("\n")
        );
        if allowance.takes_table(text.len()) {
            html += &text;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        html += &format!("<p>{left_out} more are in the run's directory; there is no room for them here.</p>\n");
    }
    (!page.traces.is_empty()).then_some(html)
}
