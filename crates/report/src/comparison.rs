//! A comparison as text: the differences between the environments, a table with ratio, interval and verdict, the rows
//! left out, and the rules. Called by the command for `compare`, `noise` and runs with variants.

use headwater_results::compare::environment::Difference;
use headwater_results::compare::{
    Comparison, GeometricMean, Movement, Ratio, RowComparison, Verdict, blocks_for_family,
};
use headwater_results::schema::Better;

use crate::grid::cut;
use crate::style::{Style, best, finish, quiet, strong, width_of};
use crate::text::{plural, wrap};
use crate::units;

mod csv;
pub(crate) mod hosts;

pub use csv::comparison_csv;

/// A comparison with its context.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// The differences between the environments of the two sides.
    pub environment: &'a [Difference],
    /// The origin of the noise floor, in words; empty if it is unknown.
    pub noise: &'a str,
    /// Whether metrics other than the rows' own are shown as well.
    pub all_metrics: bool,
}

/// The most reasons for rows that could not be compared that are listed; the others are counted.
const LEFT_OUT_MAX: usize = 12;

/// Returns the whole text, terminated by a newline.
pub fn comparison(compared: &Compared<'_>, style: &Style) -> String {
    let Compared { comparison, environment, .. } = compared;
    let title = format!("{} against {}, the baseline", comparison.candidate, comparison.baseline);
    let mut parts = vec![strong(&wrap(&title, style.columns(), 2))];
    parts.extend(differences(environment, style));
    let rows: Vec<&RowComparison> =
        comparison.rows.iter().filter(|row| compared.all_metrics || row.verdict != Verdict::Unjudged).collect();
    parts.push(table(&rows, comparison.geometric_mean.as_ref(), style));
    parts.push(wrap(&summary(comparison).join(" "), style.columns(), 0));
    parts.extend(left_out(comparison, style));
    parts.push(quiet(&wrap(&rules(compared), style.columns(), 0)));
    finish(&(parts.join("\n\n") + "\n"), style)
}

/// Returns the result in words: the number of rows of each verdict, and what would decide the others.
pub(crate) fn summary(comparison: &Comparison) -> Vec<String> {
    let count = |wanted: fn(&Verdict) -> bool| comparison.rows.iter().filter(|row| wanted(&row.verdict)).count();
    let better = count(|verdict| *verdict == Verdict::Better);
    let worse = count(|verdict| *verdict == Verdict::Worse);
    let equivalent = count(|verdict| *verdict == Verdict::Equivalent);
    let open = count(|verdict| matches!(verdict, Verdict::Inconclusive { .. }));
    let judged = better + worse + equivalent + open;
    let mut sentences = vec![format!(
        "Of {}: {better} better, {worse} worse, {equivalent} equivalent, {open} inconclusive.",
        plural(judged, "row")
    )];
    let is_paired = |row: &RowComparison| row.ratio.is_some_and(|ratio| ratio.paired);
    if comparison.over_hosts().is_some() {
        sentences.extend(hosts::words(comparison));
        return sentences;
    }
    sentences.extend(moved(comparison));
    sentences.extend(hidden(comparison));
    sentences.extend(too_few(comparison));
    sentences.extend(comparison.resemblance.map(|found| {
        format!(
            "Launches resemble those before them (autocorrelation {:.2}, median of the rows), so there are fewer independent ones \
             than counted: intervals are {:.1} times as wide. Longer launches or a quieter machine help.",
            found.autocorrelation, found.factor
        )
    }));
    let needed: Vec<u32> = comparison.rows.iter().filter_map(|row| more_blocks(row.verdict)).collect();
    if let Some(&most) = needed.iter().max() {
        let blocks = plural(most as usize, "more block");
        let of_them = match needed.len() == open {
            true => "them".to_owned(),
            false => format!("{} of them", needed.len()),
        };
        let where_to = if comparison.rows.iter().any(is_paired) { "" } else { ", for each of both runs," };
        sentences.push(format!(
            "About {blocks} would decide {of_them}: `headwater run --resume RUN --more {most}`{where_to} measures them."
        ));
    }
    let apart = |row: &&RowComparison| row.ratio.is_some_and(|ratio| !ratio.paired);
    if comparison.rows.iter().any(|row| apart(&row)) {
        sentences.push(
            "The sides were measured one after the other, so drift of the machine counts as a difference; `headwater run \
             --against RUN` measures both in the same blocks."
                .to_owned(),
        );
    }
    sentences.extend(hosts::words(comparison));
    sentences
}

