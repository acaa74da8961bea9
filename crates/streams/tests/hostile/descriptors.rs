//! A hostile process at the other end of the descriptors: the calls of this process return in time, and leaves it no
//! descriptor that it did not ask for, and no memory that grows.

use std::cell::RefCell;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_os::descriptors;
use headwater_streams::{Events, Options, Policy, Result, Stream};

use crate::common::{self, Random, extent, in_own_process, setting};
use crate::peer::{self, Peer};
use crate::{Done, PATIENCE, reopen};

/// No call that does not wait, or waits for some milliseconds, lasts longer.
const CALL_MAX: Duration = Duration::from_secs(5);
/// The largest allowed memory of this process, in pages.
const PAGES_MAX: u64 = 40_000;

/// The results of the cases.
#[derive(Debug, Default)]
struct Found {
    done: Done,
    files: u64,
    longest: Duration,
}

#[test]
fn abused_descriptors_make_errors_and_nothing_worse() {
    in_own_process!();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let first = setting("HEADWATER_SEED", 1);
    let mut seed = first;
    let (mut calls, mut errors, mut broken, mut files, mut longest) = (0, 0, 0, 0, Duration::ZERO);
    let before = common::open_things();
    while Instant::now() < until {
        common::within(PATIENCE, format!("abusing the descriptors with seed {seed}"));
        let found = std::panic::catch_unwind(|| case(seed)).unwrap_or_else(|_| panic!("failed with seed {seed}"));
        calls += found.done.calls;
        errors += found.done.errors;
        broken += u64::from(found.done.broken);
        files += found.files;
        longest = longest.max(found.longest);
        seed += 1;
    }
    common::calm();
    common::expect_nothing_left(before);
    println!(
        "seeds {first} to {}: {calls} calls, {errors} errors, {broken} streams found broken, {files} files received, \
         longest call {longest:.1?}",
        seed - 1
    );
    // Otherwise the fuzzer has hit nothing.
    assert!(broken * 20 > seed - first && calls > errors && (files > 0 || calls < 10_000));
}

fn case(seed: u64) -> Found {
    let mut random = Random(seed ^ 0xfeed << 32);
    let policy = random.one_of(&[Policy::DEFAULT, Policy::DEFAULT, Policy::EAGER]);
    let hiwat = random.one_of(&[100, 5000, 65536]);
    let options = Options::new().hiwat(hiwat).lowat(hiwat / 2).policy(policy);
    let (near, far) = options.pipe().expect("pipe");
    let mut ends = [Some(near), Some(far)];
    ends.iter_mut().flatten().for_each(|end| end.set_nonblocking(true).expect("arm"));
    let memory = crate::memory_of_stream();
    let len = memory.metadata().expect("fstat").len();
    if random.one_in(2) {
        ends.reverse();
    }
    let [mut end, other] = ends;
    let other = RefCell::new(other);
    let victim = end.as_ref().expect("open").as_fd().as_raw_fd();
    let shares = random.one_in(3);
    let modules = random.one_in(3);
    let mut hostile = Child::fork(|| {
        // Its own panics do not matter.
        std::panic::set_hook(Box::new(|_| {}));
        if !shares {
            // SAFETY: the handle behind it is never used in this process.
            unsafe { libc::close(victim) };
        }
        let mut other = other.borrow_mut();
        let end = other.as_mut().expect("open");
        let memory = memory.try_clone().expect("a descriptor");
        let (theirs, options) = (shares.then_some(victim), options);
        Peer { random: Random(seed), end, theirs, memory, options, modules }.rage()
    })
    .expect("fork");
    drop((other, memory));
    let mut found = Found::default();
    let descriptors = descriptors::own().expect("/proc").len();
    let steps = random.one_of(&[20, 80, 200]);
    for step in 0..steps {
        if random.one_in(25) {
            reopen(&mut end);
        }
        // It is stopped at an arbitrary moment.
        if !modules && random.one_in(40) {
            signal(&hostile, libc::SIGSTOP);
        } else if random.one_in(10) {
            signal(&hostile, libc::SIGCONT);
        }
        if step * 10 / steps == 9 {
            hostile.kill();
        }
        let end = end.as_mut().expect("open");
        let (start, next) = (Instant::now(), random.clone());
        let done = call(end, &mut random, &mut found.files, modules);
        let elapsed = start.elapsed();
        found.longest = found.longest.max(elapsed);
        assert!(elapsed < CALL_MAX, "call {next:?} lasted {elapsed:?}, modules: {modules}, and gave {done:?}");
        found.done.note(done);
        // One is the handle's own, from its first long sleep on. A thread closes what may take long to close.
        let (mut now, start) = (descriptors::own().expect("/proc").len(), Instant::now());
        while now > descriptors + 1 && start.elapsed() < CALL_MAX {
            std::thread::yield_now();
            now = descriptors::own().expect("/proc").len();
        }
        assert!(now <= descriptors + 1, "a call has left descriptors: {descriptors}, then {now}");
        if random.one_in(4) {
            std::thread::sleep(Duration::from_micros(random.next() % 200));
        }
    }
    drop(hostile);
    // Any process that has the memory can make it longer, and none shorter.
    assert!(crate::memory_of_stream().metadata().expect("fstat").len() >= len, "the memory's size");
    let pages = pages();
    assert!(pages < PAGES_MAX, "{pages} pages are resident");
    found
}

/// One of all calls.
fn call(end: &Stream, random: &mut Random, files: &mut u64, modules: bool) -> Result<()> {
    match random.below(30) {
        0..=5 => {
            let file = end.files().receive()?;
            *files += 1;
            drop(file);
        }
        6 => end.set_nonblocking(true)?,
        7 if random.one_in(20) => end.shutdown(random.one_of(&[Shutdown::Read, Shutdown::Write, Shutdown::Both]))?,
        8 | 9 => {
            let wanted = random.one_of(&[Events::IN, Events::OUT, Events::PRI, Events::IN | Events::OUT]);
            end.poll(wanted, Some(Duration::from_millis(random.next() % 20)))?;
        }
        _ => peer::call(end, random, modules)?,
    }
    Ok(())
}

fn signal(peer: &Child, number: i32) {
    // SAFETY: it is our own child, and not reaped.
    unsafe { libc::kill(peer.id() as i32, number) };
}

/// Pages of this process that are in memory.
fn pages() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
}
