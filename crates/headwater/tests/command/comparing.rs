//! Comparisons as a user runs them: variants in the same blocks, a run measured again, noise, exit statuses.

use std::fs;
use std::process::{Command, Output, Stdio};

use headwater_results::schema::Run;

use crate::directory::TestDir;

impl TestDir {
    /// Reads the run in a directory below this one.
    fn read(&self, name: &str) -> Run {
        let text = fs::read_to_string(self.path(name).join("run.json")).expect("run.json");
        serde_json::from_str(&text).expect("a run")
    }
}

fn succeeded(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn refused(output: &Output, expect: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(expect.iter().all(|part| text.contains(part)), "{text}");
}

const QUICK: [&str; 6] = ["run", "pipe/stream/64", "--time", "5ms", "--launches", "3"];

#[test]
fn a_variants_wrapper_and_variables_apply_only_to_its_launches() {
    let dir = TestDir::new();
    let wrapper = r#"marked=MARK=here sh -c 'echo "$MARK" >> seen; exec "$@"' sh"#;
    let output = dir.run(&[&QUICK[..], &["--variant", wrapper, "-o", "r"]].concat());
    let text = succeeded(&output);
    assert!(text.contains("marked against plain, the baseline"), "{text}");
    // The wrapper runs once for the probe, then once for each launch, and again for a repeated launch.
    let seen = fs::read_to_string(dir.path("seen")).expect("the wrapper ran");
    assert!(seen.lines().count() >= 4 && seen.lines().all(|line| line == "here"), "{seen}");
    let run = dir.read("r");
    let ids: Vec<&str> = run.results.iter().map(|result| result.row.id.as_str()).collect();
    assert_eq!(ids, ["pipe/stream/64/two-cpus/plain", "pipe/stream/64/two-cpus/marked"]);
    for result in &run.results {
        assert_eq!(result.metrics[0].blocks, [0, 1, 2], "{}: both are in every block", result.row.id);
    }
    // `compare` and `report` work on the run too.
    assert!(String::from_utf8_lossy(&dir.run(&["compare", "r"]).stdout).contains("marked against plain"));
    let shown = succeeded(&dir.run(&["show", "r"]));
    assert!(shown.contains("Variant plain") && shown.contains("Variant marked"), "{shown}");
}

#[test]
fn against_measures_an_old_and_a_new_build_in_the_same_blocks() {
    let dir = TestDir::new();
    succeeded(&dir.run(&[&QUICK[..], &["-o", "old"]].concat()));
    let again = ["run", "--against", "old", "--launches", "2", "-o", "new"];
    let text = succeeded(&dir.run(&again));
    assert!(text.contains("now against before, the baseline"), "{text}");
    let run = dir.read("new");
    assert_eq!(run.header.settings.variants, ["before=", "now="], "this very program measured both");
    assert_eq!(run.header.settings.time_s, 0.005, "as the old run did");
    // A run of variants can also be measured again, each row once.
    let rows = succeeded(&dir.run(&["run", "--against", "new", "--dry-run"]));
    assert!(rows.contains("pipe/stream/64/two-cpus/now") && rows.contains("2 rows"), "{rows}");
    // Rows whose definition has changed are named; if no other row is left, that is an error.
    let file = dir.path("old/run.json");
    let text = fs::read_to_string(&file).expect("it is there");
    let changed = text.replace("\"definition_version\": 3", "\"definition_version\": 99");
    fs::write(&file, changed).expect("room on the disk");
    refused(&dir.run(&["run", "--against", "old", "--dry-run"]), &["no row of it", "by definition 99"]);
}

#[test]
fn a_program_that_is_gone_or_changed_is_refused_with_a_remedy() {
    let dir = TestDir::new();
    succeeded(&dir.run(&[&QUICK[..], &["-o", "old"]].concat()));
    let fingerprint = dir.read("old").header.program.expect("the run names its build").fingerprint;
    for name in ["run.json", "run.jsonl"] {
        let file = dir.path("old").join(name);
        let text = fs::read_to_string(&file).expect("it is there").replace(&fingerprint, "0123456789abcdef");
        fs::write(&file, text).expect("room on the disk");
    }
    refused(&dir.run(&["run", "--against", "old", "-o", "new"]), &["built again", "--variant before=PATH"]);
    assert!(!dir.path("new").exists(), "nothing is left of a run that never began");
    refused(&dir.run(&["run", "--variant", "x=/nowhere/headwater"]), &["--variant x", "/nowhere/headwater"]);
    refused(&dir.run(&["run", "--variant", "x=/bin/true", "-o", "no"]), &["--variant x"]);
    assert!(!dir.path("no").exists(), "nothing is left of this one either");
    refused(&dir.run(&["run", "--variant", "a/b="]), &["letters"]);
}

#[test]
fn compare_uses_the_noise_record() {
    let dir = TestDir::new();
    let arguments =
        ["noise", "pipe/stream", "unix-stream/stream", "--time", "5ms", "--launches", "6", "--quiet", "--json"];
    let output = dir.run(&arguments);
    // Six rows in a few milliseconds may be too noisy for a result, but must not fail.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(record["assessment"]["rows"], 6);
    assert_eq!(record["assessment"]["blocks"], 6);
    let host = record["host"].as_str().expect("a host");
    let file = dir.path(&format!("headwater-runs/noise-{host}.json"));
    // Write a floor that no measurement would have found.
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("kept")).expect("JSON");
    record["apart"]["deviation"] = 2.5.into();
    fs::write(&file, record.to_string()).expect("room on the disk");
    for name in ["a", "b"] {
        succeeded(&dir.run(&[&QUICK[..], &["-o", name]].concat()));
    }
    let output = dir.run(&["compare", "a", "b"]);
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warned.contains("the minimum effect of 2.0 % is below the noise floor of"), "{warned}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&format!("(of {host}: measured")), "{text}");
}

#[test]
fn runs_of_equal_directory_names_are_told_apart() {
    let dir = TestDir::new();
    let document = succeeded(&dir.run(&["show", "published:pipes/fc6", "--json"]));
    let mut run: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    for name in ["a/run", "b/run"] {
        run["run_id"] = name.into();
        fs::create_dir_all(dir.path(name)).expect("a new directory");
        fs::write(dir.path(name).join("run.json"), run.to_string()).expect("room on the disk");
    }
    let sides = |arguments: &[&str]| {
        let compare = ["compare", "a/run", "b/run", "--json", "--fail-on", "never"];
        let text = succeeded(&dir.run(&[&compare[..], arguments].concat()));
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let comparison = &json["comparisons"][0]["comparison"];
        ["baseline", "candidate"].map(|side| comparison[side].as_str().expect("a name").to_owned())
    };
    assert_eq!(sides(&[]), ["run", "run (2)"]);
    assert_eq!(sides(&["--baseline", "b/run"]), ["run (2)", "run"]);
    assert_eq!(sides(&["--baseline", "run (2)"]), ["run (2)", "run"]);
    assert_eq!(sides(&["--by", "transport", "--baseline", "pipe"])[0], "pipe");
}

#[test]
fn the_exit_status_of_compare_tells_the_verdict() {
    let dir = TestDir::new();
    fs::write(dir.path("junk.json"), "hello\n").expect("room on the disk");
    refused(&dir.run(&["compare", "published:pipes/fc6", "junk.json"]), &["junk.json"]);
    refused(&dir.run(&["compare", "published:pipes/fc6"]), &["one run", "--by"]);
    // A comparison with one launch is never conclusive.
    let by_transport = ["compare", "published:pipes/fc6", "--by", "transport", "--baseline", "pipe"];
    assert_eq!(dir.run(&by_transport).status.code(), Some(3));
    assert_eq!(dir.run(&[&by_transport[..], &["--fail-on", "never"]].concat()).status.code(), Some(0));
    let json = dir.run(&[&by_transport[..], &["--json", "--filter", "*/stream/64"]].concat()).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let names: Vec<&str> = json["comparisons"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["comparison"]["candidate"].as_str())
        .collect();
    assert_eq!(names, ["lis-pipe", "streams-pipe"]);
}

/// The blocks of each row's launches, and the number of launches in the settings.
fn blocks(run: &Run) -> (Vec<Vec<u32>>, u32) {
    let of_rows = run.results.iter().map(|result| result.metrics[0].blocks.clone()).collect();
    (of_rows, run.header.settings.launches)
}

#[test]
fn more_launches_are_appended_to_a_finished_run() {
    let dir = TestDir::new();
    let variants = ["--variant", "a=", "--variant", "b=", "-o", "r"];
    succeeded(&dir.run(&[&QUICK[..], &variants].concat()));
    let before = fs::read_to_string(dir.path("r/run.jsonl")).expect("events");
    refused(&dir.run(&["run", "--resume", "r"]), &["complete", "--more"]);
    refused(&dir.run(&["run", "--resume", "r", "--more", "9999"]), &["10000"]);
    let text = succeeded(&dir.run(&["run", "--resume", "r", "--more", "2"]));
    assert!(text.contains("b against a, the baseline"), "{text}");
    let five: Vec<u32> = (0..5).collect();
    assert_eq!(blocks(&dir.read("r")), (vec![five.clone(), five], 5));
    let after = fs::read_to_string(dir.path("r/run.jsonl")).expect("events");
    assert!(after.starts_with(&before), "what was measured stays as it was");
    // Both variants of a new block come before the next block begins.
    let appended = after[before.len()..].lines().map(|line| serde_json::from_str(line).expect("an event"));
    let launches: Vec<u64> =
        appended.filter_map(|event: serde_json::Value| event["block"].as_u64()).collect::<Vec<u64>>();
    assert!(launches.is_sorted() && launches.first() == Some(&3) && launches.last() == Some(&4), "{launches:?}");
    // The events alone contain the same, and a further addition counts from there.
    fs::remove_file(dir.path("r/run.json")).expect("it is there");
    succeeded(&dir.run(&["run", "--resume", "r", "--more", "1", "--quiet"]));
    assert_eq!(blocks(&dir.read("r")).1, 6);
}

#[test]
fn launches_of_another_build_are_not_added() {
    let dir = TestDir::new();
    let program = dir.path("headwater-old");
    fs::copy(env!("CARGO_BIN_EXE_headwater"), &program).expect("room on the disk");
    let old = format!("old={}", program.display());
    succeeded(&dir.run(&[&QUICK[..], &["--variant", &old, "--variant", "new=", "-o", "r"]].concat()));
    let mut bytes = fs::read(&program).expect("it is there");
    bytes.push(0);
    fs::write(&program, bytes).expect("room on the disk");
    refused(&dir.run(&["run", "--resume", "r", "--more", "1"]), &["headwater-old", "variant old", "built again"]);
    let fingerprint = dir.read("r").header.program.expect("the run names its build").fingerprint;
    let file = dir.path("r/run.jsonl");
    let text = fs::read_to_string(&file).expect("it is there").replace(&fingerprint, "0123456789abcdef");
    fs::write(&file, text).expect("room on the disk");
    refused(&dir.run(&["run", "--resume", "r", "--more", "1"]), &["not the build that measured it"]);
}

#[test]
fn an_interrupted_run_is_not_resumed_by_another_build() {
    let dir = TestDir::new();
    let program = dir.path("headwater-old");
    fs::copy(env!("CARGO_BIN_EXE_headwater"), &program).expect("room on the disk");
    let old = format!("old={}", program.display());
    succeeded(&dir.run(&[&QUICK[..], &["--variant", &old, "--variant", "new=", "-o", "r"]].concat()));
    // Cut the file as if the run had been killed after its third launch.
    let file = dir.path("r/run.jsonl");
    let text = fs::read_to_string(&file).expect("events");
    let third = text.match_indices("launch_finished").nth(2).expect("a third launch").0;
    let whole = third + text[third..].find('\n').expect("its end") + 1;
    fs::write(&file, &text[..whole]).expect("room on the disk");
    let bytes = fs::read(&program).expect("it is there");
    fs::write(&program, [&bytes[..], &[0]].concat()).expect("room on the disk");
    let wanted =
        ["headwater-old", "variant old", "built again", "measure again, or go on with the program of that time"];
    refused(&dir.run(&["run", "--resume", "r"]), &wanted);
    fs::write(&program, bytes).expect("room on the disk");
    let own = text
        .split("\"fingerprint\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("the run names its build");
    fs::write(&file, text[..whole].replace(own, "0123456789abcdef")).expect("room on the disk");
    refused(&dir.run(&["run", "--resume", "r"]), &["not the build that measured it", "measure again, or go on"]);
    // With the builds that began the run it is resumed.
    fs::write(&file, &text[..whole]).expect("room on the disk");
    succeeded(&dir.run(&["run", "--resume", "r", "--quiet"]));
    assert_eq!(blocks(&dir.read("r")).0, [[0, 1, 2], [0, 1, 2]]);
}

/// Runs a script in a mount namespace of its own with `small`, a file system of 1 MiB that contains a copy of the run
/// `r`. `None` if no such namespace can be created.
fn on_a_small_file_system(dir: &TestDir, script: &str) -> Option<Output> {
    let namespace = ["--mount", "--map-root-user"];
    if !Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return None;
    }
    let script = format!("mkdir small; mount -t tmpfs -o size=1m tmpfs small; cp -r r small/r\n{script}");
    let mut command = Command::new("unshare");
    command.args(namespace).args(["sh", "-ec", &script]).current_dir(dir.root()).stdin(Stdio::null());
    let output = command.env("HEADWATER", env!("CARGO_BIN_EXE_headwater")).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

#[test]
fn a_full_disk_is_reported_and_the_run_stays_usable() {
    let dir = TestDir::new();
    succeeded(&dir.run(&[&QUICK[..], &["-o", "r"]].concat()));
    // One page is left, with room for a few of the forty launches.
    let script = "dd if=/dev/zero of=small/fill bs=1k 2>dd || truncate -s -4096 small/fill
        $HEADWATER run --resume small/r --more 40 --quiet || echo more $?
        $HEADWATER show small/r >shown || echo show $?
        rm small/fill
        $HEADWATER run --resume small/r --quiet && echo resumed
        cp -r small/r after";
    let Some(output) = on_a_small_file_system(&dir, script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "more 2\nshow 4\nresumed\n", "{complained}");
    let wanted = ["run.jsonl: No space left on device", "`headwater run --resume /", "/small/r` goes on"];
    assert!(wanted.iter().all(|part| complained.contains(part)), "{complained}");
    assert_eq!(complained.matches("headwater: ").count(), 1, "one error, and `show` has none: {complained}");
    let shown = fs::read_to_string(dir.path("shown")).expect("it printed");
    assert!(shown.contains("pipe") && shown.contains("Interrupted"), "{shown}");
    assert_eq!(blocks(&dir.read("after")), (vec![(0..43).collect()], 43));
}

#[test]
fn a_run_on_a_read_only_file_system_can_be_shown_but_not_extended() {
    let dir = TestDir::new();
    succeeded(&dir.run(&[&QUICK[..], &["-o", "r"]].concat()));
    let script = "mount -o remount,ro small
        $HEADWATER run --resume small/r --more 1 --quiet || echo more $?
        $HEADWATER show small/r >shown && echo shown
        mount -o remount,rw small
        $HEADWATER run --resume small/r --more 1 --quiet && echo resumed
        cp -r small/r after";
    let Some(output) = on_a_small_file_system(&dir, script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "more 2\nshown\nresumed\n", "{complained}");
    assert!(complained.contains("small/r/run.jsonl: Read-only file system"), "{complained}");
    assert_eq!(blocks(&dir.read("after")), (vec![(0..4).collect()], 4));
}

#[test]
fn a_run_of_variants_fails_as_a_comparison_does() {
    let dir = TestDir::new();
    refused(&dir.run(&["run", "pipe", "--fail-on", "regression"]), &["--fail-on", "--variant"]);
    let variants = ["--variant", "a=", "--variant", "b=", "--quiet", "-o"];
    let quick = ["run", "pipe/stream/64", "--placement", "same-cpu", "--time", "5ms", "--launches"];
    let run = |launches: &str, name: &str, fail_on: &str| {
        let arguments = [&quick[..], &[launches], &variants, &[name, "--fail-on", fail_on]].concat();
        dir.run(&arguments).status.code()
    };
    assert_eq!(run("3", "few", "regression:5%"), Some(3), "three launches exclude nothing");
    assert_eq!(run("8", "many", "never"), Some(0));
    // Make variant b an eighth as fast, a difference that noise cannot hide. With one more launch both sides are
    // compared again.
    let file = dir.path("many/run.jsonl");
    let text = fs::read_to_string(&file).expect("events");
    let slowed = text.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).expect("an event");
        if event["event"] == "launch_finished" && event["row"].as_str().is_some_and(|row| row.ends_with("/b")) {
            let rate = &mut event["figures"]["rate"];
            *rate = (rate.as_f64().expect("a rate") / 8.0).into();
        }
        format!("{event}\n")
    });
    let slowed: String = slowed.collect();
    fs::write(&file, slowed).expect("room on the disk");
    let again = |fail_on: &str| {
        dir.run(&["run", "--resume", "many", "--more", "1", "--quiet", "--fail-on", fail_on]).status.code()
    };
    assert_eq!(again("regression:5%"), Some(1));
    assert_eq!(again("never"), Some(0));
}
