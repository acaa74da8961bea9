//! Tracing by other programs is not changed, and errors are reported.

use headwater_os::child::Child;
use headwater_trace_tools::kernel::{Error, Mode, Session, Settings, Support, Tracefs};

use crate::common::{Waiting, only, usable};

/// Returns the settings of the top-level buffer.
fn top(found: &Tracefs) -> Vec<String> {
    let files = ["tracing_on", "set_event", "set_event_pid", "set_event_notrace_pid", "trace_clock", "buffer_size_kb"];
    let options = ["options/overwrite", "options/event-fork", "options/record-cmd", "events/raw_syscalls/enable"];
    files.iter().chain(&options).map(|file| std::fs::read_to_string(found.path(file)).expect(file)).collect()
}

#[test]
fn the_top_level_buffer_is_not_changed() {
    if !usable() {
        return;
    }
    let found = Tracefs::find().expect("usable");
    let before = top(&found);
    let waiting = Waiting::calling(100);
    let settings = Settings { overwrite: false, buffer_kb_per_cpu: 8, ..only(&[&waiting], Mode::Flight) };
    let session = Session::start(&settings).expect("a session");
    assert_eq!(top(&found), before, "while a session runs");
    waiting.run();
    drop(session.stop().expect("a capture"));
    assert_eq!(top(&found), before, "and after it");
}

#[test]
fn an_unknown_event_or_process_is_reported_and_leaves_nothing() {
    if !usable() {
        return;
    }
    let error = Session::start(&Settings::new(&["raw_syscalls:sys_entre"], Mode::Flight)).expect_err("no such event");
    let Error::UnknownEvent { nearest, .. } = &error else { panic!("{error}") };
    assert_eq!(nearest[0], "raw_syscalls:sys_enter");
    // A process id above the kernel's maximum.
    let settings = Settings { processes: Some(vec![1 << 30]), ..Settings::new(&["raw_syscalls"], Mode::Flight) };
    let error = Session::start(&settings).expect_err("no such process");
    assert!(matches!(error, Error::NoProcess(_)), "{error}");
    let missing = Mode::Drain { directory: "/nowhere/at/all".into() };
    let error = Session::start(&Settings::new(&["raw_syscalls"], missing)).expect_err("no such directory");
    assert!(error.to_string().starts_with("/nowhere/at/all/kernel-cpu0.pages: cannot make"), "{error}");
}

#[test]
fn a_user_without_privileges_gets_the_reason() {
    if !usable() || !headwater_os_tools::machine::is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let mut child = Child::fork(|| {
        // SAFETY: changes who this child is, which has one thread.
        if unsafe { libc::setresuid(65534, 65534, 65534) } != 0 {
            return 2;
        }
        let refused = matches!(Session::start(&Settings::new(&["sched"], Mode::Flight)), Err(Error::Permission { .. }));
        let support = Support::look();
        let said = support.has("tracefs") && support.obstacle().is_some_and(|why| why.contains("permission denied"));
        i32::from(!(refused && said))
    })
    .expect("fork");
    assert_eq!(child.wait().expect("wait").code(), Some(0));
}
