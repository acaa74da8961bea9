//! A driver's close procedure: once for each stream, in the process that closes it last, or after a kill in another one; and the
//! hang-up of a partner whose last process was killed.

#[path = "common/closing.rs"]
mod closing;
mod common;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use closing::{ALONE, DIES, PAIRED, check_closes, count, forget, logged};
use common::{Random, alone, calm, child, extent, joined, polled, setting, within};
use headwater_os::child::Child;
use headwater_streams::{DeviceOptions, Errno, Result, SignalEvents, Stream};

const PATIENCE: Duration = Duration::from_secs(30);

/// A test's directory of devices, and an empty log.
fn start() -> (std::sync::MutexGuard<'static, ()>, tempfile::TempDir) {
    let alone = alone();
    (alone, closing::start())
}

fn open(directory: &Path, driver: &str, minor: u32) -> Result<Stream> {
    DeviceOptions::new().directory(directory).minor(minor).open(driver)
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE / 2, "{what}: {:?}", logged());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process that has opened a device, and closes it when it is told to.
struct User {
    child: Child,
    go: std::io::PipeWriter,
}

impl User {
    /// When this returns, it has the device open.
    fn start(body: impl FnOnce() -> Result<Stream>) -> User {
        let (ready, told) = std::io::pipe().expect("pipe");
        let (waits, go) = std::io::pipe().expect("pipe");
        let mut ends = Some((ready, go));
        let user = child(|| {
            drop(ends.take());
            let stream = body()?;
            (&told).write_all(b"x")?;
            let _ = (&waits).read(&mut [0]);
            drop(stream);
            Ok(())
        });
        drop((told, waits));
        let (ready, go) = ends.take().expect("the child has a copy");
        assert_eq!((&ready).read(&mut [0]).expect("read"), 1, "the user has failed");
        User { child: user, go }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn close(self) {
        // Other children have copies of it.
        (&self.go).write_all(b"x").expect("it waits");
        joined(self.child);
    }

    fn kill(mut self) {
        self.child.kill();
        self.child.wait().expect("wait");
    }

    /// When this returns, no thread of it does anything any more.
    fn stop(&self) {
        let pid = self.pid() as libc::pid_t;
        // SAFETY: our own child, which has not been waited for.
        unsafe {
            libc::kill(pid, libc::SIGSTOP);
            assert_eq!(libc::waitpid(pid, &mut 0, libc::WUNTRACED), pid);
        }
    }
}

#[test]
fn each_of_a_pair_is_closed_by_its_own_last_process() {
    let (_alone, directory) = start();
    within(PATIENCE, "two partners are closed in order".to_owned());
    let before = common::open_things();
    let user = User::start(|| {
        let stream = open(directory.path(), PAIRED, 1)?;
        stream.write(b"11")?;
        Ok(stream)
    });
    let stream = open(directory.path(), PAIRED, 0).expect("free");
    stream.write(b"10").expect("room");
    let pid = user.pid();
    user.close();
    // Before its process has ended.
    assert_eq!(count("close 1 of 11"), 1);
    assert_eq!(count(&format!("closed 1 by {pid}")), 1);
    assert_eq!(stream.read(&mut [0; 8]).expect("the end"), 0);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(count("close "), 1, "{:?}", logged());
    drop(stream);
    assert_eq!(logged()[4..], ["close 0 of 10".to_owned(), format!("closed 0 by {}", std::process::id())]);
    // Nothing is left to be closed.
    drop(open(directory.path(), PAIRED, 1).expect("free"));
    assert_eq!((count("close 1 of 0"), count("close ")), (1, 3));
    common::expect_nothing_left(before);
    calm();
}

#[test]
fn a_partner_that_was_killed_is_closed_once_with_its_memory() {
    let (_alone, directory) = start();
    let before = common::open_things();
    for round in 0..10 {
        within(PATIENCE, format!("a partner is killed, round {round}"));
        forget();
        let mut stream = Some(open(directory.path(), PAIRED, 0).expect("free"));
        let user = User::start(|| {
            drop(stream.take());
            let stream = open(directory.path(), PAIRED, 1)?;
            stream.write(b"21")?;
            Ok(stream)
        });
        let stream = stream.take().expect("the parent's");
        assert_eq!(stream.read(&mut [0; 8]).expect("there"), 2);
        // Another process of this end, which notices too.
        let other = User::start(|| {
            stream.write(b"20")?;
            Ok(stream.clone())
        });
        user.kill();
        until("the partner is closed", || count("closed 1") == 1);
        assert_ne!(polled(&stream, libc::POLLIN, Duration::from_secs(10)) & libc::POLLHUP, 0);
        assert_eq!(count("close 1 of 21"), 1);
        std::thread::sleep(Duration::from_millis(10));
        other.close();
        drop(stream);
        assert_eq!((count("close 1"), count("close 0 of 20"), count("close ")), (1, 1, 2), "{:?}", logged());
        // They are not closed again.
        drop((open(directory.path(), PAIRED, 1), open(directory.path(), PAIRED, 0)));
        assert_eq!(count("close ") - count("close 0 of 0") - count("close 1 of 0"), 2, "{:?}", logged());
    }
    common::expect_nothing_left(before);
    calm();
}

#[test]
fn the_last_one_left_closes_a_dead_partner_when_it_is_closed() {
    let (_alone, directory) = start();
    within(PATIENCE, "a stream is closed after its partner was killed".to_owned());
    for _ in 0..20 {
        forget();
        let user = User::start(|| open(directory.path(), PAIRED, 3));
        let stream = open(directory.path(), PAIRED, 2).expect("free");
        user.kill();
        drop(stream);
        assert_eq!((count("close 3 of 0"), count("close 2 of 0"), count("close ")), (1, 1, 2), "{:?}", logged());
    }
    calm();
}

#[test]
fn a_child_that_has_only_a_copy_closes_the_dead_partner_when_it_closes_that() {
    let (_alone, directory) = start();
    within(PATIENCE, "a copy is closed after the partner was killed".to_owned());
    let user = User::start(|| open(directory.path(), PAIRED, 3));
    let stream = open(directory.path(), PAIRED, 2).expect("free");
    // It has no thread of the library's, and makes no call.
    let (waits, go) = std::io::pipe().expect("pipe");
    let mut parents = Some((stream, go));
    let heir = child(|| {
        let (stream, go) = parents.take().expect("a copy");
        drop(go);
        let _ = (&waits).read(&mut [0]);
        drop(stream);
        Ok(())
    });
    let (stream, go) = parents.take().expect("a copy");
    drop(stream);
    user.kill();
    assert_eq!(count("close "), 0);
    drop(go);
    joined(heir);
    assert_eq!((count("close 3 of 0"), count("close 2 of 0"), count("close ")), (1, 1, 2), "{:?}", logged());
    calm();
}

#[test]
fn of_those_that_close_at_the_same_time_one_calls() {
    let (_alone, directory) = start();
    for round in 0..extent("HEADWATER_ROUNDS", 100) {
        within(PATIENCE, format!("two close at the same time, round {round}"));
        forget();
        let driver = if round % 2 == 0 { ALONE } else { PAIRED };
        // Each has descriptors of its own, as two processes have.
        let streams = [0, 1].map(|_| open(directory.path(), driver, 5).expect("the same"));
        let ready = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for stream in streams {
                let ready = &ready;
                scope.spawn(move || {
                    ready.fetch_add(1, Ordering::AcqRel);
                    while ready.load(Ordering::Acquire) < 2 {
                        std::hint::spin_loop();
                    }
                    drop(stream);
                });
            }
        });
        assert_eq!((count("close 5"), count("closed 5")), (1, 1), "{:?}", logged());
    }
    calm();
}

