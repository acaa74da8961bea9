//! Devices that processes find by name: minor numbers, clone opens, the same stream for the same number, and the state
//! after holders close, are killed, or do not answer.

use crate::common;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Random, calm, child, extent, in_own_process, joined, private_directory, setting, within};
use headwater_os::child::Child;
use headwater_streams::{
    DeviceOptions, Driver, DriverInfo, Errno, Message, Opening, Queue, Result, Stream, register_driver,
};

const PATIENCE: Duration = Duration::from_secs(30);

fn at(directory: &Path) -> DeviceOptions {
    DeviceOptions::new().directory(directory.to_owned())
}

fn with_minor(directory: &Path, minor: Option<u32>) -> DeviceOptions {
    minor.map_or_else(|| at(directory), |minor| at(directory).minor(minor))
}

fn open(directory: &Path, driver: &str, minor: Option<u32>) -> Result<Stream> {
    with_minor(directory, minor).open(driver)
}

fn minor(stream: &Stream) -> u32 {
    stream.minor().expect("a device")
}

/// A process that has a device open, until it is told to continue.
struct Holder {
    child: Child,
    go: Option<std::io::PipeWriter>,
}

impl Holder {
    /// When this returns, the device is open there.
    fn start(body: impl FnOnce() -> Result<Stream>) -> Holder {
        let (ready, told) = std::io::pipe().expect("pipe");
        let (waits, go) = std::io::pipe().expect("pipe");
        let mut ends = Some((ready, go));
        let holder = child(|| {
            drop(ends.take());
            let stream = body()?;
            std::io::Write::write_all(&mut &told, b"x")?;
            let _ = (&waits).read(&mut [0]);
            drop(stream);
            Ok(())
        });
        drop((told, waits));
        let (ready, go) = ends.take().expect("the child has a copy");
        assert_eq!((&ready).read(&mut [0]).expect("read"), 1, "the holder has failed");
        Holder { child: holder, go: Some(go) }
    }

    /// It closes the device.
    fn end(mut self) {
        drop(self.go.take());
        joined(self.child);
    }

    fn kill(mut self) {
        self.child.kill();
        self.child.wait().expect("wait");
    }
}

/// Counts its opens and closes.
#[derive(Debug)]
struct Counted;

static OPENS: AtomicU32 = AtomicU32::new(0);
static CLOSES: AtomicU32 = AtomicU32::new(0);

impl Driver for Counted {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("counted")
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let mut state = queue.state();
        assert_eq!(opening.is_first, state[0] == 0, "{opening:?} {state:?}");
        assert_eq!(queue.minor(), Some(opening.minor));
        state[0] += 1;
        queue.set_state(state);
        OPENS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        assert!(queue.state()[0] > 0);
        CLOSES.fetch_add(1, Ordering::Relaxed);
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.reply(message)
    }
}

fn know() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register_driver(Counted).expect("new"));
}

#[test]
fn clone_opens_get_numbers_that_nobody_has() {
    in_own_process!();
    within(PATIENCE, "clone opens".to_owned());
    let directory = private_directory();
    let before = common::open_things();
    let elsewhere = Holder::start(|| open(directory.path(), "echo", None));
    let streams: Vec<_> = (0..3).map(|_| open(directory.path(), "echo", None).expect("free")).collect();
    assert_eq!(streams.iter().map(minor).collect::<Vec<_>>(), [1, 2, 3], "0 is open in the other process");
    // Another driver has separate numbers.
    assert_eq!(minor(&open(directory.path(), "nuls", None).expect("free")), 0);
    elsewhere.end();
    assert_eq!(minor(&open(directory.path(), "echo", None).expect("free")), 0);
    for stream in &streams {
        stream.write(b"own").expect("room");
        assert_eq!(stream.read(&mut [0; 8]).expect("there"), 3);
    }
    let refused = open(directory.path(), "echo", Some(headwater_streams::limits::MINORS));
    assert_eq!(refused.expect_err("beyond the last").errno(), Errno::Inval);
    drop(streams);
    common::expect_nothing_left(before);
    let left = fs::read_dir(directory.path()).expect("own").count();
    assert_eq!(left, 2, "the drivers' files and no socket");
    calm();
}

