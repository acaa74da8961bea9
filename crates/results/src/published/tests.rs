use super::{PREFIX, find, run, source_of, tables};
use crate::schema::{Placement, RowOutcome};

fn value(table: &str, dataset: &str, id: &str, metric: &str) -> f64 {
    let run = run(table, dataset).expect("the dataset exists");
    let result = run.results.iter().find(|result| result.row.id == id).expect("the row exists");
    let found = result.metrics.iter().find(|found| found.metric.name == metric).expect("the metric exists");
    found.estimate.median
}

#[test]
fn every_line_of_every_file_is_a_figure_of_some_row() {
    let lines = |text: &str| text.lines().count() - 1;
    let in_file = |table: &str| match table {
        "pipes" => lines(include_str!("../../data/published/pipes.csv")),
        "udp" => lines(include_str!("../../data/published/udp.csv")),
        "fifo" => lines(include_str!("../../data/published/fifo.csv")),
        "ipc" => {
            lines(include_str!("../../data/published/ipc_bandwidth.csv"))
                + lines(include_str!("../../data/published/ipc_latency.csv"))
        }
        "sync" => lines(include_str!("../../data/published/sync.csv")),
        "ltt" => {
            lines(include_str!("../../data/published/lmbench_tracing.csv"))
                + lines(include_str!("../../data/published/workloads_tracing.csv"))
        }
        other => panic!("no file for {other}"),
    };
    for table in tables() {
        // The loss is computed from the two other figures of a flood.
        let figures: usize = table
            .datasets()
            .iter()
            .flat_map(|dataset| &dataset.run.results)
            .flat_map(|result| &result.metrics)
            .filter(|metric| metric.metric.name != "loss")
            .count();
        assert_eq!(figures, in_file(table.name), "{}", table.name);
    }
}

#[test]
fn ids_are_unique_within_a_run_and_names_within_a_table() {
    for table in tables() {
        let datasets = table.datasets();
        let mut names: Vec<&str> = datasets.iter().map(|dataset| dataset.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), datasets.len(), "{}", table.name);
        for dataset in &datasets {
            let mut ids: Vec<&str> = dataset.run.results.iter().map(|result| result.row.id.as_str()).collect();
            ids.sort_unstable();
            let all = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), all, "{}/{}", table.name, dataset.name);
            assert_eq!(dataset.run.header.run_id, format!("{PREFIX}{}/{}", table.name, dataset.name));
            assert_eq!(source_of(&dataset.run.header.run_id).map(|found| found.name), Some(table.name));
        }
    }
}

#[test]
fn figures_are_those_of_the_reports_in_todays_units() {
    assert_eq!(value("pipes", "fc6", "pipe/stream/1/same-cpu", "rate"), 116_966.0);
    assert_eq!(value("pipes", "fc6", "streams-pipe/stream/64/same-cpu", "rate"), 302_554.0);
    // 714,928 received, one more than sent, in 10 s.
    assert_eq!(value("udp", "1", "xti-inet-udp/flood/1/same-cpu", "rx_rate"), 71_492.8);
    assert_eq!(value("udp", "1", "xti-inet-udp/flood/1/same-cpu", "loss"), 0.0);
    assert_eq!(value("udp", "1", "udp/flood/1/same-cpu", "loss"), (740_775.0 - 728_170.0) / 740_775.0);
    assert_eq!(value("fifo", "freebsd", "fifo/matrix/64x100/free", "elapsed"), 274.0);
    // 1233 MB/s in messages of 1024 B.
    assert_eq!(value("ipc", "fedora20", "pipe/stream/1024/free", "rate"), 1_204_101.562_5);
    assert_eq!(value("ipc", "fedora20", "posix-mq/rtt/1/free", "rtt"), 53_000.0);
    assert_eq!(value("sync", "fedora20", "record-lock/sync/process-5/free", "total"), 3_757_362.0);
    assert_eq!(value("ltt", "up-a", "pipe/rtt/1/same-cpu", "rtt"), 6509.0);
    assert_eq!(value("ltt", "up-a", "pipe-bandwidth/lmbench/same-cpu", "bandwidth"), 323.57);
}

#[test]
fn set_1_of_the_tracing_report_is_complete() {
    // Machine and configuration: compile, compress, all of LMbench, in seconds.
    for (dataset, cells) in [
        ("smp4-a", &[("compile", 638.0), ("compress", 200.0), ("lmbench", 867.0)][..]),
        ("smp4-b", &[]),
        ("smp4-c", &[("compile", 640.0), ("compress", 201.0), ("lmbench", 871.0)]),
        ("smp4-d", &[("compile", 651.0), ("compress", 204.0), ("lmbench", 872.0)]),
        ("up-a", &[("lmbench", 272.05)]),
        ("up-b", &[]),
        ("up-c", &[("lmbench", 270.87)]),
        ("up-d", &[("lmbench", 275.08)]),
    ] {
        let run = run("ltt", dataset).expect("the dataset exists");
        let of_set = run.results.iter().filter(|result| result.row.pattern == "workload");
        let found: Vec<(&str, f64)> =
            of_set.map(|result| (result.row.subject.as_str(), result.metrics[0].estimate.median)).collect();
        assert_eq!(found, cells, "{dataset}");
        assert_eq!(run.results.len() - found.len(), 100, "{dataset}: set 2");
    }
}

#[test]
fn one_figure_is_one_launch_and_is_flagged() {
    let run = run("pipes", "smp").expect("the dataset exists");
    for result in &run.results {
        assert_eq!(result.outcome, RowOutcome::Measured);
        assert_eq!(result.flags.iter().map(|flag| flag.letter()).collect::<String>(), "f");
        assert_eq!(result.metrics[0].estimate.n, 1);
        assert_eq!(result.row.placement, Placement::Free);
    }
}

#[test]
fn rows_with_options_have_a_pattern_of_their_own() {
    let run = run("pipes", "cos52").expect("the dataset exists");
    assert!(run.results.iter().all(|result| result.row.pattern == "perftest"));
    assert!(run.results.iter().all(|result| result.row.variant.as_deref() == Some("hold,mread,full,readfill")));
    assert!(run.results.iter().any(|result| result.row.id == "pipe/perftest/1/free/hold,mread,full,readfill"));
}

#[test]
fn names_that_do_not_exist_are_none() {
    assert!(find("nothing").is_none());
    assert!(run("pipes", "nothing").is_none());
    assert!(run("nothing", "fc6").is_none());
    assert!(source_of("20250101T000000Z-host").is_none());
}
