//! What goes wrong with a database: a connection that is lost at any byte, a killed adder, a full disk, another program's
//! tables, a newer version. Whatever happens, a run is there whole or not at all, and the next call adds it.

use std::fs;
use std::time::Duration;

use crate::support::postgres::Server;
use crate::support::proxy::Proxy;
use crate::support::sample::Sample;
use crate::support::{TestDir, change, expect, on_both, text, times};

/// Adds a run in the way that `run --archive` does.
const ADD: [&str; 3] = ["add", "--spool", "--quiet"];

fn spooled(dir: &TestDir) -> usize {
    let markers = fs::read_dir(dir.path("state/headwater/archive-spool")).expect("the spool").flatten();
    markers.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json")).count()
}

#[test]
fn a_connection_that_is_lost_at_any_byte_leaves_the_whole_run_or_none() {
    let Some(server) = Server::shared() else { return };
    let archive = server.database();
    let dir = TestDir::new();
    expect(&dir.archive(&archive, &["migrate"]), 0, &[]);
    // A run before, so that what all runs share is there, and one without.
    let proxy = Proxy::start(server.directory());
    let through =
        archive.replace(&text(server.directory()).replace('/', "%2F"), &text(proxy.directory()).replace('/', "%2F"));
    let whole = {
        let run = dir.run("first", &Sample::named("first").lines());
        proxy.cut_after(u64::MAX);
        expect(&dir.archive(&through, &["add", text(&run)]), 0, &[]);
        proxy.bytes()
    };
    let steps = 24 * times() as u64;
    let (mut lost, mut hosts) = (0, 0);
    for step in 0..=steps {
        hosts += 1;
        let sample = Sample { host: format!("host{hosts}"), ..Sample::named(&format!("run{step}")) };
        let run = dir.run(&sample.name, &sample.lines());
        // Every attempt of this process is cut at the same place.
        proxy.cut_after(1 + whole * step / steps * 11 / 10);
        let output = dir.archive(&through, &[&ADD[..], &[text(&run)]].concat());
        let there = dir.list(&archive, &sample.name).len();
        if output.status.success() {
            assert_eq!((there, spooled(&dir)), (1, 0), "step {step}");
        } else {
            lost += 1;
            expect(&output, 2, &["not added", "it is spooled"]);
            assert!(there <= 1 && spooled(&dir) == 1, "step {step}");
            proxy.cut_after(u64::MAX);
            expect(&dir.archive(&archive, &["add", "--spooled"]), 0, &[]);
            assert_eq!((dir.list(&archive, &sample.name).len(), spooled(&dir)), (1, 0), "step {step}");
        }
    }
    assert!(lost > steps / 2, "the connection was lost {lost} times");
    expect(&dir.archive(&archive, &["check"]), 0, &["0 wrong"]);
}

#[test]
fn the_server_s_kill_of_the_connection_is_survived() {
    let Some(server) = Server::shared() else { return };
    let archive = server.database();
    let dir = TestDir::new();
    expect(&dir.archive(&archive, &["migrate"]), 0, &[]);
    // Holds the run's table, so that the adder waits in the middle of its transaction.
    let mut holder = server.connect_to(&archive);
    let mut held = holder.transaction().expect("a transaction");
    held.batch_execute("LOCK TABLE headwater.label IN ACCESS EXCLUSIVE MODE").expect("the lock");
    let sample = Sample { labels: vec![("commit".to_owned(), "c1".to_owned())], ..Sample::default() };
    let run = dir.run("one", &sample.lines());
    let child = dir.command(&archive, &["add", text(&run)]).spawn().expect("it starts");
    let mut killer = server.connect_to(&archive);
    let waiting = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'headwater-archive' \
        AND wait_event_type = 'Lock'";
    while killer.query(waiting, &[]).expect("an answer").is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    held.rollback().expect("the lock is released");
    expect(&child.wait_with_output().expect("it ends"), 0, &[]);
    assert_eq!(dir.list(&archive, "commit=c1").len(), 1);
}

#[test]
fn a_killed_adder_leaves_a_run_that_the_next_call_adds() {
    on_both(|dir, archive| {
        // Large enough to be killed at various places.
        let rows = (0..60).map(|row| format!("pipe/rtt/{row}/two-cpus")).collect();
        let sample = Sample { rows, launches: 20, ..Sample::default() };
        for attempt in 0..6 * times() as u64 {
            let sample = Sample { name: format!("run{attempt}"), ..sample.clone() };
            let run = dir.run(&sample.name, &sample.lines());
            let mut child = dir.command(archive, &[&ADD[..], &[text(&run)]].concat()).spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(5 + attempt * 17 % 150));
            child.kill().expect("it is a child");
            child.wait().expect("it ends");
        }
        expect(&dir.archive(archive, &["add", "--spooled"]), 0, &[]);
        assert!(dir.list(archive, "").iter().all(|run| run["launches"] == 1200));
        expect(&dir.archive(archive, &["check"]), 0, &["0 wrong"]);
    });
}

