//! The hostile process at the other end of a stream that a task uses: each attempt comes back, or waits as a task waits, and
//! does not keep the runtime from other tasks.

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use headwater_os::child::Child;
use headwater_streams::{Access, AsyncStream, FifoOptions, Message, Options, Result, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::{self, Random, extent, fifo, in_own_process, setting};
use crate::peer::{self, Peer};
use crate::{Done, PATIENCE};

/// An attempt that is given up after some milliseconds lasts no longer.
const ATTEMPT_MAX: Duration = Duration::from_secs(5);

#[test]
fn abused_descriptors_of_tasks_make_errors_and_nothing_worse() {
    in_own_process!();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let first = setting("HEADWATER_SEED", 1);
    let (mut seed, mut calls, mut errors, mut broken, mut longest) = (first, 0, 0, 0, Duration::ZERO);
    let before = common::open_things();
    while Instant::now() < until {
        common::within(PATIENCE, format!("abusing a task's descriptors with seed {seed}"));
        let (done, took) =
            std::panic::catch_unwind(|| case(seed)).unwrap_or_else(|_| panic!("failed with seed {seed}"));
        calls += done.calls;
        errors += done.errors;
        broken += u64::from(done.broken);
        longest = longest.max(took);
        seed += 1;
    }
    common::calm();
    common::expect_nothing_left(before);
    println!(
        "seeds {first} to {}: {calls} attempts, {errors} errors, {broken} streams found broken, longest {longest:.1?}",
        seed - 1
    );
    assert!(broken * 20 > seed - first && calls > errors);
}

fn ends(random: &mut Random, options: &Options) -> [Stream; 2] {
    if random.one_in(3) {
        let (_directory, path) = fifo();
        let open =
            |access| FifoOptions::new().nonblocking(true).stream(*options).open(&path, access).expect("it is ours");
        let reader = open(Access::Read);
        return [open(Access::Write), reader];
    }
    options.pipe().expect("pipe").into()
}

fn case(seed: u64) -> (Done, Duration) {
    let mut random = Random(seed ^ 0x7a5c << 32);
    let hiwat = random.one_of(&[100, 5000, 65536]);
    let options = Options::new().hiwat(hiwat).lowat(hiwat / 2);
    let mut ends = ends(&mut random, &options);
    ends.iter_mut().for_each(|end| end.set_nonblocking(true).expect("arm"));
    let memory = crate::memory_of_stream();
    if random.one_in(2) {
        ends.reverse();
    }
    let [end, other] = ends;
    let other = RefCell::new(other);
    let victim = end.as_fd().as_raw_fd();
    let shares = random.one_in(3);
    let mut hostile = Child::fork(|| {
        std::panic::set_hook(Box::new(|_| {}));
        if !shares {
            // SAFETY: the handle behind it is never used in this process.
            unsafe { libc::close(victim) };
        }
        let mut end = other.borrow_mut();
        let memory = memory.try_clone().expect("a descriptor");
        let theirs = shares.then_some(victim);
        Peer { random: Random(seed), end: &mut end, theirs, memory, options, modules: false }.rage()
    })
    .expect("fork");
    drop((other, memory));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (mut done, mut longest) = (Done::default(), Duration::ZERO);
    runtime.block_on(async {
        let mut end = match AsyncStream::new(end) {
            Ok(end) => end,
            Err(error) => return done.note::<()>(Err(error)),
        };
        for step in 0..60 {
            if step == 50 {
                hostile.kill();
            }
            let (start, next) = (Instant::now(), random.clone());
            let attempt = attempt(&mut end, &mut random);
            let tried = tokio::time::timeout(Duration::from_millis(5), attempt).await;
            let elapsed = start.elapsed();
            assert!(elapsed < ATTEMPT_MAX, "{next:?} lasted {elapsed:?}");
            longest = longest.max(elapsed);
            done.note(tried.unwrap_or(Ok(())));
        }
    });
    (done, longest)
}

async fn attempt(end: &mut AsyncStream, random: &mut Random) -> Result<()> {
    let bytes = vec![5; random.one_of(&[1, 300, 5000, 70_000])];
    let mut buffer = vec![0; random.one_of(&[1, 300, 5000])];
    let message = Message::proto_of(b"control", &bytes).into_owned();
    match random.below(8) {
        0 => drop(end.read(&mut buffer).await?),
        1 => drop(end.write(&bytes).await?),
        2 => drop(end.receive().await?),
        3 => end.send_message(&message).await?,
        4 => drop(end.next().await.transpose()?),
        5 => end.send(message).await?,
        6 => AsyncWriteExt::flush(end).await?,
        _ => peer::call(end.stream(), random, false)?,
    }
    Ok(())
}
