//! What a configuration of `headwater overhead` costs each row: the ratio to no tracing with its interval, beside that of the
//! published report.

use headwater_results::overhead::{Arm, Finding, Line, Overhead, is_overhead};
use headwater_results::schema::Run;

use super::ratios::{Frame, Judgement, RatioLine, heaviest, plot};
use super::source::Source;
use super::{Chart, FIGURES_MAX, Figure};
use crate::overhead::{self, Report, change, least};
use crate::text::plural;

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "overhead",
    summary: "the cost of tracing in each row, with its interval",
    needs: "a run of `headwater overhead`",
    draw,
};

/// The most rows of a figure: with more its axis is not on the first screen.
const ROWS_MAX: usize = 24;

fn draw(source: &Source<'_>) -> Vec<Figure> {
    let several = source.runs.len() > 1;
    let runs = source.runs.iter().filter(|(_, run)| is_overhead(run));
    let figures = runs.flat_map(|(name, run)| of_run(several.then_some(*name), run));
    figures.take(FIGURES_MAX).collect()
}

fn of_run(name: Option<&str>, run: &Run) -> Vec<Figure> {
    let found = Overhead::of(run);
    let (rows, report) = (overhead::main_lines(&found), Report::beside(run));
    let figure = |configuration| figure(name, &report, &rows, configuration);
    overhead::measured(&rows).into_iter().filter_map(figure).collect()
}

fn figure(name: Option<&str>, report: &Report, rows: &[&Line], configuration: &str) -> Option<Figure> {
    let lines: Vec<RatioLine> = rows.iter().filter_map(|row| line(report, row, configuration)).collect();
    let all = lines.len();
    let lines = heaviest(lines.into_iter(), weight, ROWS_MAX);
    if lines.is_empty() {
        return None;
    }
    let count = |judgement| lines.iter().filter(|line| line.judgement == judgement).count();
    let heading = name.map_or_else(String::new, |name| format!("{name}: ")) + configuration + " over off";
    let frame = Frame {
        title: &format!("Costs: {heading}"),
        desc: &format!(
            "Costs of {}: {} larger, {} smaller, {} below what counts, {} undecided.",
            plural(lines.len(), "row"),
            count(Judgement::Worse),
            count(Judgement::Better),
            count(Judgement::Equivalent),
            count(Judgement::Undecided)
        ),
        axis: "time over that of off (logarithmic), 1 is no cost",
        effect: 1.0,
    };
    let mut caption = format!(
        "How many times longer a row takes with {configuration}, with its interval; of a bandwidth the inverse. Shaded: what \
         this run cannot tell from nothing. Grey: undecided."
    );
    if lines.iter().any(|line| line.beside.is_some()) {
        caption += &format!(" Diamond: the report of 2002, without an interval, {}.", report.machine);
    }
    if lines.len() < all {
        caption += &format!(
            " Of {all} rows {} are drawn, first those that the run decides and then those that changed most in 2002; the table has all.",
            lines.len()
        );
    }
    Some(Figure {
        number: 0,
        view: CHART.name,
        pattern: String::new(),
        placement: None,
        caption,
        data: vec![("configuration", configuration.to_owned())],
        drawings: plot(&lines, &frame),
        heading,
        table: None,
    })
}

/// How much a line belongs on a drawing that has no room for all: an undecided change says nothing by its size.
fn weight(line: &RatioLine) -> f64 {
    match line.judgement {
        Judgement::Undecided => line.beside.map_or(0.0, |ratio| ratio.ln().abs()),
        _ => 1e3 + line.ratio.ln().abs(),
    }
}

fn line(report: &Report, row: &Line, configuration: &str) -> Option<RatioLine> {
    let arm = row.arms.iter().find(|arm| arm.name == configuration)?;
    let cost = arm.cost.filter(|cost| cost.times.is_finite() && cost.times > 0.0)?;
    let judgement = match &arm.finding {
        Finding::Found if cost.times > 1.0 => Judgement::Worse,
        Finding::Found => Judgement::Better,
        Finding::Below => Judgement::Equivalent,
        _ => Judgement::Undecided,
    };
    let words = words(arm, row, cost.times);
    let beside = report.cost_of(row, configuration);
    let wide = beside.map_or_else(|| words.clone(), |old| format!("{words}; 2002: {}", change(old)));
    Some(RatioLine {
        label: overhead::label(row),
        ratio: cost.times,
        low: cost.low,
        high: cost.high,
        judgement,
        words: [words, wide],
        effect: row.minimum_effect,
        beside,
    })
}

fn words(arm: &Arm, row: &Line, times: f64) -> String {
    match (&arm.finding, row.minimum_effect) {
        (Finding::Found, _) => change(times),
        (Finding::Below, Some(effect)) => format!("below {}", least(effect)),
        _ => "open".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_the_cost() {
        let run = crate::testing::overhead(12);
        let (found, report) = (Overhead::of(&run), Report::beside(&run));
        let mut compared = 0;
        for row in overhead::main_lines(&found) {
            for arm in &row.arms {
                let (Some(cost), Some(line)) = (arm.cost, line(&report, row, &arm.name)) else { continue };
                assert_eq!((line.low, line.ratio, line.high), (cost.low, cost.times, cost.high));
                assert!(line.low < line.ratio && line.ratio < line.high, "{line:?}");
                compared += 1;
            }
        }
        assert!(compared > 3, "{compared}");
    }

    #[test]
    fn what_a_run_decides_comes_before_what_changed_most_in_2002() {
        let made = |judgement, ratio, beside| RatioLine {
            label: String::new(),
            ratio,
            low: ratio,
            high: ratio,
            judgement,
            words: [String::new(), String::new()],
            effect: None,
            beside,
        };
        let rising = [
            made(Judgement::Undecided, 9.0, None),
            made(Judgement::Undecided, 1.0, Some(1.5)),
            made(Judgement::Undecided, 1.0, Some(0.2)),
            made(Judgement::Equivalent, 1.001, None),
            made(Judgement::Worse, 1.1, Some(9.0)),
            made(Judgement::Better, 0.5, None),
        ];
        assert!(rising.is_sorted_by(|one, next| weight(one) < weight(next)), "{rising:?}");
    }
}