#[test]
fn an_archive_that_cannot_be_reached_costs_nothing() {
    let dir = TestDir::new();
    let run = dir.run("one", &Sample::default().lines());
    let nowhere = format!("postgres://u@{}/x", text(&dir.path("")).replace('/', "%2F"));
    let output = dir.archive(&nowhere, &[&ADD[..], &[text(&run)]].concat());
    let said = expect(&output, 2, &["no connection", "it is spooled"]);
    assert_eq!(said.lines().count(), 1, "one line: {said}");
    expect(&dir.archive(&nowhere, &["add", "--spooled"]), 2, &["still spooled"]);
    assert_eq!(spooled(&dir), 1);
    fs::remove_dir_all(&run).expect("the run is removed");
    expect(&dir.archive(&nowhere, &["add", "--spooled"]), 0, &[]);
    assert_eq!(spooled(&dir), 1, "it may be about to begin");
}

#[test]
fn a_full_disk_loses_nothing() {
    let dir = TestDir::new();
    let small = dir.path("small");
    fs::create_dir(&small).expect("a directory");
    let rows: Vec<String> = (0..200).map(|row| format!("pipe/rtt/{row}/two-cpus")).collect();
    let runs: Vec<_> = (0..8)
        .map(|number| {
            let sample = Sample { rows: rows.clone(), launches: 10, ..Sample::named(&format!("run{number}")) };
            dir.run(&sample.name, &sample.lines())
        })
        .collect();
    // A file system of one megabyte in a mount namespace of its own.
    let program = env!("CARGO_BIN_EXE_headwater-archive");
    let script = format!(
        "mount -t tmpfs -o size=1m none small && for run in run*; do '{program}' add --spool --quiet $run; done; \
         '{program}' check && '{program}' list && mount -o remount,size=64m small && '{program}' add --spooled && '{program}' list"
    );
    let mut command = dir.plain(std::path::Path::new("unshare"));
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    command.env("HEADWATER_ARCHIVE", small.join("archive.sqlite"));
    let output = command.output().expect("unshare starts");
    if String::from_utf8_lossy(&output.stderr).contains("unshare:") {
        eprintln!("skipped: no user namespaces here");
        return;
    }
    let said = expect(&output, 0, &["disk is full", "it is spooled", "0 wrong", "8 runs in"]);
    assert!(!said.contains("\n8 runs checked"), "the disk was not full: {said}");
    assert_eq!(spooled(&dir), 0);
    drop(runs);
}

#[test]
fn another_program_s_tables_are_not_touched() {
    let dir = TestDir::new();
    let run = dir.run("one", &Sample::default().lines());
    let file = dir.path("other.sqlite");
    let other = rusqlite::Connection::open(&file).expect("a file");
    other.execute_batch("CREATE TABLE run (id INTEGER); INSERT INTO run VALUES (1)").expect("a table");
    let before = fs::read(&file).expect("the file");
    for arguments in [vec!["add", text(&run)], vec!["migrate"], vec!["list"], vec!["remove", "x", "--yes"]] {
        expect(&dir.archive(text(&file), &arguments), 2, &["another program"]);
    }
    assert_eq!(fs::read(&file).expect("the file"), before);
    fs::write(dir.path("text"), "no database, but a text that is long enough to be one; ".repeat(20)).expect("a file");
    expect(&dir.archive(text(&dir.path("text")), &["add", text(&run)]), 2, &["another program"]);
    expect(&dir.archive(text(&dir.path("none")), &["list"]), 2, &["no archive yet", "add"]);
    expect(&dir.archive(text(dir.path("").as_path()), &["add", text(&run)]), 2, &["directory"]);
    let Some(server) = Server::shared() else { return };
    let archive = server.database();
    expect(&dir.archive(&archive, &["add", text(&run)]), 2, &["no archive yet", "migrate"]);
    let tables = "CREATE SCHEMA headwater; CREATE TABLE headwater.run (id INT); CREATE TABLE public.run (id INT)";
    server.connect_to(&archive).batch_execute(tables).expect("tables");
    for arguments in [vec!["add", text(&run)], vec!["migrate"], vec!["list"]] {
        expect(&dir.archive(&archive, &arguments), 2, &["another program"]);
    }
}