#[test]
fn the_same_number_is_the_same_stream_in_unrelated_processes() {
    in_own_process!();
    within(PATIENCE, "one minor number in two processes".to_owned());
    let directory = private_directory();
    for round in 0..20 {
        let writer = Holder::start(|| {
            let stream = open(directory.path(), "echo", Some(7))?;
            stream.write(b"from the other")?;
            Ok(stream)
        });
        let stream = open(directory.path(), "echo", Some(7)).expect("it is handed over");
        assert_eq!(minor(&stream), 7);
        let mut text = [0; 32];
        assert_eq!(stream.read(&mut text).expect("one stream"), 14, "round {round}");
        // Each process that has it hands it on, also after the first has gone.
        if round % 2 == 0 {
            writer.end()
        } else {
            writer.kill()
        }
        let third = Holder::start(|| {
            let stream = open(directory.path(), "echo", Some(7))?;
            stream.write(b"third")?;
            Ok(stream)
        });
        assert_eq!(stream.read(&mut text).expect("one stream"), 5);
        drop(stream);
        third.end();
    }
    calm();
}

#[test]
fn a_reader_here_is_woken_by_a_writer_that_opened_by_name() {
    in_own_process!();
    within(PATIENCE, "a sleeping reader of a named device".to_owned());
    let directory = private_directory();
    let stream = open(directory.path(), "echo", Some(1)).expect("free");
    for _ in 0..5 {
        let writer = child(|| {
            let stream = open(directory.path(), "echo", Some(1))?;
            std::thread::sleep(Duration::from_millis(50));
            stream.write(b"awake").map(drop)
        });
        assert_eq!(stream.read(&mut [0; 8]).expect("woken"), 5);
        joined(writer);
    }
    calm();
}

#[test]
fn a_driver_is_opened_by_each_and_closed_by_the_last() {
    in_own_process!();
    know();
    within(PATIENCE, "opens and closes of a named device".to_owned());
    let directory = private_directory();
    let counted = || (OPENS.load(Ordering::Relaxed), CLOSES.load(Ordering::Relaxed));
    let before = counted();
    let elsewhere = Holder::start(|| open(directory.path(), "counted", Some(2)));
    let one = open(directory.path(), "counted", Some(2)).expect("the same");
    let two = open(directory.path(), "counted", Some(2)).expect("the same");
    assert_eq!(counted(), (before.0 + 2, before.1));
    drop(one);
    elsewhere.end();
    assert_eq!(counted().1, before.1, "it is open here");
    drop(two);
    assert_eq!(counted().1, before.1 + 1);
    // The next one is a new stream.
    drop(open(directory.path(), "counted", Some(2)).expect("free"));
    assert_eq!(counted(), (before.0 + 3, before.1 + 2));
    calm();
}

#[test]
fn a_forked_child_goes_on_with_the_device_and_lets_others_in() {
    in_own_process!();
    within(PATIENCE, "a named device goes to a child".to_owned());
    let directory = private_directory();
    let mut parents = Some(open(directory.path(), "echo", Some(3)).expect("free"));
    let heir = Holder::start(|| {
        let stream = parents.take().expect("there");
        stream.write(b"heir")?;
        Ok(stream)
    });
    drop(parents);
    let stream = open(directory.path(), "echo", Some(3)).expect("the child hands it over");
    assert_eq!(stream.read(&mut [0; 8]).expect("one stream"), 4);
    // A clone open does not get what the child has.
    assert_eq!(minor(&open(directory.path(), "echo", None).expect("free")), 0);
    heir.end();
    calm();
}

#[test]
fn holders_that_are_killed_leave_nothing_in_the_way() {
    in_own_process!();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let mut random = Random(setting("HEADWATER_SEED", 1));
    let directory = private_directory();
    let before = common::open_things();
    let mut rounds = 0;
    while Instant::now() < until {
        within(PATIENCE, format!("holders are killed, round {rounds}"));
        let mut holders =
            [random.next(), random.next()].map(|seed| Child::fork(|| hold(directory.path(), seed)).expect("fork"));
        std::thread::sleep(Duration::from_micros(random.next() % 20_000));
        for holder in &mut holders {
            holder.kill();
            holder.wait().expect("wait");
        }
        for minor in 0..3 {
            let stream = open(directory.path(), "echo", Some(minor)).unwrap_or_else(|error| panic!("{minor}: {error}"));
            stream.write(b"mine").expect("room");
            assert_eq!(stream.read(&mut [0; 8]).expect("there"), 4, "the stream is new");
        }
        rounds += 1;
    }
    common::expect_nothing_left(before);
    println!("{rounds} rounds");
    calm();
}

