//! Gates as docs/ci.md shows them: each fails if the program is slower, and if the candidate lacks a row.
//!
//! The commands are those of the document. A copy of the command stands for a build that became slower: a preloaded library delays
//! its system calls (`gate/slow.c`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use headwater_results::compare::blocks_for;

use crate::directory::{TestDir, status};

/// A directory with the older program `old/headwater`, the slower one `new/headwater`, and the library that makes it slower.
struct Builds {
    dir: TestDir,
}

impl Builds {
    fn new() -> Builds {
        let dir = TestDir::new();
        for name in ["old", "new"] {
            fs::create_dir(dir.path(name)).expect("a new directory");
            fs::copy(env!("CARGO_BIN_EXE_headwater"), dir.path(name).join("headwater")).expect("room on the disk");
        }
        // Another build has other bytes.
        let mut bytes = fs::read(dir.path("new/headwater")).expect("it is there");
        bytes.push(0);
        fs::write(dir.path("new/headwater"), bytes).expect("room on the disk");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/gate/slow.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(dir.path("slow.so")).arg(source);
        assert!(compiler.status().expect("a C compiler").success());
        Builds { dir }
    }

    /// Runs a script, in which `new/headwater` is the command, and each system call of its conductors executes a filter of `slow`
    /// instructions first.
    fn run(&self, slow: &str, script: &str) -> Output {
        let path = format!("{}:{}", self.dir.path("new").display(), std::env::var("PATH").unwrap_or_default());
        // The program's path as the kernel has it.
        let program = fs::canonicalize(self.dir.path("new/headwater")).expect("it is there");
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.dir.root()).env("PATH", path).env("TMPDIR", self.dir.tmp());
        command.env("BEFORE", self.dir.path("old/headwater")).env("LD_PRELOAD", self.dir.path("slow.so"));
        command.env("SLOW_PROGRAM", program).env("SLOW", slow).env("ROOT", root());
        command.output().expect("bash")
    }
}

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository")
}

fn document() -> String {
    fs::read_to_string(root().join("docs/ci.md")).expect("the document")
}

/// Returns the fenced blocks of a document whose fence has these words behind it.
fn blocks<'a>(document: &'a str, tag: &str) -> Vec<&'a str> {
    let fence = format!("```{tag}\n");
    document.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn every_form_of_the_gate_fails_on_a_slower_program() {
    let builds = Builds::new();
    let document = document();
    let forms = document.split("## Exit status").next().expect("the forms are first");
    let script: String = blocks(forms, "sh run").join("\n").replace("\\\n", " ");
    let mut count = 0;
    let gate = |line: &str| match line.split_once(" || test $? -eq 3") {
        Some((command, _)) => {
            count += 1;
            let output = command.split(" --output ").nth(1).unwrap_or("nothing");
            // A busy machine may leave it open. A gate that cannot fail stays open.
            format!(
                "for attempt in 1 2 3 4 5; do s=0; rm -rf {output}; {command} || s=$?; test $s -eq 3 || break; done
                echo \"status $s: {}\"\n",
                command.replace('"', "")
            )
        }
        None => format!("{line}\n"),
    };
    let script: String = script.lines().map(gate).collect();
    // A peer whose system calls take 3 us longer than those of the slow conductor, and a command that does four times the work.
    let own =
        "NEW='env -u SLOW_PROGRAM SLOW=4000 python3 '$ROOT/examples/peers/minimal/peer.py NEW_COMMAND='seq 800000'\n";
    let output = builds.run("2000", &format!("set -euo pipefail\n{own}{script}"));
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(status(&output), 0, "{said}\n{complained}");
    let ended: Vec<&str> = said.lines().filter(|line| line.starts_with("status ")).collect();
    assert!(count >= 5 && ended.len() == count, "{ended:#?}");
    assert!(ended.iter().all(|line| line.starts_with("status 1:")), "{ended:#?}\n{said}\n{complained}");
}

