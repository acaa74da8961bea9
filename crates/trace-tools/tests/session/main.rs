//! Traces programs as users do. In every case each event must be in the trace or be counted as lost, once.

mod damage;
mod forbid;
mod kill;
mod program;
mod room;
mod test_session;
mod wake;

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use headwater_trace::WhenFull;
use headwater_trace::event::TEXT_MAX;
use headwater_trace::region::{EVENTS_MAX, WAIT_MAX};
use headwater_trace_tools::consumer::{self, Consumer};
use headwater_trace_tools::ctf::{Reader, TraceItem};
use test_session::TestSession;

/// Not a test: the traced program. It does nothing unless the environment names a role.
#[test]
fn the_program() {
    program::run_role();
}

/// Logs of CPUs and logs of threads.
const OWN_LOGS: [bool; 2] = [false, true];

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().expect("wait").is_some_and(|status| {
        assert!(status.success(), "the program failed: {status}");
        true
    })
}

#[test]
fn events_that_are_copied_in_time_are_all_in_the_trace() {
    for own_logs in OWN_LOGS {
        // Room for all events, because the copying may be delayed by other work of the machine.
        let test = TestSession::new(WhenFull::Refuse, 16 << 20);
        let mut child = program::start("paced", 100_000, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        if !own_logs {
            assert_eq!(totals.lost, 0, "there is room");
            assert!(seen.numbers(1).into_iter().eq(0..100_000), "writer 1: {}", seen.numbers(1).len());
        }
        assert_eq!(totals.written + totals.lost, 100_001, "and one record says who the thread is");
        assert!(seen.is_in_order());
    }
}

#[test]
fn written_and_lost_events_add_up_to_the_emitted_ones() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 16);
        let mut child = program::start("threads", 50_000, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        assert_eq!(totals.written + totals.lost, 8 * 50_001, "{totals:?}");
        assert!(totals.lost > 0, "so many into so little");
        assert!(seen.is_in_order());
        assert_eq!(totals.spoiled_bytes, 0);
    }
}

#[test]
fn children_and_their_children_record_under_their_own_ids() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 4 << 20);
        // A thread's log is small.
        let count = if own_logs { 300 } else { 2_000 };
        let mut child = program::start("fork", count, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
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
fn a_program_stays_in_its_session_over_exec() {
    let test = TestSession::new(WhenFull::Refuse, 1 << 20);
    let mut child = program::start("exec", 3_000, &test.session(), false);
    test.carry(|| has_ended(&mut child));
    let seen = test.read();
    assert!(seen.numbers(1).into_iter().eq(0..3_000), "writer 1: {}", seen.numbers(1).len());
    assert!(seen.numbers(2).into_iter().eq(0..3_000), "writer 2: {}", seen.numbers(2).len());
}

#[test]
fn a_signal_handler_writes_too() {
    for own_logs in OWN_LOGS {
        let test = TestSession::waiting(64 << 20, WAIT_MAX);
        let count = 200_000;
        let mut child = program::start("signals", count, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        assert!(seen.is_in_order());
        let in_handler = seen.numbers(2);
        assert!(in_handler.len() > 50, "the handler ran {} times", in_handler.len());
        if !own_logs {
            assert_eq!(totals.lost, 0);
            assert_eq!(seen.numbers(1).len(), count as usize);
            assert!(in_handler.iter().copied().eq(0..in_handler.len() as u64));
        }
        // In a thread's own log, events of a handler that interrupts another event are lost and counted.
        let last = in_handler.last().expect("some");
        assert!(totals.written + totals.lost > count + 1 + last);
    }
}

#[test]
fn what_finds_no_room_is_counted_also_in_signal_handlers() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 16);
        let progress = program::Progress::create(&test.session());
        let count = 200_000;
        let mut child = program::start("counted_signals", count, &test.session(), own_logs);
        assert!(child.wait().expect("wait").success());
        let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("the end");
        let in_handler = progress.emitted(2).load(std::sync::atomic::Ordering::Acquire);
        assert!(in_handler > 50 && totals.lost > count / 2, "{in_handler} in the handler, {totals:?}");
        assert_eq!(totals.written + totals.lost, 1 + count + in_handler, "{totals:?}");
    }
}

