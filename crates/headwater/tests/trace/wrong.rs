//! Bad input, and directories that cannot be written.

use std::fs;
use std::process::Command;

use crate::test_dir::{TestDir, errors};

/// Returns the status and the message, which must be one line.
fn refusal(dir: &TestDir, arguments: &[&str]) -> (i32, String) {
    let output = dir.run(arguments);
    let said = errors(&output);
    assert_eq!(said.trim_end().lines().count(), 1, "one line, not: {said}");
    (output.status.code().expect("it ends by itself"), said)
}

#[test]
fn a_command_that_cannot_start_leaves_nothing() {
    let dir = TestDir::new();
    fs::write(dir.path("text"), "no program").expect("room");
    for (command, status) in [("./nosuch", 127), ("nosuch", 127), ("./text", 126)] {
        let (code, said) = refusal(&dir, &["record", "-o", "r", "--", command]);
        assert_eq!(code, status, "{said}");
        assert!(said.contains(command) && !dir.path("r").exists(), "{said}");
    }
}

#[test]
fn a_directory_that_is_not_empty_is_refused_with_the_remedy() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("r")).expect("new");
    fs::write(dir.path("r/mine"), "").expect("room");
    let (code, said) = refusal(&dir, &["record", "-o", "r", "--", "touch", "ran"]);
    assert!(code == 125 && said.contains("is not empty: name a directory"), "{said}");
    assert!(!dir.path("ran").exists() && dir.path("r/mine").exists());
}

#[test]
fn an_unwritable_directory_is_named_and_the_command_does_not_run() {
    let dir = TestDir::new();
    for (option, value) in [("-o", "/proc/nosuch/r"), ("--logs", "/nosuch")] {
        let (code, said) = refusal(&dir, &["record", option, value, "--", "touch", "ran"]);
        assert!(code == 125 && said.contains(value), "{said}");
    }
    assert!(!dir.path("ran").exists());
}

#[test]
fn unknown_names_suggest_similar_ones() {
    let dir = TestDir::new();
    dir.record(&[], 10, "0");
    let (_, said) = refusal(&dir, &["show", "r", "--events", "test:stp"]);
    assert!(said.contains("did you mean test:step"), "{said}");
    for arguments in [&["list", "nosuch"][..], &["show", "nosuch"], &["recover", "nosuch"], &["snapshot", "."]] {
        let (code, _) = refusal(&dir, arguments);
        assert_eq!(code, 2, "{arguments:?}");
    }
}

/// Runs a script in a mount namespace of its own, so that the machine is not changed, by a user without rights there.
fn in_mount_namespace(dir: &TestDir, script: &str) -> Option<std::process::Output> {
    in_namespaces(dir, &["--mount", "--map-root-user"], script)
}

/// Does the same with the rights of this process: root may mount tracefs.
pub fn in_mount_namespace_of_this_user(dir: &TestDir, script: &str) -> Option<std::process::Output> {
    in_namespaces(dir, &["--mount"], script)
}

fn in_namespaces(dir: &TestDir, kinds: &[&str], script: &str) -> Option<std::process::Output> {
    let mut command = Command::new("unshare");
    command.args(kinds).args(["sh", "-ec", script]).current_dir(dir.path("."));
    command.env("HEADWATER", env!("CARGO_BIN_EXE_headwater")).env("PROGRAM", std::env::current_exe().expect("one"));
    let possible = Command::new("unshare").args(kinds).arg("true").status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return None;
    }
    Some(command.output().expect("it starts"))
}

