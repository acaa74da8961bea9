//! Each lost event is counted once.

use std::time::Duration;

use headwater_trace_tools::kernel::{Mode, Session, Settings};

use crate::common::{Seen, Waiting, call, only, seen, usable};

/// More calls than two pages for each CPU can hold.
const CALLS: u32 = 50_000;

/// The most other events of the process: the read in which it waits, and its exit.
const OTHERS: u64 = 20;

fn session(overwrite: bool, mode: Mode) -> (u32, Seen) {
    let waiting = Waiting::calling(CALLS);
    let pid = waiting.child.id();
    let settings = Settings { buffer_kb_per_cpu: 8, overwrite, ..only(&[&waiting], mode) };
    let session = Session::start(&settings).expect("a session");
    waiting.run();
    let seen = seen(session.stop().expect("a capture"));
    let happened: u64 = seen.totals.iter().map(|totals| totals.records + totals.lost.all()).sum();
    let calls = u64::from(CALLS) * 2;
    assert!((calls..calls + OTHERS).contains(&happened), "{happened} events happened: {seen:?}");
    (pid, seen)
}

#[test]
fn an_overwriting_flight_recorder_reports_losses_before_its_first_record() {
    if !usable() {
        return;
    }
    let (_, seen) = session(true, Mode::Flight);
    let overwritten: u64 = seen.totals.iter().map(|totals| totals.lost.overwritten).sum();
    assert!(overwritten > u64::from(CALLS));
    for totals in seen.totals.iter().filter(|totals| totals.lost.overwritten > 0) {
        assert_eq!((totals.lost.discarded, totals.lost.all()), (0, totals.lost.overwritten));
        // This count comes from the page's flag: the kernel's counts are used only in the last packet.
        assert_eq!(seen.discarded[&totals.cpu][0], totals.lost.overwritten);
    }
}

#[test]
fn a_discarding_flight_recorder_keeps_the_oldest_and_reports_losses_at_the_end() {
    if !usable() {
        return;
    }
    let (pid, seen) = session(false, Mode::Flight);
    let discarded: u64 = seen.totals.iter().map(|totals| totals.lost.discarded).sum();
    assert!(discarded > u64::from(CALLS) && seen.calls[&pid].0 > 0);
    for totals in seen.totals.iter().filter(|totals| totals.lost.discarded > 0) {
        assert_eq!((totals.lost.overwritten, totals.lost.all()), (0, totals.lost.discarded));
        let said = &seen.discarded[&totals.cpu];
        assert_eq!((said[0], said[said.len() - 1]), (0, totals.lost.discarded));
    }
}

#[test]
fn a_slow_drain_counts_its_losses() {
    if !usable() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    for overwrite in [true, false] {
        let (pid, seen) = session(overwrite, Mode::Drain { directory: directory.path().to_owned() });
        for totals in &seen.totals {
            let other = if overwrite { totals.lost.discarded } else { totals.lost.overwritten };
            assert_eq!(other, 0, "{totals:?}");
        }
        assert!(seen.calls[&pid].0 > 0);
    }
}

#[test]
fn a_drain_reports_discarded_events_before_later_records() {
    if !usable() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let waiting = Waiting::fork(|| {
        call(CALLS);
        // Longer than the drain's period, so that it reads the counts in between.
        std::thread::sleep(Duration::from_millis(1200));
        call(CALLS);
    });
    let mode = Mode::Drain { directory: directory.path().to_owned() };
    let settings = Settings { buffer_kb_per_cpu: 8, overwrite: false, ..only(&[&waiting], mode) };
    let session = Session::start(&settings).expect("a session");
    waiting.run();
    let seen = seen(session.stop().expect("a capture"));
    let between = |said: &Vec<u64>| said.iter().any(|count| *count > 0 && Some(count) != said.last());
    assert!(seen.discarded.values().any(between), "{seen:?}");
}