#[test]
fn the_next_open_closes_what_a_killed_process_has_left() {
    let (_alone, directory) = start();
    within(PATIENCE, "an open after a kill".to_owned());
    let elsewhere = open(directory.path(), ALONE, 9).expect("free");
    for (driver, minor, opened) in [
        (ALONE, 4, 4),
        // An open of another number of the driver finds it too.
        (ALONE, 4, 5),
        // Both partners are dead: no process has their memory.
        (PAIRED, 6, 6),
    ] {
        forget();
        let users = [0, 1].map(|partner| User::start(|| open(directory.path(), driver, minor ^ partner)));
        // None sees the other's end.
        users.iter().for_each(User::stop);
        users.into_iter().for_each(User::kill);
        let opens = count("open ");
        let stream = open(directory.path(), driver, opened).expect("free");
        let lines = logged();
        assert_eq!(lines[opens..].last().map(String::as_str), Some(&*format!("open {opened}")), "{lines:?}");
        for minor in [minor, minor ^ 1] {
            assert_eq!(count(&format!("close {minor} lost")), 1, "{lines:?}");
        }
        assert_eq!(count("close "), 2);
        drop(stream);
        assert_eq!(count("close "), 3);
        drop(open(directory.path(), driver, minor).expect("free"));
        assert_eq!(count("close "), 4, "{:?}", logged());
    }
    drop(elsewhere);
    assert_eq!(count("close 9 of 0"), 1);
    let left = std::fs::read_dir(directory.path()).expect("own").count();
    assert_eq!(left, 2, "the drivers' files and no socket");
    calm();
}

