use headwater_results::compare::{Rules, Verdict};
use headwater_results::history::{By, Left, histories};

use super::{HistoryReport, history, listed, summary};
use crate::style::Style;
use crate::testing::{history_entries, hostile_history_entries};

const PLAIN: Style = Style { colour: false, width: 100, unicode: false };

fn text(all: bool, style: &Style) -> String {
    let found = histories(history_entries(), &By::Date, Rules::default());
    let left = [Left { run: "torn".to_owned(), row: String::new(), reason: "line 3 is cut".to_owned() }];
    let report =
        HistoryReport { histories: &found, by: &By::Date, rules: Rules::default(), left_out: &left, runs: 60, all };
    history(&report, style)
}

#[test]
fn a_change_stands_between_its_runs_with_what_else_changed() {
    let text = text(false, &PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("--- worse: -")).expect("a change");
    assert!(lines[at - 1].contains("2026-02-12") && lines[at + 2].contains("2026-02-13"), "{text}");
    assert_eq!(lines[at + 1].trim(), "kernel release 6.9.1 -> 6.12.0");
    assert!(text.contains("torn: line 3 is cut"), "{text}");
    assert!(text.contains("pipe/stream/64/two-cpus: worse from 2026-02-13 04:00"), "{text}");
}

#[test]
fn lines_fit_and_long_histories_show_what_matters() {
    for width in [60, 80, 100, 140] {
        for unicode in [false, true] {
            let text = text(false, &Style { width, unicode, ..PLAIN });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(unicode || text.is_ascii(), "{text}");
        }
    }
    let (short, long) = (text(false, &PLAIN), text(true, &PLAIN));
    assert!(short.lines().count() < 70 && long.lines().count() >= 120, "{short}\n{long}");
    assert!(short.contains("~ ") && !long.contains("~ "), "the number of hidden runs is said");
}

#[test]
fn the_runs_around_a_change_are_listed() {
    let found = histories(history_entries(), &By::Date, Rules::default());
    let line = &found.histories[0].lines[0];
    let listed = listed(line, false);
    let at = line.changes[0].at;
    assert!(listed[at - 1] && listed[at] && listed[59] && listed[0] && !listed[20]);
}

#[test]
fn the_summary_counts_what_has_not_changed() {
    let found = histories(history_entries(), &By::Date, Rules::default());
    let report = HistoryReport {
        histories: &found,
        by: &By::Date,
        rules: Rules::default(),
        left_out: &[],
        runs: 60,
        all: false,
    };
    assert_eq!(found.histories[0].lines[0].changes[0].verdict, Verdict::Worse);
    let words = summary(&report);
    assert!(words[0].starts_with("pipe/stream/64/two-cpus: worse"), "{words:?}");
    assert!(words.iter().any(|sentence| sentence.starts_with("1 of 2 lines have not changed")), "{words:?}");
}

#[test]
fn names_of_another_program_stay_text() {
    let found = histories(hostile_history_entries(), &By::Date, Rules::default());
    let report =
        HistoryReport { histories: &found, by: &By::Date, rules: Rules::default(), left_out: &[], runs: 60, all: true };
    let text = history(&report, &Style { colour: true, ..PLAIN });
    assert!(!text.contains("\u{1b}]0;"), "{text}");
}
