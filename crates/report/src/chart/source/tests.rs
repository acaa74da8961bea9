use headwater_results::schema::{Placement, RunStatus, Standing};

use super::Source;
use crate::testing::{TestRun, messaging, overview, placed};

#[test]
fn a_subject_looks_the_same_in_every_panel_and_on_every_page() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let mut small = TestRun::new(6);
    for size in [64, 1024] {
        small.measure(&messaging("tcp", Standing::Candidate, "stream", size), &[1e6], 0.0);
    }
    let small = small.run(Some(RunStatus::Complete));
    let looks = |run, subject: &str| {
        let runs = [("a".to_owned(), run)];
        let source = Source::new(&runs, &[], None);
        let series = source.panels.iter().flat_map(|panel| &panel.series);
        let mut looks: Vec<_> = series.filter(|one| one.key.subject == subject).map(|one| one.look).collect();
        looks.dedup();
        looks
    };
    assert_eq!(looks(&run, "tcp").len(), 1);
    assert_eq!(looks(&run, "tcp"), looks(&small, "tcp"), "whatever else is on the page");
    assert_ne!(looks(&run, "pipe"), looks(&run, "tcp"));
}

#[test]
fn panels_are_patterns_at_placements_and_sizes_ascend() {
    let mut made = TestRun::new(6);
    for size in [4096, 64, 1024] {
        let row = messaging("pipe", Standing::Candidate, "stream", size);
        made.measure(&row, &[1e6], 0.01).measure(&placed(row, Placement::SameCpu), &[1e6], 0.01);
    }
    let run = made.run(Some(RunStatus::Complete));
    let runs = [("a".to_owned(), &run)];
    let source = Source::new(&runs, &[], None);
    assert_eq!(source.panels.len(), 2);
    assert_eq!(source.panels[0].name(), "One way, same-size reads, two CPUs");
    assert_eq!(source.panels[1].placement, Placement::SameCpu);
    let sizes: Vec<_> = source.panels[0].series[0].rows.iter().map(|row| row.row.size_bytes).collect();
    assert_eq!(sizes, [Some(64), Some(1024), Some(4096)]);
}

#[test]
fn common_prefixes_of_names_are_removed() {
    let short = |names: &[&str]| super::short_names(names).join(" ");
    assert_eq!(short(&["published:pipes/fc6", "published:pipes/ub6"]), "fc6 ub6");
    assert_eq!(short(&["runs/a", "published:pipes/ub6"]), "runs/a published:pipes/ub6");
    assert_eq!(short(&["runs/", "runs/a"]), "runs/ runs/a");
    assert_eq!(short(&["run"]), "run");
    assert_eq!(short(&[]), "");
}

#[test]
fn labels_name_the_run_only_where_there_are_several() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let one = [("monday".to_owned(), &run)];
    assert_eq!(Source::new(&one, &[], None).panels[0].series[0].label, "pipe");
    let two = [("monday".to_owned(), &run), ("tuesday".to_owned(), &run)];
    let source = Source::new(&two, &[], None);
    assert_eq!(source.panels[0].series[0].label, "pipe \u{b7} monday");
    let tuesday = source.panels[0].series.iter().find(|one| one.key.run == 1).expect("the second run");
    assert_eq!(tuesday.label, "pipe \u{b7} tuesday");
}
