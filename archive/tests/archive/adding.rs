//! Adding runs and finding them again, on both databases: once, whole, and as they were.

use std::fs;
use std::process::Stdio;

use crate::support::sample::Sample;
use crate::support::{expect, on_both, text};
use headwater_results::parse::parse_events;
use headwater_results::summary::Fold;

#[test]
fn a_run_comes_back_as_it_was_and_twice_is_once() {
    on_both(|dir, archive| {
        let sample = Sample::default();
        let run = dir.run("one", &sample.lines());
        assert!(dir.add(archive, &run).contains(": added"));
        assert!(dir.add(archive, &run).contains("was there already"));
        assert_eq!(dir.list(archive, "").len(), 1);
        let printed = expect(&dir.archive(archive, &["runs", "one"]), 0, &[]);
        let events = parse_events(&sample.lines()).expect("events");
        let expected = serde_json::to_string(&Fold::run_of(events).expect("a run")).expect("JSON");
        assert_eq!(printed, format!("\"one\"\n{expected}\n"), "to the last bit");
        expect(&dir.archive(archive, &["check"]), 0, &["1 runs checked, 0 wrong"]);
    });
}

#[test]
fn a_continued_run_takes_the_place_of_its_beginning() {
    on_both(|dir, archive| {
        let sample = Sample::default();
        let beginning = sample.begun() + &sample.launches(0..2);
        let run = dir.run("one", &beginning);
        dir.add(archive, &run);
        assert_eq!(dir.list(archive, "")[0]["launches"], 4);
        fs::write(run.join("run.jsonl"), sample.lines()).expect("a file");
        assert!(dir.add(archive, &run).contains("in place of its earlier state"));
        let listed = dir.list(archive, "");
        assert_eq!((listed.len(), &listed[0]["launches"]), (1, &6.into()));
        fs::write(run.join("run.jsonl"), &beginning).expect("a file");
        assert!(dir.add(archive, &run).contains("was there already"), "a copy of the earlier state adds nothing");
        let document = dir.path("copy");
        fs::create_dir(&document).expect("a directory");
        let whole = Fold::run_of(parse_events(&sample.lines()).expect("events")).expect("a run");
        fs::write(document.join("run.json"), serde_json::to_vec(&whole).expect("JSON")).expect("a file");
        assert!(dir.add(archive, &document).contains("was there already"), "its document says no more");
        expect(&dir.archive(archive, &["list", "--all"]), 0, &["2 runs"]);
        // The same run with another launch is a forgery or an accident.
        let other = Sample { level: 2e6, ..sample.clone() };
        fs::write(run.join("run.jsonl"), other.lines()).expect("a file");
        expect(&dir.archive(archive, &["add", "one"]), 2, &["another state of run one", "remove"]);
        expect(&dir.archive(archive, &["remove", "one"]), 0, &["would remove", "--yes"]);
        expect(&dir.archive(archive, &["remove", "one", "--yes"]), 0, &["1 removed"]);
        expect(&dir.archive(archive, &["list", "--all"]), 0, &["0 runs"]);
        assert!(dir.add(archive, &run).contains(": added"));
    });
}

#[test]
fn queries_mean_what_they_say() {
    on_both(|dir, archive| {
        for (number, (host, kernel)) in
            [("a", "6.1.9"), ("a", "6.18.2"), ("B", "6.18-rc1"), ("b%", "6.19")].into_iter().enumerate()
        {
            let sample = Sample {
                host: host.to_owned(),
                kernel: kernel.to_owned(),
                started_at: format!("2026-11-0{}T00:00:00Z", number + 1),
                labels: vec![("commit".to_owned(), format!("c{}", number / 2))],
                ..Sample::named(&format!("run{number}"))
            };
            dir.add(archive, &dir.run(&sample.name, &sample.lines()));
        }
        let names = |query: &str| {
            let listed = dir.list(archive, query);
            listed
                .iter()
                .map(|run| run["run"].as_str().expect("a name").trim_start_matches("run").to_owned())
                .collect::<String>()
        };
        for (query, expected) in [
            ("", "0123"),
            ("host=a", "01"),
            ("host=b", ""),
            ("host=b*", "3"),
            ("host=b%", "3"),
            ("host=?", "012"),
            ("host!=a", "23"),
            ("host=a,host=B", "012"),
            ("kernel=6.1", "0"),
            ("kernel=6.18", "12"),
            ("commit=c1", "23"),
            ("commit=*,last=1", "3"),
            ("label.commit=c0,first=1", "0"),
            ("since=2026-11-02,until=2026-11-04", "12"),
            ("run2", "2"),
            ("program=0.1.0", "0123"),
            ("status=complete,host=a,last=1", "1"),
            ("archive:last=2", "23"),
        ] {
            assert_eq!(names(query), expected, "{query}");
        }
        let digest = dir.list(archive, "run2")[0]["digest"].as_str().expect("a digest").to_owned();
        assert_eq!(names(&format!("digest={}", &digest[..10])), "2");
        expect(&dir.archive(archive, &["list", "last=x"]), 2, &["last=5"]);
    });
}

