//! Programs are traced as users trace them, and whatever happens, every event is in the trace or counted as lost, once.

mod forbid;
mod kill;
mod program;
mod stage;

use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_trace::WhenFull;
use headwater_trace_tools::consumer::{self, Consumer};
use stage::Stage;

/// Not a test: the traced program. Without a part it does nothing.
#[test]
fn the_program() {
    program::play();
}

/// One test at a time: each has processes of its own for all CPUs.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both kinds of logs.
const OWN_LOGS: [bool; 2] = [false, true];

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().expect("wait").is_some_and(|status| {
        assert!(status.success(), "the program failed: {status}");
        true
    })
}

#[test]
fn what_is_carried_in_time_is_all_there() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        // Room for all, because nobody knows what else the machine does.
        let stage = Stage::new(WhenFull::Refuse, 16 << 20);
        let mut child = program::start("paced", 300_000, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        if !own_logs {
            assert_eq!(totals.lost, 0, "there is room");
            assert!(seen.numbers(1).into_iter().eq(0..300_000), "writer 1: {}", seen.numbers(1).len());
        }
        assert_eq!(totals.written + totals.lost, 300_001, "and one record says who the thread is");
        assert!(seen.is_in_order());
    }
}

#[test]
fn what_is_written_and_what_is_lost_is_what_was_emitted() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Refuse, 1 << 16);
        let mut child = program::start("threads", 200_000, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        assert_eq!(totals.written + totals.lost, 8 * 200_001, "{totals:?}");
        assert!(totals.lost > 0, "so many into so little");
        assert!(seen.is_in_order());
        assert_eq!(totals.spoiled_bytes, 0);
    }
}

#[test]
fn children_and_their_children_record_under_their_own_ids() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Refuse, 4 << 20);
        // A thread's own log is small.
        let count = if own_logs { 300 } else { 2_000 };
        let mut child = program::start("fork", count, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        assert_eq!(totals.lost, 0);
        for writer in [1, 2, 3, 4, 12, 13, 14] {
            assert!(seen.numbers(writer).into_iter().eq(0..count), "writer {writer}: {}", seen.numbers(writer).len());
        }
        assert_eq!(seen.steps.len(), 7, "each in a thread of its own");
        let threads: std::collections::BTreeSet<u32> = seen.steps.keys().map(|(_, thread)| *thread).collect();
        assert_eq!(threads.len(), 7);
        assert_eq!(totals.written, 7 * (count + 1));
    }
}

#[test]
fn a_program_that_executes_another_goes_on_in_the_same_session() {
    let _alone = alone();
    let stage = Stage::new(WhenFull::Refuse, 1 << 20);
    let mut child = program::start("exec", 3_000, &stage.session(), false);
    stage.carry(|| has_ended(&mut child));
    let seen = stage.read();
    assert!(seen.numbers(1).into_iter().eq(0..3_000), "writer 1: {}", seen.numbers(1).len());
    assert!(seen.numbers(2).into_iter().eq(0..3_000), "writer 2: {}", seen.numbers(2).len());
}

#[test]
fn a_signal_handler_writes_too() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Refuse, 64 << 20);
        // To a log of its own a thread writes so fast that a million are over before the handler has run often.
        let count = if own_logs { 5_000_000 } else { 1_000_000 };
        let mut child = program::start("signals", count, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        assert!(seen.is_in_order());
        let in_handler = seen.numbers(2);
        assert!(in_handler.len() > 50, "the handler ran {} times", in_handler.len());
        if !own_logs {
            assert_eq!(totals.lost, 0);
            assert_eq!(seen.numbers(1).len(), count as usize);
            assert!(in_handler.iter().copied().eq(0..in_handler.len() as u64));
        }
        // Where a thread has its own log, what its handler writes in the middle of an event is lost, and counted.
        let last = in_handler.last().expect("some");
        assert!(totals.written + totals.lost > count + 1 + last);
    }
}

#[test]
fn a_first_event_may_stand_in_a_signal_handler() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Refuse, 1 << 20);
        // More threads than there are logs of their own: each gives its own back.
        let mut child = program::start("first", 300, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        assert_eq!((totals.written, totals.lost), (2 * 300, 0));
        let mut numbers = seen.numbers(3);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq((0..300).map(|round| round * 7 + 1)));
    }
}

