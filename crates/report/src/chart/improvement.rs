//! View (d) of the papers: how much faster than a base, (rate / base - 1) * 100 %, over message sizes.

use headwater_results::estimate::Estimate;
use headwater_results::schema::RowResult;

use super::base::Reference;
use super::scale::{Scale, Spread};
use super::source::{Panel, Series, Source};
use super::value::Kind;
use super::xy::{self, Axis, Plot, Scaled};
use super::{Chart, Figure, sizes, table, units};

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "improvement",
    summary: "gain over a baseline in percent, over message size",
    needs: "a transport beside the baseline, at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

/// From this ratio between the largest and the smallest improvement on, the axis is logarithmic.
const LOGARITHM_FROM: f64 = 6.0;

fn draw(source: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    let base = source.base?;
    if Kind::of(panel) == Kind::Other {
        return None;
    }
    let ratio = |series: &Series<'_>, row: &RowResult| of_row(&base, panel, series, row);
    let traces = sizes::traces(source, panel, ratio, &units::improvement);
    let (low, high) = xy::range(&traces, |spot| [spot.low, spot.high]);
    let sizes = sizes::of(&traces)?;
    let (low, high) = (low.min(1.0), high.max(1.0));
    let linear = ("linear", Spread::Linear, Scale::rounded(Spread::Linear, (low, high), 7));
    let logarithmic = ("log", Spread::Log10, Scale::rounded(Spread::Log10, (low / 1.05, high * 1.05), 7));
    let is_close = high / low < LOGARITHM_FROM;
    let reaches = if is_close { [linear, logarithmic] } else { [logarithmic, linear] };
    let notes = sizes::notes(panel, &traces);
    let title = format!("Improvement over {}: {}", base.name(), panel.name());
    let desc = sizes::desc(&traces, &units::improvement);
    let shown: Vec<&Series<'_>> = traces.iter().map(|trace| trace.series).collect();
    let table = table::by_size(&shown, &panel.sizes, &ratio, &units::improvement, false);
    let axis = format!("improvement over {}, higher is better", crate::markup::shorten(base.name(), 40));
    let scaled = |(name, spread, range)| Scaled {
        name,
        x: sizes::axis(Spread::Log2, sizes),
        y: Axis { title: &axis, spread, range, label: &units::improvement },
    };
    let scales = reaches.map(scaled).into();
    let drawings =
        Plot { title: &title, desc: &desc, scales, traces, reference: Some(1.0), marks: Vec::new() }.drawings();
    let meaning = match Kind::of(panel) {
        Kind::Duration => "(duration of the base / duration - 1) x 100 %",
        _ => "(rate / rate of the base - 1) x 100 %",
    };
    let how = match base {
        Reference::Run(..) => "of all launches of the two runs, which share no blocks",
        _ => "of the launches of each block",
    };
    let lengths = if is_close { "" } else { " Equal factors are equal lengths." };
    let caption = format!(
        "{meaning}, by the median ratio {how} (Hodges and Lehmann), as in tables; the base is {}.{lengths}{notes}",
        base.name()
    );
    let table = table.map(|table| (axis.clone(), table));
    let data = vec![("base", base.name().to_owned())];
    Some(Figure { data, ..sizes::figure(CHART.name, panel, caption, drawings, table) })
}

/// Returns how many times the base's rate the row reaches.
fn of_row(base: &Reference<'_>, panel: &Panel<'_>, series: &Series<'_>, row: &RowResult) -> Option<Estimate> {
    // The base is found by the series' key, because only the panel's series lives long enough.
    let series = panel.series.iter().find(|other| other.key == series.key)?;
    let beside = base.beside(panel, series)?;
    let other = table::at(beside, row.row.size_bytes?)?;
    crate::judge::ratio(row, other, beside.key.run == series.key.run)
}
