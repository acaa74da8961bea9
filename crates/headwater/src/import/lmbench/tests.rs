use std::fmt::Write;

use headwater_gauge::suites::Axes;
use headwater_results::schema::{Placement, Row};

use super::super::{ImportError, Imported, Options};
use super::FORMAT;
use super::tables::{Names, SECTIONS, SINGLE, Target, Unit};

/// A result file in the format of lmbench 3, with invented figures.
const TEXT: &str = "[lmbench3.0 results for Linux brook 6.1.0-18 #1 SMP x86_64 GNU/Linux]
[LMBENCH_VER: 3.0-a9]
[mount: proc on /proc type proc (rw)]
Simple syscall: 0.1000 microseconds
Simple read: 0.2000 microseconds
Simple write: 0.4000 microseconds
Select on 10 fd's: 0.5000 microseconds
Select on 100 fd's: 1.5000 microseconds
Select on 100 tcp fd's: 3.5000 microseconds
Pipe latency: 8.5000 microseconds
Process fork+/bin/sh -c: 1032.5000 microseconds
File /var/tmp/XXX write bandwidth: 900000 KB/sec
Pagefaults on /var/tmp/XXX: 0.7500 microseconds

\"mappings
0.524288 9.824
1.048576 16

\"File system latency
0k\t469\t80000\t125000

localhost: RPC: Timed out
UDP latency using localhost: 15.0000 microseconds
TCP latency using otherhost: 99.0000 microseconds
Socket bandwidth using localhost
0.000064 98.34 MB/sec
10.485760 6790.20 MB/sec

Pipe bandwidth: 3538.24 MB/sec

\"read bandwidth
0.000512 671.66
1.05 17652.11

Memory read bandwidth
0.000512 31592.35

\"something new
1 2

\"size=4k ovr=0.74
2 3.54
16 4.14

Memory load latency
\"stride=128
0.00049 1.500
[Wed Jul 30 06:17:19 AM JST 2025]
";

fn import(texts: &[&str]) -> Result<Imported, ImportError> {
    let files = texts.iter().enumerate().map(|(at, text)| (format!("file{at}"), (*text).to_owned()));
    FORMAT.import(&files.collect::<Vec<_>>(), &Options::default())
}

#[test]
fn every_kind_of_line_becomes_its_row() {
    let imported = import(&[TEXT]).expect("results");
    let rows: Vec<(&str, &str, f64)> = imported
        .rows
        .iter()
        .map(|(row, launches)| (row.id.as_str(), row.metrics[0].unit.as_str(), launches[0].values[0].expect("a value")))
        .collect();
    assert_eq!(
        rows,
        [
            ("null-call/lmbench/free", "us", 0.1),
            ("read/lmbench/free", "us", 0.2),
            ("write/lmbench/free", "us", 0.4),
            ("select-10-fd/lmbench/free", "us", 0.5),
            ("select-100-fd/lmbench/free", "us", 1.5),
            ("select-100-tcp/lmbench/free", "us", 3.5),
            ("pipe/rtt/1/free", "ns", 8500.0),
            ("sh/lmbench/free", "us", 1032.5),
            ("file-write/lmbench/free", "MB/s", 900.0),
            ("page-fault/lmbench/free", "us", 0.75),
            ("mmap-latency/lmbench/524288/free", "us", 9.824),
            ("mmap-latency/lmbench/1048576/free", "us", 16.0),
            ("create-0k/lmbench/free", "us", 12.5),
            ("delete-0k/lmbench/free", "us", 8.0),
            ("udp/rtt/4/free", "ns", 15_000.0),
            ("tcp-bandwidth/lmbench/64/free", "MB/s", 98.34),
            ("tcp-bandwidth/lmbench/10485760/free", "MB/s", 6790.2),
            ("pipe-bandwidth/lmbench/free", "MB/s", 3538.24),
            ("file-reread/lmbench/512/free", "MB/s", 671.66),
            ("file-reread/lmbench/1048576/free", "MB/s", 17_652.11),
            ("memory-read/lmbench/512/free", "MB/s", 31_592.35),
            ("ctxsw-2p-4k/lmbench/free", "us", 3.54),
            ("ctxsw-16p-4k/lmbench/free", "us", 4.14),
            ("memory-load-stride-128/lmbench/490/free", "ns", 1.5),
            ("null-io/lmbench/free", "us", 0.300_000_000_000_000_04),
            ("mmap-latency/lmbench/free", "us", 16.0),
            ("tcp-bandwidth/lmbench/free", "MB/s", 6790.2),
            ("file-reread/lmbench/free", "MB/s", 17_652.11),
            ("memory-read/lmbench/free", "MB/s", 31_592.35),
            ("main-memory/lmbench/free", "ns", 1.5),
        ]
    );
    let environment = &imported.environment;
    assert_eq!((environment.host.as_str(), environment.kernel.release.as_str()), ("brook", "6.1.0-18"));
}

