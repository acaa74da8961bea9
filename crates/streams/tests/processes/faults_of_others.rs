//! Devices beside other processes' faults: stopped partners and siblings, forks at any time, signals, and a hostile user of a group's
//! directory.

use crate::common;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{calm, in_own_process, polled, private_directory, within};
use headwater_os::child::Child;
use headwater_streams::drivers::log::{LogFlags, TRCLOG, TraceId};
use headwater_streams::{
    DeviceOptions, Driver, DriverInfo, Errno, IoctlTimeout, Kind, LogSubmitter, Message, Options, Queue, Result, Side,
    Stream, register_driver,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn open(directory: &Path, driver: &str, minor: u32) -> Result<Stream> {
    DeviceOptions::new().minor(minor).directory(directory).open(driver)
}

fn signal(child: &Child, number: libc::c_int) {
    // SAFETY: only sends a signal, to a child that was not waited for.
    unsafe { libc::kill(child.id() as i32, number) };
}

/// Stops a child, and returns when all its threads stand still: until then one of them may still answer.
fn stop(child: &mut Child) {
    child.stop().expect("our own child");
}

/// A byte of another process.
fn told(pipe: &mut impl Read) {
    pipe.read_exact(&mut [0]).expect("told");
}

fn tell(mut pipe: impl Write) {
    pipe.write_all(b"x").expect("room");
}

/// Whether the other end's last process has gone, by then.
fn is_hung_up(handle: &Stream, within: Duration) -> bool {
    let until = Instant::now() + within;
    while polled(handle, 0, Duration::ZERO) & libc::POLLHUP == 0 {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn a_forked_child_that_has_closed_its_copy_does_not_keep_the_partner() {
    in_own_process!();
    within(PATIENCE, "a child of a partner lives on without the stream".to_owned());
    let directory = private_directory();
    let (mut ready, say) = std::io::pipe().expect("pipe");
    let (mut looked, say_looked) = std::io::pipe().expect("pipe");
    let mut parent = Child::fork(|| {
        let mut stream = Some(open(directory.path(), "loop", 0).expect("free"));
        tell(&say);
        assert_eq!(stream.as_mut().expect("open").read(&mut [0; 8]).expect("it has met the partner"), 1);
        let mut child = Child::fork(|| {
            drop(stream.take());
            tell(&say);
            std::thread::sleep(Duration::from_secs(30));
            0
        })
        .expect("fork");
        drop(stream.take());
        tell(&say);
        told(&mut looked);
        child.kill();
        child.wait().expect("wait");
        0
    })
    .expect("fork");
    told(&mut ready);
    let partner = open(directory.path(), "loop", 1).expect("free");
    partner.write(b"x").expect("room");
    told(&mut ready);
    told(&mut ready);
    assert!(is_hung_up(&partner, Duration::from_secs(3)));
    tell(&say_looked);
    parent.wait().expect("wait");
    calm();
}

#[test]
fn an_open_whose_partner_s_process_is_stopped_says_so_and_succeeds_afterwards() {
    in_own_process!();
    within(PATIENCE, "the partner's process is stopped".to_owned());
    let directory = private_directory();
    let (mut ready, say) = std::io::pipe().expect("pipe");
    let mut holder = Child::fork(|| {
        let stream = open(directory.path(), "loop", 0).expect("free");
        tell(&say);
        while stream.write(b"y").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        0
    })
    .expect("fork");
    told(&mut ready);
    stop(&mut holder);
    assert_eq!(open(directory.path(), "loop", 1).expect_err("it does not answer").errno(), Errno::Busy);
    signal(&holder, libc::SIGCONT);
    let stream = open(directory.path(), "loop", 1).expect("it answers");
    assert!(stream.read(&mut [0; 8]).expect("no error") > 0);
    drop(stream);
    holder.kill();
    holder.wait().expect("wait");
    calm();
}

#[test]
fn an_open_behind_a_stopped_process_ends_in_time_beside_signals() {
    in_own_process!();
    extern "C" fn nothing(_: libc::c_int) {}
    within(PATIENCE, "an open whose process is signalled all the time".to_owned());
    let directory = private_directory();
    let (mut ready, say) = std::io::pipe().expect("pipe");
    let mut holder = Child::fork(|| {
        let _stream = open(directory.path(), "loop", 0).expect("free");
        tell(&say);
        std::thread::sleep(Duration::from_secs(60));
        0
    })
    .expect("fork");
    told(&mut ready);
    stop(&mut holder);
    let mut opener = Child::fork(|| {
        let interval = libc::timeval { tv_sec: 0, tv_usec: 100_000 };
        // SAFETY: the handler does nothing, and the timer is this child's.
        unsafe {
            libc::signal(libc::SIGALRM, nothing as extern "C" fn(libc::c_int) as usize);
            let timer = libc::itimerval { it_interval: interval, it_value: interval };
            libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
        }
        let begun = Instant::now();
        let busy = open(directory.path(), "loop", 0).is_err_and(|error| error.errno() == Errno::Busy);
        i32::from(!busy || begun.elapsed() > Duration::from_secs(3))
    })
    .expect("fork");
    assert!(opener.wait().expect("wait").success());
    holder.kill();
    holder.wait().expect("wait");
    calm();
}

#[test]
fn a_close_takes_no_longer_than_it_was_told_behind_a_reserved_place() {
    in_own_process!();
    within(PATIENCE, "a close beside a reserved place".to_owned());
    let (closing, _far) = Options::new().pipe().expect("pipe");
    let mut other = closing.direct();
    closing.settings().set_close_time(Duration::from_millis(200)).expect("short");
    let (mut ready, say) = std::io::pipe().expect("pipe");
    let (closed, until_closed) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let place = other.reserve(100).expect("room");
        tell(&say);
        let _ = until_closed.recv_timeout(Duration::from_secs(4));
        drop(place);
    });
    told(&mut ready);
    let begun = Instant::now();
    closing.drain();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    closed.send(()).expect("it waits");
    holder.join().expect("no panic");
    calm();
}

#[test]
fn a_device_with_files_is_served_below_a_multiplexer() {
    in_own_process!();
    within(PATIENCE, "a logger is linked below a multiplexer".to_owned());
    let directory = private_directory();
    let options = DeviceOptions::new().directory(directory.path());
    let log = options.open("log").expect("free");
    log.ioctl(TRCLOG, &mut TraceId::list(&[TraceId::ALL]), IoctlTimeout::Usual).expect("a logger");
    let upper = options.open("mux").expect("free");
    let log = log;
    let id = upper.links().link(&log).expect("free");
    let submitter = LogSubmitter::open(&options).expect("own");
    assert!(submitter.submit(1, 2, 3, LogFlags::TRACE, "hello"));
    let message = upper.receive().expect("no error").expect("it comes up");
    assert!(message.data().is_some_and(|text| text.starts_with(b"hello")));
    upper.links().unlink(Some(id)).expect("linked");
    calm();
}

#[test]
fn children_that_are_forked_while_a_multiplexer_works_keep_nothing_of_it() {
    in_own_process!();
    within(PATIENCE, "forks beside the multiplexer's thread".to_owned());
    let directory = private_directory();
    let options = DeviceOptions::new().directory(directory.path());
    let upper = options.open("mux").expect("free");
    let (near, far) = Options::new().pipe().expect("pipe");
    let reader = upper.clone();
    reader.set_nonblocking(true).expect("arm");
    let mut held = Some((upper, near));
    let (upper, near) = held.as_mut().expect("both");
    upper.links().link(near).expect("free");
    let is_over = Arc::new(AtomicBool::new(false));
    let (stops, writer) = (is_over.clone(), far.clone());
    writer.set_nonblocking(true).expect("arm");
    let writes = std::thread::spawn(move || {
        while !stops.load(Ordering::Relaxed) {
            let _ = writer.write(b"abc");
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let mut reader = Some(reader);
    let children: Vec<Child> = (0..60)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(3));
            while reader.as_mut().expect("open").receive().is_ok() {}
            Child::fork(|| {
                drop((held.take(), reader.take()));
                std::thread::sleep(Duration::from_secs(30));
                0
            })
            .expect("fork")
        })
        .collect();
    is_over.store(true, Ordering::Relaxed);
    writes.join().expect("no panic");
    drop((reader, held));
    let hung_up = is_hung_up(&far, Duration::from_secs(4));
    for mut child in children {
        child.kill();
        child.wait().expect("wait");
    }
    assert!(hung_up);
    calm();
}

#[test]
fn an_open_in_a_group_s_directory_changes_the_mode_of_no_other_file() {
    in_own_process!();
    within(PATIENCE, "symbolic links in the place of sockets".to_owned());
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o2770)).expect("own");
    let file = directory.path().join("file");
    std::fs::write(&file, "x").expect("room");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("own");
    let is_over = Arc::new(AtomicBool::new(false));
    let (stops, path) = (is_over.clone(), directory.path().to_owned());
    let links = std::thread::spawn(move || {
        let (link, node) = (path.join("link"), path.join("echo.0:"));
        while !stops.load(Ordering::Relaxed) {
            let _ = std::os::unix::fs::symlink("file", &link);
            if std::fs::symlink_metadata(&node).is_ok() {
                let _ = std::fs::rename(&link, &node);
            }
        }
    });
    let mode = || std::fs::metadata(&file).expect("there").permissions().mode() & 0o777;
    let until = Instant::now() + Duration::from_secs(common::extent("HEADWATER_SECONDS", 1));
    while Instant::now() < until && mode() == 0o600 {
        drop(open(directory.path(), "echo", 0));
    }
    is_over.store(true, Ordering::Relaxed);
    links.join().expect("no panic");
    assert_eq!(mode(), 0o600);
    calm();
}