/// Opens, uses and closes devices until it is killed.
fn hold(directory: &Path, seed: u64) -> i32 {
    let mut random = Random(seed);
    let mut open_ones = Vec::new();
    loop {
        let minor = Some(random.below(3) as u32).filter(|_| random.one_in(2));
        match with_minor(directory, minor).nonblocking(true).open("echo") {
            Ok(stream) => open_ones.push(stream),
            Err(error) => assert_eq!(error.errno(), Errno::Busy, "{error}"),
        }
        if let Some(stream) = open_ones.last() {
            let _ = stream.write(b"x");
        }
        if open_ones.len() > random.below(4) {
            open_ones.swap_remove(random.below(open_ones.len()));
        }
    }
}

#[test]
fn a_number_whose_holder_is_stopped_is_busy_and_nobody_waits_for_ever() {
    in_own_process!();
    within(PATIENCE, "a holder is stopped".to_owned());
    let directory = private_directory();
    let holder = Holder::start(|| open(directory.path(), "echo", Some(5)));
    let pid = holder.child.id() as libc::pid_t;
    // SAFETY: our own child, which has not been waited for.
    unsafe {
        libc::kill(pid, libc::SIGSTOP);
        // All of its threads have stopped.
        assert_eq!(libc::waitpid(pid, &mut 0, libc::WUNTRACED), pid);
    }
    let start = Instant::now();
    let refused = open(directory.path(), "echo", Some(5)).expect_err("nobody answers");
    assert_eq!(refused.errno(), Errno::Busy);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(minor(&open(directory.path(), "echo", None).expect("others are free")), 0);
    // SAFETY: as above.
    unsafe { libc::kill(pid, libc::SIGCONT) };
    assert_eq!(minor(&open(directory.path(), "echo", Some(5)).expect("it answers")), 5);
    holder.end();
    calm();
}

#[test]
fn a_directory_that_others_may_use_is_refused() {
    in_own_process!();
    let directory = private_directory();
    let refused = |path: &Path| open(path, "echo", None).expect_err("unsafe").errno();
    for mode in [0o701, 0o702, 0o777] {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).expect("own");
        assert_eq!(refused(directory.path()), Errno::new(libc::EACCES), "{mode:o}");
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).expect("own");
    let (link, other) = (directory.path().join("link"), directory.path().join("other"));
    fs::create_dir(&other).expect("own");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o770)).expect("own");
    symlink(&other, &link).expect("own");
    assert!(open(&link, "echo", None).is_err(), "a link");
    // One that is missing is made for this user alone.
    let missing = directory.path().join("a/b");
    drop(open(&missing, "echo", None).expect("made"));
    assert_eq!(fs::metadata(&missing).expect("there").permissions().mode() & 0o777, 0o700);
    // One for a group is the administrator's choice, and what is in it is for the group.
    let _stream = open(&other, "echo", None).expect("a group's");
    for entry in fs::read_dir(&other).expect("own") {
        assert_eq!(entry.expect("own").metadata().expect("there").permissions().mode() & 0o777, 0o660);
    }
    // Something else in the place of the driver's file.
    fs::create_dir(missing.join("nuls")).expect("own");
    assert!(open(&missing, "nuls", None).is_err());
}

/// Opens a number, again while who has it does not answer in time: on a loaded machine it may not have run.
fn opened_at_last(directory: &Path, driver: &str, number: u32) -> Result<Stream> {
    loop {
        match open(directory, driver, Some(number)) {
            Err(error) if error.errno() == Errno::Busy => {}
            opened => return opened,
        }
    }
}

#[test]
fn many_who_open_one_number_at_the_same_time_get_one_stream() {
    in_own_process!();
    const OPENERS: usize = 6;
    let directory = private_directory();
    for round in 0..10 {
        within(PATIENCE, format!("{OPENERS} processes open one number, round {round}"));
        let (start, end) = (common::Start::new(), common::Start::new());
        let openers: Vec<_> = (0..OPENERS)
            .map(|_| {
                child(|| {
                    start.wait();
                    let stream = opened_at_last(directory.path(), "echo", 9)?;
                    stream.write(b"x")?;
                    // Until the parent has come.
                    end.wait();
                    drop(stream);
                    Ok(())
                })
            })
            .collect();
        start.give();
        let stream = opened_at_last(directory.path(), "echo", 9).expect("one of them");
        let mut count = 0;
        while count < OPENERS {
            count += stream.read(&mut [0; 16]).expect("one stream");
        }
        end.give();
        openers.into_iter().for_each(joined);
    }
    calm();
}
