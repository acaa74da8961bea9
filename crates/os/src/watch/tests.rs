use std::process::{Command, Stdio};

use super::{ProcessId, Watch, start_ticks};

fn id_of(pid: u32) -> ProcessId {
    ProcessId(u64::from(pid) << 32 | u64::from(start_ticks(pid).expect("/proc")))
}

#[test]
fn a_live_process_has_not_ended() {
    let own = ProcessId::own();
    assert_eq!(own.pid(), std::process::id());
    assert_eq!(ProcessId::from_word(own.word()), own);
    assert!(!Watch::begin(own).expect("watch").has_ended().expect("poll"));
}

#[test]
fn a_killed_process_has_ended_before_it_is_reaped() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
    let id = id_of(child.id());
    let watch = Watch::begin(id).expect("watch");
    assert!(!watch.has_ended().expect("poll"));
    child.kill().expect("kill");
    let mut left_ms = 10_000;
    while !watch.has_ended().expect("poll") {
        assert!(left_ms > 0, "the end must be seen while the child is a zombie");
        std::thread::sleep(std::time::Duration::from_millis(1));
        left_ms -= 1;
    }
    child.wait().expect("reap");
    assert!(Watch::begin(id).expect("watch").has_ended().expect("poll"), "its number is free");
}

#[test]
fn a_reused_number_is_not_the_same_process() {
    let own = ProcessId::own();
    let earlier = ProcessId::from_word(own.word() ^ 1);
    assert!(Watch::begin(earlier).expect("watch").has_ended().expect("poll"));
}

#[test]
fn words_that_name_no_process_have_ended() {
    for word in [0, u64::MAX, 0x8000_0000_0000_0000] {
        assert!(Watch::begin(ProcessId::from_word(word)).expect("watch").has_ended().expect("poll"));
    }
}