fn more_blocks(verdict: Verdict) -> Option<u32> {
    match verdict {
        Verdict::Inconclusive { more_blocks, .. } => more_blocks,
        _ => None,
    }
}

/// Says by how much all rows moved together.
fn moved(comparison: &Comparison) -> Option<String> {
    let movement = comparison.movement.filter(Movement::is_certain)?;
    let ratio = movement.ratio;
    let (share, which) = if ratio < 1.0 { (1.0 - ratio, "slower") } else { (ratio - 1.0, "faster") };
    Some(format!(
        "All {} moved together, {} {which}: the machine, or something that all rows share, and no change of one of them.          Every interval holds the ratio with and without this movement.",
        plural(movement.rows as usize, "row"),
        units::percent(share)
    ))
}

/// Describes the effect of the noise floor.
fn hidden(comparison: &Comparison) -> Option<String> {
    let rules = &comparison.rules;
    let is_hidden = |row: &&RowComparison| matches!(row.verdict, Verdict::Inconclusive { below_floor: true, .. });
    let count = comparison.rows.iter().filter(is_hidden).count();
    let floor = units::percent(rules.noise_floor());
    match (count, rules.noise_floor() > rules.minimum_effect) {
        _ if rules.drift <= 0.0 => None,
        (0, false) => None,
        (0, true) => Some(format!("Equal rows differ by up to {floor} here: smaller changes are not found.")),
        (_, is_above) => Some(format!(
            "{} the launches alone would decide, but equal rows differ by up to {floor} here, the noise floor{}.",
            plural(count, "inconclusive row"),
            match is_above {
                true => format!(
                    ": within less, as the {} asked for, nothing is equivalent",
                    units::percent(rules.minimum_effect)
                ),
                false => String::new(),
            }
        )),
    }
}

/// Describes what so few launches can decide.
fn too_few(comparison: &Comparison) -> Option<String> {
    let ratios = || comparison.rows.iter().filter(|row| row.verdict != Verdict::Unjudged).filter_map(|row| row.ratio);
    let most = ratios().max_by(|one, other| one.confidence.total_cmp(&other.confidence))?;
    let alpha = comparison.rules.alpha;
    let least = |rows: usize| blocks_for_family(alpha, rows, most.paired);
    let rows = ratios().count();
    if most.confidence >= 1.0 - alpha {
        let needed = least(rows);
        let sides = if most.paired { "" } else { " of each run" };
        return ((most.n as usize) < needed).then(|| {
            format!(
                "{} launches{sides} cannot show a difference in a single one of {}, only in many at once: {needed} can, and so                  can fewer rows (`--filter`).",
                most.n,
                plural(rows, "row")
            )
        });
    }
    let least = least(1);
    Some(match most.n {
        1 => format!("One launch decides nothing: it takes {least} at least."),
        n => format!(
            "{n} launches decide nothing: an interval of all of them covers {} only, and a verdict takes {least} at least.",
            units::percent(most.confidence)
        ),
    })
}

fn differences(environment: &[Difference], style: &Style) -> Option<String> {
    let widest = environment.iter().map(|difference| width_of(&difference.what)).max()?;
    let room = style.columns().saturating_sub(widest + 4).max(20);
    let lines = environment.iter().map(|Difference { what, before, after }| {
        let values = wrap(&format!("{before} -> {after}"), room, 0);
        format!("  {}  {}", padded(what, widest), values.replace('\n', &format!("\n{}", " ".repeat(widest + 4))))
    });
    let lines: Vec<String> = lines.collect();
    Some(format!("{}\n{}", strong("The environments differ:"), lines.join("\n")))
}

