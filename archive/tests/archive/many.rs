//! Many processes at the same moment: every one of them succeeds, on both databases.

use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::postgres::Server;
use crate::support::sample::Sample;
use crate::support::{TestDir, expect, on_both, text, times};

/// The processes of the brief form; the long form has two hundred.
fn processes() -> usize {
    if times() > 1 { 200 } else { 24 }
}

fn all_succeed(children: Vec<Child>) {
    for child in children {
        expect(&child.wait_with_output().expect("it ends"), 0, &[]);
    }
}

#[test]
fn all_that_add_at_the_same_moment_succeed() {
    // The server takes 6 connections.
    on_both(|dir, archive| {
        let count = processes();
        let start = |number: usize| {
            let sample = Sample { host: format!("host{}", number % 7), ..Sample::named(&format!("run{number}")) };
            let run = dir.run(&sample.name, &sample.lines());
            let mut command = dir.command(archive, &["add", text(&run)]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        all_succeed((0..count).map(start).collect());
        assert_eq!(dir.list(archive, "").len(), count);
        expect(&dir.archive(archive, &["check"]), 0, &["0 wrong"]);
    });
}

#[test]
fn one_run_that_many_add_is_there_once_and_in_its_last_state() {
    on_both(|dir, archive| {
        let sample = Sample { launches: 9, ..Sample::default() };
        let start = |number: u32| {
            let lines =
                if number % 3 == 2 { sample.lines() } else { sample.begun() + &sample.launches(0..1 + number % 3 * 4) };
            let run = dir.run(&format!("copy{number}"), &lines);
            let mut command = dir.command(archive, &["add", text(&run)]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        all_succeed((0..12).map(start).collect());
        let listed = dir.list(archive, "");
        assert_eq!((listed.len(), &listed[0]["launches"]), (1, &18.into()));
    });
}

#[test]
fn an_archive_that_is_held_all_the_time_is_told_with_the_remedy() {
    on_both(|dir, archive| {
        let sample = Sample { labels: vec![("commit".to_owned(), "c1".to_owned())], ..Sample::named("held") };
        let run = dir.run("held", &sample.lines());
        dir.add(archive, &dir.run("before", &Sample::named("before").lines()));
        let add = || {
            let mut command = dir.command(archive, &["add", text(&run)]);
            // The server refuses after half of it; a busy machine may take long to say so.
            command.env("HEADWATER_ARCHIVE_WAIT", "1s").output().expect("it starts")
        };
        let refused = || {
            expect(&add(), 2, &["not added", "other processes hold the archive", "HEADWATER_ARCHIVE_WAIT=10m"]);
        };
        match Server::shared().filter(|_| archive.starts_with("postgres")) {
            Some(server) => {
                let mut holder = server.connect_to(archive);
                let mut held = holder.transaction().expect("a transaction");
                held.batch_execute("LOCK TABLE headwater.label IN ACCESS EXCLUSIVE MODE").expect("the lock");
                refused();
            }
            None => {
                let holder = rusqlite::Connection::open(archive).expect("the file");
                holder.execute_batch("BEGIN IMMEDIATE").expect("the lock");
                refused();
            }
        }
        dir.add(archive, &run);
        assert_eq!(dir.list(archive, "").len(), 2);
    });
}

#[test]
fn a_process_that_is_stopped_in_the_middle_of_adding_keeps_no_other_from_it() {
    let Some(server) = Server::shared() else { return };
    let (dir, archive) = (TestDir::new(), server.database());
    expect(&dir.archive(&archive, &["migrate"]), 0, &[]);
    let sample = Sample { labels: vec![("commit".to_owned(), "c1".to_owned())], ..Sample::default() };
    let run = dir.run("one", &sample.lines());
    let mut holder = server.connect_to(&archive);
    let mut watcher = server.connect_to(&archive);
    let mut held = holder.transaction().expect("a transaction");
    held.batch_execute("LOCK TABLE headwater.label IN ACCESS EXCLUSIVE MODE").expect("the lock");
    let start = || {
        let mut command = dir.command(&archive, &["add", text(&run)]);
        command.env("HEADWATER_ARCHIVE_WAIT", "4s").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let mut child = start();
    let waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
        AND application_name = 'headwater-archive' AND wait_event_type = 'Lock'";
    while watcher.query(waiting, &[]).expect("an answer").is_empty() {
        // On a busy machine it may have waited for as long as it does.
        if child.try_wait().expect("a child").is_some() {
            child = start();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::STOP).expect("it is stopped");
    held.rollback().expect("the lock is released");
    // The same run, whose lock the stopped process has.
    dir.add(&archive, &run);
    assert_eq!(dir.list(&archive, "").len(), 1);
    rustix::process::kill_process(process, rustix::process::Signal::CONT).expect("it goes on");
    expect(&child.wait_with_output().expect("it ends"), 0, &["already"]);
}

#[test]
fn migrations_at_the_same_moment_are_one() {
    let migrate = |dir: &TestDir, archive: &str| {
        let start = |_| {
            let mut command = dir.command(archive, &["migrate"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let children: Vec<Child> = (0..8).map(start).collect();
        let said = children.into_iter().map(|child| expect(&child.wait_with_output().expect("it ends"), 0, &[]));
        let made = said.filter(|said| said.contains("an archive now")).count();
        assert_eq!(made, 1);
        dir.add(archive, &dir.run("one", &Sample::default().lines()));
    };
    let dir = TestDir::new();
    migrate(&dir, text(&dir.path("archive.sqlite")));
    if let Some(server) = Server::shared() {
        migrate(&TestDir::new(), &server.database());
    }
}
