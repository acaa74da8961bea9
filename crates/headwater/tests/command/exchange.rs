//! Published tables, exports and imports, as a user calls them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn headwater(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the command was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the standard output; the command must succeed.
fn output_of(directory: &Path, arguments: &[&str]) -> String {
    let output = headwater(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Returns the error message, one line; the command must fail with status 2.
fn error_of(directory: &Path, arguments: &[&str]) -> String {
    let output = headwater(directory, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert_eq!(text(&output.stdout), "");
    text(&output.stderr)
}

#[test]
fn a_published_table_is_listed_shown_and_exported() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let here = scratch.path();
    let list = output_of(here, &["list", "published", "--json"]);
    let tables: Vec<serde_json::Value> =
        list.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let names = tables.iter().flat_map(|table| table["datasets"].as_array().expect("datasets"));
    for name in names.map(|dataset| dataset["name"].as_str().expect("a name")) {
        assert!(output_of(here, &["show", name]).starts_with(name), "{name}");
    }
    assert!(output_of(here, &["list", "published", "--claims"]).contains("across the entire range"));
    let wrong = error_of(here, &["show", "published:pips/fc6"]);
    assert!(wrong.contains("did you mean pipes?") && wrong.contains("`headwater list published`"), "{wrong}");

    output_of(here, &["export", "published:pipes/fc6", "--format", "json", "-o", "fc6.json"]);
    let from_file = output_of(here, &["export", "fc6.json", "--format", "bench"]);
    let from_table = output_of(here, &["export", "published:pipes/fc6", "--format", "bench"]);
    let results =
        |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(results(&from_file), results(&from_table));
}

#[test]
fn an_unknown_export_names_the_existing_ones() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let here = scratch.path();
    assert!(error_of(here, &["export", "published:udp/1", "--format", "benh"]).contains("did you mean bench?"));
    assert!(
        error_of(here, &["export", "published:udp/1", "--format", "bmf", "--per-launch"])
            .contains("--per-launch is for csv")
    );
    assert!(error_of(here, &["export", "published:udp/1", "--format", "csv", "-o", "no/where"]).contains("no/where"));
    assert!(error_of(here, &["export", "nothing", "--format", "csv"]).contains("nothing"));
}

const NETPERF: &str = "212992 64 10.00 2000 0 0.1\n212992 10.00 1500 0.1\nodd\n";

#[test]
fn an_import_is_a_run_like_any_other() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let here = scratch.path();
    fs::write(here.join("udp.txt"), NETPERF).expect("the directory is writable");
    let output = headwater(here, &["import", "netperf", "udp.txt", "udp.txt", "-o", "old"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "1 row, 2 results: old\n");
    let warning = text(&output.stderr);
    assert!(warning.contains("2 lines were left out"), "{warning}");
    assert!(warning.contains("udp.txt:3: odd: no result of netperf (and 1 more)"), "{warning}");
    assert!(warning.contains("socket buffers of 212992 B"), "{warning}");
    assert!(output_of(here, &["show", "old"]).contains("udp"));
    assert!(output_of(here, &["export", "old", "--format", "csv", "--per-launch"]).lines().count() == 7);
    assert!(output_of(here, &["show", "old", "--json"]).contains("\"udp/flood/64/free\""));
    let again = error_of(here, &["import", "netperf", "udp.txt", "-o", "old"]);
    assert!(again.contains("there is a run already"), "{again}");
}

#[test]
fn a_failed_import_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let here = scratch.path();
    fs::write(here.join("half"), NETPERF.lines().next().expect("a line")).expect("the directory is writable");
    let error = error_of(here, &["import", "netperf", "half", "-o", "old"]);
    assert!(error.contains("half:1: the receiver's line is missing"), "{error}");
    assert!(error_of(here, &["import", "lmbench", "absent"]).contains("absent"));
    let left: Vec<_> =
        fs::read_dir(here).expect("it is there").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["half"]);
}

#[test]
fn missing_facts_of_a_netperf_file_are_given_as_options() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let here = scratch.path();
    fs::write(here.join("rr.txt"), "16384,131072,131072,16384,1,1,1.00,20000.00,Trans/s\n").expect("writable");
    let wrong = error_of(here, &["import", "netperf", "rr.txt", "-o", "rr"]);
    assert!(wrong.contains("rr.txt:1: ") && wrong.contains("--test"), "{wrong}");
    output_of(here, &["import", "netperf", "--test", "TCP_RR", "rr.txt", "-o", "rr"]);
    let shown = output_of(here, &["show", "rr", "--json"]);
    assert!(shown.contains("\"tcp/rtt/1/free\"") && shown.contains("50000"), "{shown}");
    assert!(error_of(here, &["import", "netperf", "--test", "SCTP", "rr.txt"]).contains("TCP_RR is meant"));
    let not_netperf = error_of(here, &["import", "lmbench", "--test", "TCP_RR", "rr.txt"]);
    assert!(not_netperf.contains("--test and --columns are for netperf"), "{not_netperf}");
}

#[test]
fn a_flood_with_only_the_receivers_rate_is_shown_and_compared() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let here = scratch.path();
    let text = "212992,212992,1024,1.00,819.20,10^6bits/s\n";
    fs::write(here.join("udp.csv"), text).expect("writable");
    output_of(here, &["import", "netperf", "--test", "UDP_STREAM", "udp.csv", "udp.csv", "-o", "old"]);
    assert!(output_of(here, &["show", "old"]).contains("udp"));
    let csv = output_of(here, &["export", "old", "--format", "csv", "--per-launch"]);
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("rx_rate") && !csv.contains("tx_rate"), "{csv}");
}
