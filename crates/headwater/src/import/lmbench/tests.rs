use super::super::{ImportError, Imported};
use super::FORMAT;

/// The shape of a result file of lmbench 3, with figures of no machine.
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
    FORMAT.import(&files.collect::<Vec<_>>())
}

#[test]
fn every_kind_of_line_becomes_its_row() {
    let imported = import(&[TEXT]).expect("results");
    let rows: Vec<(&str, &str, f64)> = imported
        .rows
        .iter()
        .map(|(row, launches)| (row.id.as_str(), row.metrics[0].unit.as_str(), launches[0].values[0]))
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
        ]
    );
    let environment = &imported.environment;
    assert_eq!((environment.host.as_str(), environment.kernel.release.as_str()), ("brook", "6.1.0-18"));
}

#[test]
fn lines_that_are_not_understood_are_kept_with_their_numbers() {
    let imported = import(&[TEXT]).expect("results");
    let unknown: Vec<(usize, &str)> = imported.unknown.iter().map(|line| (line.number, line.text.as_str())).collect();
    assert_eq!(
        unknown,
        [
            (22, "localhost: RPC: Timed out"),
            (24, "TCP latency using otherhost: 99.0000 microseconds"),
            (38, "\"something new"),
            (39, "1 2"),
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
fn a_wrong_line_ends_the_import_with_its_place() {
    let with = |wrong: &str| import(&[&TEXT.replace("Pipe latency: 8.5000 microseconds", wrong)]).expect_err(wrong);
    for (wrong, says) in [
        ("Pipe latency: fast microseconds", "\"fast\""),
        ("Pipe latency: 8.5 furlongs", "\"furlongs\" where us is expected"),
        ("Pipe latency: 0.0 microseconds", "is 0"),
        ("Simple syscall: 0.2 microseconds", "a second result of null-call/lmbench/free in one file"),
    ] {
        let error = with(wrong);
        assert_eq!((error.file.as_str(), error.line), ("file0", 10), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
    let error = import(&[&TEXT.replace("2 3.54", "2")]).expect_err("cut off");
    assert!(error.message.contains("cut off"), "{error}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let error = import(&["hello\nworld\n"]).expect_err("no results");
    assert_eq!((error.file.as_str(), error.line), ("file0", 0));
    assert!(error.message.starts_with("no result of lmbench"), "{error}");
}

/// The rows of the report on the trace toolkit have these names too.
#[test]
fn names_are_those_of_the_published_table() {
    use super::tables::{SINGLE, Target};
    let run = headwater_results::published::run("ltt", "up-a").expect("the dataset exists");
    let published: Vec<&str> = run.results.iter().map(|result| result.row.subject.as_str()).collect();
    let own = ["read", "write", "semaphore", "fcntl-lock", "file-write"];
    for single in SINGLE {
        if let Target::Row(subject, _) = single.target {
            assert!(published.contains(&subject) || own.contains(&subject), "{subject}");
        }
    }
}
