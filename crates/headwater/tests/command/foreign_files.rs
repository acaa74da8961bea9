//! What others have put in the place of files that the command reads: devices, FIFOs, files larger than memory, names and texts
//! that are not UTF-8, runs whose figures contradict each other. Each is refused by name, at once.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs the command in a directory with little memory. A command that waits for a FIFO or reads a device to its end is killed.
fn headwater<S: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = S>) -> Output {
    let mut command = Command::new("sh");
    let limits = "ulimit -v 8000000; exec timeout -s KILL 20 \"$@\"";
    command.args(["-c", limits, "sh", env!("CARGO_BIN_EXE_headwater")]).args(arguments);
    command.current_dir(directory).output().expect("sh(1) starts")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What stands in the place of a file, and how it is named.
const FOREIGN: [(&str, &str); 4] = [
    ("zero", "it is a device"),
    ("fifo", "it is a FIFO"),
    ("directory", "a directory"),
    ("sparse", "it has more than"),
];

fn put(what: &str, path: &Path) {
    match what {
        "zero" => symlink("/dev/zero", path).expect("symlink"),
        "fifo" => headwater_os::files::make_fifo(path, 0o600).expect("mkfifo"),
        "directory" => fs::create_dir(path).expect("mkdir"),
        _ => File::create(path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file"),
    }
}

#[test]
fn devices_fifos_and_endless_files_are_refused_by_name_and_at_once() {
    for (what, said) in FOREIGN {
        let directory = TempDir::new().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        for name in ["document", "events", "recording", "trace"] {
            fs::create_dir(path(name)).expect("mkdir");
        }
        let files = ["document/run.json", "events/run.jsonl", "recording/session.json", "trace/metadata", "file"];
        for file in files {
            put(what, &path(file));
        }
        for arguments in [
            &["show", "document"][..],
            &["show", "events"],
            &["show", "document/run.json"],
            &["history", "pipe/rtt", "document", "events"],
            &["trace", "recover", "recording"],
            &["trace", "show", "trace"],
            &["import", "netperf", "file"],
            &["import", "lmbench", "file"],
            &["run", "--config", "file", "--dry-run"],
            &["run", "--resume", "events"],
            &["streams", "autopush", "-f", "file"],
        ] {
            let output = headwater(directory.path(), arguments);
            let errors = errors(&output);
            assert!(output.status.code().is_some_and(|code| (1..=4).contains(&code)), "{arguments:?}: {output:?}");
            // A directory in the place of a run may be looked into.
            let is_said = errors.contains(said) || what == "directory" && !errors.contains("panicked");
            assert!(is_said, "{arguments:?} of {what}: {errors}");
        }
    }
}

#[test]
fn a_trace_with_a_fifo_in_the_place_of_events_is_refused_by_name() {
    for (what, said) in &FOREIGN[..2] {
        let directory = TempDir::new().expect("a directory");
        let recorded = headwater(
            directory.path(),
            ["trace", "record", "-o", "r", "--", env!("CARGO_BIN_EXE_headwater"), "--version"],
        );
        assert!(directory.path().join("r/user/metadata").exists(), "{}", errors(&recorded));
        put(what, &directory.path().join("r/user/user-0"));
        let output = headwater(directory.path(), ["trace", "show", "r"]);
        assert!(errors(&output).contains(said), "{what}: {}", errors(&output));
    }
}

/// Output of netperf whose unit has a space: 16384 B 9102 times a second.
const KBYTES: &[u8] = b"TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0.1) port 0 AF_INET
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    KBytes  /s

 87380  16384  16384    10.00    145633.28
";

#[test]
fn files_and_texts_that_are_not_utf8_are_imported() {
    let directory = TempDir::new().expect("a directory");
    let name = OsString::from(OsStr::from_bytes(b"netperf-\xff.txt"));
    let text = [&b"\xef\xbb\xbfcaf\xe9\n"[..], KBYTES].concat();
    fs::write(directory.path().join(&name), text).expect("room");
    let run = OsStr::from_bytes(b"run-\xfe");
    let output =
        headwater(directory.path(), [OsStr::new("import"), OsStr::new("netperf"), &name, OsStr::new("-o"), run]);
    assert!(output.status.success(), "{}", errors(&output));
    let json = fs::read_to_string(directory.path().join(run).join("run.json")).expect("a run");
    let run: headwater_results::schema::Run = serde_json::from_str(&json).expect("a run");
    assert_eq!((run.results.len(), run.results[0].metrics[0].estimate.median.round() as i64), (1, 9102));
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(KBYTES.iter().flat_map(|byte| [*byte, 0])).collect();
    fs::write(directory.path().join("utf16.txt"), utf16).expect("room");
    let output = headwater(directory.path(), ["import", "netperf", "utf16.txt"]);
    assert!(errors(&output).contains("iconv -f UTF-16"), "{}", errors(&output));
}

#[test]
fn a_run_that_contradicts_itself_is_refused_by_every_reader() {
    let directory = TempDir::new().expect("a directory");
    fs::write(directory.path().join("netperf.txt"), KBYTES).expect("room");
    for run in ["a", "b"] {
        let output = headwater(directory.path(), ["import", "netperf", "netperf.txt", "-o", run]);
        assert!(output.status.success(), "{}", errors(&output));
    }
    // Without the events, from which a document would be made anew.
    fs::remove_file(directory.path().join("b/run.jsonl")).expect("it is there");
    let document = directory.path().join("b/run.json");
    let text = fs::read_to_string(&document).expect("a run");
    let run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let median = run["results"][0]["metrics"][0]["estimate"]["median"].to_string();
    let damaged = text.replacen(&format!("\"median\": {median}"), "\"median\": 1e9", 1);
    assert_ne!(damaged, text);
    fs::write(&document, &damaged).expect("room");
    for arguments in [
        &["show", "b"][..],
        &["compare", "a", "b"],
        &["history", "stream-full", "b"],
        &["history", "stream-full", "a", "b", "--json"],
        &["history", "stream-full", "a", "b", "-o", "history.html"],
        &["report", "b", "-o", "report.html"],
        &["export", "b"],
    ] {
        let output = headwater(directory.path(), arguments);
        let errors = errors(&output);
        assert!(!errors.contains("panicked") && output.status.code() != Some(101), "{arguments:?}: {errors}");
        let page = fs::read_to_string(directory.path().join("history.html")).unwrap_or_default();
        let all = errors + &String::from_utf8_lossy(&output.stdout) + &page;
        assert!(all.contains("is not in its interval"), "{arguments:?}: {all}");
    }
}
