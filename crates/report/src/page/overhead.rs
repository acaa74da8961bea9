//! The cost of tracing: charts and tables of runs of `headwater overhead`.

use headwater_results::overhead::{Overhead, is_overhead};

use super::allowance::Allowance;
use super::frame::Page;
use super::table::of_grid;
use super::{Section, figures};
use crate::markup::{escape, prose, shorten};
use crate::overhead::{self, DEFINITION, TITLE, Table};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "overhead", title: TITLE, draw };

/// The most characters of a run's name.
const NAME_MAX: usize = 120;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let runs: Vec<_> = page.source.runs.iter().filter(|(_, run)| is_overhead(run)).collect();
    if runs.is_empty() {
        return None;
    }
    let charts = page.figures.get("overhead").into_iter().flatten().collect();
    let mut html = figures::drawn(charts, allowance).unwrap_or_default();
    html += &format!("<p class=\"note\">{}</p>\n", prose(DEFINITION));
    for (name, run) in runs {
        let found = Overhead::of(run);
        let heading =
            if page.has_several() { format!("<h3>{}</h3>\n", escape(&shorten(name, NAME_MAX))) } else { String::new() };
        let tables: String = overhead::tables(&found, run, "\u{b1}").iter().map(drawn).collect();
        let absent = overhead::absent(&found).join(" ");
        let absent = if absent.is_empty() { absent } else { format!("<p>{}</p>\n", prose(&absent)) };
        let text = heading + &tables + &absent;
        if !allowance.takes_table(text.len()) {
            html += "<p class=\"note\">Further tables are left out for want of room.</p>\n";
            break;
        }
        html += &text;
    }
    Some(html)
}

/// Draws a table and the explanation of its columns.
fn drawn(table: &Table) -> String {
    let words =
        if table.words.is_empty() { String::new() } else { format!("<p class=\"note\">{}</p>\n", prose(&table.words)) };
    format!("{}\n{words}", of_grid(table.caption, &table.grid))
}