#[test]
fn switching_events_loses_none_that_stays_on_also_in_signal_handlers() {
    for own_logs in OWN_LOGS {
        // On a loaded machine the program may have ended before many switches.
        assert!([1, 4, 16].into_iter().any(|millions| switched(millions, own_logs) > 50));
    }
}

/// Switches an event on and off while a program emits so many, and checks what was recorded. Returns the number of switches.
fn switched(millions: usize, own_logs: bool) -> u32 {
    let test = TestSession::new(WhenFull::Refuse, millions * (64 << 20));
    let count = millions as u64 * 1_000_000;
    let mut child = program::start("signals", count, &test.session(), own_logs);
    let (region, mut switches) = (test.region(), 0_u32);
    let totals = test.carry(|| {
        switches += 1;
        let patterns: &[&str] = if switches.is_multiple_of(2) { &["test:*"] } else { &["test:*", "!test:long_step"] };
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        region.set_patterns(&patterns).expect("short");
        has_ended(&mut child)
    });
    let seen = test.read();
    assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
    assert!(seen.is_in_order());
    if !own_logs {
        assert_eq!(totals.lost, 0);
        // Each number that is a multiple of 7 is a long step.
        let (long, short): (Vec<u64>, Vec<u64>) = seen.numbers(1).into_iter().partition(|number| number % 7 == 0);
        assert!(short.into_iter().eq((0..count).filter(|number| number % 7 != 0)));
        let all = count as usize / 7;
        let is_switched = long.len() > all / 20 && long.len() < all - all / 20;
        assert!(is_switched || switches <= 50, "{} of {all}, {switches} switches", long.len());
    }
    switches
}

#[test]
fn the_first_event_of_a_thread_may_be_in_a_signal_handler() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 20);
        // More threads than thread logs: each thread releases its log.
        let mut child = program::start("first", 300, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
        assert_eq!((totals.written, totals.lost), (2 * 300, 0));
        let mut numbers = seen.numbers(3);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq((0..300).map(|round| round * 7 + 1)));
    }
}

#[test]
fn children_that_are_forked_while_the_program_joins_are_in_the_session() {
    for round in 0..60 {
        let own_logs = round % 3 == 0;
        let test = TestSession::new(WhenFull::Refuse, 1 << 20);
        let mut child = program::start("race", 32, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
        for writer in 0..=program::CHILDREN {
            let numbers = seen.numbers(writer);
            assert!(numbers.iter().copied().eq(0..32), "round {round}, writer {writer}: {numbers:?}, {totals:?}");
        }
        assert_eq!(totals.lost, 0);
    }
}

#[test]
fn each_thread_is_named_even_if_the_logs_are_full() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 14);
        let mut child = program::start("storm", 200, &test.session(), own_logs);
        assert!(child.wait().expect("wait").success());
        let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("the end");
        let seen = test.read();
        assert!(totals.lost > 500 || own_logs, "{totals:?}");
        assert_eq!((seen.named, totals.written + totals.lost), (2_000, 2 * 2_000), "{totals:?}");
    }
}

