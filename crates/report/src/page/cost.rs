//! The cost of streaming: for each row the rate, and the CPU time, wake-ups, sleeps and context switches of both ends.

use headwater_results::schema::RowResult;

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use super::table::scrolled;
use crate::markup::{escape, shorten, whole};
use crate::{rows, units};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "cost", title: "What a message costs", draw };

/// The most lines of the table.
const LINES_MAX: usize = 500;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let all = || {
        page.source.runs.iter().flat_map(|(name, run)| {
            let rows = rows::measured(run, "stream").into_iter().filter(|row| rows::cpu_ns(row).is_some());
            rows.map(|row| (*name, row))
        })
    };
    let total = all().count();
    let line = |(run, result)| line(page.has_several().then_some(run), result);
    let (lines, shown) = allowance.take_lines(all().take(LINES_MAX).map(line));
    if total == 0 {
        return None;
    }
    let left_out = if shown < total { format!(" The first {shown} of {total} rows.") } else { String::new() };
    let heads = ["rate", "CPU, ns", "wake-ups", "sleeps", "voluntary switches", "involuntary", "on the way"];
    let heads = heads.map(|head| format!("<th scope=\"col\" class=\"num\">{head}</th>")).concat();
    let run = if page.has_several() { "<th scope=\"col\">run</th>" } else { "" };
    let table =
        format!("<table><thead><tr>{run}<th scope=\"col\">row</th>{heads}</tr></thead><tbody>{lines}</tbody></table>");
    Some(format!(
        "<p class=\"note\">Pattern stream, medians over launches. CPU time of both ends, user and system, per message; per \
         1000 messages of both ends the wake-up calls and sleeps that the transport counts, and the context \
         switches; on the way: the bytes that were not yet received when the sender had ended.{left_out}</p>\n{}\n",
        scrolled(&table)
    ))
}

fn line(run: Option<&str>, result: &RowResult) -> String {
    let cell = |text: Option<String>| {
        format!("<td class=\"num\">{}</td>", escape(&text.unwrap_or_else(|| "\u{2013}".to_owned())))
    };
    let per_1000 = |what| cell(rows::per_1000(result, what).map(units::few_or_grouped));
    let class = if rows::competes(result) { "" } else { " class=\"quiet\"" };
    let run = run.map(|run| format!("<td>{}</td>", whole(&shorten(run, 60)))).unwrap_or_default();
    format!(
        "<tr{class}>{run}<th scope=\"row\">{}</th>{}{}{}{}{}{}{}</tr>\n",
        whole(&shorten(&result.row.id, 160)),
        cell(rows::own(result).map(|own| units::quantity(own.estimate.median, &own.metric.unit))),
        cell(rows::cpu_ns(result).map(units::significant_grouped)),
        per_1000("wake_ups"),
        per_1000("blocks"),
        per_1000("voluntary_switches"),
        per_1000("involuntary_switches"),
        cell(rows::on_the_way(result).map(units::bytes)),
    )
}
