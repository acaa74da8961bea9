//! The result of `noise` in words: what identical programs showed on a machine.

use headwater_results::compare::Rules;
use headwater_results::compare::noise::{Assessment, Drift};

use crate::style::{Style, finish, strong};
use crate::text::wrap;
use crate::units::percent;

/// Returns the assessment and the drift between runs as sentences, terminated by a newline.
pub fn noise(assessment: &Assessment, apart: &Drift, style: &Style) -> String {
    let Assessment { rows, blocks, below_alpha, called_different, .. } = *assessment;
    let share = f64::from(below_alpha) / f64::from(rows.max(1));
    let title = strong("This program against itself, in the same blocks");
    let rate = format!(
        "Of {rows} rows of {blocks} blocks, {below_alpha} have a p-value of 5 % or less ({}; 5 % are to be expected). With \
         the correction for so many rows, {} called different.",
        percent(share),
        match called_different {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            many => format!("{many} are"),
        },
    );
    let spread = format!(
        "Half of the rows differ by less than {}, 19 of 20 by less than {}; half of the intervals are narrower than \
         \u{b1}{}.",
        percent(assessment.difference_median),
        percent(assessment.difference_p95),
        percent(assessment.resolution_median),
    );
    let floor = |drift: &Drift| percent(Rules::default().with_drift(drift.deviation).noise_floor());
    let within = match assessment.drift.deviation > 0.0 {
        true => format!("in the same blocks changes below {} are not found", floor(&assessment.drift)),
        false => "in the same blocks launches explain every difference".to_owned(),
    };
    let between = format!(
        "between runs made one after the other, where the machine drifts, changes below {} are not found",
        floor(apart),
    );
    let spread = if style.unicode { spread } else { spread.replace('\u{b1}', "+-") };
    let lines = [rate, spread, format!("From now on, {within}; {between}.")];
    let lines = lines.iter().map(|line| wrap(line, style.columns(), 0));
    finish(&([title].into_iter().chain(lines).collect::<Vec<_>>().join("\n") + "\n"), style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_assessment_says_how_often_and_how_much() {
        let drift = |deviation| Drift { deviation, rows: 145 };
        let assessment = Assessment {
            rows: 145,
            blocks: 12,
            below_alpha: 6,
            called_different: 0,
            difference_median: 0.021,
            difference_p95: 0.09,
            resolution_median: 0.048,
            drift: drift(0.0),
        };
        let style = Style { colour: false, width: 100, unicode: true };
        expect![[r#"
            This program against itself, in the same blocks
            Of 145 rows of 12 blocks, 6 have a p-value of 5 % or less (4.1 %; 5 % are to be expected). With the
            correction for so many rows, none is called different.
            Half of the rows differ by less than 2.1 %, 19 of 20 by less than 9.0 %; half of the intervals are
            narrower than ±4.8 %.
            From now on, in the same blocks launches explain every difference; between runs made one after the
            other, where the machine drifts, changes below 8.2 % are not found.
        "#]]
        .assert_eq(&noise(&assessment, &drift(0.04), &style));
    }
}