#[test]
fn a_program_is_in_several_sessions_at_once() {
    for own_logs in OWN_LOGS {
        let [first, other, flight] = [WhenFull::Refuse, WhenFull::Refuse, WhenFull::Overwrite]
            .map(|when_full| TestSession::new(when_full, 16 << 20));
        let mut child = program::start("listen", 20_000, &first.session(), own_logs);
        let mut carried = Consumer::begin(first.region(), &first.trace(), Vec::new()).expect("a trace");
        let mut beside = Consumer::begin(other.region(), &other.trace(), Vec::new()).expect("a trace");
        let attach = |test: &TestSession| {
            let start = std::time::Instant::now();
            while let Err(error) = headwater_trace::listen::attach(child.id(), &test.session()) {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused, "{error}");
                assert!(start.elapsed() < Duration::from_secs(10), "the program does not listen");
            }
        };
        attach(&other);
        attach(&flight);
        // A second attach has no effect.
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
        // The first session has all events, and no session has any event twice.
        assert_eq!((carried.written, carried.lost), (20_001, 0), "{carried:?}");
        assert!(first.read().numbers(1).into_iter().eq(0..20_000));
        for (test, totals) in [(other, beside), (flight, snapshot)] {
            let numbers = test.read().numbers(1);
            let begin = numbers[0];
            assert!(begin > 0 && numbers.len() > 100 && numbers.len() < 19_000, "{} from {begin} on", numbers.len());
            assert_eq!(totals.written, numbers.len() as u64 + 1);
            // The two types of events are switched on one after the other: from then on none is missing. The last one was written before the end.
            let last = numbers[numbers.len() - 1];
            let (long, short): (Vec<u64>, Vec<u64>) = numbers.iter().partition(|number| number.is_multiple_of(7));
            assert!(short.iter().copied().eq((short[0]..=last).filter(|number| !number.is_multiple_of(7))));
            assert!(long.iter().copied().eq((long[0]..=last).filter(|number| number.is_multiple_of(7))));
        }
    }
}

#[test]
fn threads_come_and_go() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 20);
        let mut child = program::start("storm", 300, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        let seen = test.read();
        assert_eq!((totals.written, totals.lost), (2 * 3_000, 0));
        assert_eq!(seen.steps.len(), 3_000);
    }
}

#[test]
fn a_snapshot_has_the_newest_events_and_the_session_continues() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Overwrite, 1 << 18);
        let mut child = program::start("threads", 50_000, &test.session(), own_logs);
        let mut snapshots = 0;
        while !has_ended(&mut child) {
            let directory = test.trace();
            let totals = consumer::snapshot(test.region(), &directory, Vec::new()).expect("a snapshot");
            assert_eq!(totals.spoiled_bytes, 0);
            let seen = test.read();
            assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
            assert!(seen.is_in_order());
            std::fs::remove_dir_all(directory).expect("removed");
            snapshots += 1;
        }
        let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("the end");
        let seen = test.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
        assert_eq!(totals.written + totals.lost, 8 * 50_001, "{totals:?} after {snapshots} snapshots");
        assert!(seen.is_in_order() && snapshots > 1);
    }
}

#[test]
fn a_listening_program_is_traced_after_an_attach() {
    let test = TestSession::new(WhenFull::Refuse, 16 << 20);
    // The program is not in any session yet.
    let mut child = program::start("listen", 20_000, Path::new(""), false);
    let pid = child.id();
    let start = std::time::Instant::now();
    while let Err(error) = headwater_trace::listen::attach(pid, &test.session()) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused, "{error}");
        assert!(start.elapsed() < Duration::from_secs(10), "the program does not listen");
        std::thread::sleep(Duration::from_millis(1));
    }
    let missing = test.session().with_extension("missing");
    let refused = headwater_trace::listen::attach(pid, &missing).expect_err("there is no such session");
    assert!(refused.to_string().contains("No such file"), "{refused}");
    let totals = test.carry(|| has_ended(&mut child));
    let numbers = test.read().numbers(1);
    assert!(totals.written > 0 && totals.lost == 0, "{totals:?}");
    let first = numbers[0];
    assert!(first > 0 && numbers.into_iter().eq(first..20_000), "from {first} on");
}