#[test]
fn the_script_of_the_configurations_fails_on_a_slower_program() {
    let builds = Builds::new();
    let document = document();
    let [script] = blocks(&document, "sh file=gate.sh")[..] else { panic!("one script") };
    fs::write(builds.dir.path("gate.sh"), script).expect("room on the disk");
    let lines: Vec<&str> =
        document.lines().filter_map(|line| line.split_once("sh gate.sh ../base/")).map(|(_, rest)| rest).collect();
    assert_eq!(lines.len(), 3, "GitHub, GitLab and Buildkite");
    assert!(lines.iter().all(|line| *line == lines[0]), "{lines:#?}");
    for yaml in blocks(&document, "yaml") {
        assert!(
            ["allow_failure", "soft_fail", "continue-on-error", "exit 0"].iter().all(|word| !yaml.contains(word)),
            "{yaml}"
        );
    }
    let rows = lines[0].splitn(3, ' ').last().expect("rows and options");
    // One row alone can be called worse with so many launches.
    let planned = builds.dir.run(&[&["run", "--dry-run", "--json"][..], &rows.split(' ').collect::<Vec<_>>()].concat());
    let (count, mut words) = (planned.stdout.split(|byte| *byte == b'\n').count() - 1, rows.split(' '));
    let launches = words.find(|word| *word == "--launches").and_then(|_| words.next()).expect("a number");
    let launches: usize = launches.parse().expect("a number");
    assert!(count > 10 && blocks_for(0.05 / count as f64, true) <= launches, "{count} rows, {launches} launches");
    assert!(rows.contains("--budget 10m"), "the suite's own would leave launches out");
    // As it stands there, but for shorter launches of fewer rows, of which one is 1.7 times as slow; the filter costs the others a little too.
    let rows = rows.replace("pipe unix-stream ", "pipe/stream unix-stream/stream ");
    let script =
        format!("export SLOW_SIZE=65536; sh gate.sh old/headwater new/headwater {rows} --time 5ms --warm-up 2ms");
    let output = builds.run("12000", &script);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output), 1, "{complained}");
    assert!(
        complained.contains("pipe/stream/65536/same-cpu") && complained.contains("is worse by as much"),
        "{complained}"
    );
}

/// Measures rows under a variant with the peer of the example, and one whose peer has a fault.
fn lacking(dir: &TestDir, rows: &[&str], fault: &str) -> Output {
    let peer = root().join("examples/peers/minimal/peer.py");
    fs::write(dir.path("works.py"), fs::read(&peer).expect("the example")).expect("room on the disk");
    let text = fs::read_to_string(&peer).expect("the example");
    let place = "        if order[\"op\"] == \"prepare\":\n";
    assert!(text.contains(place), "the example prepares");
    fs::write(dir.path("fails.py"), text.replace(place, &format!("{place}            {fault}\n")))
        .expect("room on the disk");
    let peer = |name: &str| format!("PEER={}", dir.path(name).display());
    let variants = [format!("before='{}'", peer("works.py")), format!("after='{}'", peer("fails.py"))];
    let mut command =
        dir.command(&[&["run"], rows, &["--sizes", "64", "--placement", "same-cpu", "--time", "5ms"]].concat());
    command.args(["--launches", "6", "--quiet", "--fail-on", "regression:90%", "-o", "r"]);
    command.args([
        "--transport-cmd",
        "sh -c 'exec python3 $PEER'",
        "--variant",
        &variants[0],
        "--variant",
        &variants[1],
    ]);
    command.env("PEER", dir.path("works.py")).output().expect("it starts")
}

#[test]
fn a_row_that_failed_or_was_skipped_in_the_candidate_is_no_pass() {
    for (fault, word) in [
        ("os._exit(7)", "failed in after"),
        ("return {\"op\": \"skipped\", \"reason\": \"no such queue\"}", "skipped in after: no such queue"),
    ] {
        let dir = TestDir::new();
        let output = lacking(&dir, &["pipe/rtt", "py-socket/rtt"], fault);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert_eq!(status(&output), 4, "{fault}: {complained}");
        let reason = format!("py-socket/rtt/64/same-cpu/after cannot be compared ({word}");
        assert!(complained.contains(&reason), "{fault}: {complained}");
        // Stored, it is the same.
        assert_eq!(dir.run(&["compare", "r", "--fail-on", "regression:90%"]).status.code(), Some(4), "{fault}");
    }
}

#[test]
fn a_candidate_of_which_no_row_was_measured_is_no_pass() {
    let dir = TestDir::new();
    let output = lacking(&dir, &["py-socket/rtt"], "os._exit(7)");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output), 4, "{complained}");
    assert!(
        complained.contains("no row that can be compared (py-socket/rtt/64/same-cpu/after: failed in after"),
        "{complained}"
    );
}

/// A run of two rows of which each launch is stored.
fn stored(dir: &TestDir, name: &str) -> PathBuf {
    let arguments =
        ["run", "pipe/stream/64", "pipe/rtt/64", "--placement", "same-cpu", "--time", "5ms", "--launches", "8"];
    let output = dir.run(&[&arguments[..], &["--quiet", "-o", name]].concat());
    assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    dir.path(name)
}

