//! Tests of the tables of the pipe experiment.

use headwater_results::schema::Standing;

use super::*;
use crate::testing::{TestRun, messaging};

const STYLE: Style = Style { colour: false, width: 160, unicode: false };

fn table(subjects: &[(&str, f64)]) -> String {
    let mut made = TestRun::new(12);
    for size in [1, 4096] {
        for &(subject, rate) in subjects {
            made.measure(&messaging(subject, Standing::Candidate, "stream", size), &[rate], 0.0);
        }
    }
    perftest(&made.run(None), &STYLE)
}

/// The words of the line of a write size.
fn line<'a>(table: &'a str, label: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.trim_start().starts_with(label)).unwrap_or_else(|| panic!("{table}"));
    line.split_whitespace().collect()
}

#[test]
fn one_subject_has_rate_throughput_and_delay() {
    let text = table(&[("streams-pipe", 1e6)]);
    assert!(text.contains("streams-pipe writes/s") && text.contains("per write"), "{text}");
    let words = line(&text, "4 KiB").join(" ");
    assert!(words.contains("GB/s") && words.ends_with("us"), "{words}");
    assert!(!text.contains("over pipe"), "{text}");
}

#[test]
fn others_are_compared_with_the_kernels_pipe() {
    let text = table(&[("pipe", 1e6), ("streams-pipe", 3e6), ("streams-pipe+4xnullmod", 5e5)]);
    let (rates, improvements) = text.split_once("over pipe").expect("two tables");
    assert_eq!(line(rates, "1 B").iter().filter(|word| word.contains(",")).count(), 3, "{text}");
    assert!(!improvements.lines().next().expect("a head").contains(" pipe "), "the base is not compared: {text}");
    let words = line(improvements, "1 B").join(" ");
    let [faster, slower]: [f64; 2] = (words.split_whitespace())
        .filter(|word| word.starts_with(['+', '-']))
        .map(|word| word.parse().expect("a number"))
        .collect::<Vec<_>>()
        .try_into()
        .expect("two subjects");
    assert!((faster - 200.0).abs() < 10.0 && (slower + 50.0).abs() < 3.0, "{words}");
}

#[test]
fn an_interval_has_the_rate_over_all_its_batches() {
    let row = messaging("streams-pipe", Standing::Candidate, "stream", 64);
    // A batch at 1,000/s takes 3 times as long as one at 3,000/s: 2 batches of n in 4/3 n/1000 s.
    let record = LaunchRecord {
        row: row.id.clone(),
        block: 2,
        series: [("rate".to_owned(), vec![1000.0, 3000.0])].into(),
        ..LaunchRecord::default()
    };
    let line = perftest_interval(&row, &record).expect("it has a rate");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..8], ["3", "two-cpus", "streams-pipe", "64", "B", "1,500", "writes/s", "96.0"], "{line}");
    let empty = LaunchRecord { row: row.id.clone(), ..LaunchRecord::default() };
    assert_eq!(perftest_interval(&row, &empty), None);
}
