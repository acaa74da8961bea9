//! Tests of the text of a comparison.

use expect_test::{Expect, expect};
use headwater_results::compare::{LeftOut, LeftOutKind, Member, Rules, Side, compare};
use headwater_results::schema::{Placement, RowResult, Run, RunStatus, Standing};
use std::borrow::Cow;

use super::*;
use crate::page::{self, PageOptions};
use crate::testing::{TestRun, messaging, placed};

/// Returns a run of three rows whose rates are the given multiples of the baseline's.
fn run(factors: [f64; 3], spread: f64) -> Run {
    let mut made = TestRun::new(12);
    for (size, factor) in [64, 4096, 65536].into_iter().zip(factors) {
        let row = placed(messaging("pipe", Standing::Candidate, "stream", size), Placement::TwoCpus);
        made.measure(&row, &[1e6 * factor], spread);
    }
    made.run(Some(RunStatus::Complete))
}

fn side<'a>(name: &str, number: usize, run: &'a Run) -> Side<'a> {
    let member = |result: &'a RowResult| Member {
        label: result.row.id.clone(),
        runs: vec![number],
        result: Cow::Borrowed(result),
    };
    Side { name: name.to_owned(), members: run.results.iter().map(member).collect() }
}

fn check(style: Style, environment: &[Difference], expect: Expect) {
    let (before, after) = (run([1.0; 3], 0.002), run([1.2, 0.9, 1.0], 0.003));
    let mut comparison = compare(&side("before", 0, &before), &side("after", 1, &after), Rules::default());
    comparison.left_out.push(LeftOut {
        row: "posix-mq/stream/64/two-cpus".to_owned(),
        kind: LeftOutKind::NotMeasured,
        reason: "skipped in after: fs.mqueue.msgsize_max is 8192".to_owned(),
    });
    let compared = Compared { comparison: &comparison, environment, noise: "", all_metrics: false };
    expect.assert_eq(&super::comparison(&compared, &style));
}

const PLAIN: Style = Style { colour: false, width: 100, unicode: false };

