//! What a stored run names is started only if no other user can have written the run.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use headwater_os_tools::fingerprint::fingerprint;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::directory::{TestDir, status};

/// A run whose program is a script that leaves a file `started`.
fn attack() -> TestDir {
    let dir = TestDir::new();
    let made = dir.run(&["run", "pipe/stream/64", "--time", "5ms", "--launches", "1", "-o", "run"]);
    assert_eq!(status(&made), 0, "{}", said(&made));
    let program = dir.path("headwater-script");
    fs::write(&program, format!("#!/bin/sh\n: > '{}'\n", dir.path("started").display())).expect("room on the disk");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("chmod");
    edit(&dir.path("run"), |header| {
        header["program"]["path"] = program.to_str().expect("a text").into();
        header["program"]["fingerprint"] = fingerprint(&program).expect("it is there").into();
    });
    dir
}

/// Changes the header in both files of a run. The document is then the newer one, which is read.
fn edit(run: &Path, change: impl Fn(&mut serde_json::Value)) {
    let [document, events] = ["run.json", "run.jsonl"].map(|name| run.join(name));
    let text = fs::read_to_string(&events).expect("it is there");
    let (first, rest) = text.split_once('\n').expect("lines");
    let mut first: serde_json::Value = serde_json::from_str(first).expect("JSON");
    change(&mut first);
    fs::write(events, format!("{first}\n{rest}")).expect("room on the disk");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&document).expect("it is there")).expect("JSON");
    change(&mut json);
    fs::write(document, json.to_string()).expect("room on the disk");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether the program of the run was started; it is no conductor, so the command fails in any case.
fn starts(dir: &TestDir, command: &mut Command) -> (bool, String) {
    let _ = fs::remove_file(dir.path("started"));
    let output = command.output().expect("the command starts");
    assert_ne!(status(&output), 0);
    (dir.path("started").exists(), said(&output))
}

const AGAINST: [&str; 6] = ["run", "--against", "run", "--launches", "1", "--quiet"];

#[test]
fn a_program_is_started_only_out_of_a_run_that_no_other_user_can_have_written() {
    let dir = attack();
    let run = dir.path("run");
    let against = |run: &str| starts(&dir, &mut dir.command(&["run", "--against", run, "--launches", "1"]));
    let is_refused = |run: &str, why: &str| {
        let (is_started, said) = against(run);
        assert!(!is_started, "{why}: {said}");
        assert!(said.contains(why) && said.contains("--run-program") && said.contains("--variant"), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    };
    assert!(against("run").0, "a run of one's own, {}", against("run").1);
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
    for bits in [0o664, 0o646] {
        mode(&run.join("run.json"), bits);
        is_refused("run", "can be written by its group or by others");
    }
    mode(&run.join("run.json"), 0o644);
    mode(&run, 0o777);
    is_refused("run", "in a directory that its group or others can write to");
    is_refused("run/run.jsonl", "in a directory that its group or others can write to");
    mode(&run, 0o755);
    fs::create_dir(dir.path("links")).expect("a new directory");
    symlink(run.join("run.json"), dir.path("links/run.json")).expect("symlink");
    is_refused("links", "symbolic link");
    if rustix::process::geteuid().is_root() {
        let own = |path: &Path, user| {
            rustix::fs::chown(path, Some(rustix::fs::Uid::from_raw(user)), None).expect("chown");
        };
        own(&run.join("run.json"), 65534);
        is_refused("run", "belongs to another user");
        own(&run.join("run.json"), 0);
        own(&run, 65534);
        is_refused("run", "in a directory of another user");
        own(&run, 0);
    }
    // The program itself, which another user may replace after it was measured, or while it is looked at.
    mode(&dir.path("headwater-script"), 0o757);
    let (is_started, said) = against("run");
    assert!(!is_started && said.contains("may have replaced the program"), "{said}");
    mode(&dir.path("headwater-script"), 0o755);
    let idle = dir.run(&["run", "pipe/stream/64", "--run-program", "x"]);
    assert!(status(&idle) == 2 && self::said(&idle).contains("no run is repeated"), "{}", self::said(&idle));
    // A run that is not read from a file.
    let document = File::open(run.join("run.json")).expect("it is there");
    let (is_started, said) = starts(&dir, dir.command(&["run", "--against", "-"]).stdin(document));
    assert!(!is_started && said.contains("standard input"), "{said}");
}

#[test]
fn no_program_is_started_out_of_an_archive_even_if_it_is_named_unattended() {
    let dir = attack();
    let bin = dir.path("bin");
    fs::create_dir(&bin).expect("a new directory");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path("run/run.json")).expect("it is there")).expect("JSON");
    fs::write(dir.path("answer"), format!("\"run\"\n{json}\n")).expect("room on the disk");
    let archive = bin.join("headwater-archive");
    let mut script = File::create(&archive).expect("a new file");
    write!(script, "#!/bin/sh\ncat '{}'\n", dir.path("answer").display()).expect("room on the disk");
    drop(script);
    fs::set_permissions(&archive, Permissions::from_mode(0o755)).expect("chmod");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let program = dir.path("headwater-script");
    let named = ["--run-program", program.to_str().expect("a text")];
    for more in [&[][..], &named] {
        let words = [&["run", "--against", "archive:last:1", "--launches", "1"], more].concat();
        let (is_started, said) = starts(&dir, dir.command(&words).env("PATH", &path));
        assert!(!is_started && said.contains("out of an archive"), "{said}");
    }
}

