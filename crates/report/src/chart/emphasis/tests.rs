use headwater_results::schema::{RunStatus, Standing};

use super::at_first;
use crate::chart::family;
use crate::chart::source::Source;
use crate::testing::{TestRun, messaging};

/// Returns the subjects that are drawn at first, of subjects with these rates.
fn chosen(subjects: &[(&str, f64)], baseline: Option<&str>) -> Vec<String> {
    let mut made = TestRun::new(6);
    for (name, rate) in subjects {
        let standing = if name.starts_with("ring") { Standing::Limit } else { Standing::Candidate };
        for size in [64, 1024] {
            made.measure(&messaging(name, standing, "stream", size), &[*rate], 0.0);
        }
    }
    let run = made.run(Some(RunStatus::Complete));
    let runs = [("run".to_owned(), &run)];
    let source = Source::new(&runs, &[], baseline);
    let panel = &source.panels[0];
    let first = at_first(panel, source.base.as_ref());
    let named = |(place, series): (usize, &crate::chart::source::Series<'_>)| {
        first.contains(&place).then(|| series.key.subject.to_owned())
    };
    panel.series.iter().enumerate().filter_map(named).collect()
}

const MANY: [(&str, f64); 10] = [
    ("pipe", 1e6),
    ("pipe-1m", 1.5e6),
    ("fifo", 0.9e6),
    ("unix-stream", 0.5e6),
    ("unix-dgram", 0.7e6),
    ("tcp", 0.4e6),
    ("tcp-nagle", 0.3e6),
    ("streams-pipe", 5e6),
    ("streams-fifo", 4e6),
    ("ring-spin", 9e6),
];

#[test]
fn the_baseline_and_the_best_of_each_family_are_drawn_at_first() {
    let names = chosen(&MANY, None);
    assert_eq!(names, ["pipe", "pipe-1m", "unix-dgram", "tcp", "streams-pipe", "ring-spin"]);
    let names = chosen(&MANY, Some("tcp-nagle"));
    assert_eq!(names, ["pipe-1m", "unix-dgram", "tcp", "tcp-nagle", "streams-pipe", "ring-spin"]);
}

#[test]
fn at_most_six_are_drawn_at_first_and_a_panel_of_one_family_shows_its_best_ones() {
    assert!(chosen(&MANY, None).len() <= 6);
    let udp = ["udp", "udp-mmsg", "udp-gso", "udp-unconnected"];
    let one: Vec<(&str, f64)> = udp
        .iter()
        .chain(&["udp-a", "udp-b", "udp-c"])
        .zip(1..)
        .map(|(name, rate)| (*name, f64::from(rate) * 1e5))
        .collect();
    assert!(one.iter().all(|(name, _)| family::name(name) == "UDP"));
    let names = chosen(&one, None);
    assert_eq!(names.len(), 6);
    assert!(names.contains(&"udp-c".to_owned()) && names.contains(&"udp".to_owned()), "{names:?}");
    let few = chosen(&MANY[..6], None);
    assert_eq!(few.len(), 6, "six lines need no choice");
}
