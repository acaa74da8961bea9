//! The sections of charts. Their figures come from the table of charts. Rows without a sweep of sizes are shown as
//! dots, together with the rates, the durations or the other rows.

use headwater_results::schema::Placement;

use super::allowance::Allowance;
use super::frame::Page;
use super::{Section, table};
use crate::chart::{Figure, Kind};
use crate::markup::{escape, prose, whole};
use crate::text::plural;

/// Messages per second.
pub(super) const PERFORMANCE: Section = Section {
    id: "performance",
    title: "Performance",
    draw: |page, allowance| with_dots(page, allowance, "performance", Kind::Rate),
};

/// Time per message with its fitted line.
pub(super) const DELAY: Section = Section {
    id: "delay",
    title: "Delay",
    draw: |page, allowance| with_dots(page, allowance, "delay", Kind::Duration),
};

/// Bits per second.
pub(super) const THROUGHPUT: Section =
    Section { id: "throughput", title: "Throughput", draw: |page, allowance| section(page, allowance, "throughput") };

/// Gain over a baseline.
pub(super) const IMPROVEMENT: Section = Section {
    id: "improvement",
    title: "Improvement",
    draw: |page, allowance| section(page, allowance, "improvement"),
};

/// Quantile plots.
pub(super) const DISTRIBUTION: Section = Section {
    id: "distribution",
    title: "Distribution",
    draw: |page, allowance| section(page, allowance, "distribution"),
};

/// Size by transport.
pub(super) const HEATMAP: Section =
    Section { id: "heatmap", title: "Size by transport", draw: |page, allowance| section(page, allowance, "heatmap") };

/// Workers at a counter, repetitions of many messages.
pub(super) const OTHERS: Section =
    Section { id: "others", title: "Other rows", draw: |page, allowance| drawn(dots(page, Kind::Other), allowance) };

fn section(page: &Page<'_>, allowance: &mut Allowance, view: &str) -> Option<String> {
    drawn(page.figures.get(view).into_iter().flatten().collect(), allowance)
}

fn with_dots(page: &Page<'_>, allowance: &mut Allowance, view: &str, kind: Kind) -> Option<String> {
    let sweeps = page.figures.get(view).into_iter().flatten();
    drawn(sweeps.chain(dots(page, kind)).collect(), allowance)
}

/// Returns the figures of dots whose rows have this kind of quantity.
fn dots<'p>(page: &'p Page<'_>, kind: Kind) -> Vec<&'p Figure> {
    let is_kind = |figure: &&Figure| {
        let of = |placement: Placement| Some(placement) == figure.placement;
        let panels = page.source.panels.iter();
        panels.clone().any(|panel| panel.pattern == figure.pattern && of(panel.placement) && Kind::of(panel) == kind)
    };
    page.figures.get("dots").into_iter().flatten().filter(is_kind).collect()
}

/// Draws the figures that fit, and the number of those that do not.
pub(super) fn drawn(figures: Vec<&Figure>, allowance: &mut Allowance) -> Option<String> {
    if figures.is_empty() {
        return None;
    }
    let mut html = "<div class=\"figures\">\n".to_owned();
    let mut left_out = 0;
    for figure in figures {
        let table = figure.table.as_ref().map(|(caption, grid)| {
            format!(
                "<details><summary>Table</summary>{}</details>",
                table::of_grid(&format!("{}: {caption}", figure.heading), grid)
            )
        });
        let (start, end) = (opening(figure, "all"), "</figure>\n");
        let table = table.unwrap_or_default();
        if allowance.takes_figure(start.len() + table.len() + end.len()) {
            html += &(start + &table + end);
        } else if allowance.takes_figure(start.len() + end.len()) {
            html += &(start + end);
        } else {
            left_out += 1;
        }
    }
    html += "</div>\n";
    if left_out > 0 {
        html += &format!(
            "<p class=\"note\">{} left out for want of room. <code>report --filter</code> makes a page of fewer rows.</p>\n",
            plural(left_out, "figure")
        );
    }
    Some(html)
}

/// Returns the HTML of a figure up to its table. `place` begins the names of its elements.
pub(super) fn opening(figure: &Figure, place: &str) -> String {
    let placement = figure.placement.map_or("", Placement::name);
    let data: String = figure.data.iter().map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value))).collect();
    let [wide, narrow] = &figure.drawings.scales[0].1;
    format!(
        "<figure class=\"chart\" data-figure=\"{}\" data-view=\"{}\" data-pattern=\"{}\" data-placement=\"{placement}\"{data}>\n\
         <h3>{}</h3>\n{}<div class=\"stage\">\n{}\n{}\n</div>\n<figcaption>{}</figcaption>\n",
        figure.number,
        figure.view,
        escape(&figure.pattern),
        whole(&figure.heading),
        more_lines(figure, place),
        wide.inline("wide"),
        narrow.inline("narrow"),
        prose(&figure.caption)
    )
}

/// Returns the box that shows the lines that are not drawn at first. It needs no script.
fn more_lines(figure: &Figure, place: &str) -> String {
    let more = figure.drawings.lines.iter().filter(|line| !line.is_first).count();
    if more == 0 {
        return String::new();
    }
    let id = format!("{place}-{}", figure.number);
    format!(
        "<input type=\"checkbox\" class=\"more-lines\" id=\"{id}\"> <label class=\"more-lines\" for=\"{id}\">Show {}</label>\n",
        plural(more, "more line")
    )
}
