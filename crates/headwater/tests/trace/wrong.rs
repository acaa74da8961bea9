//! Bad input, and places that cannot be written to.

use std::fs;
use std::process::Command;

use crate::place::{Place, errors};

/// Status and what it says, in one line.
fn refusal(place: &Place, arguments: &[&str]) -> (i32, String) {
    let output = place.run(arguments);
    let said = errors(&output);
    assert_eq!(said.trim_end().lines().count(), 1, "one line, not: {said}");
    (output.status.code().expect("it ends by itself"), said)
}

#[test]
fn a_command_that_cannot_run_leaves_nothing() {
    let place = Place::new();
    fs::write(place.path("text"), "no program").expect("room");
    for (command, status) in [("./nosuch", 127), ("nosuch", 127), ("./text", 126)] {
        let (code, said) = refusal(&place, &["record", "-o", "r", "--", command]);
        assert_eq!(code, status, "{said}");
        assert!(said.contains(command) && !place.path("r").exists(), "{said}");
    }
}

#[test]
fn a_directory_with_something_in_it_is_refused_with_the_remedy() {
    let place = Place::new();
    fs::create_dir(place.path("r")).expect("new");
    fs::write(place.path("r/mine"), "").expect("room");
    let (code, said) = refusal(&place, &["record", "-o", "r", "--", "touch", "ran"]);
    assert!(code == 125 && said.contains("is not empty: name a directory"), "{said}");
    assert!(!place.path("ran").exists() && place.path("r/mine").exists());
}

#[test]
fn places_that_cannot_be_written_are_named_and_the_command_does_not_run() {
    let place = Place::new();
    for (option, value) in [("-o", "/proc/nosuch/r"), ("--logs", "/nosuch")] {
        let (code, said) = refusal(&place, &["record", option, value, "--", "touch", "ran"]);
        assert!(code == 125 && said.contains(value), "{said}");
    }
    assert!(!place.path("ran").exists());
}

#[test]
fn names_that_mean_nothing_are_answered_with_the_nearest() {
    let place = Place::new();
    place.record(&[], 10, "0");
    let (_, said) = refusal(&place, &["show", "r", "--events", "test:stp"]);
    assert!(said.contains("did you mean test:step"), "{said}");
    for arguments in [&["list", "nosuch"][..], &["show", "nosuch"], &["recover", "nosuch"], &["snapshot", "."]] {
        let (code, _) = refusal(&place, arguments);
        assert_eq!(code, 2, "{arguments:?}");
    }
}

/// In a namespace of its own, so that nothing of the machine is changed.
fn in_mount_namespace(place: &Place, script: &str) -> Option<std::process::Output> {
    in_namespaces(place, &["--mount", "--map-root-user"], script)
}

fn in_namespaces(place: &Place, kinds: &[&str], script: &str) -> Option<std::process::Output> {
    let mut command = Command::new("unshare");
    command.args(kinds).args(["sh", "-ec", script]).current_dir(place.path("."));
    command.env("HEADWATER", env!("CARGO_BIN_EXE_headwater")).env("PROGRAM", std::env::current_exe().expect("one"));
    let possible = Command::new("unshare").args(kinds).arg("true").status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return None;
    }
    Some(command.output().expect("it starts"))
}

