//! Programs wake their recorder when a quarter of a buffer is full.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headwater_trace::WhenFull;
use headwater_trace::region::Region;
use headwater_trace_tools::consumer::Consumer;

use crate::test_session::{TestSession, logs};
use crate::{OWN_LOGS, has_ended, program};

/// Longer than any step takes on a loaded machine.
pub const LONG: Duration = Duration::from_secs(60);

/// Ends another thread.
struct Over<'a> {
    is_over: AtomicBool,
    region: &'a Region,
}

impl Over<'_> {
    /// Ends it after `wait`, also if that panics.
    fn after(&self, wait: impl FnOnce()) {
        let waited = catch_unwind(AssertUnwindSafe(wait));
        self.is_over.store(true, Ordering::Relaxed);
        self.region.wake_consumer();
        waited.unwrap_or_else(|panic| resume_unwind(panic));
    }
}

/// Waits until a program has ended.
pub fn wait_for(child: &mut Child) {
    let start = Instant::now();
    while !has_ended(child) {
        if start.elapsed() > LONG {
            let _ = child.kill();
            panic!("the program has not ended");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_recorder_that_only_sleeps_is_woken_before_events_are_lost() {
    const HALVES: u64 = 20;
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 16);
        let region = test.region();
        let mut child = program::start("halves", HALVES, &test.session(), own_logs);
        let over = Over { is_over: AtomicBool::new(false), region: &region };
        let totals = std::thread::scope(|scope| {
            let recorder = scope.spawn(|| {
                let mut consumer = Consumer::begin(test.region(), &test.trace(), Vec::new()).expect("a trace");
                loop {
                    let known = region.wake_ups();
                    if over.is_over.load(Ordering::Relaxed) {
                        return consumer.finish().expect("the end");
                    }
                    consumer.carry().expect("carried");
                    region.wait_for_wake_up(known, LONG).expect("it waits");
                }
            });
            over.after(|| wait_for(&mut child));
            recorder.join().expect("no panic")
        });
        assert_eq!(totals.lost, 0);
        assert!(u64::from(region.wake_ups()) > HALVES, "{}", region.wake_ups());
        let seen = test.read();
        assert!(seen.numbers(1).into_iter().eq(0..seen.records - seen.named));
    }
}

#[test]
fn a_recorder_that_is_frozen_costs_a_program_one_call_for_each_log() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 16);
        let consumer = Consumer::begin(test.region(), &test.trace(), Vec::new()).expect("a trace");
        let mut child = program::start("one", 20_000, &test.session(), own_logs);
        wait_for(&mut child);
        let logs = if own_logs { 1 } else { test.region().cpu_logs().len() };
        let wake_ups = test.region().wake_ups() as usize;
        assert!((1..=logs).contains(&wake_ups), "{wake_ups}");
        let totals = consumer.finish().expect("the end");
        assert_eq!(totals.written + totals.lost, 20_001);
        // The whole log was used.
        let len = totals.bytes.div_ceil(totals.written.max(1));
        assert!(totals.lost > 0 && totals.written * len > (1 << 16) - 4096, "{totals:?}");
    }
}

#[test]
fn a_program_ends_although_another_one_keeps_its_logs_due() {
    for own_logs in OWN_LOGS {
        let test = TestSession::new(WhenFull::Refuse, 1 << 16);
        let region = test.region();
        let mut child = program::start("one", 100_000, &test.session(), own_logs);
        let over = Over { is_over: AtomicBool::new(false), region: &region };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let logs = logs(&region);
                while !over.is_over.load(Ordering::Relaxed) {
                    logs.iter().for_each(|log| log.ask(log.head().wrapping_sub(log.bytes() / 4)));
                }
            });
            over.after(|| wait_for(&mut child));
        });
        assert!(region.wake_ups() > 0);
    }
}
