//! Many processes at the same moment: every one of them succeeds, on both databases.

use std::process::{Child, Stdio};

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