#[test]
fn a_close_procedure_whose_process_is_killed_in_it_is_called_anew() {
    let (_alone, directory) = start();
    within(PATIENCE, "a close procedure kills its process".to_owned());
    let dying = |driver, minor| {
        let mut user = child(|| {
            let stream = open(directory.path(), driver, minor)?;
            stream.write(b"31")?;
            DIES.store(true, Ordering::Relaxed);
            drop(stream);
            Ok(())
        });
        assert!(!user.wait().expect("wait").success());
    };
    dying(ALONE, 1);
    assert_eq!((count("close 1 of 31"), count("closed ")), (1, 0));
    // One that closes in its place dies too.
    let mut opener = child(|| {
        DIES.store(true, Ordering::Relaxed);
        open(directory.path(), ALONE, 1).map(drop)
    });
    assert!(!opener.wait().expect("wait").success());
    assert_eq!((count("close 1 lost"), count("closed ")), (1, 0));
    let stream = open(directory.path(), ALONE, 1).expect("free");
    assert_eq!((count("close 1 lost"), count("closed 1")), (2, 1));
    drop(stream);
    assert_eq!((count("close 1"), count("closed 1")), (4, 2));
    // And one that has a partner: that one has its memory.
    let stream = open(directory.path(), PAIRED, 0).expect("free");
    let mut parents = Some(stream);
    let mut user = child(|| {
        drop(parents.take());
        let stream = open(directory.path(), PAIRED, 1)?;
        stream.write(b"32")?;
        DIES.store(true, Ordering::Relaxed);
        drop(stream);
        Ok(())
    });
    let stream = parents.take().expect("there");
    assert_eq!(stream.read(&mut [0; 8]).expect("from the partner"), 2);
    user.wait().expect("wait");
    until("the partner is closed", || count("close 1 of 32") == 2);
    until("the partner is closed", || count("closed 1") == 3);
    calm();
}

#[test]
fn a_stream_that_came_over_a_socket_is_closed_by_its_last_process_and_not_again() {
    let (_alone, directory) = start();
    within(PATIENCE, "a device goes over a socket".to_owned());
    let (near, far) = UnixStream::pair().expect("pair");
    let stream = open(directory.path(), ALONE, 8).expect("free");
    stream.write(b"41").expect("room");
    stream.send_over(&near).expect("send");
    drop(stream);
    assert_eq!(count("close "), 0, "it is on its way");
    let stream = DeviceOptions::new().directory(directory.path()).receive_over(ALONE, &far).expect("a device");
    // Found again among the process's descriptors, as after exec.
    let again = Stream::from_fd(stream.as_fd().try_clone_to_owned().expect("dup")).expect("all are there");
    drop(stream);
    assert_eq!(count("close "), 0);
    drop(again);
    assert_eq!((count("close 8 of 41"), count("close ")), (1, 1));
    drop(open(directory.path(), ALONE, 8).expect("free"));
    assert_eq!((count("close 8 of 0"), count("close ")), (1, 2), "{:?}", logged());
    calm();
}

static POLLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    POLLS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn the_members_of_an_end_are_sent_one_hang_up_when_the_partner_is_killed_or_closes() {
    let (_alone, directory) = start();
    // SAFETY: the handler changes an atomic, and nothing else.
    unsafe { libc::signal(libc::SIGPOLL, count_signal as extern "C" fn(libc::c_int) as usize) };
    for round in 0..10 {
        let kills = round % 2 == 0;
        within(PATIENCE, format!("hang-ups of two members; the partner is killed: {kills}"));
        POLLS.store(0, Ordering::Relaxed);
        let user = User::start(|| open(directory.path(), "loop", 1));
        let stream = open(directory.path(), "loop", 0).expect("free");
        stream.signals().set(SignalEvents::HANGUP).expect("room");
        let (counted, told) = std::io::pipe().expect("pipe");
        let member = User::start(|| {
            stream.signals().set(SignalEvents::HANGUP)?;
            let told = told.try_clone()?;
            std::thread::spawn(move || {
                while POLLS.load(Ordering::Relaxed) == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(30));
                (&told).write_all(&[POLLS.load(Ordering::Relaxed) as u8]).expect("the test reads");
            });
            Ok(stream.clone())
        });
        if kills {
            user.kill()
        } else {
            user.close()
        }
        let mut theirs = [0];
        (&counted).read_exact(&mut theirs).expect("a signal has come there");
        until("a signal", || POLLS.load(Ordering::Relaxed) > 0);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!((POLLS.load(Ordering::Relaxed), theirs[0]), (1, 1), "round {round}");
        assert_ne!(polled(&stream, libc::POLLIN, Duration::ZERO) & libc::POLLHUP, 0);
        assert_eq!(stream.write(b"x").expect_err("it is gone").errno(), Errno::Pipe);
        member.close();
    }
    calm();
}

#[test]
fn each_open_has_one_close_whoever_is_killed_when() {
    let (_alone, directory) = start();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let mut random = Random(setting("HEADWATER_SEED", 1));
    let before = common::open_things();
    let mut rounds = 0;
    while Instant::now() < until {
        within(PATIENCE, format!("users of a pair are killed, round {rounds}"));
        forget();
        let mut users = [random.next(), random.next(), random.next()]
            .map(|seed| Child::fork(|| use_pairs(directory.path(), seed)).expect("fork"));
        std::thread::sleep(Duration::from_micros(random.next() % 30_000));
        for user in &mut users {
            user.kill();
            user.wait().expect("wait");
        }
        // The next open closes what is left.
        for minor in 0..2 {
            drop(open(directory.path(), PAIRED, minor).expect("free"));
        }
        let killed = users.map(|user| user.id().to_string());
        for minor in 0..2 {
            check_closes(&logged(), minor, &killed);
        }
        rounds += 1;
    }
    common::expect_nothing_left(before);
    println!("{rounds} rounds");
    calm();
}

/// Opens, uses and closes the streams of a pair until it is killed.
fn use_pairs(directory: &Path, seed: u64) -> i32 {
    let mut random = Random(seed);
    let mut streams = Vec::new();
    loop {
        let minor = random.below(2) as u32;
        let options = DeviceOptions::new().directory(directory).minor(minor).nonblocking(true);
        match options.open(PAIRED) {
            Ok(stream) => streams.push(stream),
            Err(error) => assert!(matches!(error.errno(), Errno::Busy), "{error}"),
        }
        for stream in &streams {
            let _ = (stream.write(b"7"), stream.read(&mut [0; 8]));
        }
        if streams.len() > random.below(3) {
            streams.swap_remove(random.below(streams.len()));
        }
    }
}
