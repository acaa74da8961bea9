//! Programs that damage their logs.

use std::os::unix::fs::FileExt;

use headwater_trace::WhenFull;
use headwater_trace_tools::consumer::Consumer;

use crate::test_session::{TestSession, logs};
use crate::{has_ended, program};

#[test]
fn what_comes_before_a_damaged_record_is_in_the_trace_and_the_rest_is_counted() {
    const EVENTS: u64 = 60_000;
    // Its length at the end of the log and in several packets, its event, and its time.
    for (damaged, at, len) in [(EVENTS - 1, 10, 2), (20_001, 10, 2), (99, 10, 2), (20_001, 8, 2), (20_001, 0, 8)] {
        let test = TestSession::new(WhenFull::Refuse, 8 << 20);
        let mut child = std::thread::scope(|scope| {
            let start = || {
                headwater_os::cpu::bind(headwater_os::cpu::allowed().expect("CPUs")[0]).expect("bound");
                program::start("one", EVENTS, &test.session(), false)
            };
            scope.spawn(start).join().expect("no panic")
        });
        while !has_ended(&mut child) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let memory = std::fs::read(test.session()).expect("a file");
        let check = program::check(1, damaged).to_le_bytes();
        let place = memory.windows(8).position(|bytes| bytes == check).expect("it was written") - 32;
        let file = std::fs::File::options().write(true).open(test.session()).expect("a file");
        file.write_all_at(&[0; 8][..len], place as u64 + at).expect("written");
        let region = test.region();
        let recorded: u64 = logs(&region).iter().map(|log| log.head()).sum();
        let mut consumer = Consumer::begin(region, &test.trace(), Vec::new()).expect("a trace");
        let copied = consumer.carry().expect("carried");
        let totals = consumer.finish().expect("the end");
        let seen = test.read();
        assert!(seen.numbers(1).into_iter().eq(0..damaged), "{damaged} {at}: {}", seen.numbers(1).len());
        assert_eq!((totals.lost, copied), (0, recorded), "{damaged} {at}");
        assert!(totals.spoiled_bytes >= (EVENTS - damaged) * 40, "{damaged} {at}: {totals:?}");
        assert!(totals.spoiled_bytes <= (EVENTS - damaged) * 140, "{damaged} {at}: {totals:?}");
    }
}