#[test]
fn lines_that_are_not_understood_are_kept_with_their_numbers() {
    let imported = import(&[TEXT]).expect("results");
    let left: Vec<(usize, &str)> = imported.left_out.iter().map(|left| (left.line.number, left.why.as_str())).collect();
    assert_eq!(
        left,
        [
            (22, "no result of lmbench that is known"),
            (24, "over a network this is another measurement: only localhost is imported"),
            (38, "a heading that is not known"),
            (39, "a heading that is not known"),
        ]
    );
}

#[test]
fn each_file_is_a_launch_of_one_machine() {
    let imported = import(&[TEXT, TEXT]).expect("two launches");
    assert!(imported.rows.iter().all(|(_, launches)| launches.iter().map(|one| one.block).eq([0, 1])));
    let other = TEXT.replace("Linux brook", "Linux creek");
    let error = import(&[TEXT, &other]).expect_err("two machines");
    assert_eq!((error.file.as_str(), error.line), ("file1", 1));
    assert!(error.message.contains("one by one"), "{error}");
}

#[test]
fn a_wrong_line_is_left_out_with_its_place_and_the_next_is_read() {
    let with = |wrong: &str| import(&[&TEXT.replace("Pipe latency: 8.5000 microseconds", wrong)]).expect(wrong);
    for (wrong, says) in [
        ("Pipe latency: fast microseconds", "\"fast\""),
        ("Pipe latency: 8.5 furlongs", "\"furlongs\" where us is expected"),
        ("Pipe latency: 0.0 microseconds", "is 0"),
        ("Simple syscall: 0.2 microseconds", "a second result of null-call/lmbench/free in one file"),
    ] {
        let imported = with(wrong);
        let left = &imported.left_out[0];
        assert_eq!((left.line.file.as_str(), left.line.number), ("file0", 10), "{left:?}");
        assert!(left.why.contains(says), "{left:?}");
        assert_eq!(value(&imported, "sh/lmbench/free"), Some(1032.5), "the next line");
    }
    let imported = import(&[&TEXT.replace("2 3.54", "2")]).expect("the other lines");
    assert!(imported.left_out.iter().any(|left| left.why.contains("cut off")), "{:?}", imported.left_out);
}

#[test]
fn a_file_without_results_is_refused() {
    let error = import(&["hello\nworld\n"]).expect_err("no results");
    assert_eq!((error.file.as_str(), error.line), ("file0", 1));
    assert!(error.message.starts_with("no result of lmbench"), "{error}");
}

/// The subjects that results have and the suite `lmbench` has not, each with the reason.
const WITHOUT_ROW: &[(&str, &str)] = &[
    ("read", "a part of null-io"),
    ("write", "a part of null-io"),
    ("semaphore", "System V semaphores are rows of suite sync, with another definition"),
    ("fcntl-lock", "record locks are rows of suite sync, with another definition"),
    ("fifo", "a row of pattern rtt that the published table has not: headwater run fifo/rtt"),
    ("compile", "a workload: headwater overhead compile"),
    ("compress", "a workload: headwater overhead compress"),
    ("lmbench", "a workload: headwater overhead lmbench"),
    ("file-write", "the throughput of a disk, which is not a basic operation of the kernel"),
    ("memory-load-stride-64", "the published table has the stride of 128 B alone"),
    ("memory-load-stride-128", "a curve; its largest size is main-memory"),
    (
        "memory-load-random-16",
        "by chance in an order that the manual does not describe; main-memory-random has its own",
    ),
];