/// Pairs streams as `loop` does. Its write service stops the process that runs it, where that is asked for.
#[derive(Debug)]
struct Stalling;

static STALLS: AtomicBool = AtomicBool::new(false);

impl Driver for Stalling {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("stalling").service(Side::Read).service(Side::Write).pairs()
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Data if queue.size(0).0 == 0 && queue.can_put_partner(0)? => queue.put_partner(message),
            Kind::Data => queue.put_queue(message),
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.side() == Side::Read {
            queue.enable_partner();
            return Ok(());
        }
        if STALLS.load(Ordering::Relaxed) {
            // SAFETY: stops this process.
            unsafe { libc::raise(libc::SIGSTOP) };
        }
        while let Some(message) = queue.get()? {
            if !queue.can_put_partner(0)? {
                return queue.put_back(&message);
            }
            queue.put_partner(message)?;
        }
        Ok(())
    }
}

#[test]
fn a_fork_does_not_wait_for_a_stopped_sibling_when_the_partner_was_killed() {
    in_own_process!();
    within(PATIENCE, "a sibling is stopped in the partner's stream, and the partner is killed".to_owned());
    register_driver(Stalling).expect("new");
    let directory = private_directory();
    let stream = open(directory.path(), "stalling", 0).expect("free");
    let (mut ready, say) = std::io::pipe().expect("pipe");
    let mut partner = Child::fork(|| {
        let stream = open(directory.path(), "stalling", 1).expect("free");
        stream.set_nonblocking(true).expect("arm");
        while stream.write(&[7; 4000]).is_ok() {}
        tell(&say);
        std::thread::sleep(Duration::from_secs(60));
        0
    })
    .expect("fork");
    told(&mut ready);
    stream.set_nonblocking(true).expect("arm");
    assert!(stream.read(&mut [0; 10]).expect("it has met the partner") > 0);
    let mut sibling = Child::fork(|| {
        STALLS.store(true, Ordering::Relaxed);
        while stream.read(&mut [0; 8192]).is_ok() {}
        std::thread::sleep(Duration::from_secs(60));
        0
    })
    .expect("fork");
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", sibling.id())).expect("/proc");
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    while state() != Some('T') {
        std::thread::sleep(Duration::from_millis(1));
    }
    partner.kill();
    partner.wait().expect("wait");
    // The library's thread has been told by then.
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    let mut child = Child::fork(|| 0).expect("fork");
    let time = begun.elapsed();
    child.wait().expect("wait");
    sibling.kill();
    sibling.wait().expect("wait");
    assert!(time < Duration::from_secs(2), "{time:?}");
    calm();
}
