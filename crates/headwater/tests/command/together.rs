//! Two measurements at one time: the second says so before it measures, and both keep it with their runs.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use headwater_results::schema::Run;

use crate::directory::{TestDir, status};

fn arguments<'a>(launches: &'a str, output: &'a str) -> Vec<&'a str> {
    vec!["run", "pipe/rtt/64", "--placement", "same-cpu", "--time", "20ms", "--launches", launches, "-o", output]
}

#[test]
fn two_runs_at_one_time_are_recognised_and_recorded() {
    let dir = TestDir::new();
    let mut first = dir.command(&arguments("4000", "first"));
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !dir.path("first/run.jsonl").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = dir.run(&arguments("2", "second"));
    let doctor = dir.run(&["doctor", "--json"]);
    let pid = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    first.wait().expect("it ends");

    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(status(&second), 0, "{said}");
    let place = said.find("another headwater measures on this machine (process ").expect("it says so");
    assert!(place < said.find("block 1").expect("blocks"), "before it measures: {said}");
    let run: Run =
        serde_json::from_str(&fs::read_to_string(dir.path("second/run.json")).expect("a document")).expect("a run");
    // Other tests measure at the same time.
    let others = |environment: &headwater_results::schema::Environment| environment.load.other_measurements.clone();
    assert!(others(&run.header.environment).contains(&first.id()), "{run:?}");
    assert!(others(run.environment_after.as_ref().expect("it ended")).contains(&first.id()));
    assert!(!others(&run.header.environment).contains(&0));
    let shown =
        String::from_utf8_lossy(&dir.run(&["show", "second"]).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("Another run of headwater measured on this machine at the same time"), "{shown}");
    let findings: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let finding = findings.as_array().expect("a list").iter().find(|finding| finding["topic"] == "other runs");
    assert_eq!(finding.expect("a finding")["status"], "warning");
}

#[test]
fn a_run_keeps_how_it_was_scheduled_and_compare_names_the_difference() {
    let dir = TestDir::new();
    let scheduling = |name: &str, wrapper: &[&str]| {
        let program = env!("CARGO_BIN_EXE_headwater");
        let mut command = std::process::Command::new(wrapper.first().copied().unwrap_or(program));
        command.args(wrapper.iter().skip(1).copied().chain(wrapper.first().map(|_| program)));
        let output =
            command.args(arguments("2", name)).arg("--quiet").current_dir(dir.root()).env("TMPDIR", dir.tmp()).output();
        assert_eq!(status(&output.expect("it starts")), 0);
        let text = fs::read_to_string(dir.path(name).join("run.json")).expect("a document");
        serde_json::from_str::<Run>(&text).expect("a run").header.environment.scheduling
    };
    let usual = scheduling("usual", &[]);
    let nice: i32 = usual["nice"].parse().expect("a number");
    let other = scheduling("other", &["nice", "-n", "3"]);
    assert_eq!(other["nice"], (nice + 3).min(19).to_string());
    assert_eq!(scheduling("batch", &["chrt", "--batch", "0"])["policy"], "batch");
    assert_eq!(scheduling("io", &["ionice", "-c", "3"])["io"], "idle");
    let compared = String::from_utf8_lossy(&dir.run(&["compare", "usual", "other"]).stdout).into_owned();
    assert!(compared.contains("scheduling nice"), "{compared}");
    let shown =
        String::from_utf8_lossy(&dir.run(&["show", "other"]).stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("The processes were not scheduled as usual:") && shown.contains("nice "), "{shown}");
}