#[test]
fn an_ended_session_records_nothing() {
    let test = TestSession::new(WhenFull::Refuse, 1 << 20);
    let mut child = program::start("one", 10_000_000, &test.session(), false);
    std::thread::sleep(Duration::from_millis(100));
    let totals = consumer::recover(test.region(), &test.trace(), Vec::new()).expect("the end");
    assert!(totals.written > 0);
    // The program continues to emit events that are not recorded: ten million take a second or two.
    let start = std::time::Instant::now();
    while !has_ended(&mut child) {
        assert!(start.elapsed() < Duration::from_secs(30), "the program hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(test.read().records, totals.written);
}

#[test]
fn events_of_thousands_of_types_are_recorded_and_those_beyond_the_limit_are_counted_as_lost() {
    let all = EVENTS_MAX as u64;
    for (when_full, own_logs, count) in
        [(WhenFull::Refuse, false, all + 50), (WhenFull::Refuse, true, 700), (WhenFull::Overwrite, false, 2_000)]
    {
        let test = TestSession::new(when_full, 1 << 20);
        let mut child = program::start("kinds", count, &test.session(), own_logs);
        let totals = test.carry(|| has_ended(&mut child));
        // The library's own event type for threads has an entry too.
        let lost = (count + 1).saturating_sub(all);
        assert_eq!((totals.written, totals.lost), ((count - lost) * 3 + 1, lost * 3), "{totals:?}");
        assert_eq!(test.region().is_table_full(), lost > 0);
    }
}

#[test]
fn a_text_is_cut_where_its_limit_or_the_place_of_later_fields_begins() {
    for own_logs in OWN_LOGS {
        // Two texts have 4096 bytes less the head, the number and both NULs: 4074.
        for (len, alone, beside) in [
            (127, 127, 127),
            (128, 128, 128),
            (2_037, 2_037, 2_037),
            (2_038, 2_038, 2_036),
            (TEXT_MAX, TEXT_MAX, 2_027),
            // The character of two bytes does not fit any more.
            (TEXT_MAX + 1, TEXT_MAX - 1, 2_028),
            (3_000, TEXT_MAX, 2_027),
        ] {
            let test = TestSession::new(WhenFull::Refuse, 1 << 16);
            let mut child = program::start("texts", len as u64, &test.session(), own_logs);
            test.carry(|| has_ended(&mut child));
            let mut reader = Reader::open(&[test.trace()]).expect("a trace");
            let mut seen = Vec::new();
            while let Some(item) = reader.next().expect("sound") {
                let TraceItem::Record(record) = item else { panic!("nothing is lost") };
                if record.kind.name == "test:texts" {
                    let texts = ["first", "second"].map(|name| record.field(name).and_then(|text| text.as_text()));
                    let behind = record.field("behind").and_then(|number| number.as_u64()).expect("a number");
                    let texts = texts.map(|text| text.expect("a text"));
                    assert!(texts.iter().all(|kept| program::text_of(len).starts_with(&**kept)));
                    seen.push((texts.map(|kept| kept.len()), behind));
                }
            }
            assert_eq!(seen, [([alone, 0], 1), ([0, alone], 2), ([alone, beside], 3)], "{len}");
        }
    }
}

#[test]
fn threads_are_named_even_if_their_first_records_are_overwritten() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Overwrite, 1 << 14);
        // Each thread also fills its own log more than once.
        let mut child = program::start("threads", 100_000, &test.session(), own_logs);
        let snapped = loop {
            let trace = test.trace().with_file_name("snapshot");
            let _ = std::fs::remove_dir_all(&trace);
            let had_ended = has_ended(&mut child);
            let totals = consumer::snapshot(test.region(), &trace, Vec::new()).expect("a trace");
            if totals.lost > 300_000 {
                break trace;
            }
            assert!(!had_ended, "{totals:?}");
        };
        let totals = test.carry(|| has_ended(&mut child));
        assert_eq!(totals.written + totals.lost, 8 * 100_001, "{totals:?}");
        let seen = test.read();
        for trace in [snapped, test.trace()] {
            let (mut named, mut heard, mut span) = (Vec::new(), Vec::new(), None);
            let mut reader = Reader::open(&[trace]).expect("a trace");
            while let Some(item) = reader.next().expect("sound") {
                let TraceItem::Record(record) = item else { continue };
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
