use headwater_results::published;

use super::*;

fn experiment() -> Experiment {
    Experiment {
        mechanisms: Mechanisms::Streams,
        is_fifo: false,
        movement: Movement::TwoProcesses,
        sizes: vec![64],
        placements: vec![Placement::SameCpu],
        module: "nullmod".to_owned(),
        push: vec![0],
        options: StreamOptions::default(),
    }
}

fn check(change: impl FnOnce(&mut Experiment), expected: &[&str]) {
    let mut experiment = experiment();
    change(&mut experiment);
    let rows = experiment.rows();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, expected, "{experiment:?}");
    for row in &rows {
        assert!(row.id.starts_with(&format!("{}/{}/", row.subject, row.pattern)), "{row:?}");
    }
}

#[test]
fn options_become_rows() {
    check(|_| (), &["streams-pipe/stream/64/same-cpu"]);
    check(|it| it.mechanisms = Mechanisms::Native, &["pipe/stream/64/same-cpu"]);
    check(|it| it.mechanisms = Mechanisms::Both, &["pipe/stream/64/same-cpu", "streams-pipe/stream/64/same-cpu"]);
    check(|it| it.movement = Movement::OneProcess, &["streams-pipe/single/64/same-cpu"]);
    check(|it| it.movement = Movement::FullReads, &["streams-pipe/perftest/64/same-cpu"]);
    check(
        |it| (it.is_fifo, it.mechanisms) = (true, Mechanisms::Both),
        &["fifo/stream/64/same-cpu", "streams-fifo/stream/64/same-cpu"],
    );
    check(
        |it| it.push = vec![0, 1, 4],
        &[
            "streams-pipe/stream/64/same-cpu",
            "streams-pipe+1xnullmod/stream/64/same-cpu",
            "streams-pipe+4xnullmod/stream/64/same-cpu",
        ],
    );
    check(
        |it| {
            it.push = vec![2];
            it.module = "srvmod".to_owned();
            it.options = StreamOptions { hold: true, notify: true, lowat: Some(8192), ..StreamOptions::default() };
        },
        &["streams-pipe+2xsrvmod+hold+mread+lowat=8192/stream/64/same-cpu"],
    );
    check(
        |it| (it.sizes, it.placements) = (vec![1, 4096], vec![Placement::SameCpu, Placement::Free]),
        &[
            "streams-pipe/stream/1/same-cpu",
            "streams-pipe/stream/4096/same-cpu",
            "streams-pipe/stream/1/free",
            "streams-pipe/stream/4096/free",
        ],
    );
}

#[test]
fn the_sizes_are_those_of_the_paper() {
    let run = published::run("pipes", "fc6").expect("it is compiled in");
    let mut sizes: Vec<u64> = run.header.rows.iter().filter_map(|row| row.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes, SIZES);
}

#[test]
fn plain_rows_are_counterparts_of_the_published_ones() {
    let mut experiment = experiment();
    experiment.mechanisms = Mechanisms::Both;
    experiment.sizes = SIZES.to_vec();
    let ours: Vec<String> = experiment.rows().into_iter().map(|row| row.id).collect();
    let run = published::run("pipes", "fc6").expect("it is compiled in");
    let theirs = run.header.rows.iter().filter(|row| row.subject != "lis-pipe");
    for row in theirs {
        assert!(ours.contains(&row.id), "{} is none of {ours:?}", row.id);
    }
}
