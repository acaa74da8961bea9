//! The two commands together: a run of the archive stands wherever headwater takes a run, and looks the same; `run --archive`
//! loses nothing. HEADWATER names the command; `cargo xtask ci` sets it.

use crate::support::headwater::headwater;
use crate::support::postgres::Server;
use crate::support::sample::Sample;
use crate::support::{TestDir, expect, on_both};

#[test]
fn every_command_says_the_same_of_a_run_and_of_its_copy_in_the_archive() {
    let Some(_) = headwater() else { return };
    let dir = TestDir::new();
    let measured = ["run", "pipe/stream/64", "unix-stream/rtt/64", "--time", "5ms", "--launches", "3", "-q", "-o"];
    for name in ["before", "after"] {
        expect(&dir.said("", &[&measured[..], &[name]].concat()), 0, &[]);
    }
    let copies = |archive: &str, copy: &TestDir| {
        for name in ["before", "after"] {
            copy.add(archive, &dir.path(name));
        }
        let same = |from_directories: &[&str], from_archive: &[&str]| {
            let (one, other) = (dir.said("", from_directories), copy.said(archive, from_archive));
            assert_eq!(
                String::from_utf8_lossy(&other.stdout),
                String::from_utf8_lossy(&one.stdout),
                "{from_archive:?} {}",
                String::from_utf8_lossy(&other.stderr)
            );
            assert_eq!(one.status, other.status);
            assert!(one.stdout.len() > 100, "{from_directories:?}");
        };
        same(&["show", "before"], &["show", "archive:before"]);
        same(&["show", "before"], &["archive", "show", "before"]);
        same(&["show", "before", "after", "--json"], &["show", "archive:first=2", "--json"]);
        same(&["compare", "before", "after"], &["compare", "archive:before", "archive:run=after"]);
        same(&["report", "before", "after", "-o", "-"], &["report", "archive:", "-o", "-"]);
        for format in ["csv", "bmf", "openmetrics", "markdown", "json"] {
            same(&["export", "after", "--format", format], &["export", "archive:last=1", "--format", format]);
        }
        same(
            &["export", "after", "--format", "csv", "--per-launch"],
            &["export", "archive:last=1", "--format", "csv", "--per-launch"],
        );
        same(&["history", "pipe", "before", "after", "--json"], &["history", "pipe", "archive:", "--json"]);
        same(
            &["history", "64", "before", "after", "-f", "rtt"],
            &["history", "64", "archive:first=1", "archive:last=1", "-f", "rtt"],
        );
    };
    on_both(|copy, archive| copies(archive, copy));
}

#[test]
fn wrong_queries_and_a_missing_program_are_told_with_the_remedy() {
    let Some(headwater) = headwater() else { return };
    on_both(|dir, archive| {
        dir.add(archive, &dir.run("one", &Sample::default().lines()));
        expect(&dir.said(archive, &["show", "archive:host=nowhere"]), 2, &["no run of the archive", "archive list"]);
        expect(&dir.said(archive, &["show", "archive:last=many"]), 2, &["last=5"]);
        expect(&dir.said(archive, &["history", "pip", "archive:"]), 2, &["did you mean pipe?"]);
        expect(&dir.said(archive, &["history", "pipe", "archive:host=nowhere"]), 2, &["no run of the archive"]);
        expect(&dir.said(archive, &["archive", "lst"]), 2, &["list"]);
    });
    let dir = TestDir::new();
    let alone = dir.path("alone");
    std::fs::copy(headwater, &alone).expect("a copy");
    for arguments in [&["show", "archive:last=1"][..], &["archive", "list"], &["run", "pipe", "--archive", "x"]] {
        let output = dir.plain(&alone).env("PATH", "/usr/bin:/bin").args(arguments).output().expect("it starts");
        expect(&output, 2, &["headwater-archive", "cargo install"]);
    }
    assert!(!dir.path("headwater-runs").exists(), "nothing was measured");
}

#[test]
fn a_run_is_added_at_its_end_and_its_record_does_not_say_where() {
    let Some(_) = headwater() else { return };
    on_both(|dir, archive| {
        let run = ["run", "pipe/stream/64", "--time", "5ms", "--launches", "2", "--archive", archive, "-o"];
        expect(&dir.said("", &[&run[..], &["now"]].concat()), 0, &["Kept in now, and in the archive"]);
        assert_eq!(dir.list(archive, "now").len(), 1);
        let record = std::fs::read_to_string(dir.path("now/run.jsonl")).expect("the run");
        assert!(!record.contains("--archive") && !record.contains("postgres") && !record.contains("sqlite"));
        let more = ["run", "--resume", "now", "--more", "1", "--archive", archive, "-q"];
        expect(&dir.said("", &more), 0, &[]);
        assert_eq!(dir.list(archive, "")[0]["launches"], 3);
    });
}

#[test]
fn a_run_whose_archive_is_away_is_added_by_the_next() {
    let Some(_) = headwater() else { return };
    let Some(server) = Server::shared() else { return };
    let dir = TestDir::new();
    let archive = server.database();
    let run = |name: &str| {
        dir.said(
            "",
            &["run", "pipe/stream/64", "--time", "5ms", "--launches", "2", "--archive", &archive, "-q", "-o", name],
        )
    };
    // No tables yet: nothing can be added.
    let said = expect(&run("one"), 0, &["no archive yet", "it is spooled"]);
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    expect(&dir.archive(&archive, &["migrate"]), 0, &[]);
    expect(&run("two"), 0, &[]);
    assert_eq!(dir.list(&archive, "").len(), 2);
    let refused = dir.said("", &["run", "pipe", "--archive", "postgres://u:secret@h/d", "-o", "three"]);
    let said = expect(&refused, 2, &["pgpass"]);
    assert!(!dir.path("three").exists() && !said.contains("secret"), "nothing was measured: {said}");
}
