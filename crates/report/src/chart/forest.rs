//! A comparison as a forest plot: a ratio with its interval for each row, the minimum effect as a band about 1, the
//! verdict in words.

use headwater_results::compare::{Comparison, Ratio, RowComparison, Verdict};

use super::ratios::{Frame, Judgement, RatioLine, heaviest, plot};
use super::source::Source;
use super::{Chart, FIGURES_MAX, Figure, names};
use crate::markup::shorten;
use crate::text::plural;

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "forest",
    summary: "the ratios of a comparison with intervals and verdicts",
    needs: "two runs, or two variants of one, with rows in common",
    draw,
};

/// The most rows of a figure: those furthest from 1.
const ROWS_MAX: usize = 60;

fn draw(source: &Source<'_>) -> Vec<Figure> {
    source.comparisons.iter().filter_map(figure).take(FIGURES_MAX).collect()
}

fn figure(comparison: &Comparison) -> Option<Figure> {
    let judged = comparison.rows.iter().filter(|row| row.verdict != Verdict::Unjudged);
    let judged: Vec<_> = judged.filter_map(|row| Some((row, row.ratio?))).collect();
    let all = judged.len();
    let rows = heaviest(judged.into_iter(), |(_, ratio)| ratio.value.ln().abs(), ROWS_MAX);
    if rows.is_empty() {
        return None;
    }
    let heading = format!("{} against {}", comparison.candidate, comparison.baseline);
    let labels: Vec<&str> = rows.iter().map(|(row, _)| row.label.as_str()).collect();
    let tail = names::common_tail(&labels);
    let lines: Vec<RatioLine> = rows.iter().map(|(row, ratio)| line(row, *ratio, tail)).collect();
    let frame = Frame {
        title: &format!("Ratios: {heading}"),
        desc: &format!("Ratios of {}; {}.", plural(rows.len(), "row"), tally(&rows)),
        axis: "ratio (logarithmic), 1 is no change",
        effect: 1.0 + comparison.rules.minimum_effect.clamp(0.0, 10.0),
    };
    let drawings = plot(&lines, &frame);
    let mut caption = format!(
        "Ratio {} / {} of each row's own figure with its interval; whether higher or lower is better stands beside. \
         Shaded: the minimum effect, {}. Verdicts hold for all rows together, with at most {} false discoveries.",
        comparison.candidate,
        comparison.baseline,
        crate::units::percent(comparison.rules.minimum_effect),
        crate::units::percent(comparison.rules.alpha)
    );
    if !tail.is_empty() {
        caption += &format!(" Every row ends in `{}`.", shorten(tail, 80));
    }
    if rows.len() < all {
        caption += &format!(" Of {all} rows the {} furthest from 1 are drawn.", rows.len());
    }
    Some(Figure {
        number: 0,
        view: CHART.name,
        pattern: String::new(),
        placement: None,
        heading,
        caption,
        data: vec![("candidate", comparison.candidate.clone()), ("baseline", comparison.baseline.clone())],
        drawings,
        table: None,
    })
}

fn line(row: &RowComparison, ratio: Ratio, tail: &str) -> RatioLine {
    let words = format!("{:.3} {}", ratio.value, row.verdict.name());
    let wide = format!("{words}, {} better", row.metric.better.name());
    RatioLine {
        label: row.label.strip_suffix(tail).unwrap_or(&row.label).to_owned(),
        ratio: ratio.value,
        low: ratio.low,
        high: ratio.high,
        judgement: judgement(&row.verdict),
        words: [words, wide],
        effect: None,
        beside: None,
    }
}

fn judgement(verdict: &Verdict) -> Judgement {
    match verdict {
        Verdict::Better => Judgement::Better,
        Verdict::Worse => Judgement::Worse,
        Verdict::Equivalent => Judgement::Equivalent,
        Verdict::Inconclusive { .. } | Verdict::Unjudged => Judgement::Undecided,
    }
}

fn tally(rows: &[(&RowComparison, Ratio)]) -> String {
    let count = |name: &str| rows.iter().filter(|(row, _)| row.verdict.name() == name).count();
    let classes = ["better", "worse", "equivalent", "inconclusive"];
    let parts: Vec<String> =
        classes.iter().filter(|class| count(class) > 0).map(|class| format!("{} {class}", count(class))).collect();
    crate::text::list(&parts)
}
