//! The comparisons: as sentences for the summary, as forest plots and tables in their own section.

use headwater_results::compare::{Comparison, GeometricMean, Ratio, RowComparison, Verdict};
use headwater_results::estimate::median;
use headwater_results::sorting::Arrange;

use super::allowance::Allowance;
use super::frame::Page;
use super::table::scrolled;
use super::{Section, figures};
use crate::chart::Figure;
use crate::markup::{escape, prose, shorten, whole};
use crate::text::{list, plural, short_list};
use crate::{rows, units};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "comparison", title: "Comparison", draw };

/// The most lines of one comparison's table.
const LINES_MAX: usize = 300;

/// The most rows of a kind that are named.
const NAMED: usize = 4;
/// The same in the sentence that begins the page, which fits a phone's first screen.
const NAMED_FIRST: usize = 2;

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let comparisons = page.source.comparisons;
    if comparisons.is_empty() {
        return None;
    }
    let forests = page.figures.get("forest").into_iter().flatten().collect();
    Some(drawn(comparisons, forests, allowance))
}

/// Returns the forest plots, and the tables of rows and hosts.
pub(super) fn drawn<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
    forests: Vec<&Figure>,
    allowance: &mut Allowance,
) -> String {
    let mut html = figures::drawn(forests, allowance).unwrap_or_default();
    for comparison in comparisons {
        html += &table(comparison, allowance);
        html += &hosts(comparison, allowance);
        html += &left_out(comparison);
    }
    html
}

/// Returns the results of the comparisons, and what would decide more and cautions.
pub(super) fn sentences(comparisons: &[Comparison]) -> (Vec<String>, Vec<String>) {
    let results = comparisons.iter().map(sentence).collect();
    // The counts are in the result already.
    let cautions = comparisons.iter().flat_map(|comparison| crate::comparison::summary(comparison).into_iter().skip(1));
    (results, rows::unique(cautions))
}

fn sentence(comparison: &Comparison) -> String {
    let judged: Vec<&RowComparison> = comparison.rows.iter().filter(|row| row.verdict != Verdict::Unjudged).collect();
    let of = |name: &str| judged.iter().filter(|row| row.verdict.name() == name).collect::<Vec<_>>();
    let candidate = shorten(&comparison.candidate, 80);
    let against = format!("{candidate} against {}", shorten(&comparison.baseline, 80));
    if judged.is_empty() {
        return format!("{against}: no rows in common.");
    }
    let mut parts = Vec::new();
    for class in ["worse", "better"] {
        let mut rows = of(class);
        if rows.is_empty() {
            continue;
        }
        let distance = |row: &RowComparison| row.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
        rows.arrange_by(|one, other| distance(other).total_cmp(&distance(one)));
        let named: Vec<String> =
            rows.iter().map(|row| format!("{} {}", shorten(&row.label, 80), change(row))).collect();
        parts.push(format!("{} {class} ({})", plural(rows.len(), "row"), short_list(&named, NAMED_FIRST)));
    }
    let (equivalent, open) = (of("equivalent").len(), of("inconclusive").len());
    if equivalent > 0 {
        parts.push(format!("{} equivalent", plural(equivalent, "row")));
    }
    if open > 0 {
        parts.push(format!("{} inconclusive", plural(open, "row")));
    }
    format!("{against}: {}.", list(&parts))
}

/// Formats the ratio as a change: `+3.1 %`.
fn change(row: &RowComparison) -> String {
    row.ratio.map_or_else(String::new, |ratio| {
        let share = ratio.value - 1.0;
        format!("{}{}", if share > 0.0 { "+" } else { "" }, units::percent(share))
    })
}

fn table(comparison: &Comparison, allowance: &mut Allowance) -> String {
    // The mean stands first, so that it is there also where the lines of the rows are cut.
    let mean = comparison.geometric_mean.as_ref().map_or_else(String::new, line_of_mean);
    let (lines, shown) = allowance.take_lines(comparison.rows.iter().take(LINES_MAX).map(line));
    if shown == 0 {
        return String::new();
    }
    let of = if shown < comparison.rows.len() { format!("the first {shown} of ") } else { String::new() };
    let heads = ["row", "metric", "better", "baseline", "candidate", "ratio", "interval", "p, adjusted", "verdict"];
    folded(comparison, &format!("{of}{}", plural(comparison.rows.len(), "line")), &heads, &(mean + &lines))
}

