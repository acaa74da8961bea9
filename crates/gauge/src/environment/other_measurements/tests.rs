use std::fs;

use super::*;

/// Returns the processes found by process 40, the child of 30, the child of 1, among processes of these command lines.
fn check(processes: &[(u32, &str)], expect: &[u32]) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let write = |process: &str, name: &str, text: &str| {
        let directory = root.path().join("proc").join(process);
        fs::create_dir_all(&directory).expect("created");
        fs::write(directory.join(name), text).expect("written");
    };
    for (pid, ppid) in [("self", 30), ("40", 30), ("30", 1), ("1", 0)] {
        let number = if pid == "self" { "40" } else { pid };
        write(pid, "stat", &format!("{number} (head) water) S {ppid} 0 0\n"));
    }
    for (pid, command) in processes {
        write(&pid.to_string(), "cmdline", &command.replace(' ', "\0"));
    }
    write("sys", "cmdline", "headwater\0run\0");
    assert_eq!(capture(&Source::below(root.path())), expect, "{processes:?}");
}

#[test]
fn measuring_processes_other_than_this_one_and_its_ancestors_are_found() {
    check(&[(40, "headwater run "), (50, "headwater run pipe "), (60, "/opt/bin/headwater-old noise ")], &[50, 60]);
    check(&[(30, "headwater overhead lmbench "), (40, "headwater run lmbench ")], &[]);
    check(&[(50, "headwater conduct --parent 40 "), (51, "headwater show run "), (52, "headwater ")], &[]);
    check(&[(50, "vi headwater run "), (51, "sh -c headwater run "), (52, ""), (53, "headwater run")], &[53]);
}

#[test]
fn a_machine_without_processes_has_none() {
    let nothing = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(capture(&Source::below(nothing.path())), Vec::<u32>::new());
}