#[test]
fn a_program_that_is_named_at_a_terminal_is_started() {
    let dir = attack();
    fs::set_permissions(dir.path("run/run.json"), Permissions::from_mode(0o666)).expect("chmod");
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&controller).and_then(|()| unlockpt(&controller)).expect("a terminal");
    let name = ptsname(&controller, Vec::new()).expect("its name");
    let terminal = || Stdio::from(File::open(name.to_str().expect("a path")).expect("the terminal"));
    let program = dir.path("headwater-script");
    let named = ["--run-program", program.to_str().expect("a text")];
    let other = ["--run-program", "/bin/headwater-other"];
    for (more, is_expected) in [(&[][..], false), (&other, false), (&named, true)] {
        let (is_started, said) = starts(&dir, dir.command(&[&AGAINST[..], more].concat()).stdin(terminal()));
        assert_eq!(is_started, is_expected, "{more:?}: {said}");
    }
}

#[test]
fn resumption_starts_no_command_of_a_run_that_another_user_may_have_written() {
    let dir = attack();
    let run = dir.path("run");
    let script = dir.path("headwater-script").to_str().expect("a text").to_owned();
    let changes: [(&str, serde_json::Value); 3] = [
        ("transport_commands", [script.clone()].into_iter().collect()),
        ("variants", [format!("a={script} --"), "b=".to_owned()].into_iter().collect()),
        ("variants", [format!("a=LD_PRELOAD=/x.so {script}"), "b=".to_owned()].into_iter().collect()),
    ];
    for (setting, value) in changes {
        let original = fs::read(run.join("run.jsonl")).expect("it is there");
        edit(&run, |header| {
            // This very program has measured it.
            header["program"] = serde_json::Value::Null;
            header["settings"][setting] = value.clone();
            let Some(variant) = (setting == "variants").then_some("a") else { return };
            // The document has them in its results.
            for row in header["rows"].as_array_mut().into_iter().flatten() {
                row["variant"] = variant.into();
                row["id"] = format!("{}/{variant}", row["id"].as_str().expect("an id")).into();
            }
        });
        // The launches were of other rows.
        let text = fs::read_to_string(run.join("run.jsonl")).expect("it is there");
        fs::write(run.join("run.jsonl"), text.split_inclusive('\n').next().expect("a line")).expect("room on the disk");
        let resume = || starts(&dir, &mut dir.command(&["run", "--resume", "run", "--more", "1"]));
        assert!(resume().0, "a run of one's own: {}", resume().1);
        fs::set_permissions(run.join("run.jsonl"), Permissions::from_mode(0o666)).expect("chmod");
        let (is_started, said) = resume();
        assert!(!is_started && said.contains("--run-program") && said.contains("can be written"), "{said}");
        fs::set_permissions(run.join("run.jsonl"), Permissions::from_mode(0o644)).expect("chmod");
        fs::write(run.join("run.jsonl"), original).expect("room on the disk");
    }
}

#[test]
fn a_run_is_own_whatever_the_mask() {
    let dir = TestDir::new();
    let mut command = Command::new("sh");
    let words = "umask 000; exec \"$0\" run pipe/stream/64 --time 5ms --launches 1 --quiet";
    command.args(["-c", words, env!("CARGO_BIN_EXE_headwater")]).current_dir(dir.root()).env("TMPDIR", dir.tmp());
    assert!(command.status().expect("sh starts").success());
    let runs = dir.path("headwater-runs");
    let run = fs::read_dir(&runs).expect("runs").flatten().next().expect("a run").path();
    for path in [runs, run.clone(), run.join("run.json"), run.join("run.jsonl")] {
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o022, 0, "{}: {mode:o}", path.display());
    }
}

#[test]
fn a_run_is_made_only_where_no_other_user_can_replace_its_directory() {
    let dir = TestDir::new();
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
    let run = ["run", "pipe/stream/64", "--time", "5ms", "--launches", "1", "--quiet"];
    let is_refused = |words: &[&str], whose: &str, why: &str| {
        let output = dir.run(words);
        let said = said(&output);
        assert_eq!(status(&output), 2, "{words:?}: {said}");
        assert!(
            said.contains(&format!("{whose} {why}")) && said.contains("directory of your own"),
            "{words:?}: {said}"
        );
    };
    let runs = dir.path("headwater-runs");
    fs::create_dir(&runs).expect("a new directory");
    let table = dir.path("table");
    fs::write(&table, "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\nbytes  bytes   bytes    secs.    10^6bits/sec\n\n131072  16384  16384    10.00    9000.00\n").expect("room");
    let import = ["import", "netperf", "--test", "TCP_STREAM", "table"];
    let of_runs = runs.to_str().expect("a text").to_owned();
    let all_refused = |why: &str| {
        for words in [&run[..], &[&run[..], &["-o", "headwater-runs/deep/below"]].concat(), &import] {
            is_refused(words, &of_runs, why);
        }
        is_refused(&["noise", "pipe/stream/64", "--time", "5ms", "--launches", "2", "-o", "own"], &of_runs, why);
        assert!(fs::read_dir(&runs).expect("it is there").next().is_none() && !dir.path("own").exists(), "{why}");
    };
    mode(&runs, 0o777);
    all_refused("can be written by other users");
    mode(&runs, 0o755);
    if rustix::process::geteuid().is_root() {
        rustix::fs::chown(&runs, Some(rustix::fs::Uid::from_raw(65534)), None).expect("chown");
        all_refused("belongs to another user");
        rustix::fs::chown(&runs, Some(rustix::fs::Uid::ROOT), None).expect("chown");
    }
    // In a sticky directory another user replaces nothing of ours.
    mode(dir.root(), 0o1777);
    for words in [&run[..], &import] {
        let output = dir.run(words);
        assert_eq!(status(&output), 0, "{words:?}: {}", said(&output));
    }
    mode(dir.root(), 0o755);
}
