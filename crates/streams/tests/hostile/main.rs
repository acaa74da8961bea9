//! A peer that writes anything anywhere into the shared memory, or sends anything to the descriptors: every call of this
//! process returns, with a result or an error. It does not panic, wait for ever, or touch anything outside.
//!
//! `cargo xtask fuzz` runs the long form. A failure names its seed; `HEADWATER_SEED` repeats it.

#[path = "../common/mod.rs"]
mod common;
mod datagrams;
mod descriptors;
mod fifos;
mod member;
mod packets;
mod peer;
mod places;
mod rage;
mod tasks;
mod transports;

use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Random, alone, extent, in_own_process, memories, setting};
use headwater_streams::{
    ControlMode, DeviceOptions, Errno, ErrorOptions, Events, Flush, MessageFilter, Options, Policy, Priority, ReadMode,
    ReadOptions, Result, Stream,
};
use places::{BLOCK, BLOCKS, FIXED, LANES, QUEUE, QUEUES, RECORDS};

/// The time limit of one case.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a blocking call is interrupted: a lock that a living process seems to hold is waited for until then.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

/// Seeds of cases that once did not end: lists of messages without bytes that led back to themselves.
const ENDLESS: [u64; 2] = [110_019_115, 32_100_477];

#[test]
fn cases_that_once_failed_end() {
    in_own_process!();
    for seed in ENDLESS {
        common::within(PATIENCE, format!("scribbling with seed {seed}"));
        assert!(case(seed).calls > 0);
    }
    common::calm();
}

#[test]
fn scribbled_memory_makes_errors_and_nothing_worse() {
    scribble_at(case);
}

#[test]
fn scribbled_memory_of_a_device_makes_errors_and_nothing_worse() {
    scribble_at(device_case);
}

fn scribble_at(case: fn(u64) -> Done) {
    let _alone = alone();
    let before = common::open_things();
    run_cases(case);
    common::expect_nothing_left(before);
}

/// Runs cases for some time.
fn run_cases(case: fn(u64) -> Done) {
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 2));
    let first = setting("HEADWATER_SEED", 1);
    let (mut seed, mut calls, mut errors, mut broken) = (first, 0, 0, 0);
    while Instant::now() < until {
        common::within(PATIENCE, format!("scribbling with seed {seed}"));
        let done = std::panic::catch_unwind(|| case(seed)).unwrap_or_else(|_| panic!("failed with seed {seed}"));
        calls += done.calls;
        errors += done.errors;
        broken += u64::from(done.broken);
        seed += 1;
    }
    common::calm();
    println!("seeds {first} to {}: {calls} calls, {errors} errors, {broken} streams found broken", seed - 1);
    // Otherwise the fuzzer has hit nothing.
    assert!(broken * 10 > seed - first && calls > errors);
}

#[derive(Debug, Default)]
struct Done {
    calls: u64,
    errors: u64,
    /// A call has failed with EPROTO.
    broken: bool,
}

impl Done {
    fn note<T>(&mut self, result: Result<T>) {
        self.calls += 1;
        if let Err(error) = result {
            self.errors += 1;
            self.broken |= error.errno() == Errno::Proto;
            assert!(!error.to_string().is_empty());
        }
    }
}

/// A pipe.
fn case(seed: u64) -> Done {
    case_of(seed, |options| options.pipe().expect("pipe"))
}

/// Two handles of an `echo` device.
fn device_case(seed: u64) -> Done {
    case_of(seed, |options| {
        let options = DeviceOptions::new().stream(*options);
        let stream = options.open_private("echo").expect("known");
        let another = stream.clone();
        (stream, another)
    })
}