#[test]
fn a_comparison_shows_environment_ratios_verdicts_and_missing_rows() {
    let difference =
        Difference { what: "kernel release".to_owned(), before: "6.1".to_owned(), after: "6.18".to_owned() };
    check(
        PLAIN,
        &[difference],
        expect![[r#"
            after against before, the baseline

            The environments differ:
              kernel release  6.1 -> 6.18

            row                         baseline  candidate  ratio        interval  verdict
            ----------------------------------------------------------------------------------------
            pipe/stream/64/two-cpus     1.00 M/s   1.20 M/s  1.200  1.198 .. 1.202  better (higher)
            pipe/stream/4096/two-cpus   1.00 M/s    900 k/s  0.900  0.898 .. 0.903  worse (lower)
            pipe/stream/65536/two-cpus  1.00 M/s   1.00 M/s  1.000  0.998 .. 1.003  equivalent
            geometric mean of 3 rows                         1.026  1.025 .. 1.027  higher is better

            Of 3 rows: 1 better, 1 worse, 1 equivalent, 0 inconclusive. The sides were measured one after the
            other, so drift of the machine counts as a difference; `headwater run --against RUN` measures both
            in the same blocks.

            1 row could not be compared:
            posix-mq/stream/64/two-cpus: skipped in after: fs.mqueue.msgsize_max is 8192

            ratio: candidate over baseline, median over all pairs of launches (Hodges and Lehmann); the interval
            of 95 % is that of the same pairs. Verdicts: exact rank-sum test of the launches, Benjamini-Hochberg
            at 5.0 % over all rows; a change below 2.0 % does not count. +N: about so many more blocks would
            decide.
        "#]],
    );
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    let (before, after) = (run([1.0; 3], 0.01), run([1.2, 0.9, 1.0], 0.01));
    let mut comparison = compare(&side("before", 0, &before), &side("after", 1, &after), Rules::default());
    comparison.rows[0].label = "x".repeat(300);
    let long = Difference { what: "kernel command_line".to_owned(), before: "a b ".repeat(60), after: "c".repeat(200) };
    for width in [60, 80, 100, 140] {
        let style = Style { width, ..PLAIN };
        let compared = Compared {
            comparison: &comparison,
            environment: std::slice::from_ref(&long),
            noise: "",
            all_metrics: true,
        };
        let text = super::comparison(&compared, &style);
        let widest = text.lines().map(width_of).max().unwrap_or(0);
        assert!(widest <= width, "{width}: {widest}\n{text}");
    }
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let (before, after) = (run([1.0; 3], 0.01), run([1.0; 3], 0.01));
    let mut comparison = compare(&side("be\x1b[31mfore", 0, &before), &side("after\n", 1, &after), Rules::default());
    comparison.rows[0].label = "\x1b]0;title\x07".to_owned();
    let compared = Compared { comparison: &comparison, environment: &[], noise: "", all_metrics: false };
    let text = super::comparison(&compared, &PLAIN);
    assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "{text:?}");
}

/// Returns the text of a comparison of two runs whose rows differ by these factors, under these rules.
fn page(factors: [f64; 3], spread: f64, rules: Rules) -> String {
    let (before, after) = (run([1.0; 3], 0.002), run(factors, spread));
    let comparison = compare(&side("before", 0, &before), &side("after", 1, &after), rules);
    super::comparison(&Compared { comparison: &comparison, environment: &[], noise: "", all_metrics: false }, &PLAIN)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn differences_hidden_by_the_floor_are_in_the_headline() {
    // A noise floor of 192 %, as was once recorded on a machine.
    let rules = || Rules::default().with_drift(2.92_f64.ln() / 1.96);
    let hidden = page([0.469, 1.0, 1.0], 0.003, rules());
    assert!(hidden.contains("0 better, 0 worse"), "{hidden}");
    assert!(
        hidden.contains("the launches alone would decide, but equal rows differ by up to 192 % here, the noise floor"),
        "{hidden}"
    );
    assert!(hidden.contains("nothing is equivalent"), "{hidden}");
    let wide = page([0.469, 1.0, 1.0], 0.003, Rules { minimum_effect: 3.0, ..rules() });
    assert!(!wide.contains("nothing is equivalent"), "{wide}");
    assert!(!page([0.469, 1.0, 1.0], 0.003, Rules::default()).contains("noise floor"));
}

#[test]
fn a_common_movement_is_named_as_the_machine_s() {
    let mut made = [TestRun::new(12), TestRun::new(12)];
    for (run, factor) in made.iter_mut().zip([1.0, 0.97]) {
        for size in 0..20 {
            let row = placed(messaging("pipe", Standing::Candidate, "stream", 64 + size), Placement::TwoCpus);
            run.measure(&row, &[1e6 * factor], 0.002);
        }
    }
    let [before, after] = made.map(|run| run.run(Some(RunStatus::Complete)));
    let text = |rules: Rules| {
        let comparison = compare(&side("before", 0, &before), &side("after", 1, &after), rules);
        summary(&comparison).join(" ")
    };
    let of_one = text(Rules::default());
    assert!(of_one.starts_with("Of 20 rows: 0 better, 0 worse, 0 equivalent"), "{of_one}");
    assert!(of_one.contains("All 20 rows moved together, 3.0 % slower: the machine"), "{of_one}");
    let of_two = text(Rules { hosts_differ: true, ..Rules::default() });
    assert!(of_two.contains("20 worse") && !of_two.contains("moved together"), "{of_two}");
}

#[test]
fn too_few_launches_for_so_many_rows_are_named_with_those_that_suffice() {
    let mut made = [TestRun::new(6), TestRun::new(6)];
    for run in &mut made {
        for size in 0..24 {
            let row = placed(messaging("pipe", Standing::Candidate, "stream", 64 + size), Placement::TwoCpus);
            run.measure(&row, &[1e6], 0.01);
        }
    }
    let [before, after] = made.map(|run| run.run(Some(RunStatus::Complete)));
    let comparison = compare(&side("before", 0, &before), &side("after", 1, &after), Rules::default());
    let text = summary(&comparison).join(" ");
    // 2 / (12 choose 6) is above 0.05 / 24, and 2 / (14 choose 7) below.
    assert!(text.contains("6 launches of each run cannot show a difference in a single one of 24 rows"), "{text}");
    assert!(text.contains(": 7 can"), "{text}");
}

#[test]
fn blocks_that_would_decide_come_with_the_command_that_measures_them() {
    let page = page([0.97, 1.0, 1.0], 0.06, Rules::default());
    let (_, rest) = page.split_once("About ").expect("an open row");
    let (count, rest) = rest.split_once(" more block").expect("how many");
    assert!(
        rest.contains(&format!("`headwater run --resume RUN --more {count}`, for each of both runs, measures them.")),
        "{page}"
    );
}

#[test]
fn the_geometric_mean_is_in_the_csv_and_on_the_page() {
    let (before, after) = (run([1.0; 3], 0.002), run([1.2, 0.9, 1.0], 0.003));
    let comparison = compare(&side("before", 0, &before), &side("after", 1, &after), Rules::default());
    let csv = comparison_csv([&comparison]);
    let line = csv.lines().find(|line| line.contains("geometric_mean")).expect("a line of its own");
    assert!(
        line.starts_with("before,after,,geometric_mean,ratio,higher,,1.02")
            && line.contains(",0.9")
            && line.contains(",12,"),
        "{line}"
    );
    let runs = [("before".to_owned(), &before), ("after".to_owned(), &after)];
    let html = page::page(&runs, &[comparison], &PageOptions::default());
    let (_, line) = html.split_once("geometric mean of 3 rows").expect("a line of its own");
    let (line, _) = line.split_once("</tr>").expect("its end");
    assert!(line.contains("<td>higher</td>") && line.contains(">1.02"), "{line}");
}