/// One line of the table as text, before alignment.
struct Line {
    label: String,
    values: [String; 5],
    verdict: String,
    emphasis: fn(&str) -> String,
}

/// Spaces between two columns.
const GAP: usize = 2;

/// The minimum width of a row's name.
const LABEL_MIN: usize = 16;

const HEADS: [&str; 5] = ["baseline", "candidate", "ratio", "interval", "hosts"];

fn table(rows: &[&RowComparison], mean: Option<&GeometricMean>, style: &Style) -> String {
    if rows.is_empty() {
        return "No row could be compared.".to_owned();
    }
    let mut lines: Vec<Line> = rows.iter().map(|row| line(row)).collect();
    lines.extend(mean.map(line_of_mean));
    let mut widths = HEADS.map(str::len);
    for line in &lines {
        for (width, value) in widths.iter_mut().zip(&line.values) {
            *width = (*width).max(width_of(value));
        }
    }
    let verdict = lines.iter().map(|line| width_of(&line.verdict)).max().unwrap_or(0);
    let fixed = |shown: &[usize]| shown.iter().map(|&at| widths[at] + GAP).sum::<usize>() + GAP + verdict;
    let wanted = lines.iter().map(|line| width_of(&line.label)).max().unwrap_or(0).max("row".len());
    // On a narrow terminal only ratio and interval are shown. A label may be cut, because a broken line would be
    // unreadable.
    let columns = if rows.iter().any(|row| row.hosts.is_some()) { 5 } else { 4 };
    let all = &[0, 1, 2, 3, 4][..columns];
    let shown = if fixed(all) + LABEL_MIN <= style.columns() { all } else { &all[2..] };
    let label = wanted.min(style.columns().saturating_sub(fixed(shown)).max(LABEL_MIN));
    let mut text = String::with_capacity(lines.len() * (label + fixed(shown) + 1));
    text += &strong(&padded("row", label));
    for &at in shown {
        text.extend(std::iter::repeat_n(' ', GAP + widths[at] - HEADS[at].len()));
        text += &strong(HEADS[at]);
    }
    text += &format!("{}{}\n", " ".repeat(GAP), strong("verdict"));
    text.extend(std::iter::repeat_n(style.rule(), label + fixed(shown)));
    for line in &lines {
        text.push('\n');
        text += &padded(&cut(&line.label, label, style), label);
        for &at in shown {
            text.extend(std::iter::repeat_n(' ', GAP + widths[at] - width_of(&line.values[at])));
            text += &line.values[at];
        }
        text.extend([' '; GAP]);
        text += &(line.emphasis)(&line.verdict);
    }
    text
}

/// Returns ratio and interval as text.
fn ratio_and_interval(ratio: &Ratio) -> [String; 2] {
    let interval = match ratio.n {
        0 | 1 => "-".to_owned(),
        _ => format!("{} .. {}", factor(ratio.low), factor(ratio.high)),
    };
    [factor(ratio.value), interval]
}

/// Returns the line of the geometric mean, which has no verdict.
fn line_of_mean(mean: &GeometricMean) -> Line {
    let [ratio, interval] = ratio_and_interval(&mean.ratio);
    let none = String::new;
    Line {
        label: format!("geometric mean of {} rows", mean.rows),
        values: [none(), none(), ratio, interval, none()],
        verdict: format!("{} is better", mean.better.name()),
        emphasis: quiet,
    }
}

