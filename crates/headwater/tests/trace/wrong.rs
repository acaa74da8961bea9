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
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-ec", script]).current_dir(place.path("."));
    command.env("HEADWATER", env!("CARGO_BIN_EXE_headwater")).env("PROGRAM", std::env::current_exe().expect("one"));
    let possible = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).status();
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
         $HEADWATER trace stat small/r | head -1
         mount -o remount,size=100m small; $HEADWATER trace recover small/r; cp -r small/r r",
        crate::program::ARGUMENTS.join(" ")
    );
    let Some(output) = in_mount_namespace(&place, &script) else { return };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout).into_owned(), errors(&output));
    assert!(output.status.success() && said.contains("status 5\n"), "{said}{complained}");
    assert!(complained.contains("No space left on device") && complained.contains("trace recover"), "{complained}");
    assert!(said.contains("has 100,001, 0 lost"), "{said}{complained}");
    assert_eq!(place.agreed("r"), (100_001, 0));
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
