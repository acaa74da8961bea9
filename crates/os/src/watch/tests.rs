use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::{ProcessId, Stat, UNKNOWN};
use crate::child::Child;
use crate::refuse::{Refusal, refuse};

fn id_of(pid: u32) -> ProcessId {
    let birth = Stat::read(pid).expect("/proc").birth(true);
    ProcessId { place: ProcessId::own().place >> 32 << 32 | u64::from(pid), birth, image: 0 }
}

/// Starts a program that runs until its standard input ends. Returns after the program has answered: before that, the kernel
/// may still be loading it, and would show another stack.
fn sleeper() -> std::process::Child {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat");
    child.stdin.as_mut().expect("a pipe").write_all(b"x").expect("it reads");
    child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("it writes what it reads");
    child
}

/// The errors of pidfd_open(2) on a kernel without pidfds, under a filter, and in a process without free descriptors.
const REFUSALS: [i32; 3] = [libc::ENOSYS, libc::EPERM, libc::EMFILE];

fn without_pidfds(errno: i32, body: impl FnOnce()) {
    let mut child = Child::fork(|| {
        refuse(&[Refusal { call: libc::SYS_pidfd_open, argument: None, errno }]).expect("seccomp");
        body();
        0
    })
    .expect("fork");
    assert!(child.wait().expect("wait").success(), "pidfd_open refused with {errno}");
}

#[test]
fn live_process_has_not_ended() {
    let own = ProcessId::own();
    assert_eq!(own.pid(), std::process::id());
    assert!(own.is_visible());
    assert_eq!(ProcessId::from_words(own.place(), own.birth(), own.image()), own);
    assert!(!own.has_ended());
    let parent = id_of(std::os::unix::process::parent_id());
    assert!(!parent.has_ended());
    without_pidfds(libc::ENOSYS, || assert!(!parent.has_ended() && !own.has_ended()));
}

#[test]
fn zombie_has_ended() {
    let mut child = sleeper();
    let id = id_of(child.id());
    assert!(!id.has_ended());
    child.kill().expect("kill");
    let mut left_ms = 10_000;
    while !id.has_ended() {
        assert!(left_ms > 0, "the end must be seen while the child is a zombie");
        std::thread::sleep(std::time::Duration::from_millis(1));
        left_ms -= 1;
    }
    for errno in REFUSALS {
        without_pidfds(errno, || assert!(id.has_ended(), "a zombie"));
    }
    child.wait().expect("reap");
    assert!(id.has_ended(), "its process id is free");
    for errno in REFUSALS {
        without_pidfds(errno, || assert!(id.has_ended(), "its process id is free"));
    }
}

#[test]
fn reused_process_id_is_another_process() {
    let mut child = sleeper();
    let id = id_of(child.id());
    let earlier = ProcessId { birth: id.birth ^ 1 << 32, ..id };
    assert!(earlier.has_ended() && !id.has_ended());
    without_pidfds(libc::ENOSYS, || assert!(earlier.has_ended() && !id.has_ended()));
    child.kill().expect("kill");
    child.wait().expect("reap");
}

#[test]
fn process_of_another_namespace_never_counts_as_ended() {
    let own = ProcessId::own();
    for namespace in [0, 1, u64::from(u32::MAX)] {
        for pid in [0, 1, own.place as u32, u32::MAX] {
            let foreign = ProcessId { place: namespace << 32 | u64::from(pid), ..own };
            assert!(!foreign.is_visible() && !foreign.has_ended(), "{foreign:?}");
        }
    }
}

#[test]
fn process_ids_of_no_process_have_ended() {
    let own = ProcessId::own();
    for pid in [0, u32::MAX, 0x8000_0000, 0x7fff_ffff] {
        let id = ProcessId { place: own.place >> 32 << 32 | u64::from(pid), ..own };
        assert!(id.has_ended(), "{id:?}");
    }
}

#[test]
fn unknown_facts_are_not_compared() {
    let child = sleeper();
    let id = id_of(child.id());
    for birth in [0, UNKNOWN, id.birth >> 32 << 32 | UNKNOWN, u64::from(id.birth as u32)] {
        assert!(!ProcessId { birth, ..id }.has_ended(), "{birth:#x}");
    }
    drop(child);
}

/// A shell that executes another program is the same process with the same start time.
#[test]
fn process_has_ended_after_exec() {
    let mut child = Command::new("sh")
        .args(["-c", "echo; read go; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh");
    // As in `sleeper`: the shell has answered, so it is loaded.
    child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("sh writes a line");
    let id = id_of(child.id());
    assert!(!id.has_ended());
    let (input, output) = (child.stdin.as_mut().expect("a pipe"), child.stdout.as_mut().expect("a pipe"));
    input.write_all(b"go\nx").expect("it reads");
    output.read_exact(&mut [0]).expect("cat writes what it reads");
    assert!(id.has_ended());
    without_pidfds(libc::EPERM, || assert!(id.has_ended()));
    let now = id_of(child.id());
    assert_eq!((id.place, id.birth >> 32), (now.place, now.birth >> 32), "only the program has changed");
    assert!(!now.has_ended());
    child.kill().expect("kill");
    child.wait().expect("reap");
}

/// Only the word `image` shows an exec after which the program is at the same place in memory. Only the process itself can
/// read it.
#[test]
fn own_process_before_exec_has_ended() {
    let own = ProcessId::own();
    assert!(ProcessId { image: own.image ^ 1, ..own }.has_ended());
    assert!(!ProcessId { image: 0, ..own }.has_ended());
}