#[test]
fn children_that_are_forked_while_the_program_joins_are_in_the_session() {
    let _alone = alone();
    for round in 0..60 {
        let own_logs = round % 3 == 0;
        let stage = Stage::new(WhenFull::Refuse, 1 << 20);
        let mut child = program::start("race", 32, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        for writer in 0..=program::CHILDREN {
            let numbers = seen.numbers(writer);
            assert!(numbers.iter().copied().eq(0..32), "round {round}, writer {writer}: {numbers:?}, {totals:?}");
        }
        assert_eq!(totals.lost, 0);
    }
}

#[test]
fn each_thread_says_who_it_is_though_the_logs_are_full() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Refuse, 1 << 14);
        let mut child = program::start("storm", 200, &stage.session(), own_logs);
        assert!(child.wait().expect("wait").success());
        let totals = consumer::recover(stage.region(), &stage.trace(), Vec::new()).expect("the end");
        let seen = stage.read();
        assert!(totals.lost > 500 || own_logs, "{totals:?}");
        assert_eq!((seen.named, totals.written + totals.lost), (2_000, 2 * 2_000), "{totals:?}");
    }
}

#[test]
fn a_program_is_in_several_sessions_at_once() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let [first, other, flight] =
            [WhenFull::Refuse, WhenFull::Refuse, WhenFull::Overwrite].map(|when_full| Stage::new(when_full, 16 << 20));
        let mut child = program::start("listen", 20_000, &first.session(), own_logs);
        let mut carried = Consumer::begin(first.region(), &first.trace(), Vec::new()).expect("a trace");
        let mut beside = Consumer::begin(other.region(), &other.trace(), Vec::new()).expect("a trace");
        let attach = |stage: &Stage| {
            let start = std::time::Instant::now();
            while let Err(error) = headwater_trace::listen::attach(child.id(), &stage.session()) {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused, "{error}");
                assert!(start.elapsed() < Duration::from_secs(10), "the program does not listen");
            }
        };
        attach(&other);
        attach(&flight);
        // Twice is once.
        attach(&other);
        for _ in 0..100 {
            carried.carry().expect("carried");
            beside.carry().expect("carried");
            std::thread::sleep(Duration::from_millis(2));
        }
        let beside = beside.finish().expect("the end");
        let snapshot = consumer::snapshot(flight.region(), &flight.trace(), Vec::new()).expect("a trace");
        while !has_ended(&mut child) {
            carried.carry().expect("carried");
            std::thread::sleep(Duration::from_millis(2));
        }
        let carried = carried.finish().expect("the end");
        // Who was there first has all of it, and nobody anything twice.
        assert_eq!((carried.written, carried.lost), (20_001, 0), "{carried:?}");
        assert!(first.read().numbers(1).into_iter().eq(0..20_000));
        for (stage, totals) in [(other, beside), (flight, snapshot)] {
            let numbers = stage.read().numbers(1);
            let begin = numbers[0];
            assert!(begin > 0 && numbers.len() > 100 && numbers.len() < 19_000, "{} from {begin} on", numbers.len());
            assert!(numbers.iter().copied().eq(begin..begin + numbers.len() as u64));
            assert_eq!(totals.written, numbers.len() as u64 + 1);
        }
    }
}

#[test]
fn threads_come_and_go() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Refuse, 1 << 20);
        let mut child = program::start("storm", 300, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        let seen = stage.read();
        assert_eq!((totals.written, totals.lost), (2 * 3_000, 0));
        assert_eq!(seen.steps.len(), 3_000);
    }
}

#[test]
fn a_snapshot_holds_the_newest_and_the_session_goes_on() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Overwrite, 1 << 18);
        let mut child = program::start("threads", 300_000, &stage.session(), own_logs);
        let mut snapshots = 0;
        while !has_ended(&mut child) {
            let directory = stage.trace();
            let totals = consumer::snapshot(stage.region(), &directory, Vec::new()).expect("a snapshot");
            assert_eq!(totals.spoiled_bytes, 0);
            let seen = stage.read();
            assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
            assert!(seen.is_in_order());
            std::fs::remove_dir_all(directory).expect("removed");
            snapshots += 1;
        }
        let totals = consumer::recover(stage.region(), &stage.trace(), Vec::new()).expect("the end");
        let seen = stage.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        assert_eq!(totals.written + totals.lost, 8 * 300_001, "{totals:?} after {snapshots} snapshots");
        assert!(seen.is_in_order() && snapshots > 1);
    }
}

