//! Kills programs and consumers at random instants: each event whose call has returned must be in the trace, once and
//! complete.
//!
//! `HEADWATER_ROUNDS` sets the number of rounds, `HEADWATER_TIMES` multiplies the 8 of the brief form; `cargo xtask crash` runs many.

use std::path::Path;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_trace::WhenFull;
use headwater_trace_tools::consumer::parts::{PartsFile, Rotation};
use headwater_trace_tools::consumer::{self, Consumer};

use crate::OWN_LOGS;
use crate::program::{self, Progress};
use crate::test_session::TestSession;

fn rounds() -> u64 {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    number("HEADWATER_ROUNDS").unwrap_or(8 * number("HEADWATER_TIMES").unwrap_or(1))
}

/// Returns a time of at most `most_us`, different in each round.
fn some_time(round: u64, most_us: u64) -> Duration {
    Duration::from_micros(headwater_os::ticks::now().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(round) % most_us)
}

fn kill(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("wait");
}

/// Waits until the program has begun to emit events.
fn wait_for_events(progress: &Progress) {
    while progress.emitted(0).load(Ordering::Acquire) == 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Large enough for all events that a program emits in its life: without a fault nothing is lost.
const ROOM: usize = 4 << 20;
const EVENTS: u64 = 20_000;

/// Checks the trace after a program was killed.
fn check(test: &TestSession, progress: &Progress, totals: consumer::Totals) {
    assert_eq!((totals.lost, totals.spoiled_bytes), (0, 0));
    let seen = test.read();
    assert_eq!(seen.records, totals.written.max(seen.records));
    assert!(seen.is_in_order());
    for writer in 0..3 {
        let emitted = progress.emitted(writer).load(Ordering::Acquire);
        let numbers = seen.numbers(writer);
        let count = numbers.len() as u64;
        assert!(count == emitted || count == emitted + 1, "writer {writer} emitted {emitted}, and {count} are there");
        assert!(numbers.into_iter().eq(0..count), "writer {writer}");
    }
}

#[test]
fn after_a_killed_program_all_events_are_in_the_trace() {
    for round in 0..rounds() {
        for own_logs in OWN_LOGS {
            // A thread's log is small: it holds all events only if they are copied meanwhile.
            let test = TestSession::new(WhenFull::Refuse, ROOM);
            let progress = Progress::create(&test.session());
            let events = if own_logs { 300 } else { EVENTS };
            let child = program::start("counted", events, &test.session(), own_logs);
            wait_for_events(&progress);
            std::thread::sleep(some_time(round, if own_logs { 300 } else { 4_000 }));
            kill(child);
            let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("recovered");
            check(&test, &progress, totals);
        }
    }
}

#[test]
fn after_a_killed_consumer_all_events_are_in_the_trace_once() {
    for round in 0..rounds() {
        let test = TestSession::new(WhenFull::Refuse, ROOM);
        let progress = Progress::create(&test.session());
        let consumer = program::start("carry", 0, &test.session(), false);
        let mut child = program::start("counted", EVENTS, &test.session(), false);
        wait_for_events(&progress);
        std::thread::sleep(some_time(round, 8_000));
        kill(consumer);
        assert!(child.wait().expect("wait").success());
        let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("recovered");
        check(&test, &progress, totals);
        assert!((0..3).all(|writer| progress.emitted(writer).load(Ordering::Acquire) == EVENTS));
    }
}

#[test]
fn after_program_and_consumer_are_killed_all_events_are_in_the_trace_once() {
    for round in 0..rounds() {
        let test = TestSession::new(WhenFull::Refuse, ROOM);
        let progress = Progress::create(&test.session());
        let consumer = program::start("carry", 0, &test.session(), false);
        let child = program::start("counted", EVENTS, &test.session(), false);
        wait_for_events(&progress);
        std::thread::sleep(some_time(round, 6_000));
        if round % 2 == 0 {
            kill(consumer);
            kill(child);
        } else {
            kill(child);
            kill(consumer);
        }
        let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("recovered");
        check(&test, &progress, totals);
    }
}

#[test]
fn after_a_consumer_died_at_the_beginning_of_a_part_nothing_is_copied_twice() {
    let test = TestSession::new(WhenFull::Refuse, 64 << 20);
    std::fs::create_dir(test.trace()).expect("a directory");
    let mut child = program::start("threads", 50_000, &test.session(), false);
    let rotation = Rotation { bytes: 1, keep: None };
    let mut consumer = Consumer::begin_parts(test.region(), &test.trace(), Vec::new(), rotation).expect("a trace");
    let mut has_ended = false;
    while consumer.carry().expect("carried") > 0 || !has_ended {
        std::thread::sleep(Duration::from_millis(1));
        has_ended = has_ended || crate::has_ended(&mut child);
    }
    child.wait().expect("it has ended");
    let before = consumer.totals();
    // As after a kill while it ended the session: no ring has a packet in the newest part, and the closed logs no longer
    // say how far they were copied.
    let region = test.region();
    drop(consumer);
    region.end();
    (0..region.cpu_logs().len()).filter_map(|cpu| region.cpu_logs().log(cpu)).for_each(|log| log.close());
    let parts = PartsFile::read(&test.trace()).expect("sound").expect("it has parts");
    assert!(parts.number > 2, "{parts:?}");
    let totals = consumer::recover_parts(region, &test.trace(), &parts).expect("recovered");
    assert_eq!((totals.spoiled_bytes, totals.lost), (0, 0));
    let seen = test.read();
    assert!(seen.is_in_order());
    (0..8).for_each(|writer| assert!(seen.numbers(writer).into_iter().eq(0..50_000), "writer {writer}"));
    assert_eq!(seen.records, before.written + totals.written);
}

#[test]
fn what_a_consumer_left_that_was_killed_while_it_removed_a_part_is_not_read_again() {
    let test = TestSession::new(WhenFull::Refuse, 16 << 20);
    std::fs::create_dir(test.trace()).expect("a directory");
    let mut child = program::start("one", 20_000, &test.session(), false);
    let rotation = Rotation { bytes: 1, keep: Some(2) };
    let mut consumer = Consumer::begin_parts(test.region(), &test.trace(), Vec::new(), rotation).expect("a trace");
    let part = |number: u64| test.trace().join(format!("user-{number:06}"));
    // The state of each part before it may be removed.
    let mut copied = 0;
    let mut has_ended = false;
    while consumer.carry().expect("carried") > 0 || !has_ended {
        while part(copied + 1).join("metadata").exists() {
            copied += 1;
            let copy = test.trace().with_file_name(format!("copy-{copied}"));
            std::fs::create_dir(&copy).expect("a new directory");
            for file in std::fs::read_dir(part(copied)).expect("a part").flatten() {
                std::fs::copy(file.path(), copy.join(file.file_name())).expect("room");
            }
        }
        std::thread::sleep(Duration::from_millis(1));
        has_ended = has_ended || crate::has_ended(&mut child);
    }
    child.wait().expect("it has ended");
    drop(consumer);
    let parts = PartsFile::read(&test.trace()).expect("sound").expect("it has parts");
    let (removed, next) = (parts.removed.parts, u64::from(parts.number) + 1);
    assert!(removed > 0 && !part(removed).exists(), "{parts:?}");
    // Killed when it had removed the description of the oldest part, and before it had noted the next one.
    std::fs::rename(test.trace().with_file_name(format!("copy-{removed}")), part(removed)).expect("a part");
    std::fs::remove_file(part(removed).join("metadata")).expect("it was there");
    std::fs::create_dir(part(next)).expect("a directory");
    consumer::recover_parts(test.region(), &test.trace(), &parts).expect("recovered");
    assert!(!part(removed).exists() && !part(next).exists());
    let seen = test.read();
    let numbers = seen.numbers(1);
    let names = removed + seen.named;
    assert_eq!(parts.removed.events + seen.records, 20_000 + names, "{parts:?}");
    assert!(numbers.last() == Some(&19_999) && numbers.is_sorted_by(|one, next| one < next));
}

#[test]
fn a_full_disk_does_not_harm_the_program_and_is_reported() {
    let test = TestSession::new(WhenFull::Refuse, 1 << 18);
    let mut child = program::start("one", 400_000, &test.session(), false);
    // /dev/full: every write fails as on a full disk.
    std::fs::create_dir(test.trace()).expect("a directory");
    let mut consumer = Consumer::begin(test.region(), &test.trace(), Vec::new()).expect("a trace");
    for cpu in 0..headwater_os::cpu::online() {
        std::os::unix::fs::symlink(Path::new("/dev/full"), test.trace().join(format!("user-{cpu}"))).expect("a link");
    }
    let mut said = None;
    while child.try_wait().expect("wait").is_none() {
        if let Err(error) = consumer.carry() {
            said.get_or_insert(error.to_string());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().expect("wait").success(), "the program ends well");
    let unfinished = consumer.finish().expect_err("the disk is full");
    let lost = unfinished.totals.lost;
    assert!(lost > 0 && unfinished.left_bytes > 0, "{unfinished:?}");
    for cpu in 0..headwater_os::cpu::online() {
        std::fs::remove_file(test.trace().join(format!("user-{cpu}"))).expect("a link");
    }
    let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("there is room");
    let seen = test.read();
    assert_eq!((totals.lost, seen.lost), (lost, lost), "as it was said");
    assert_eq!(seen.records + seen.lost, 400_001);
    let said = said.expect("the disk is full");
    assert!(said.contains("No space left on device") && said.contains("user-"), "{said}");
}