#[test]
fn figures_are_those_of_the_wanted_rows() {
    on_both(|dir, archive| {
        for name in ["one", "two"] {
            dir.add(archive, &dir.run(name, &Sample::named(name).lines()));
        }
        let mut command = dir.command(archive, &["figures", ""]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut { input }, b"[1]\n").expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8(output.stdout).expect("a text");
        let count = |what: &str| said.lines().filter(|line| line.starts_with(&format!("{{\"{what}\""))).count();
        assert_eq!((count("row"), count("run"), count("facts"), count("figure")), (2, 2, 1, 2), "{said}");
        assert!(said.ends_with("\"end\"\n"));
    });
}

#[test]
fn what_is_no_whole_run_is_refused_with_the_remedy() {
    on_both(|dir, archive| {
        let lines = Sample::default().lines();
        let refused = |lines: &str, says: &[&str]| {
            let run = dir.run("wrong", lines);
            expect(&dir.archive(archive, &["add", text(&run)]), 2, says);
            assert!(dir.archive(archive, &["list"]).stdout.starts_with(b"0 runs"));
        };
        dir.add(archive, &dir.run("one", &lines));
        expect(&dir.archive(archive, &["remove", "one", "--yes"]), 0, &[]);
        refused(&lines[..lines.len() - 20], &["torn off", "--resume"]);
        refused(&lines.replacen("\"schema_version\":3", "\"schema_version\":99", 1), &["newer", "headwater-archive"]);
        refused(&lines.replacen("\"block\":1", "\"block\":\"x\"", 1), &["line 4", "run.jsonl"]);
        refused(&lines.replacen("\"row\":\"pipe/rtt/64/two-cpus\"", "\"row\":\"no\"", 1), &["no, a row"]);
        refused(&lines.replacen("2026-11-21T20:15:00Z", "yesterday", 1), &["no time"]);
        refused("", &["it is empty"]);
        expect(&dir.archive(archive, &["add", "nowhere"]), 2, &["there is no such run"]);
        fs::write(dir.path("wrong/run.jsonl"), b"\xff\n").expect("a file");
        expect(&dir.archive(archive, &["add", "wrong"]), 2, &["not UTF-8"]);
    });
}

#[test]
fn hostile_names_are_names() {
    on_both(|dir, archive| {
        let evil = "x'; DROP TABLE run; --\u{1b}[2J<script>\u{202e}\u{0}\"\n$1 ?1 %s";
        let sample = Sample {
            host: evil.to_owned(),
            kernel: evil.to_owned(),
            labels: vec![(evil.to_owned(), evil.to_owned())],
            rows: vec![format!("{evil}/rtt/64/two-cpus"), "pipe/rtt/64/two-cpus".to_owned()],
            ..Sample::named(evil)
        };
        let run = dir.run("evil", &sample.lines());
        dir.add(archive, &run);
        dir.add(archive, &dir.run("one", &Sample::default().lines()));
        let listed = expect(&dir.archive(archive, &["list"]), 0, &["2 runs", "DROP TABLE"]);
        assert!(!listed.contains('\u{1b}') && !listed.contains('\u{202e}'), "{listed:?}");
        assert_eq!(dir.list(archive, "host=x'; DROP*").len(), 1);
        let printed = expect(&dir.archive(archive, &["runs", "host=x'*"]), 0, &[]);
        let run: headwater_results::schema::Run =
            serde_json::from_str(printed.lines().nth(1).expect("a run")).expect("JSON");
        assert_eq!(
            (&run.header.environment.host[..], &run.header.labels[evil][..]),
            (evil, evil),
            "to the last character"
        );
        expect(&dir.archive(archive, &["check"]), 0, &["0 wrong"]);
        expect(&dir.archive(archive, &["remove", "host=x'*", "--yes"]), 0, &["1 removed"]);
        assert_eq!(dir.list(archive, "").len(), 1);
    });
}
