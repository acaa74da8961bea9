use super::super::{ImportError, Imported, Launch, Options};
use super::FORMAT;

const BANNER: &str =
    "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost (127.0.0.1) port 0 AF_INET : demo
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

";

const RESULT: &str =
    "212992    1024   10.00     2000000     25    1638.40\n212992           10.00     1500000           1228.80\n\n";

fn import_as(test: Option<&str>, columns: Option<&str>, texts: &[&str]) -> Result<Imported, ImportError> {
    let files = texts.iter().enumerate().map(|(at, text)| (format!("file{at}"), (*text).to_owned()));
    let options = Options { test: test.map(str::to_owned), columns: columns.map(str::to_owned) };
    FORMAT.import(&files.collect::<Vec<_>>(), &options)
}

fn import(texts: &[&str]) -> Result<Imported, ImportError> {
    import_as(None, None, texts)
}

/// Returns (id, block, values) of every launch.
fn launches(imported: &Imported) -> Vec<(String, u32, Vec<Option<f64>>)> {
    let of_row = |(row, launches): &(headwater_results::schema::Row, Vec<Launch>)| {
        launches.iter().map(|launch| (row.id.clone(), launch.block, launch.values.clone())).collect::<Vec<_>>()
    };
    imported.rows.iter().flat_map(of_row).collect()
}

/// Returns the id of the only row and its only figure, rounded; for a flood, the received rate.
fn only(imported: &Imported) -> (String, i64) {
    let launches = launches(imported);
    let [(id, 0, values)] = &launches[..] else { panic!("one result, not {launches:?}") };
    (id.clone(), values[0].expect("a figure").round() as i64)
}

/// Reads output of netperf 2.7.0 from `tests/import/netperf`: the name of each call, its arguments and its output.
fn corpus(file: &str) -> Vec<(String, String, String)> {
    let path = format!("{}/tests/import/netperf/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let call = |entry: &str| {
        let (head, output) = entry.split_once('\n').expect("a line of arguments");
        let (name, arguments) = head.split_once(" | ").expect("a name");
        (name.to_owned(), arguments.to_owned(), output.to_owned())
    };
    text.split("#### ").skip(1).map(call).collect()
}

/// Returns one output of the corpus.
fn output(name: &str) -> String {
    let file = name.split_once('.').expect("a name has the test's").0;
    let file = if ["TCP_MAERTS", "TCP_CRR"].contains(&file) { "OTHER" } else { file };
    let file = if file == "omni" { "OMNI" } else { file };
    corpus(file).into_iter().find(|(known, ..)| known == name).unwrap_or_else(|| panic!("no {name}")).2
}

/// The transports and patterns of the four tests with their defaults.
const DEFAULT_ROWS: [(&str, &str); 4] = [
    ("UDP_STREAM", "udp/flood/65507/free"),
    ("UDP_RR", "udp-unconnected/rtt/1/free"),
    ("TCP_STREAM", "tcp-nagle/stream-full/16384/free"),
    ("TCP_RR", "tcp/rtt/1/free"),
];

#[test]
fn every_real_output_of_the_four_tests_is_read_or_left_out_with_its_reason() {
    // The calls whose output is incomplete, by the end of their names, with the reason.
    let left_out = [
        (".v0", "without -v 0"),
        (".P0-v0", "without -v 0"),
        (".j-o", "is missing: add it to the selectors"),
        ("RR.f-m", "no rate of transactions"),
        ("RR.f-G", "no rate of transactions"),
        ("RR.f-K", "no rate of transactions"),
        ("RR.f-M", "no rate of transactions"),
        ("RR.f-M-k", "no rate of transactions"),
        ("RR.f-M-o", "no rate of transactions"),
        ("STREAM.f-G", "has too few digits"),
        (".r64-128", "no row answers a request of 64 B with 128 B"),
        (".r64-1024-k", "no row answers a request of 64 B with 1024 B"),
        ("RR.burst", "no row has 5 requests on the way at once"),
        (".m64-M64", ""),
    ];
    for (test, default) in DEFAULT_ROWS {
        for (name, arguments, output) in corpus(test) {
            // A file without names needs `--test`.
            let result = import_as(Some(test), None, &[&output]);
            let expected = left_out.iter().find(|(end, reason)| name.ends_with(end) && !reason.is_empty());
            // The digits of -f G are too few only for TCP_STREAM: the text of UDP_STREAM has counts.
            let expected = expected.filter(|_| name != "UDP_STREAM.f-G");
            match (result, expected) {
                (Err(error), Some((_, reason))) => assert!(error.message.contains(reason), "{name}: {error}"),
                (Ok(imported), None) => {
                    let (id, figure) = only(&imported);
                    let size = ["m64", "r64"].iter().any(|option| name.contains(option));
                    let expected = match (name.as_str(), size) {
                        ("TCP_STREAM.m64-D" | "TCP_STREAM.m64-D-k" | "TCP_STREAM.m64-M64", _) => {
                            "tcp/stream-full/64/free"
                        }
                        (_, true) => &default.replace("65507", "64").replace("16384", "64").replace("/1/", "/64/"),
                        _ => default,
                    };
                    assert_eq!(id, expected, "{name}: {arguments}");
                    assert!(figure > 0, "{name}");
                    assert_eq!(imported.left_out, [], "{name}");
                }
                (other, expected) => panic!("{name} ({arguments}): {other:?}, where {expected:?}"),
            }
        }
    }
}

