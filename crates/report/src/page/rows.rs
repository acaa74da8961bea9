//! The table of rows: every metric of every row with its interval, as far as it fits. The script adds the rest,
//! sorting, a filter and the download.

use headwater_results::schema::{MetricResult, RowResult};

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use super::table::{scrolled, spanned};
use crate::chart;
use crate::markup::{escape, shorten, whole};
use crate::{rows, units};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "data", title: "Data", draw };

/// The most lines without the script.
const LINES_MAX: usize = 500;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let all = || {
        page.source.runs.iter().flat_map(|(name, run)| {
            rows::all_measured(run)
                .flat_map(move |result| result.metrics.iter().map(move |metric| (*name, result, metric)))
        })
    };
    let total = all().count();
    let line = |(run, result, metric)| line(page.has_several().then_some(run), result, metric);
    let (lines, shown) = allowance.take_lines(all().take(LINES_MAX).map(line));
    if total == 0 {
        return None;
    }
    let note = if shown < total {
        format!(
            "The first {shown} of {} lines; with its script the page has all of them.",
            units::grouped(total as f64)
        )
    } else {
        format!("{} lines, one for each metric of each row.", units::grouped(total as f64))
    };
    let run = if page.has_several() { "<th scope=\"col\">run</th>" } else { "" };
    let table = format!(
        "<table><thead><tr>{run}<th scope=\"col\">row</th><th scope=\"col\">metric</th><th scope=\"col\" class=\"num\">median\
         </th><th scope=\"col\" class=\"num\">interval</th><th scope=\"col\" class=\"num\">launches</th><th scope=\"col\">better\
         </th><th scope=\"col\">flags</th></tr></thead><tbody>{lines}</tbody></table>"
    );
    Some(format!("<p class=\"note\">{note}</p>\n{}\n", scrolled(&table)))
}

fn line(run: Option<&str>, result: &RowResult, metric: &MetricResult) -> String {
    let unit = &metric.metric.unit;
    let estimate = &metric.estimate;
    let text = |value: f64| escape(&units::quantity(value, unit));
    let interval = match estimate.n {
        0 | 1 => "\u{2013}".to_owned(),
        _ => format!("{} .. {}", text(estimate.low), text(estimate.high)),
    };
    let better = metric.metric.better.name();
    let is_own = rows::own(result).is_some_and(|own| own.metric.name == metric.metric.name);
    let flags = if is_own { chart::flags(result) } else { String::new() };
    let class = if rows::competes(result) { "" } else { " class=\"quiet\"" };
    let run = run.map(|run| format!("<td>{}</td>", whole(&shorten(run, 60)))).unwrap_or_default();
    format!(
        "<tr{class}>{run}<th scope=\"row\">{}</th><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{interval}</td>\
         <td class=\"num\">{}</td><td>{better}</td><td>{}</td></tr>\n",
        whole(&shorten(&result.row.id, 160)),
        whole(&shorten(&metric.metric.name.replace("one_way", "one-way"), 40)),
        text(estimate.median),
        estimate.n,
        spanned("flags", &flags).trim_start()
    )
}
