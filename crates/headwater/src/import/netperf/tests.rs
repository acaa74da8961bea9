use super::super::{ImportError, Imported};
use super::FORMAT;

const BANNER: &str =
    "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost (127.0.0.1) port 0 AF_INET : demo
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

";

const RESULT: &str =
    "212992    1024   10.00     2000000     25    1638.40\n212992           10.00     1500000           1228.80\n\n";

fn import(texts: &[&str]) -> Result<Imported, ImportError> {
    let files = texts.iter().enumerate().map(|(at, text)| (format!("file{at}"), (*text).to_owned()));
    FORMAT.import(&files.collect::<Vec<_>>())
}

/// (id, block, values) of every launch.
fn launches(imported: &Imported) -> Vec<(String, u32, Vec<f64>)> {
    let of_row = |(row, launches): &(headwater_results::schema::Row, Vec<super::super::Launch>)| {
        launches.iter().map(|launch| (row.id.clone(), launch.block, launch.values.clone())).collect::<Vec<_>>()
    };
    imported.rows.iter().flat_map(of_row).collect()
}

#[test]
fn text_with_its_banner() {
    let imported = import(&[&format!("{BANNER}{RESULT}")]).expect("a result");
    assert_eq!(launches(&imported), [("udp/flood/1024/free".to_owned(), 0, vec![150_000.0, 200_000.0, 0.25])]);
    assert_eq!(imported.rows[0].1[0].counters, [("operations", 2e6), ("refused", 25.0)]);
    assert_eq!(imported.unknown, []);
    assert_eq!(imported.time_s, 10.0);
}

#[test]
fn text_without_a_banner_and_with_processor_times() {
    let text = "212992 64 10.00 1000 0 0.05 12.50 1.000\n212992 10.00 1001 0.05 12.50 1.000\n";
    let imported = import(&[text, RESULT]).expect("two results");
    // One more received than sent is no loss below zero.
    assert_eq!(launches(&imported)[0], ("udp/flood/64/free".to_owned(), 0, vec![100.1, 100.0, 0.0]));
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
    assert_eq!(launches(&imported), [("udp/flood/64/free".to_owned(), 0, vec![400.0, 500.0, 0.2])]);
    let unknown: Vec<usize> = imported.unknown.iter().map(|line| line.number).collect();
    assert_eq!(unknown, [1, 4], "the banner of omni says nothing, and TCP is another test");
}

#[test]
fn a_column_that_is_missing_is_named_with_the_remedy() {
    let error = import(&["Local Send Size,Elapsed Time (sec),Local Send Calls\n64,1,2\n"]).expect_err("no receiver");
    assert_eq!((error.line, error.message.contains("\"Remote Recv Calls\" is missing")), (1, true), "{error}");
    assert!(error.message.contains("-o LOCAL_SEND_SIZE"), "{error}");
}

#[test]
fn what_is_not_udp_over_loopback_is_left_out_and_said() {
    let remote = BANNER.replace("localhost (127.0.0.1)", "192.168.0.2 ()");
    let tcp = "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to localhost (127.0.0.1) port 0 AF_INET\n87380 16384 16384 10.00 9000.00\n";
    let imported = import(&[&format!("{remote}{RESULT}{tcp}{BANNER}{RESULT}")]).expect("one of three");
    assert_eq!(launches(&imported).len(), 1);
    assert_eq!(imported.unknown.len(), 4 + 2 + 2, "{:?}", imported.unknown);
    let error = import(&[tcp]).expect_err("nothing is left");
    assert_eq!((error.file.as_str(), error.line), ("file0", 0));
}

#[test]
fn half_a_result_is_an_error_with_its_line() {
    let sender = RESULT.lines().next().expect("a line");
    for text in [format!("{BANNER}{sender}\n"), format!("{BANNER}{sender}\n{BANNER}{RESULT}")] {
        let error = import(&[&text]).expect_err("the receiver is missing");
        assert_eq!(error.line, 6, "{error}");
        assert!(error.message.contains("the receiver's line is missing"), "{error}");
    }
    let error = import(&[&format!("{sender}\n{sender}\n")]).expect_err("two senders");
    assert_eq!(error.line, 2, "{error}");
    let error = import(&["212992 64 0.00 10 0 0.1\n212992 1 1 1\n"]).expect_err("no time");
    assert!(error.message.contains("the elapsed time is 0"), "{error}");
}