#[test]
fn a_row_interrupted_absent_or_without_its_figure_in_the_candidate_is_no_pass() {
    let dir = TestDir::new();
    stored(&dir, "before");
    let compare = |after: &str| {
        let output = dir.run(&["compare", "before", after, "--fail-on", "regression:90%"]);
        (status(&output), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let events = fs::read_to_string(stored(&dir, "after").join("run.jsonl")).expect("events");
    let (whole, _) = compare("after");
    assert!([0, 3].contains(&whole), "equal rows: {whole}");
    let variant = |name: &str, text: &str| {
        fs::create_dir(dir.path(name)).expect("a new directory");
        fs::write(dir.path(name).join("run.jsonl"), text).expect("room on the disk");
        compare(name)
    };
    // The run ended before its last launch.
    let lines: Vec<&str> = events.lines().collect();
    let (status, said) = variant("interrupted", &(lines[..lines.len() - 2].join("\n") + "\n"));
    assert_eq!(status, 4, "{said}");
    // It ended before one of the rows had a turn.
    let only: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !line.contains("launch_finished") || line.contains("\"row\":\"pipe/rtt"))
        .collect();
    let (status, said) = variant("pending", &(only.join("\n") + "\n"));
    assert_eq!(status, 4, "{said}");
    assert!(said.contains("ended before its turn"), "{said}");
    // The program does not plan the row any more.
    let document = |name: &str, change: &dyn Fn(&mut Vec<serde_json::Value>)| {
        let mut run: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.path("after/run.json")).expect("a document")).expect("JSON");
        change(run["results"].as_array_mut().expect("rows"));
        fs::write(dir.path(name), run.to_string()).expect("room on the disk");
        compare(name)
    };
    let (status, said) = document("absent.json", &|rows| {
        rows.remove(0);
    });
    assert_eq!(status, 4, "{said}");
    assert!(said.contains("has no such row"), "{said}");
    let (status, said) = document("none.json", &|rows| rows.clear());
    assert_eq!(status, 2, "{said}");
    // The launches have no value of the row's own figure, or of another quantity.
    let (status, said) = document("no-figure.json", &|rows| rows[0]["metrics"] = serde_json::json!([]));
    assert_eq!(status, 4, "{said}");
    let (status, said) = document("other-unit.json", &|rows| {
        for place in ["/row/metrics/0/unit", "/metrics/0/unit"] {
            *rows[0].pointer_mut(place).expect("a unit") = "parsecs".into();
        }
    });
    assert_eq!(status, 4, "{said}");
    let (status, said) = document("redefined.json", &|rows| rows[0]["row"]["definition_version"] = 99.into());
    assert_eq!(status, 4, "{said}");
    // A row that is new in the candidate has nothing to be compared with.
    let added = dir.run(&["compare", "absent.json", "before", "--fail-on", "regression:90%"]);
    assert!([0, 3].contains(&added.status.code().expect("it ended")), "{}", String::from_utf8_lossy(&added.stdout));
}

#[test]
fn rows_that_cannot_be_measured_again_are_no_pass() {
    let dir = TestDir::new();
    let file = stored(&dir, "before").join("run.json");
    let mut run: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("a document")).expect("JSON");
    run["results"][0]["row"]["definition_version"] = 99.into();
    fs::write(&file, run.to_string()).expect("room on the disk");
    let output = dir.run(&["run", "--against", "before", "--quiet", "-o", "again", "--fail-on", "regression:90%"]);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output), 4, "{complained}");
    assert!(complained.contains("cannot be compared (skipped in before: the run has"), "{complained}");
    // More launches do not make it whole.
    let more = ["run", "--resume", "again", "--more", "1", "--quiet", "--fail-on", "regression:90%"];
    assert_eq!(dir.run(&more).status.code(), Some(4));
}

#[test]
fn one_run_under_two_names_is_no_pass() {
    let dir = TestDir::new();
    stored(&dir, "before");
    fs::create_dir(dir.path("copy")).expect("a new directory");
    fs::copy(dir.path("before/run.jsonl"), dir.path("copy/run.jsonl")).expect("room on the disk");
    for same in ["before", "before/run.json", "copy"] {
        let output = dir.run(&["compare", "before", same, "--fail-on", "regression:5%"]);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert_eq!(status(&output), 2, "{complained}");
        assert!(complained.contains("are the same run, before, which began at"), "{complained}");
    }
}