/// Returns a table that the reader opens.
fn folded(comparison: &Comparison, what: &str, heads: &[&str], lines: &str) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    format!(
        "<details><summary>Table: {} against {}, {what}</summary>{}</details>\n",
        whole(&shorten(&comparison.candidate, 80)),
        whole(&shorten(&comparison.baseline, 80)),
        scrolled(&format!("<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"))
    )
}

/// Returns the table of hosts, those that differ from the rest first.
fn hosts(comparison: &Comparison, allowance: &mut Allowance) -> String {
    let Some(hosts) = comparison.over_hosts() else { return String::new() };
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); hosts.names.len()];
    for host in comparison.rows.iter().filter_map(|row| row.hosts.as_ref()).flat_map(|over| &over.ratios) {
        if let Some(of_host) = ratios.get_mut(host.host as usize) {
            of_host.push(host.value);
        }
    }
    let odd = |name: &str| hosts.odd.iter().position(|odd| odd.host == name);
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (name, ratios) in hosts.names.iter().zip(&ratios) {
        let place = odd(name);
        let rows = place.map(|place| hosts.odd[place].rows.iter().map(|row| shorten(row, 80)).collect::<Vec<_>>());
        lines.push((
            place.unwrap_or(usize::MAX),
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>\n",
                whole(&shorten(name, 80)),
                ratios.len(),
                median(ratios).map_or_else(String::new, |ratio| format!("{ratio:.3}")),
                whole(&rows.map_or_else(String::new, |rows| short_list(&rows, NAMED)))
            ),
        ));
    }
    lines.arrange_by_key(|(place, _)| *place);
    let (lines, shown) = allowance.take_lines(lines.into_iter().take(LINES_MAX).map(|(_, line)| line));
    let of = if shown < hosts.names.len() { format!("{shown} of ") } else { String::new() };
    let heads = ["host", "rows", "median ratio of its rows", "differs from the rest in"];
    folded(comparison, &format!("{of}{}", plural(hosts.names.len(), "host")), &heads, &lines)
}

/// Returns the line of the geometric mean of the ratios, which has no verdict.
fn line_of_mean(mean: &GeometricMean) -> String {
    let Ratio { value, low, high, .. } = mean.ratio;
    format!(
        "<tr><th scope=\"row\">geometric mean of {}</th><td>ratio</td><td>{}</td><td></td><td></td>\
         <td class=\"num\">{value:.3}</td><td class=\"num\">{low:.3} .. {high:.3}</td><td></td><td></td></tr>\n",
        plural(mean.rows as usize, "row"),
        mean.better.name(),
    )
}

fn line(row: &RowComparison) -> String {
    let better = row.metric.better.name();
    let ratio = |of: fn(Ratio) -> String| row.ratio.map_or_else(|| "\u{2013}".to_owned(), of);
    let class = row.verdict.name();
    let words = match row.verdict {
        Verdict::Inconclusive { below_floor: true, .. } => format!("{class}, below the noise floor"),
        Verdict::Inconclusive { more_hosts: Some(hosts), .. } => format!("{class}, needs about {hosts} more hosts"),
        Verdict::Inconclusive { more_blocks: Some(blocks), .. } => format!("{class}, needs about {blocks} more blocks"),
        Verdict::Unjudged => "not judged".to_owned(),
        _ => class.to_owned(),
    };
    let value = |value: f64| escape(&units::quantity(value, &row.metric.unit));
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{better}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
         <td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"{class}\">{words}</td></tr>\n",
        whole(&shorten(&row.label, 160)),
        whole(&shorten(&row.metric.name.replace("one_way", "one-way"), 40)),
        value(row.baseline.median),
        value(row.candidate.median),
        ratio(|ratio| format!("{:.3}", ratio.value)),
        ratio(|ratio| format!("{:.3} .. {:.3}", ratio.low, ratio.high)),
        row.p_adjusted.map_or_else(|| "\u{2013}".to_owned(), |p| format!("{p:.4}")),
    )
}

fn left_out(comparison: &Comparison) -> String {
    let Some(first) = comparison.left_out.first() else { return String::new() };
    let names: Vec<String> = comparison.left_out.iter().map(|one| shorten(&one.row, 80)).collect();
    format!(
        "<p class=\"note\">Not compared: {} ({}{}).</p>\n",
        whole(&short_list(&names, NAMED)),
        prose(&shorten(&first.reason, 200)),
        if names.len() > 1 { ", and the like" } else { "" }
    )
}

#[cfg(test)]
mod tests;
