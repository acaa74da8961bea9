//! All traced events are recorded, and no others.

use std::time::Duration;

use headwater_os::child::Child;
use headwater_trace_tools::kernel::{Mode, Session, Settings, snapshot};

use crate::common::{EVENTS, Waiting, call, only, seen, usable};

#[test]
fn all_calls_of_a_traced_process_are_recorded_and_no_others() {
    if !usable() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    for mode in [Mode::Flight, Mode::Drain { directory: directory.path().to_owned() }] {
        let waiting = Waiting::calling(12_345);
        let pid = waiting.child.id();
        let session = Session::start(&only(&[&waiting], mode.clone())).expect("a session");
        waiting.run();
        let seen = seen(session.stop().expect("a capture"));
        assert_eq!(seen.calls.get(&pid), Some(&(12_345, 12_345)), "{mode:?}");
        assert_eq!(seen.threads.keys().collect::<Vec<_>>(), [&pid], "{mode:?}");
        let left = std::fs::read_dir(directory.path()).expect("it is there").count();
        assert_eq!(left, 0, "files of pages go with their capture");
    }
}

#[test]
fn children_of_a_traced_process_are_traced() {
    if !usable() {
        return;
    }
    let waiting = Waiting::fork(|| {
        let mut child = Child::fork(|| {
            call(700);
            0
        })
        .expect("fork");
        call(30);
        child.wait().expect("wait");
    });
    let pid = waiting.child.id();
    let session = Session::start(&only(&[&waiting], Mode::Flight)).expect("a session");
    waiting.run();
    let mut seen = seen(session.stop().expect("a capture"));
    // The forked child itself calls getppid once, see child::die_with.
    assert_eq!(seen.calls.remove(&pid), Some((30, 30)));
    assert_eq!(seen.calls.into_values().collect::<Vec<_>>(), [(701, 701)]);
}

#[test]
fn parallel_sessions_are_independent() {
    if !usable() {
        return;
    }
    let (one, two) = (Waiting::calling(1000), Waiting::calling(2000));
    let pids = [one.child.id(), two.child.id()];
    let first = Session::start(&only(&[&one], Mode::Flight)).expect("a session");
    let second = Session::start(&only(&[&two], Mode::Flight)).expect("another");
    let both = Session::start(&only(&[&one, &two], Mode::Flight)).expect("a third");
    assert_ne!(first.path(), second.path());
    one.run();
    two.run();
    let calls = [first, second, both].map(|session| {
        let seen = seen(session.stop().expect("a capture"));
        pids.map(|pid| seen.calls.get(&pid).map(|calls| calls.0))
    });
    assert_eq!(calls, [[Some(1000), None], [None, Some(2000)], [Some(1000), Some(2000)]]);
}

#[test]
fn a_session_of_the_whole_machine_does_not_record_its_readers() {
    if !usable() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mode = Mode::Drain { directory: directory.path().to_owned() };
    let settings = Settings { buffer_kb_per_cpu: 64, ..Settings::new(&EVENTS, mode) };
    let session = Session::start(&settings).expect("a session");
    let waiting = Waiting::calling(20_000);
    let pid = waiting.child.id();
    waiting.run();
    std::thread::sleep(Duration::from_millis(100));
    assert!(session.progress().iter().sum::<u64>() > 0, "pages are carried while the session runs");
    let readers = session.threads().to_vec();
    let seen = seen(session.stop().expect("a capture"));
    assert!(readers.len() == seen.totals.len() && seen.threads.contains_key(&pid));
    let own: Vec<_> = readers.iter().filter_map(|id| seen.threads.get(id)).collect();
    assert!(own.is_empty(), "{own:?} events of readers");
}

#[test]
fn snapshots_have_the_newest_events_and_the_final_capture_has_them_all() {
    if !usable() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let (told, line) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    let (done, teller) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    let parts = [500, 3, 20_000, 40];
    let waiting = Waiting::fork(|| {
        for calls in parts {
            call(calls);
            let _ = rustix::io::write(&teller, b"d");
            let _ = rustix::io::read(&told, &mut [0; 1]);
        }
    });
    let pid = waiting.child.id();
    // The buffer holds about 3000 calls of a CPU.
    let kept = Some(directory.path().to_owned());
    let settings = Settings { kept, buffer_kb_per_cpu: 256, ..only(&[&waiting], Mode::Flight) };
    let session = Session::start(&settings).expect("a session");
    let running = std::thread::spawn(|| waiting.run());
    let mut so_far = 0;
    for calls in parts {
        rustix::io::read(&done, &mut [0; 1]).expect("it goes on");
        so_far += calls;
        let seen = seen(snapshot(directory.path()).expect("it can be read").expect("it runs"));
        let (entered, left) = seen.calls[&pid];
        let lost: u64 = seen.totals.iter().map(|totals| totals.lost.all()).sum();
        if so_far <= 503 {
            assert_eq!((entered, left, lost), (so_far, so_far, 0));
        } else {
            // As many as the buffer holds, including those read by earlier snapshots.
            assert!((2_000..10_000).contains(&left) && lost > 20_000, "{left} of {so_far}, {lost} lost");
        }
        rustix::io::write(&line, b"g").expect("it waits");
    }
    running.join().expect("it ends");
    let capture = session.stop().expect("a capture");
    assert!(directory.path().join("description").exists());
    let seen = seen(capture);
    let (entered, left) = seen.calls[&pid];
    let overwritten: u64 = seen.totals.iter().map(|totals| totals.lost.overwritten).sum();
    assert!(entered + left > 1_006 && seen.totals.iter().all(|totals| totals.lost.all() == totals.lost.overwritten));
    assert!(u64::from(entered + left) + overwritten >= 2 * u64::from(so_far), "{entered} {left} {overwritten}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("there").count(), 0, "files go with the capture");
}