fn line(row: &RowComparison) -> Line {
    let quantity = |value: f64| units::quantity(value, &row.metric.unit);
    let none = || ["-".to_owned(), "-".to_owned()];
    let [ratio, interval] = row.ratio.as_ref().map_or_else(none, ratio_and_interval);
    let label = match row.verdict {
        Verdict::Unjudged => format!("  {} {}", row.label, row.metric.name),
        _ => row.label.clone(),
    };
    let name = row.verdict.name();
    let (verdict, emphasis): (String, fn(&str) -> String) = match row.verdict {
        Verdict::Better => (format!("{name}{}", direction(row)), best),
        Verdict::Worse => (format!("{name}{}", direction(row)), strong),
        Verdict::Equivalent => (name.to_owned(), plain),
        Verdict::Inconclusive { below_floor: true, .. } => (format!("{name}, floor"), quiet),
        Verdict::Inconclusive { more_hosts: Some(more), .. } => {
            (format!("{name}, +{}", plural(more as usize, "host")), quiet)
        }
        Verdict::Inconclusive { more_blocks: Some(more), .. } => (format!("{name}, +{more}"), quiet),
        Verdict::Inconclusive { more_blocks: None, .. } => (name.to_owned(), quiet),
        Verdict::Unjudged => (String::new(), plain),
    };
    let hosts = row.hosts.as_ref().map_or_else(String::new, |over| over.ratios.len().to_string());
    let values = [quantity(row.baseline.median), quantity(row.candidate.median), ratio, interval, hosts];
    Line { label, values, verdict, emphasis }
}

/// Returns the direction of a change that is not better or worse by itself: `, higher` or `, lower`.
fn direction(row: &RowComparison) -> &'static str {
    let better = row.verdict == Verdict::Better;
    match (row.metric.better, better) {
        (Better::Higher, true) | (Better::Lower, false) => " (higher)",
        (Better::Higher, false) | (Better::Lower, true) => " (lower)",
    }
}

fn plain(text: &str) -> String {
    text.to_owned()
}

/// Formats a ratio with three decimals, or with three digits if it is far from 1.
fn factor(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.3}") } else { units::significant(ratio) }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(width_of(text))))
}

fn left_out(comparison: &Comparison, style: &Style) -> Option<String> {
    let all = &comparison.left_out;
    if all.is_empty() {
        return None;
    }
    let mut lines = vec![strong(&format!("{} could not be compared:", plural(all.len(), "row")))];
    let shown = all.iter().take(LEFT_OUT_MAX);
    lines.extend(shown.map(|left| wrap(&format!("  {}: {}", left.row, left.reason), style.columns(), 4)));
    if all.len() > LEFT_OUT_MAX {
        lines.push(format!("  and {} others (`--json` names them all)", all.len() - LEFT_OUT_MAX));
    }
    Some(lines.join("\n"))
}

pub(crate) fn rules(compared: &Compared<'_>) -> String {
    let rules = &compared.comparison.rules;
    let replicates = hosts::replicates(compared.comparison).map_or_else(String::new, |words| format!(" {words}"));
    if compared.comparison.over_hosts().is_some() {
        return format!(
            "{}{replicates} Verdicts: Benjamini-Hochberg at {} over all rows; a change below {} does not count.",
            hosts::method(compared.comparison),
            units::percent(rules.alpha),
            units::percent(rules.minimum_effect)
        );
    }
    let paired = compared.comparison.rows.iter().filter_map(|row| row.ratio).any(|ratio| ratio.paired);
    let test = if paired { "signed-rank test of the ratios within blocks" } else { "rank-sum test of the launches" };
    let rows =
        || compared.comparison.rows.iter().filter(|row| row.verdict != Verdict::Unjudged).filter_map(|row| row.ratio);
    let reachable = rows().map(|ratio| ratio.p_reachable).fold(1.0, f64::min) * rows().count() as f64;
    let together = match paired && reachable > rules.alpha {
        true => ", and for so many rows Westfall and Young's test of all of them together",
        false => "",
    };
    let floor = match rules.drift > 0.0 {
        true => format!(" and holds the noise floor of {} ({})", units::percent(rules.noise_floor()), compared.noise),
        false => String::new(),
    };
    format!(
        "ratio: candidate over baseline, median over all pairs of launches (Hodges and Lehmann); the interval of {} is that of \
         the same pairs{floor}. Verdicts: exact {test}, Benjamini-Hochberg at {} over all rows{together}; a change below {} \
         does not count. +N: about so many more blocks would decide.{replicates}",
        units::percent(1.0 - rules.alpha),
        units::percent(rules.alpha),
        units::percent(rules.minimum_effect),
    )
}

#[cfg(test)]
mod tests;