#[test]
fn a_program_that_listens_is_traced_from_then_on() {
    let _alone = alone();
    let stage = Stage::new(WhenFull::Refuse, 16 << 20);
    // It knows of no session.
    let mut child = program::start("listen", 20_000, Path::new(""), false);
    let pid = child.id();
    let start = std::time::Instant::now();
    while let Err(error) = headwater_trace::listen::attach(pid, &stage.session()) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused, "{error}");
        assert!(start.elapsed() < Duration::from_secs(10), "the program does not listen");
        std::thread::sleep(Duration::from_millis(1));
    }
    let missing = stage.session().with_extension("missing");
    let refused = headwater_trace::listen::attach(pid, &missing).expect_err("there is no such session");
    assert!(refused.to_string().contains("No such file"), "{refused}");
    let totals = stage.carry(|| has_ended(&mut child));
    let numbers = stage.read().numbers(1);
    assert!(totals.written > 0 && totals.lost == 0, "{totals:?}");
    let first = numbers[0];
    assert!(first > 0 && numbers.into_iter().eq(first..20_000), "from {first} on");
}

#[test]
fn a_session_that_is_over_takes_nothing_more() {
    let _alone = alone();
    let stage = Stage::new(WhenFull::Refuse, 1 << 20);
    let mut child = program::start("one", 100_000_000, &stage.session(), false);
    std::thread::sleep(Duration::from_millis(100));
    let totals = consumer::recover(stage.region(), &stage.trace(), Vec::new()).expect("the end");
    assert!(totals.written > 0);
    // It runs on at the cost of events that nobody records: a hundred million take less than a few seconds.
    let start = std::time::Instant::now();
    while !has_ended(&mut child) {
        assert!(start.elapsed() < Duration::from_secs(30), "the program hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(stage.read().records, totals.written);
}

#[test]
fn events_of_kinds_that_find_no_place_are_counted_as_lost_each() {
    let _alone = alone();
    for (when_full, own_logs) in [(WhenFull::Refuse, false), (WhenFull::Refuse, true), (WhenFull::Overwrite, false)] {
        let stage = Stage::new(when_full, 1 << 20);
        let mut child = program::start("kinds", 600, &stage.session(), own_logs);
        let totals = stage.carry(|| has_ended(&mut child));
        // The threads' own has a place too.
        assert_eq!((totals.written, totals.lost), (511 * 3 + 1, 89 * 3), "{totals:?}");
        assert!(stage.region().is_table_full());
    }
}

#[test]
fn threads_have_names_in_a_session_that_has_overwritten_what_they_said() {
    let _alone = alone();
    for own_logs in OWN_LOGS {
        let stage = Stage::new(WhenFull::Overwrite, 1 << 14);
        // Each fills a log of its own more than once too.
        let mut child = program::start("threads", 100_000, &stage.session(), own_logs);
        let snapped = loop {
            let trace = stage.trace().with_file_name("snapshot");
            let _ = std::fs::remove_dir_all(&trace);
            let had_ended = has_ended(&mut child);
            let totals = consumer::snapshot(stage.region(), &trace, Vec::new()).expect("a trace");
            if totals.lost > 300_000 {
                break trace;
            }
            assert!(!had_ended, "{totals:?}");
        };
        let totals = stage.carry(|| has_ended(&mut child));
        assert_eq!(totals.written + totals.lost, 8 * 100_001, "{totals:?}");
        let seen = stage.read();
        for trace in [snapped, stage.trace()] {
            let (mut named, mut heard, mut span) = (Vec::new(), Vec::new(), None);
            let mut reader = headwater_trace_tools::ctf::Reader::open(&[trace]).expect("a trace");
            while let Some(item) = reader.next().expect("sound") {
                let headwater_trace_tools::ctf::Item::Record(record) = item else { continue };
                span = span.or(Some(record.kind.name.clone()));
                if record.kind.name == "headwater:thread" {
                    assert_eq!(record.field("pid").and_then(|pid| pid.as_u64()), Some(child.id().into()));
                    let name = record.field("name").and_then(|name| name.as_text()).expect("a text");
                    assert!(!name.is_empty());
                    named.push(record.tid);
                } else {
                    assert!(named.contains(&record.tid), "{} is not known before its first record", record.tid);
                    heard.push(record.tid);
                }
            }
            assert!(named.len() > 1 && !heard.is_empty());
            assert_eq!(span.as_deref(), Some("headwater:thread"));
        }
        assert!(seen.lost > 0 && seen.is_in_order());
    }
}
