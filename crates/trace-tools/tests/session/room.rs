//! Programs that wait for room where a log is full.

use std::process::Child;
use std::time::{Duration, Instant};

use headwater_trace::region::{Region, WAIT_MAX, Waited};
use headwater_trace_tools::consumer::Consumer;

use crate::test_session::{TestSession, carry_until, logs};
use crate::wake::{LONG, wait_for};
use crate::{OWN_LOGS, has_ended, program};

/// Bytes of each log: of threads it is always as many.
const BYTES: usize = 1 << 16;

/// Waits until as many bytes are in a log as fit.
fn full(region: &Region) {
    let start = Instant::now();
    let logs = logs(region);
    // The longest record of these programs has less than 256 bytes.
    while !logs.iter().any(|log| log.head() - log.tail() > log.bytes() - 256) {
        assert!(start.elapsed() < LONG, "no log is full");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_event_is_lost_where_programs_wait_for_room() {
    for own_logs in OWN_LOGS {
        for (role, count, threads) in [("one", 50_000, 1), ("threads", 10_000, 8), ("signals", 30_000, 1)] {
            let test = TestSession::waiting(BYTES, WAIT_MAX);
            let mut child = program::start(role, count, &test.session(), own_logs);
            let totals = test.carry(|| has_ended(&mut child));
            let seen = test.read();
            assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
            assert!(seen.is_in_order());
            let is_in_handler = role == "signals";
            // In a thread's own log, events of a handler that interrupts another event are lost and counted.
            assert!(totals.lost == 0 || is_in_handler && own_logs, "{role}: {totals:?}");
            for writer in seen.steps.keys().map(|(writer, _)| *writer).filter(|writer| !is_in_handler || *writer == 1) {
                assert!(seen.numbers(writer).into_iter().eq(0..count), "{role}, writer {writer}");
            }
            assert_eq!(seen.steps.len(), if is_in_handler { 2 } else { threads });
            let Waited { count, time } = test.region().waited();
            assert!(count > 0 && time > Duration::ZERO, "so many into so little");
        }
    }
}

#[test]
fn a_recorder_that_stands_still_is_waited_for_once_until_it_copies_again() {
    const WAIT: Duration = Duration::from_millis(100);
    const COUNT: u64 = 10_000;
    for own_logs in OWN_LOGS {
        let test = TestSession::waiting(BYTES, WAIT);
        let region = test.region();
        let mut consumer = Consumer::begin(test.region(), &test.trace(), Vec::new()).expect("a trace");
        let mut last = Waited::default();
        for round in 1..=2 {
            // The second program finds the recorder at a standstill that is known.
            for is_known in [false, true] {
                wait_for(&mut program::start("one", COUNT, &test.session(), own_logs));
                let now = region.waited();
                if is_known {
                    assert_eq!(now, last, "round {round}");
                }
                if !is_known {
                    // Once, and a few times more if the kernel woke it for no reason.
                    assert!((1..=5).contains(&(now.count - last.count)), "round {round}: {now:?} after {last:?}");
                    let slept = now.time - last.time;
                    assert!(slept > WAIT * 9 / 10 && slept < LONG, "round {round}: {slept:?}");
                }
                last = now;
            }
            consumer.carry().expect("carried");
        }
        let totals = consumer.finish().expect("the end");
        assert_eq!(totals.written + totals.lost, 4 * (COUNT + 1), "{totals:?}");
        assert!(totals.lost > 0 && totals.written > 0);
    }
}

#[test]
fn a_session_that_ends_lets_waiting_programs_go() {
    for own_logs in OWN_LOGS {
        let test = TestSession::waiting(BYTES, WAIT_MAX);
        let consumer = Consumer::begin(test.region(), &test.trace(), Vec::new()).expect("a trace");
        let mut children = [0; 3].map(|_| program::start("one", 20_000, &test.session(), own_logs));
        full(&test.region());
        let start = Instant::now();
        let totals = consumer.finish().expect("the end");
        children.iter_mut().for_each(wait_for);
        assert!(start.elapsed() < WAIT_MAX / 2, "they waited for a session that had ended");
        let seen = test.read();
        assert_eq!((seen.records, seen.lost), (totals.written, totals.lost));
    }
}

#[test]
fn programs_that_are_killed_or_stopped_while_they_wait_hold_nothing_up() {
    const COUNT: u64 = 20_000;
    for own_logs in OWN_LOGS {
        let test = TestSession::waiting(BYTES, WAIT_MAX);
        let mut consumer = Consumer::begin(test.region(), &test.trace(), Vec::new()).expect("a trace");
        let mut children: Vec<Child> =
            (0..4).map(|_| program::start("second", COUNT, &test.session(), own_logs)).collect();
        full(&test.region());
        // Whether each of them waits already does not matter.
        std::thread::sleep(Duration::from_millis(50));
        let (killed, stopped) = children.split_at_mut(2);
        stopped.iter().for_each(|child| send(child, libc::SIGSTOP));
        for child in killed {
            child.kill().expect("killed");
            child.wait().expect("it ends");
        }
        let mut last = program::start("one", COUNT, &test.session(), own_logs);
        carry_until(&mut consumer, || has_ended(&mut last));
        stopped.iter().for_each(|child| send(child, libc::SIGCONT));
        carry_until(&mut consumer, || stopped.iter_mut().all(has_ended));
        let totals = consumer.finish().expect("the end");
        let seen = test.read();
        assert_eq!((totals.lost, seen.lost), (0, 0));
        assert!(seen.numbers(1).into_iter().eq(0..COUNT));
        let complete = seen.steps.iter().filter(|((writer, _), steps)| *writer == 2 && steps.len() as u64 == COUNT);
        assert_eq!(complete.count(), 2, "those that were stopped");
    }
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: the child has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}