#[test]
fn the_same_result_is_the_same_figure_in_every_form() {
    let figure = |name: &str| only(&import(&[&output(name)]).expect(name));
    // 20800 of 204653 messages received in 1.01 s; plain -o: 3029.94 10^6bits/s in messages of 65507 B.
    assert_eq!(figure("UDP_STREAM.v2"), ("udp/flood/65507/free".into(), (21_800.0_f64 / 1.01).round() as i64));
    assert_eq!(figure("UDP_STREAM.o").1, (3029.94e6_f64 / 8.0 / 65_507.0).round() as i64);
    assert_eq!(figure("UDP_STREAM.k").1, (3504.17e6_f64 / 8.0 / 65_507.0).round() as i64);
    assert_eq!(figure("UDP_STREAM.f-M-k").1, (1293.60_f64 * 1_048_576.0 / 65_507.0).round() as i64);
    assert_eq!(figure("UDP_RR.text").1, (1e9_f64 / 9780.54).round() as i64);
    assert_eq!(figure("UDP_RR.O").1, (1e9_f64 / 10_277.90).round() as i64);
    assert_eq!(figure("TCP_RR.cC").1, (1e9_f64 / 23_549.71).round() as i64);
    assert_eq!(figure("TCP_STREAM.f-K").1, (582_664.02_f64 * 1024.0 / 16_384.0).round() as i64);
    assert_eq!(figure("TCP_STREAM.I").1, (16_553.97e6_f64 / 8.0 / 16_384.0).round() as i64);
}

#[test]
fn all_selectors_give_more_figures_than_the_default_ones() {
    // 88190 messages sent and 8297 received in 1.00 s.
    let imported = import(&[&output("UDP_STREAM.k-all")]).expect("a result");
    assert_eq!(launches(&imported)[0].2, [Some(8297.0), Some(88_190.0), Some((88_190.0 - 8297.0) / 88_190.0)]);
    let imported = import(&[&output("UDP_STREAM.k")]).expect("a result");
    assert_eq!(launches(&imported)[0].2[1..], [None, None], "the default ones do not say what was sent");
    // Without a head, the columns are identified by their number.
    let imported = import(&[&output("UDP_STREAM.P0-o-all")]).expect("a result");
    assert_eq!(only(&imported), ("udp/flood/65507/free".to_owned(), 34_929));
    let connected = output("UDP_RR.o-all").replace("-- -o all", "-- -n -o all");
    assert_eq!(only(&import(&[&connected]).expect("a result")).0, "udp/rtt/1/free");
    let nodelay = output("TCP_STREAM.k-all").replace("LOCAL_NODELAY=0", "LOCAL_NODELAY=1");
    assert_eq!(only(&import(&[&nodelay]).expect("a result")).0, "tcp/stream-full/16384/free");
}

#[test]
fn output_without_a_test_is_never_attributed_to_one() {
    for (test, _) in DEFAULT_ROWS {
        for form in ["P0", "o-P0", "P0-k", "P0-O", "cC-P0", "B-P0", "P0-v2"] {
            let name = format!("{test}.{form}");
            match import(&[&output(&name)]) {
                // Its shape is unambiguous.
                Ok(imported) => {
                    let is_text = ["P0", "cC-P0", "B-P0", "P0-v2"].contains(&form);
                    assert!(test == "UDP_STREAM" && is_text, "{name}: {:?}", launches(&imported));
                }
                Err(error) => assert!(error.message.contains("--test"), "{name}: {error}"),
            }
        }
    }
    for (test, expected) in [
        ("UDP_STREAM", "udp/flood/16384/free"),
        ("TCP_STREAM", "tcp-nagle/stream-full/16384/free"),
        ("TCP_STREAM/nodelay", "tcp/stream-full/16384/free"),
    ] {
        let imported = import_as(Some(test), None, &[&output("TCP_STREAM.o-P0")]).expect(test);
        assert_eq!(only(&imported).0, expected);
    }
    let imported = import_as(Some("udp_rr/connected"), None, &[&output("UDP_RR.P0")]).expect("a result");
    assert_eq!(only(&imported).0, "udp/rtt/1/free");
    for wrong in ["UDP", "UDP_RR/nodelay", "TCP_RR/connected", "TCP_CRR"] {
        assert!(import_as(Some(wrong), None, &[""]).expect_err(wrong).message.contains("is meant"));
    }
}