/// The rows that the suite `lmbench` has from the old table and that are not imported, each with the reason.
const NOT_IMPORTED: &[(&str, &str)] = &[
    ("mhz", "a setting in brackets, whose method is another"),
    ("l1-cache", "a point of memory-load-stride-128, but which one depends on the machine's caches"),
    ("l2-cache", "as l1-cache"),
    ("l1-cache-random", "not in the old tables"),
    ("l2-cache-random", "not in the old tables"),
    ("main-memory-random", "not in the old tables"),
    ("null-call-inline", "not in the old tables"),
    ("null-io-inline", "not in the old tables"),
    ("fstat-inline", "not in the old tables"),
];

fn is_listed(list: &[(&str, &str)], subject: &str) -> bool {
    list.iter().any(|(known, reason)| *known == subject && !reason.is_empty())
}

/// Returns the rows of the suite on one CPU and on several.
fn suite() -> Vec<Row> {
    let suite = headwater_gauge::suites::find("lmbench").expect("in the table");
    (suite.rows)(&Axes { sizes: None, placements: &[Placement::Free, Placement::SameCpu], externals: &[] })
}

/// Returns a result file with every known line and table.
fn everything() -> String {
    let mut text = String::new();
    // The section below has this by sizes; lmbench 2 prints it as one figure.
    for single in SINGLE.iter().filter(|single| single.label != "Socket bandwidth using") {
        let between = match single.names {
            Names::Nothing => "",
            Names::File => "/var/tmp/XXX",
            Names::Host => " localhost",
        };
        let unit = match single.target.unit() {
            Unit::Us => "microseconds",
            Unit::Ns => "nanoseconds",
            Unit::MegabytesPerSecond => "MB/sec",
        };
        writeln!(text, "{}{between}: 1.5 {unit}", single.label).expect("a string");
    }
    for section in SECTIONS {
        let lines = match section.target {
            Target::Files => "0k 9 10 10\n1k 9 10 10\n4k 9 10 10\n10k 9 10 10",
            _ => "0.000512 1.5\n67.11 1.5",
        };
        writeln!(text, "\"{}\n{lines}\n", section.heading).expect("a string");
    }
    for size in [0, 4, 8, 16, 32, 64] {
        let lines: String = [2, 4, 8, 16, 32, 64, 96].iter().map(|processes| format!("{processes} 1.5\n")).collect();
        write!(text, "\"size={size}k ovr=0.74\n{lines}\n").expect("a string");
    }
    for stride in [64, 128] {
        writeln!(text, "\"stride={stride}\n0.00049 1.5\n67.10886 1.5\n").expect("a string");
    }
    writeln!(text, "Random load latency\n\"stride=16\n0.00049 1.5\n67.10886 1.5\n").expect("a string");
    text + "Avg xfer: 3.2KB, 41.8KB in 0.4840 millisecs, 86.30 MB/sec\n"
}

#[test]
fn every_imported_row_is_in_the_suite_or_is_listed_with_its_reason() {
    let suite = suite();
    let imported = import(&[&everything()]).expect("results");
    assert!(imported.left_out.is_empty(), "{:?}", imported.left_out);
    for (row, _) in &imported.rows {
        let same = suite.iter().find(|own| own.id == row.id);
        let same_metric =
            |own: &Row| own.metrics[0] == row.metrics[0] && own.definition_version == row.definition_version;
        assert!(same.is_none_or(same_metric), "{} is measured as another", row.id);
        // The largest size of a table is the row.
        let of_a_series = row.size_bytes.is_some() && suite.iter().any(|own| own.subject == row.subject);
        assert!(same.is_some() || of_a_series || is_listed(WITHOUT_ROW, &row.subject), "{}", row.id);
    }
    for row in suite.iter().filter(|row| row.pattern != "kernel" && row.placement == Placement::Free) {
        let found = imported.rows.iter().any(|(imported, _)| imported.id == row.id);
        assert_ne!(found, is_listed(NOT_IMPORTED, &row.subject), "{}", row.id);
    }
}