#[test]
fn a_full_file_system_harms_no_program_and_the_rest_is_recovered_when_there_is_room() {
    let place = Place::new();
    let (name, value) = crate::program::part(100_000, "5");
    let script = format!(
        "mkdir small; mount -t tmpfs -o size=300k tmpfs small; export {name}='{value}'
         $HEADWATER trace record --buffer 16m -o small/r -- $PROGRAM {} >out || echo status $?
         $HEADWATER trace stat small/r || echo stat $?
         mount -o remount,size=100m small; $HEADWATER trace recover small/r; cp -r small/r r",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&place, &script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success() && said.contains("status 5\n"), "{said}{complained}");
    assert!(
        said.contains("stat 4\n") && complained.contains("of events are still in the buffers"),
        "{said}{complained}"
    );
    assert!(complained.contains("No space left on device") && complained.contains("trace recover"), "{complained}");
    assert!(said.contains("has 100,001, 0 lost"), "{said}{complained}");
    assert_eq!(place.agreed("r"), (100_001, 0));
}

#[test]
fn what_is_lost_because_a_file_system_is_full_is_counted_by_all() {
    let place = Place::new();
    let (name, value) = crate::program::part(100_000, "0");
    let script = format!(
        "mkdir small; mount -t tmpfs -o size=300k tmpfs small; export {name}='{value}'
         $HEADWATER trace record --buffer 64k -o small/r -- $PROGRAM {} >out
         $HEADWATER trace stat small/r >out || echo stat $?
         $HEADWATER trace recover small/r || echo recover $?
         mount -o remount,size=100m small; $HEADWATER trace recover small/r || echo recovered $?
         $HEADWATER trace stat small/r >out && echo whole; cp -r small/r r",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&place, &script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success(), "{said}{complained}");
    // While there is no room: what the recorder says, and then `stat`; `recover` does not pretend that it could.
    assert!(said.contains("stat 4\n") && said.contains("recover 2\n"), "{said}{complained}");
    // And when there is: what was lost stays lost, and the trace says how much.
    assert!(said.contains("recovered 4\n") && said.contains("whole\n"), "{said}{complained}");
    let (written, lost) = place.agreed("r");
    assert!(lost > 10_000 && written + lost == 100_001, "{written} and {lost}: {said}{complained}");
    let lost = lost.to_string();
    let figures = complained.replace(',', "");
    assert!(figures.contains(&format!("written {lost} lost")), "the recorder: {complained}");
    assert!(figures.contains(&format!("; {lost} more were lost")), "stat: {complained}");
    assert!(said.replace(',', "").contains(&format!(" {lost} lost")), "recover: {said}");
}

#[test]
fn what_of_the_kernel_is_lost_because_a_file_system_is_full_is_counted_by_all() {
    let Some(_alone) = crate::kernel::usable() else { return };
    let place = Place::new();
    // 300,000 reads and as many writes, each two events.
    let script = "mkdir small; mount -t tmpfs -o size=3m tmpfs small
         $HEADWATER trace record -k raw_syscalls -o small/r -- dd if=/dev/zero of=/dev/null bs=1 count=300000 || echo status $?
         $HEADWATER trace stat small/r >out || echo stat $?
         mount -o remount,size=500m small; $HEADWATER trace recover small/r || echo recovered $?
         $HEADWATER trace stat small/r >out || echo not whole $?; cp -r small/r r";
    let Some(output) = in_namespaces(&place, &["--mount"], script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success(), "{said}{complained}");
    assert!(complained.contains("No space left on device"), "{said}{complained}");
    assert!(said.contains("stat 4\n") && said.contains("recovered 4\n"), "{said}{complained}");
    assert!(!complained.contains("unknown how much"), "the counts have their room: {complained}");
    let (written, lost) = place.agreed("r/kernel");
    assert!(lost > 100_000 && written + lost >= 1_200_000, "{written} and {lost}: {said}{complained}");
    assert!(complained.replace(',', "").contains(&format!("{written} events written {lost} lost")), "{complained}");
}

#[test]
fn a_recording_is_for_its_user_alone() {
    let Some(_alone) = crate::kernel::usable() else { return };
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let recorder = crate::place::Recorder::start(place.recorder(&["--flight", "-k", "raw_syscalls"], 1_000, "wait"));
    place.emitted(1_000);
    place.text(&["snapshot", "r", "-o", "s"]);
    let all_private = |root: &str| {
        let (mut seen, mut left) = (0, vec![place.path(root)]);
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
    // While it is recorded the kernel's pages are there too.
    assert!(all_private("r") >= 7 && all_private("s") >= 6);
    recorder.signal(rustix::process::Signal::TERM);
    recorder.wait();
    assert!(all_private("r") >= 6);
}

#[test]
fn who_holds_the_lock_of_the_kernels_buffers_holds_up_nobody_for_long() {
    let Some(_alone) = crate::kernel::usable() else { return };
    use std::time::{Duration, Instant};
    let place = Place::new();
    let recorder = crate::place::Recorder::start(place.recorder(&["--flight", "-k", "raw_syscalls"], 1_000, "wait"));
    place.emitted(1_000);
    let lock = fs::File::open(place.path("r/kernel.pages")).expect("a directory");
    lock.lock().expect("nobody has it");
    let start = Instant::now();
    recorder.signal(rustix::process::Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    recorder.signal(rustix::process::Signal::TERM);
    let recorded = recorder.wait();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}: {}", start.elapsed(), recorded.said);
    assert!(recorded.said.contains("another reader"), "{}", recorded.said);
    drop(lock);
    // The guard saves what the buffers held.
    let output = place.run(&["recover", "r"]);
    assert!(errors(&output).contains("of the kernel"), "{}", errors(&output));
    assert!(place.agreed("r/kernel").0 > 100, "a program starts with more calls");
}

#[test]
fn buffers_that_find_no_room_are_refused_with_the_remedy() {
    let place = Place::new();
    let script = "mkdir small; mount -t tmpfs -o size=300k tmpfs small; \
                  $HEADWATER trace record -o r --logs small -- touch ran || echo status $?";
    let Some(output) = in_mount_namespace(&place, script) else { return };
    let complained = errors(&output);
    assert!(complained.contains("--buffer") && complained.contains("--logs"), "{complained}");
    assert_eq!(output.stdout, b"status 125\n");
    assert!(!place.path("ran").exists() && !place.path("r").exists());
}

#[test]
fn without_tracefs_it_is_said_what_is_missing_and_what_goes_on() {
    let place = Place::new();
    let (name, value) = crate::program::part(10, "0");
    let script = format!(
        "mkdir empty; ! test -d /sys/kernel/tracing || mount --bind empty /sys/kernel/tracing; export {name}='{value}'
         $HEADWATER trace list --kernel sched && exit 1
         $HEADWATER trace record -o r -k sched -- touch ran && exit 1
         $HEADWATER trace record -o r -- $PROGRAM {} >out",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&place, &script) else { return };
    let complained = errors(&output);
    let lines: Vec<&str> = complained.lines().collect();
    assert!(output.status.success() && lines.len() > 1, "{complained}");
    // Whatever of it this machine has: there is a remedy, and it is one that a user can type.
    assert!(lines[..2].iter().all(|line| line.contains("tracefs") && line.contains("mount ")), "{complained}");
    assert!(lines[1].contains("events of programs can be recorded without -k"), "{complained}");
    assert!(!place.path("ran").exists());
    assert_eq!(place.agreed("r"), (11, 0));
}