#[test]
fn a_newer_archive_is_refused_and_an_impossible_version_too() {
    on_both(|dir, archive| {
        let run = dir.run("one", &Sample::default().lines());
        dir.add(archive, &run);
        let set = |version: &str| {
            change(archive, &format!("UPDATE {{}}archive SET version = {version}"));
        };
        set("99");
        for arguments in [vec!["add", text(&run)], vec!["migrate"], vec!["list"]] {
            expect(&dir.archive(archive, &arguments), 2, &["version 99", "newer"]);
        }
        set("-1");
        expect(&dir.archive(archive, &["list"]), 2, &["another program"]);
        set("2");
        assert_eq!(dir.list(archive, "").len(), 1);
    });
}

#[test]
fn an_older_archive_becomes_the_present_one_with_all_that_its_files_say() {
    on_both(|dir, archive| {
        for (name, machine) in [("with", Some("1f0a")), ("without", None)] {
            let sample = Sample { machine: machine.map(str::to_owned), ..Sample::named(name) };
            dir.add(archive, &dir.run(name, &sample.lines()));
        }
        // As version 1 was.
        change(archive, "ALTER TABLE {}run DROP COLUMN machine_id; UPDATE {}archive SET version = 1");
        if archive.starts_with("postgres") {
            expect(&dir.archive(archive, &["list"]), 2, &["version 1", "needs 2", "migrate"]);
            expect(&dir.archive(archive, &["migrate"]), 0, &[]);
        }
        assert_eq!(dir.list(archive, "").len(), 2);
        expect(&dir.archive(archive, &["check"]), 0, &["2 runs checked, 0 wrong"]);
        change(archive, "UPDATE {}run SET machine_id = NULL");
        expect(&dir.archive(archive, &["check"]), 1, &["another machine", "2 runs checked, 1 wrong"]);
    });
}

#[test]
fn damage_in_the_database_is_found() {
    let dir = TestDir::new();
    let archive = dir.path("archive.sqlite");
    dir.add(text(&archive), &dir.run("one", &Sample::default().lines()));
    let change =
        |sql: &str| rusqlite::Connection::open(&archive).expect("a file").execute_batch(sql).expect("it is changed");
    change("UPDATE result SET median = median + 1");
    expect(&dir.archive(text(&archive), &["check"]), 1, &["another figure of pipe/rtt/64/two-cpus", "1 wrong"]);
    change("UPDATE result SET median = median - 1");
    expect(&dir.archive(text(&archive), &["check"]), 0, &[]);
    change("UPDATE part SET content = substr(content, 1, 100)");
    expect(&dir.archive(text(&archive), &["check"]), 1, &["damaged"]);
    expect(&dir.archive(text(&archive), &["runs", "one"]), 2, &["run one", "damaged"]);
    change("DELETE FROM part");
    expect(&dir.archive(text(&archive), &["runs", "one"]), 2, &["damaged", "backup"]);
}

#[test]
fn who_may_add_can_neither_change_nor_delete() {
    let Some(server) = Server::shared() else { return };
    let archive = server.database();
    let dir = TestDir::new();
    expect(&dir.archive(&archive, &["migrate", "--roles"]), 0, &[]);
    let database = archive.rsplit('/').next().expect("a name").to_owned();
    let users = format!(
        "CREATE ROLE adder_{database} LOGIN; GRANT headwater_adder TO adder_{database}; \
         CREATE ROLE reader_{database} LOGIN; GRANT headwater_reader TO reader_{database}"
    );
    server.connect_to(&archive).batch_execute(&users).expect("roles");
    let as_user = |user: &str| archive.replace("postgres@", &format!("{user}_{database}@"));
    let sample = Sample::default();
    let run = dir.run("one", &(sample.begun() + &sample.launches(0..1)));
    dir.add(&as_user("adder"), &run);
    fs::write(run.join("run.jsonl"), sample.lines()).expect("a file");
    assert!(dir.add(&as_user("adder"), &run).contains("in place of"), "a continued run, too");
    expect(&dir.archive(&as_user("adder"), &["remove", "one", "--yes"]), 2, &["permission denied"]);
    let other = dir.run("two", &Sample::named("two").lines());
    expect(&dir.archive(&as_user("reader"), &["add", text(&other)]), 2, &["permission denied"]);
    assert_eq!(dir.list(&as_user("reader"), "").len(), 1);
    for sql in [
        "DELETE FROM headwater.run",
        "UPDATE headwater.result SET median = 0",
        "TRUNCATE headwater.part",
        "UPDATE headwater.archive SET version = 9",
        "DROP TABLE headwater.label",
    ] {
        let mut adder = server.connect_to(&archive);
        adder.batch_execute(&format!("SET SESSION AUTHORIZATION adder_{database}")).expect("the adder");
        assert!(adder.batch_execute(sql).is_err(), "{sql}");
    }
    expect(&dir.archive(&archive, &["remove", "one", "--yes"]), 0, &["1 removed"]);
}