#[test]
fn a_full_file_system_does_not_harm_the_program_and_the_rest_is_recovered_later() {
    let dir = TestDir::new();
    let (name, value) = crate::program::instructions(100_000, "5");
    let script = format!(
        "mkdir small; mount -t tmpfs -o size=300k tmpfs small; export {name}='{value}'
         $HEADWATER trace record --buffer 16m -o small/r -- $PROGRAM {} >out || echo status $?
         $HEADWATER trace stat small/r || echo stat $?
         mount -o remount,size=100m small; $HEADWATER trace recover small/r; cp -r small/r r",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&dir, &script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success() && said.contains("status 5\n"), "{said}{complained}");
    assert!(
        said.contains("stat 4\n") && complained.contains("of events are still in the buffers"),
        "{said}{complained}"
    );
    assert!(complained.contains("No space left on device") && complained.contains("trace recover"), "{complained}");
    assert!(said.contains("has 100,001, 0 lost"), "{said}{complained}");
    assert_eq!(dir.agreed("r"), (100_001, 0));
}

#[test]
fn losses_because_of_a_full_file_system_are_counted_by_all_tools() {
    let dir = TestDir::new();
    let (name, value) = crate::program::instructions(100_000, "0");
    let script = format!(
        "mkdir small; mount -t tmpfs -o size=300k tmpfs small; export {name}='{value}'
         $HEADWATER trace record --buffer 64k -o small/r -- $PROGRAM {} >out
         $HEADWATER trace stat small/r >out || echo stat $?
         $HEADWATER trace recover small/r || echo recover $?
         mount -o remount,size=100m small; $HEADWATER trace recover small/r || echo recovered $?
         $HEADWATER trace stat small/r >out && echo whole; cp -r small/r r",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&dir, &script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success(), "{said}{complained}");
    // While the disk is full: the outputs of the recorder and of `stat`; `recover` fails.
    assert!(said.contains("stat 4\n") && said.contains("recover 2\n"), "{said}{complained}");
    // When there is room again, the losses remain, and the trace contains their number.
    assert!(said.contains("recovered 4\n") && said.contains("whole\n"), "{said}{complained}");
    let (written, lost) = dir.agreed("r");
    assert!(lost > 10_000 && written + lost == 100_001, "{written} and {lost}: {said}{complained}");
    let lost = lost.to_string();
    let figures = complained.replace(',', "");
    assert!(figures.contains(&format!("written {lost} lost")), "the recorder: {complained}");
    assert!(figures.contains(&format!("; {lost} more were lost")), "stat: {complained}");
    assert!(said.replace(',', "").contains(&format!(" {lost} lost")), "recover: {said}");
}

#[test]
fn kernel_losses_because_of_a_full_file_system_are_counted_by_all_tools() {
    let Some(_alone) = crate::kernel::usable() else { return };
    let dir = TestDir::new();
    // 300,000 reads and as many writes, each two events.
    let script = "mkdir small; mount -t tmpfs -o size=3m tmpfs small
         $HEADWATER trace record -k raw_syscalls -o small/r -- dd if=/dev/zero of=/dev/null bs=1 count=300000 || echo status $?
         $HEADWATER trace stat small/r >out || echo stat $?
         mount -o remount,size=500m small; $HEADWATER trace recover small/r || echo recovered $?
         $HEADWATER trace stat small/r >out || echo not whole $?; cp -r small/r r";
    let Some(output) = in_namespaces(&dir, &["--mount"], script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success(), "{said}{complained}");
    assert!(complained.contains("No space left on device"), "{said}{complained}");
    assert!(said.contains("stat 4\n") && said.contains("recovered 4\n"), "{said}{complained}");
    assert!(!complained.contains("unknown how much"), "the counts have their room: {complained}");
    let (written, lost) = dir.agreed("r/kernel");
    assert!(lost > 100_000 && written + lost >= 1_200_000, "{written} and {lost}: {said}{complained}");
    assert!(complained.replace(',', "").contains(&format!("{written} events written {lost} lost")), "{complained}");
}

#[test]
fn only_the_user_can_access_a_recording() {
    let Some(_alone) = crate::kernel::usable() else { return };
    use std::os::unix::fs::PermissionsExt;
    let dir = TestDir::new();
    let recorder = crate::test_dir::Recorder::start(dir.recorder(&["--flight", "-k", "raw_syscalls"], 1_000, "wait"));
    dir.emitted(1_000);
    dir.text(&["snapshot", "r", "-o", "s"]);
    let all_private = |root: &str| {
        let (mut seen, mut left) = (0, vec![dir.path(root)]);
        while let Some(path) = left.pop() {
            let status = fs::metadata(&path).expect("it is there");
            let expected = if status.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(status.permissions().mode() & 0o7777, expected, "{}", path.display());
            seen += 1;
            if status.is_dir() {
                left.extend(fs::read_dir(path).expect("a directory").flatten().map(|entry| entry.path()));
            }
        }
        seen
    };
    // During the recording the kernel's pages are files too.
    assert!(all_private("r") >= 7 && all_private("s") >= 6);
    recorder.signal(rustix::process::Signal::TERM);
    recorder.wait();
    assert!(all_private("r") >= 6);
}

#[test]
fn a_locked_kernel_page_file_delays_other_processes_only_briefly() {
    let Some(_alone) = crate::kernel::usable() else { return };
    use std::time::{Duration, Instant};
    let dir = TestDir::new();
    let recorder = crate::test_dir::Recorder::start(dir.recorder(&["--flight", "-k", "raw_syscalls"], 1_000, "wait"));
    dir.emitted(1_000);
    let lock = fs::File::open(dir.path("r/kernel.pages")).expect("a directory");
    lock.lock().expect("nobody has it");
    let start = Instant::now();
    recorder.signal(rustix::process::Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    recorder.signal(rustix::process::Signal::TERM);
    let recorded = recorder.wait();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}: {}", start.elapsed(), recorded.said);
    assert!(recorded.said.contains("another reader"), "{}", recorded.said);
    drop(lock);
    // The guard saves the contents of the buffers.
    let output = dir.run(&["recover", "r"]);
    assert!(errors(&output).contains("of the kernel"), "{}", errors(&output));
    assert!(dir.agreed("r/kernel").0 > 100, "a program starts with more calls");
}

#[test]
fn buffers_larger_than_the_memory_are_refused_with_the_remedy() {
    let dir = TestDir::new();
    let script = "mkdir small; mount -t tmpfs -o size=300k tmpfs small; \
                  $HEADWATER trace record -o r --logs small -- touch ran || echo status $?";
    let Some(output) = in_mount_namespace(&dir, script) else { return };
    let complained = errors(&output);
    assert!(complained.contains("--buffer") && complained.contains("--logs"), "{complained}");
    assert_eq!(output.stdout, b"status 125\n");
    assert!(!dir.path("ran").exists() && !dir.path("r").exists());
}

#[test]
fn where_tracefs_is_not_mounted_the_kernel_is_recorded_and_no_mount_is_added() {
    let Some(_alone) = crate::kernel::usable() else { return };
    let dir = TestDir::new();
    // In the second recording the command kills its recorder. The guard saves the events and holds the lock meanwhile.
    let script = "grep tracefs /proc/self/mounts | cut -d' ' -f2 | sort -r | while read at; do umount $at; done
         cat /proc/self/mounts >before
         $HEADWATER trace record -k syscalls:sys_enter_kill -o r -- sh -c 'kill -0 $$; cat /proc/self/mounts >during'
         $HEADWATER trace record -k syscalls:sys_enter_kill -o s -- sh -c 'kill -0 $$; kill -9 $PPID' || true
         flock s/kernel.pages/kernel-cpu0.pages true; $HEADWATER doctor --json >doctor || true
         $HEADWATER trace recover s; $HEADWATER trace list --kernel syscalls:sys_enter_kill; cat /proc/self/mounts >after";
    let Some(output) = in_namespaces(&dir, &["--mount"], script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success() && said.ends_with("syscalls:sys_enter_kill\n"), "{said}{complained}");
    let mounts = ["before", "during", "after"].map(|name| fs::read_to_string(dir.path(name)).expect("written"));
    assert!(!mounts[0].contains("tracefs") && mounts[1] == mounts[0] && mounts[2] == mounts[0], "{mounts:?}");
    assert_eq!((dir.agreed("r/kernel"), dir.agreed("s/kernel")), ((1, 0), (2, 0)), "{said}{complained}");
    let found = headwater_trace_tools::kernel::Tracefs::find().expect("usable");
    let doctor = fs::read_to_string(dir.path("doctor")).expect("written");
    for recording in ["r", "s"] {
        let file = fs::read_to_string(dir.path(recording).join("session.json")).expect("written");
        let json: serde_json::Value = serde_json::from_str(&file).expect("JSON");
        let instance = format!("headwater-{}-0", json["recorder"]);
        assert!(json["recorder"].is_u64() && !doctor.contains(&instance), "{doctor}");
        assert!(!found.path("instances").join(instance).exists());
    }
}

#[test]
fn without_tracefs_the_missing_part_and_the_alternatives_are_named() {
    let dir = TestDir::new();
    let (name, value) = crate::program::instructions(10, "0");
    let script = format!(
        "mkdir empty; ! test -d /sys/kernel/tracing || mount --bind empty /sys/kernel/tracing; export {name}='{value}'
         $HEADWATER trace list --kernel sched && exit 1
         $HEADWATER trace record -o r -k sched -- touch ran && exit 1
         $HEADWATER trace record -o r -- $PROGRAM {} >out",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&dir, &script) else { return };
    let complained = errors(&output);
    let lines: Vec<&str> = complained.lines().collect();
    assert!(output.status.success() && lines.len() > 1, "{complained}");
    // Whatever part of tracefs is missing here, the message contains commands that a user can type.
    assert!(lines[..2].iter().all(|line| line.contains("tracefs") && line.contains("mount ")), "{complained}");
    assert!(lines[1].contains("events of programs can be recorded without -k"), "{complained}");
    assert!(!dir.path("ran").exists());
    assert_eq!(dir.agreed("r"), (11, 0));
}