#[test]
fn an_omni_test_needs_its_protocol() {
    for name in ["omni.udp-stream", "omni.udp-stream-k", "omni.udp-rr-o", "omni.tcp-rr-o"] {
        let error = import(&[&output(name)]).expect_err(name);
        assert!(error.message.contains("PROTOCOL and DIRECTION") && [2, 3].contains(&error.line), "{name}: {error}");
    }
    assert_eq!(only(&import(&[&output("omni.d-all")]).expect("a result")).0, "tcp-nagle/stream-full/16384/free");
    // The receiver's side of a test in the opposite direction is not a row.
    import(&[&output("omni.maerts")]).expect_err("it goes the other way");
}

#[test]
fn other_tests_and_failures_are_left_out_with_their_reason() {
    for (name, _, output) in corpus("OTHER") {
        let error = import(&[&output]).expect_err(&name);
        let reason = match name.as_str() {
            "nohost" | "noserver" => "no result of netperf",
            name if name.contains("P0") => "--test",
            _ => "UDP_STREAM, UDP_RR, TCP_STREAM and TCP_RR are imported",
        };
        assert!(error.message.contains(reason), "{name}: {error}");
    }
}

#[test]
fn selections_without_a_head_need_columns() {
    let names = "LOCAL_SEND_SIZE,ELAPSED_TIME,LOCAL_SEND_CALLS,REMOTE_RECV_CALLS";
    let imported = import_as(Some("UDP_STREAM"), Some(names), &["64,2.00,1000,800\n64,2.00,1000,900\n"]);
    assert_eq!(launches(&imported.expect("two results"))[1].2, [Some(450.0), Some(500.0), Some(0.1)]);
    let error = import_as(None, Some("SEND_SIZE"), &[""]).expect_err("no such selector");
    assert!(error.to_string().starts_with("--columns: netperf has no selector SEND_SIZE"), "{error}");
}

#[test]
fn a_file_of_many_results_keeps_them_apart() {
    let names =
        ["UDP_STREAM.text", "UDP_RR.k", "TCP_RR.O-all", "TCP_STREAM.v2", "TCP_RR.v2", "UDP_STREAM.o", "UDP_RR.cC"];
    let text: String = names.iter().map(|name| output(name)).collect();
    let imported = import(&[&text]).expect("results");
    let mut rows: Vec<(&str, usize)> =
        imported.rows.iter().map(|(row, launches)| (row.id.as_str(), launches.len())).collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            ("tcp-nagle/stream-full/16384/free", 1),
            ("tcp/rtt/1/free", 2),
            ("udp-unconnected/rtt/1/free", 2),
            ("udp/flood/65507/free", 2)
        ]
    );
    assert_eq!(imported.left_out, []);
    // Two results as keys, with nothing between them.
    let twice = output("UDP_RR.P0-k").repeat(2);
    assert_eq!(launches(&import_as(Some("UDP_RR"), None, &[&twice]).expect("two results")).len(), 2);
}

#[test]
fn differences_from_the_row_are_noted_once() {
    let text = output("UDP_STREAM.text").repeat(2);
    let imported = import(&[&text]).expect("results");
    assert!(imported.notes.len() == 1 && imported.notes[0].contains("212992"), "{:?}", imported.notes);
    assert_eq!(import(&[&output("UDP_STREAM.m64")]).expect("a result").notes, [] as [&str; 0], "131071 as in the rows");
    let unsure = import(&[&output("TCP_RR.I")]).expect("a result");
    assert_eq!(unsure.notes, ["file0:3: netperf did not reach its confidence"]);
}

#[test]
fn text_with_its_banner() {
    let imported = import(&[&format!("{BANNER}{RESULT}")]).expect("a result");
    assert_eq!(
        launches(&imported),
        [("udp/flood/1024/free".to_owned(), 0, vec![Some(150_000.0), Some(200_000.0), Some(0.25)])]
    );
    assert_eq!(imported.rows[0].1[0].counters, [("refused", 25.0), ("operations", 2e6)]);
    assert_eq!(imported.left_out, []);
    assert_eq!(imported.time_s, 10.0);
}