fn case_of(seed: u64, open: impl Fn(&Options) -> (Stream, Stream)) -> Done {
    let mut random = Random(seed);
    let policy = random.one_of(&[Policy::DEFAULT, Policy::DEFAULT, Policy::DEFAULT.coalescing(false), Policy::EAGER]);
    let hiwat = random.one_of(&[100, 5000, 65536]);
    let options = Options::new().hiwat(hiwat).lowat(hiwat / 2).policy(policy);
    let before = inodes();
    let (near, far) = open(&options);
    let memory = memory_beside(&before);
    let len = memory.metadata().expect("fstat").len();
    let mut ends = [Some(near), Some(far)];
    let mut done = Done::default();
    for end in ends.iter_mut().flatten() {
        end.set_nonblocking(true).expect("arm");
        if random.one_in(3) {
            end.push(random.one_of(&["srvmod", "nullmod", "pipemod", "testmod"])).expect("known");
        }
    }
    // There are messages before the memory is corrupted.
    for _ in 0..random.below(20) {
        let end = ends[random.below(2)].as_mut().expect("open");
        done.note(call(end, &mut random));
    }
    let (stop, paused) = (AtomicBool::new(false), AtomicU64::new(random.one_of(&[0, 1, 20, 200])));
    std::thread::scope(|scope| {
        let (mut scribbles, memory, options) = (Random(seed ^ 0xdead), &memory, &options);
        let (stop, paused) = (&stop, &paused);
        if random.one_in(2) {
            // All the time, while calls are under way.
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    scribble(memory, len, options, &mut scribbles);
                    std::thread::sleep(Duration::from_micros(paused.load(Ordering::Relaxed)));
                }
            });
        }
        let _stop = Stop(stop);
        let mut between = Random(seed ^ 0xbeef);
        let often = random.one_of(&[1, 3, 10]);
        for _ in 0..60 {
            if between.one_in(often) {
                scribble(memory, len, options, &mut between);
            }
            if random.one_in(25) {
                reopen(&mut ends[random.below(2)]);
            }
            let end = ends[random.below(2)].as_mut().expect("open");
            done.note(call(end, &mut random));
        }
        // When the other end is gone, a call that waits comes back.
        let last = random.below(2);
        ends[1 - last] = None;
        let end = ends[last].as_mut().expect("open");
        done.note(end.set_nonblocking(false));
        // SAFETY: no arguments, always succeeds.
        let caller = unsafe { libc::pthread_self() };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| interrupt(caller, &over));
            let _over = Stop(&over);
            for _ in 0..20 {
                if between.one_in(often) {
                    scribble(memory, len, options, &mut between);
                }
                done.note(blocking_call(end, &mut random));
            }
        });
    });
    done
}

/// Interrupts a thread's calls again and again until it is `over`; it outlives that.
fn interrupt(thread: libc::pthread_t, over: &AtomicBool) {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: installs a handler that does nothing, for a signal that nothing else here uses.
    unsafe { libc::signal(libc::SIGUSR1, nothing as extern "C" fn(libc::c_int) as usize) };
    while !over.load(Ordering::Relaxed) {
        // In small steps, so that a case that is over is not held up.
        let start = Instant::now();
        while start.elapsed() < INTERRUPT_EVERY && !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: the caller says that the thread is there.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
    }
}

/// Stops the scribbler, also when a call has panicked.
#[derive(Debug)]
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Another handle of the same end instead of this one: it reads its state from the memory.
fn reopen(end: &mut Option<Stream>) {
    *end = end.clone();
}

/// The memory of the only stream that this process has.
fn memory_of_stream() -> File {
    memories().into_iter().next().expect("it is open")
}

/// The memory of the only stream that this process has beside those of these inodes: of peers, which it keeps.
fn memory_beside(before: &[u64]) -> File {
    memories().into_iter().find(|memory| !before.contains(&inode(memory))).expect("it is open")
}

fn inodes() -> Vec<u64> {
    memories().iter().map(inode).collect()
}

fn inode(memory: &File) -> u64 {
    memory.metadata().expect("fstat").ino()
}

/// Half the size of the part behind the records, without the windows.
fn store_len(len: u64, options: &Options) -> u64 {
    let window = u64::from(options.hiwat + options.strmsgsz + options.strctlsz).next_power_of_two();
    (len - FIXED - RECORDS - 2 * window) / 2
}

fn scribble(memory: &File, len: u64, options: &Options, random: &mut Random) {
    let store = FIXED + RECORDS + random.one_of(&[0, store_len(len, options)]);
    let at = match random.below(18) {
        0..=5 => LANES + random.next() % (2 * 1024),
        6 => random.next() % LANES,
        7 => random.next() % FIXED,
        8 => FIXED + random.next() % RECORDS,
        9 | 10 => FIXED + random.one_of(&[0, RECORDS / 2]) + random.next() % (8 * 32),
        11 => store + random.next() % QUEUES,
        12 => store + QUEUES + random.next() % 64,
        13 => store + QUEUES + random.one_of(&[1, 65]) * QUEUE + random.next() % 64,
        14 | 15 => store + BLOCKS + random.next() % (20 * BLOCK),
        // The links of pages.
        16 => (store + BLOCKS + 1024 * BLOCK).next_multiple_of(4096) + random.next() % 400,
        _ => random.next() % len,
    };
    let value = match random.below(6) {
        0 => random.next(),
        1 => random.next() % 5,
        2 => u64::MAX - random.next() % 5,
        3 => random.next() % 70_000,
        4 => 1 << (random.next() % 64),
        _ => random.next() & 0xff07_ffff_ff07_ffff,
    };
    let bytes = value.to_le_bytes();
    let width = random.one_of(&[1, 2, 4, 4, 8]);
    let aligned = at / width as u64 * width as u64;
    if aligned + 8 <= len {
        // A change of the present value, or a new random value.
        if random.one_in(3) {
            let mut now = [0; 8];
            let _ = memory.read_at(&mut now, aligned);
            let near = u64::from_le_bytes(now).wrapping_add(random.next() % 9).wrapping_sub(4);
            let _ = memory.write_at(&near.to_le_bytes()[..width], aligned);
        } else {
            let _ = memory.write_at(&bytes[..width], aligned);
        }
    }
}

