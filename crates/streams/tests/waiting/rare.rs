//! Rare messages: where their reader waits, and how it notices the end.

use std::time::{Duration, Instant};

use crate::common::{child, in_own_process};

/// Longer than a first wait on the futex, and so short that a reader learns to stay there.
const PERIOD: Duration = Duration::from_millis(15);
/// From a period like this on it does not.
const TOO_LONG: Duration = Duration::from_millis(24);

#[test]
fn messages_at_a_steady_rate_find_their_reader_on_the_futex() {
    let (near, far) = headwater_streams::pipe().expect("pipe");
    let reader = std::thread::spawn(move || while far.read(&mut [0; 64]).expect("no error") > 0 {});
    let (mut late, mut last) = (0, Instant::now());
    for _ in 0..20 {
        std::thread::sleep(PERIOD);
        late += u64::from(last.elapsed() > TOO_LONG);
        last = Instant::now();
        near.write(&[1; 64]).expect("room");
    }
    let rung = near.counters().doorbells;
    drop(near);
    reader.join().expect("no panic");
    // The first two find it armed from the beginning, and on its descriptor; so do those that are late, and the next.
    assert!(rung <= 3 + 2 * late, "{rung} of 20 messages were told by the descriptor, {late} were late");
}

#[test]
fn a_writer_that_is_killed_is_noticed_by_a_reader_that_stays_on_the_futex() {
    in_own_process!();
    let (near, far) = headwater_streams::pipe().expect("pipe");
    let mut writer = child(|| {
        let mut near = near.direct();
        for _ in 0..10 {
            std::thread::sleep(PERIOD);
            near.write(&[1; 64])?;
        }
        std::thread::sleep(PERIOD);
        headwater_os::child::kill_self()
    });
    drop(near);
    let mut last = Instant::now();
    while far.read(&mut [0; 64]).expect("no error") > 0 {
        last = Instant::now();
    }
    writer.wait().expect("wait");
    assert!(last.elapsed() < Duration::from_secs(1), "noticed after {:?}", last.elapsed());
}