#[test]
fn text_without_a_banner_and_with_processor_times() {
    let text = "212992 64 10.00 1000 0 0.05 12.50 1.000\n212992 10.00 1001 0.05 12.50 1.000\n";
    let imported = import(&[text, RESULT]).expect("two results");
    // One more received than sent must not become a negative loss.
    assert_eq!(launches(&imported)[0], ("udp/flood/64/free".to_owned(), 0, vec![Some(100.1), Some(100.0), Some(0.0)]));
    assert_eq!(imported.rows.len(), 2);
}

#[test]
fn repeated_results_of_a_size_are_launches() {
    let imported = import(&[&format!("{BANNER}{RESULT}{BANNER}{RESULT}"), RESULT]).expect("three results");
    let blocks: Vec<u32> = launches(&imported).into_iter().map(|(_, block, _)| block).collect();
    assert_eq!((imported.rows.len(), blocks), (1, vec![0, 1, 2]));
}

#[test]
fn separated_output_by_its_columns() {
    let head = "OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost (127.0.0.1) port 0 AF_INET\n";
    let columns = "Protocol,Local Send Size,Elapsed Time (sec),Local Send Calls,Remote Recv Calls,Command Line\n";
    let text =
        format!("{head}{columns}UDP,64,2.00,1000,800,\"netperf -t UDP_STREAM -- -m 64,64\"\nTCP,64,2.00,1,1,\"\"\n");
    let imported = import(&[&text]).expect("a result");
    assert_eq!(launches(&imported), [("udp/flood/64/free".to_owned(), 0, vec![Some(400.0), Some(500.0), Some(0.2)])]);
    let left: Vec<usize> = imported.left_out.iter().map(|left| left.line.number).collect();
    assert_eq!(left, [4], "of TCP_STREAM the throughput is missing");
}

#[test]
fn a_column_that_is_missing_is_named_with_the_remedy() {
    let error = import(&["Local Send Size,Elapsed Time (sec),Local Send Calls\n64,1,2\n"]).expect_err("no receiver");
    assert_eq!((error.line, error.message.contains("--test")), (2, true), "{error}");
    let text = "Local Send Size,Elapsed Time (sec),Local Send Calls\n64,1,2\n";
    let error = import_as(Some("UDP_STREAM"), None, &[text]).expect_err("no receiver");
    assert_eq!((error.line, error.message.contains("THROUGHPUT_UNITS is missing")), (2, true), "{error}");
}

#[test]
fn results_over_a_network_are_left_out_and_reported() {
    let remote = BANNER.replace("localhost (127.0.0.1)", "192.168.0.2 ()");
    let sctp = "SCTP STREAM TEST from 0.0.0.0 () port 0 AF_INET to localhost () port 0 AF_INET\n87380 16384 16384 10.00 9000.00\n";
    let imported = import(&[&format!("{remote}{RESULT}{sctp}{BANNER}{RESULT}")]).expect("one of three");
    assert_eq!(launches(&imported).len(), 1);
    let left: Vec<usize> = imported.left_out.iter().map(|left| left.line.number).collect();
    assert_eq!(left, [6, 10], "{:?}", imported.left_out);
    let error = import(&[sctp]).expect_err("nothing is left");
    assert_eq!((error.file.as_str(), error.line), ("file0", 2));
}

#[test]
fn an_incomplete_result_is_an_error_with_its_line() {
    let sender = RESULT.lines().next().expect("a line");
    let error = import(&[&format!("{BANNER}{sender}\n")]).expect_err("the receiver is missing");
    assert_eq!(error.line, 6, "{error}");
    assert!(error.message.contains("the receiver's line is missing"), "{error}");
    // The next result is read all the same.
    let imported = import(&[&format!("{BANNER}{sender}\n{BANNER}{RESULT}")]).expect("the second");
    assert_eq!((launches(&imported).len(), imported.left_out[0].line.number), (1, 6), "{:?}", imported.left_out);
    let error = import(&[&format!("{sender}\n{sender}\n")]).expect_err("two senders");
    assert_eq!(error.line, 2, "{error}");
    let error = import(&["212992 64 0.00 10 0 0.1\n212992 1 1 1\n"]).expect_err("no time");
    assert!(error.message.contains("the elapsed time is 0"), "{error}");
}