/// One of all calls, without waiting.
fn call(end: &Stream, random: &mut Random) -> Result<()> {
    let number = random.below(CALLS);
    call_by_number(number, end, random)
}

const CALLS: usize = 36;
/// The call that pushes a module.
const PUSH: usize = 25;

fn call_by_number(number: usize, end: &Stream, random: &mut Random) -> Result<()> {
    let len = random.one_of(&[0, 1, 8, 200, 257, 4096, 9000, 70_000]);
    let bytes = vec![7; len];
    let mut buffer = vec![0; random.one_of(&[0, 1, 8, 300, 9000, 70_000])];
    let control = vec![3; random.one_of(&[0, 1, 64, 4096])];
    let band = random.one_of(&[0, 1, 255]);
    let mut small = [0; 100];
    let select = random.one_of(&[MessageFilter::Any, MessageFilter::HighPriority, MessageFilter::Band(1)]);
    match number {
        0..=4 => assert!(end.write(&bytes)? <= bytes.len()),
        5..=9 => assert!(end.read(&mut buffer)? <= buffer.len()),
        10 => assert!(end.writev(&[IoSlice::new(&bytes), IoSlice::new(b"more")])? <= bytes.len() + 4),
        11 | 12 => end.putpmsg(
            Some(&control),
            Some(&bytes),
            random.one_of(&[Priority::High, Priority::NORMAL, Priority::NORMAL]),
        )?,
        13 => end.putmsg(None, Some(&bytes))?,
        14 | 15 => end.putpmsg(Some(&control), Some(&bytes), band)?,
        16..=19 => {
            let got = end.getpmsg(Some(&mut small), Some(&mut buffer), select)?;
            assert!(got.control.unwrap_or(0) <= small.len() && got.data.unwrap_or(0) <= buffer.len());
        }
        20 => drop(end.peek(Some(&mut small), Some(&mut buffer), select)?),
        21 => drop(end.nread()?),
        22 => drop((end.band()?, end.has_band(band)?)),
        23 => drop((end.can_put(band)?, end.counters(), end.settings().maxpsz(), end.settings().water_marks())),
        24 => drop(end.poll(Events::IN | Events::OUT | Events::PRI, Some(Duration::from_millis(random.next() % 2)))?),
        PUSH => end.push(random.one_of(&["srvmod", "nullmod", "pipemod"]))?,
        26 => end.pop()?,
        27 => drop((end.modules().list()?, end.modules().look()?, end.modules().find("srvmod")?)),
        28 => {
            let mut flush = random.one_of(&[Flush::WRITE, Flush::ALL]);
            flush.band = random.one_in(2).then_some(band);
            end.flush_queues(flush)?
        }
        29 => end.settings().set_water_marks(random.one_of(&[1, 1000, 60_000]), random.one_of(&[0, 1, 500]))?,
        30 => {
            let mode = random.one_of(&[ReadMode::Bytes, ReadMode::MessageKeep, ReadMode::MessageDiscard]);
            let control = random.one_of(&[ControlMode::Refuse, ControlMode::AsData, ControlMode::Discard]);
            end.settings().set_read_options(ReadOptions::new().mode(mode).control(control).fill(random.one_in(4)))?;
        }
        31 => {
            let options = end.settings().write_options().delimit(random.one_in(3)).hold(random.one_in(3));
            end.settings().set_write_options(options)?;
            end.settings().set_error_options(ErrorOptions::new().read_once(true).write_once(true));
        }
        32 => {
            let mut direct = end.direct();
            let mut place = direct.reserve(len.min(4096))?;
            place.fill(0, &bytes[..len.min(4096)]);
            if random.one_in(2) {
                place.commit()?;
            }
        }
        33 => {
            if let Some(borrowed) = end.direct().borrow()? {
                let there = borrowed.to_vec().len();
                borrowed.consume(random.below(there + 2))?;
            }
        }
        34 => {
            let file = File::open("/dev/null")?;
            end.files().send(std::os::fd::AsFd::as_fd(&file))?;
        }
        _ => {
            end.signals().take_raised();
            assert!(
                !format!("{:?} {:?} {end:?}", end.settings().read_options(), end.settings().error_options()).is_empty()
            );
            end.set_inheritable(false)?;
        }
    }
    Ok(())
}

/// A call that may wait, where the other end is gone.
fn blocking_call(end: &Stream, random: &mut Random) -> Result<()> {
    let mut buffer = vec![0; random.one_of(&[1, 8, 9000])];
    match random.below(6) {
        0 | 1 => drop(end.read(&mut buffer)?),
        2 => drop(end.getmsg(Some(&mut [0; 10]), Some(&mut buffer))?),
        3 => drop(end.write(&buffer)?),
        4 => end.putpmsg(Some(b"control"), Some(&buffer), 1)?,
        _ => drop(end.poll(Events::IN, Some(Duration::from_millis(20)))?),
    }
    Ok(())
}