#[test]
fn every_row_of_the_published_table_is_in_the_suite_or_is_listed_with_its_reason() {
    let suite = suite();
    let datasets = headwater_results::published::find("ltt").expect("in the table").datasets();
    assert!(!datasets.is_empty());
    for dataset in &datasets {
        for published in dataset.run.results.iter().map(|result| &result.row) {
            let same = suite.iter().find(|own| own.id == published.id);
            let same_metric = |own: &Row| own.metrics[0] == published.metrics[0];
            assert!(same.is_none_or(same_metric), "{} is measured as another", published.id);
            assert!(same.is_some() || is_listed(WITHOUT_ROW, &published.subject), "{}: {}", dataset.name, published.id);
        }
    }
}

#[test]
fn the_largest_size_of_a_table_is_the_row_without_a_size() {
    let imported = import(&["\"read bandwidth\n0.000512 9000\n67.11 5000\n1.05 7000\n"]).expect("results");
    let value =
        |id: &str| imported.rows.iter().find(|(row, _)| row.id == id).and_then(|(_, launches)| launches[0].values[0]);
    assert_eq!(value("file-reread/lmbench/free"), Some(5000.0));
    assert_eq!(value("file-reread/lmbench/1048576/free"), Some(7000.0));
}

/// Reads a file of `tests/import/lmbench`: real output of lmbench.
fn corpus(name: &str) -> String {
    let path = format!("{}/tests/import/lmbench/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the value of a row, or `None` if it was not imported.
fn value(imported: &Imported, id: &str) -> Option<f64> {
    imported.rows.iter().find(|(row, _)| row.id == id).and_then(|(_, launches)| launches[0].values[0])
}

#[test]
fn whole_files_of_lmbench_3_are_read_with_every_kind_of_load() {
    // A run with defaults; one with FASTMEM, which measures one stride; and one that was ended in its last table.
    let [default, fast, ended] =
        ["3-default", "3-fastmem", "3-ended"].map(|name| import(&[&corpus(name)]).expect(name));
    for (imported, strides) in [(&default, &[16, 32, 64, 128, 256, 512, 1024][..]), (&fast, &[128])] {
        let found: Vec<&str> =
            imported.rows.iter().filter_map(|(row, _)| row.subject.strip_prefix("memory-load-stride-")).collect();
        for stride in [16, 32, 64, 128, 256, 512, 1024] {
            assert_eq!(found.contains(&stride.to_string().as_str()), strides.contains(&stride), "{stride}");
        }
        assert!(value(imported, "memory-load-random-16/lmbench/512/free").is_none(), "sizes are printed by 5 digits");
        assert!(value(imported, "memory-load-random-16/lmbench/490/free").is_some());
    }
    // Check that the tables in order and at random are not exchanged: line 519 and 676 of the file.
    assert_eq!(value(&default, "memory-load-random-16/lmbench/490/free"), Some(1.582));
    assert_eq!(value(&fast, "memory-load-random-16/lmbench/490/free"), Some(1.258));
    assert_eq!(value(&fast, "memory-load-stride-128/lmbench/490/free"), Some(1.287));
    assert_eq!(value(&fast, "main-memory/lmbench/free"), Some(4.616));
    for imported in [&default, &fast, &ended] {
        for id in
            ["null-call", "page-fault", "tcp-connect", "pipe-bandwidth", "ctxsw-2p-0k", "file-reread", "bcopy-libc"]
        {
            assert!(value(imported, &format!("{id}/lmbench/free")).is_some(), "{id}");
        }
        assert!(value(imported, "udp/rtt/4/free").is_some() && value(imported, "tcp/rtt/1/free").is_some());
        assert_eq!(imported.environment.host, "brook");
    }
}

#[test]
fn the_figure_of_http_is_imported_only_for_the_pages_of_lmbench() {
    let imported = import(&[&corpus("3-default")]).expect("results");
    assert_eq!(value(&imported, "http/lmbench/free"), Some(89.64));
    let other = import(&["Simple stat: 1 microseconds\nAvg xfer: 9.9KB, 99.8KB in 0.5 millisecs, 200 MB/sec\n"]);
    let other = other.expect("results");
    assert_eq!((value(&other, "http/lmbench/free"), other.left_out.len()), (None, 1));
    let error = import(&["Avg xfer: 3.2KB, 41.8KB in 0.5 millisecs, fast\n"]).expect_err("no figure");
    assert!(error.message.contains("MB/sec"), "{error}");
}

#[test]
fn lines_left_out_of_a_real_file_are_reported_with_number_and_reason() {
    let imported = import(&[&corpus("3-default")]).expect("results");
    let mut reasons: Vec<&str> = imported.left_out.iter().map(|left| left.why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(
        reasons,
        [
            "how many loads go at once is no row",
            "no result of lmbench that is known",
            "operations of the processor and STREAM are no rows: their kernel decides nothing",
            "what lmbench guesses of caches is no row",
        ]
    );
    // Only the error messages of its programs are unknown.
    for left in imported.left_out.iter().filter(|left| left.why == "no result of lmbench that is known") {
        let is_complaint = ["sh: ", "RPC", "unable to register", "lmbench: ", "fault"];
        assert!(is_complaint.iter().any(|word| left.line.text.contains(word)), "{:?}", left.line);
    }
}

#[test]
fn lmbench_2_is_read() {
    // From a public mail, with the lines of results that its author was asked for.
    let selects = import(&[&corpus("2-select")]).expect("results");
    assert_eq!(value(&selects, "select-500-tcp/lmbench/free"), Some(65.4353));
    assert_eq!(selects.environment.kernel.release, "2.4.8");
    // Forms of lines that only version 2 prints.
    let text = "[lmbench2.0 results for Linux brook 2.4.18 #1]\nPagefaults on /usr/tmp/XXX: 386 usecs\n\
                Socket bandwidth using localhost: 83.97 MB/sec\n";
    let imported = import(&[text]).expect("results");
    assert_eq!(value(&imported, "page-fault/lmbench/free"), Some(386.0));
    assert_eq!(value(&imported, "tcp-bandwidth/lmbench/free"), Some(83.97));
    assert_eq!(imported.notes, ["file0:2: lmbench 2 prints this in whole microseconds"]);
    assert_eq!(imported.left_out, []);
}

#[test]
fn a_context_switch_that_is_not_positive_is_left_out() {
    let imported = import(&["\"size=0k ovr=1.50\n2 -0.12\n4 1.25\n8 0.00\n"]).expect("results");
    assert_eq!(imported.rows.len(), 1);
    let lines: Vec<usize> = imported.left_out.iter().map(|left| left.line.number).collect();
    assert_eq!(lines, [2, 4]);
}

/// Returns the values of a row's launches.
fn values(imported: &Imported, id: &str) -> Vec<(u32, Option<f64>)> {
    let row = imported.rows.iter().find(|(row, _)| row.id == id);
    row.map(|(_, launches)| launches.iter().map(|one| (one.block, one.values[0])).collect()).unwrap_or_default()
}

#[test]
fn a_summary_has_a_launch_in_every_line_of_a_table() {
    // Both summaries have the layout of public ones.
    let imported = import(&[&corpus("2-summary"), &corpus("2-summary")]).expect("results");
    for (id, first, second) in [
        ("null-call/lmbench/free", 0.18, 0.18),
        ("null-io/lmbench/free", 0.26, 0.25),
        ("sh/lmbench/free", 6351.0, 6155.0),
        ("signal-handle/lmbench/free", 2.97, 2.96),
        ("ctxsw-2p-0k/lmbench/free", 7.62, 7.43),
        ("ctxsw-16p-64k/lmbench/free", 17.5, 18.9),
        ("pipe/rtt/1/free", 16_800.0, 17_300.0),
        ("tcp/rtt/1/free", 26_900.0, 27_300.0),
        ("tcp-connect/lmbench/free", 32.4, 32.4),
        ("delete-10k/lmbench/free", 23.7, 22.8),
        ("mmap-latency/lmbench/free", 2876.0, 5475.0),
        ("page-fault/lmbench/free", 2.0, 1.0),
        ("memory-write/lmbench/free", 1599.0, 1612.0),
        ("l2-cache/lmbench/free", 7.794, 7.847),
        ("main-memory/lmbench/free", 56.7, 57.8),
    ] {
        let expected = [(0, first), (1, second), (2, first), (3, second)].map(|(block, value)| (block, Some(value)));
        assert_eq!(values(&imported, id), expected, "{id}");
    }
    assert_eq!(imported.rows.len(), 39);
    assert_eq!(values(&imported, "udp/rtt/4/free"), [], "an empty cell");
    assert_eq!(
        (imported.environment.host.as_str(), imported.environment.kernel.release.as_str()),
        ("brook", "2.6.22-")
    );
}

#[test]
fn a_summary_with_empty_cells_is_read_by_the_places_of_its_figures() {
    let summary = corpus("3-summary");
    // A name that is longer than its column moves the line to the right.
    for text in [summary.clone(), summary.replace("brook-vm0", "brook-vm0.net")] {
        let imported = import(&[&text]).expect("results");
        for (id, expected) in [
            ("ctxsw-2p-16k", 0.88),
            ("ctxsw-8p-64k", 14.7),
            ("ctxsw-16p-16k", 0.1),
            ("tcp-connect", 73.0),
            ("mmap-latency", 26_900.0),
            ("select-100-fd", 7.224),
            ("af-unix-bandwidth", 199.0),
            ("file-reread", 758.3),
            ("memory-write", 438.1),
            ("main-memory", 136.7),
        ] {
            assert_eq!(value(&imported, &format!("{id}/lmbench/free")), Some(expected), "{id}");
        }
        for id in
            ["ctxsw-8p-16k", "create-0k", "tcp-bandwidth", "pipe-bandwidth", "main-memory-random", "select-100-tcp"]
        {
            assert_eq!(value(&imported, &format!("{id}/lmbench/free")), None, "{id}");
        }
        let reasons: Vec<&str> = imported.left_out.iter().map(|left| left.why.as_str()).collect();
        for reason in ["settings are no results", "their kernel decides nothing", "over a network", "45.K has too few"]
        {
            assert!(reasons.iter().any(|why| why.contains(reason)), "{reason}: {reasons:?}");
        }
        assert!(imported.notes.iter().any(|note| note.contains("slct TCP")), "{:?}", imported.notes);
    }
}

#[test]
fn a_summary_that_is_not_understood_is_refused_and_its_head_named() {
    let summary = corpus("2-summary");
    for (from, to, says) in [
        ("microseconds", "milliseconds", ""),
        ("Pipe AF    TCP  File ", "Pipe TCP   AF   File ", "\"Host OS Pipe TCP AF File"),
        ("7.620 8.6400   10.6", "7.620 8.6400     ", "cannot be told apart"),
        ("7.620 8.6400   10.6 8.4600", "7.620 8.6400 10.6   8.4600 ", ""),
        ("56.7", "", "cannot be told apart"),
        ("0.18 0.26", "0.18 nan ", ""),
    ] {
        let text = summary.replace(from, to);
        let imported = import(&[&text]).expect("the other tables");
        assert!(imported.left_out.iter().any(|left| left.why.contains(says)), "{to}: {:?}", imported.left_out);
        for (row, launches) in &imported.rows {
            let right = import(&[&summary]).expect("results");
            let known = values(&right, &row.id);
            assert!(launches.iter().all(|one| known.contains(&(one.block, one.values[0]))), "{to}: {}", row.id);
        }
    }
    let other = summary.replacen("brook     Linux 2.6.22- 3597 0.18 0.25", "brook     Linux 2.4.20- 3597 0.18 0.25", 1);
    let error = import(&[&other]).expect_err("two kernels");
    assert!(error.message.contains("of a summary a copy with the lines of one"), "{error}");
}