/// A head of TCP_STREAM, whose figure is 16384 B 9102 times a second if `unit` is KBytes/s.
fn tcp_stream(unit: &str) -> String {
    format!(
        "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0.1) port 0 AF_INET\n\
         Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n\
         bytes  bytes   bytes    secs.    {unit}\n\n 87380  16384  16384    10.00    145633.28\n"
    )
}

#[test]
fn every_unit_of_the_manual_is_its_own_and_no_other_is_taken_for_one() {
    const KIB: f64 = 1024.0;
    for (unit, bytes_per_second) in [
        ("10^3bits/s", 1e3 / 8.0),
        ("10^6bits/sec", 1e6 / 8.0),
        ("10^9bits/s", 1e9 / 8.0),
        ("Bytes/sec", 1.0),
        ("KBytes/s", KIB),
        ("KBytes/sec", KIB),
        ("KBytes  /s", KIB),
        ("MBytes  /s", KIB * KIB),
        ("MBytes  /s  % S      % U      us/KB   us/KB", KIB * KIB),
        ("GBytes  /s", KIB * KIB * KIB),
    ] {
        let imported = import(&[&tcp_stream(unit)]).unwrap_or_else(|error| panic!("{unit}: {error}"));
        let expected = (145_633.28 * bytes_per_second / 16_384.0).round() as i64;
        assert_eq!(only(&imported), ("tcp-nagle/stream-full/16384/free".to_owned(), expected), "{unit}");
    }
    assert_eq!(only(&import(&[&tcp_stream("KBytes  /s")]).expect("a result")).1, 9102);
    for unit in
        ["TBytes/s", "KBytes/min", "10^6 bytes/s", "kbytes/s", "Throughput", "", "per sec", "10^6bits/s KBytes/s"]
    {
        let error = import(&[&tcp_stream(unit)]).expect_err(unit);
        assert_eq!(error.line, 7, "{error}");
        let says = if unit == "per sec" { "none of a throughput" } else { "in line 5: \"bytes bytes bytes secs." };
        assert!(error.message.contains(says), "{unit}: {error}");
    }
    // A table whose head is damaged is refused, whatever its columns are.
    let head = "bytes  bytes   bytes    secs.    KBytes/s\n";
    for damaged in ["", "bytes bytes secs. bytes KBytes/s\n", "Octets  bytes   bytes    secs.    KBytes/s\n"] {
        let text = tcp_stream("KBytes/s").replace(head, damaged);
        let error = import(&[&text]).expect_err(damaged);
        assert!(error.message.contains("understood"), "{error}");
    }
}

#[test]
fn a_result_without_a_head_has_the_unit_that_the_user_names_or_that_of_the_manual_with_a_note() {
    let figure = |test: &str, name: &str| {
        let imported = import_as(Some(test), None, &[&output(name)]).expect(test);
        (only(&imported).1, imported.notes)
    };
    let (megabits, notes) = figure("TCP_STREAM", "TCP_STREAM.P0");
    assert!(notes[0].contains("10^6bits/s") && notes[0].contains("--test TCP_STREAM/K"), "{notes:?}");
    assert_eq!(figure("TCP_STREAM/m", "TCP_STREAM.P0"), (megabits, vec![]));
    let (kibibytes, _) = figure("TCP_STREAM/nodelay/K", "TCP_STREAM.P0");
    assert!((kibibytes as f64 / megabits as f64 - 1024.0 * 8e-6).abs() < 1e-4, "{kibibytes} and {megabits}");
    assert!(import_as(Some("TCP_RR/K"), None, &[&output("TCP_RR.P0")]).is_err(), "no rate of transactions");
    assert_eq!(figure("TCP_RR/x", "TCP_RR.P0").1, [] as [&str; 0]);
}

#[test]
fn stray_lines_and_marks_do_not_refuse_a_file() {
    let result = format!("{BANNER}{RESULT}");
    for text in [
        format!("\u{feff}{result}"),
        format!("# measured on Monday\n10 20 30\n{result}"),
        format!("{result}12 monkeys\n1 2 3 4 5 6 7\n"),
        format!("{}1 2 3\n{RESULT}", BANNER),
        result.replace('\n', "\r\n"),
    ] {
        let imported = import(&[&text]).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(only(&imported), ("udp/flood/1024/free".to_owned(), 150_000), "{text}");
    }
}

#[test]
fn the_reason_of_a_refused_file_is_that_of_its_first_result() {
    let remote = BANNER.replace("localhost (127.0.0.1)", "192.168.0.2 ()");
    let error = import(&[&format!("$ netperf -H far\nsome words\n{remote}{RESULT}")]).expect_err("remote");
    assert_eq!(error.line, 8, "{error}");
    assert!(error.message.starts_with("over a network"), "{error}");
}
