//! Drivers in every surrounding: under tokio, with signals, with ioctls without an answer, with a partner that is stopped, on a
//! full disk, and in a directory that a group shares.

use crate::common;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::common::users::{is_root, started};
use crate::common::{calm, child, in_own_process, joined, polled, within};
use crate::datagrams::{Line, line};
use headwater_streams::{
    AsyncStream, Device, DeviceOptions, Driver, DriverInfo, Errno, IoctlBlock, IoctlTimeout, Kind, Message, Options,
    Queue, Result, Side, SignalEvents, Stream, register_driver,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PATIENCE: Duration = Duration::from_secs(30);

fn directory(mode: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).expect("own");
    directory
}

fn open(directory: &Path, driver: &str, minor: u32) -> Result<Stream> {
    let stream = Options::new().hiwat(2000).lowat(500).maxpsz(500);
    DeviceOptions::new().directory(directory).minor(minor).stream(stream).open(driver)
}

fn text(stream: &Stream) -> String {
    let mut bytes = [0; 2000];
    let count = stream.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

/// What takes longer than this hangs.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it hangs")
}

fn under_tokio(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future);
}

#[test]
fn a_task_echoes_more_than_the_queues_hold() {
    in_own_process!();
    under_tokio(async {
        let options = DeviceOptions::new().stream(Options::new().hiwat(2000).lowat(500).maxpsz(500));
        let stream = options.open_private("echo").expect("known");
        let (mut reads, mut writes) = tokio::io::split(AsyncStream::new(stream).expect("runtime"));
        let sent: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
        let expected = sent.clone();
        let writer = tokio::spawn(async move { writes.write_all(&sent).await.expect("room, in the end") });
        let mut got = vec![0; expected.len()];
        soon(reads.read_exact(&mut got)).await.expect("no error");
        assert!(got == expected);
        soon(writer).await.expect("no panic");
    });
}

#[test]
fn a_task_reads_what_its_partner_and_its_driver_s_socket_send() {
    in_own_process!();
    let directory = directory(0o700);
    let Line { stream: line, peer, _directory } = line(4000);
    let mut partner = child(|| {
        let stream = open(directory.path(), "loop", 1)?;
        for _ in 0..200 {
            stream.write(&[7; 300])?;
        }
        assert_eq!(text(&stream), "enough");
        headwater_os::child::kill_self();
    });
    under_tokio(async {
        let stream = open(directory.path(), "loop", 0).expect("free");
        let mut stream = AsyncStream::new(stream).expect("runtime");
        let mut got = vec![0; 200 * 300];
        soon(stream.read_exact(&mut got)).await.expect("no error");
        soon(stream.write_all(b"enough")).await.expect("room");
        // It is killed: that is the end.
        assert_eq!(soon(stream.read(&mut got)).await.expect("the end"), 0);
        assert_eq!(soon(stream.write(b"x")).await.expect_err("it is gone").raw_os_error(), Some(libc::EPIPE));
        let mut line = AsyncStream::new(line).expect("runtime");
        let sender = std::thread::spawn(move || {
            for number in 0..100 {
                peer.send(&[number; 50]).expect("connected");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut got = vec![0; 100 * 50];
        soon(line.read_exact(&mut got)).await.expect("no error");
        assert!(got.chunks(50).zip(0..).all(|(bytes, number)| bytes == [number; 50]));
        sender.join().expect("no panic");
    });
    partner.wait().expect("wait");
}

static POLLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: libc::c_int) {
    POLLS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn signals_tell_of_what_drivers_send_and_of_room() {
    in_own_process!();
    within(PATIENCE, "signals at devices".to_owned());
    // SAFETY: the handler changes an atomic, and nothing else.
    unsafe { libc::signal(libc::SIGPOLL, count_signal as extern "C" fn(libc::c_int) as usize) };
    let told = |what: &str| {
        let start = Instant::now();
        while POLLS.load(Ordering::Relaxed) == 0 {
            assert!(start.elapsed() < Duration::from_secs(10), "{what}: no signal");
            std::thread::sleep(Duration::from_millis(1));
        }
        POLLS.swap(0, Ordering::Relaxed);
    };
    // What another process has an echo answer.
    let stream =
        DeviceOptions::new().stream(Options::new().hiwat(1000).lowat(200)).open_private("echo").expect("known");
    stream.signals().set(SignalEvents::INPUT).expect("room");
    joined(child(|| stream.write(b"one").map(drop)));
    told("a message");
    // Room, after a refusal.
    stream.signals().set(SignalEvents::OUTPUT).expect("room");
    stream.set_nonblocking(true).expect("arm");
    while stream.write(&[1; 100]).is_ok() {}
    assert_eq!(POLLS.load(Ordering::Relaxed), 0);
    // It comes before all is read, and takes a moment.
    while stream.read(&mut [0; 100]).is_ok() {}
    told("room");
    // A datagram, while this process is in no call of the library.
    let Line { stream, peer, _directory } = line(4000);
    stream.signals().set(SignalEvents::INPUT).expect("room");
    for _ in 0..3 {
        peer.send(b"datagram").expect("connected");
        told("a datagram");
        assert_eq!(text(&stream), "datagram");
    }
    calm();
}

/// Answers an ioctl at once, after a time, or never, as its command says.
#[derive(Debug)]
struct Slow;

const AT_ONCE: u32 = 1;
const LATER: u32 = 2;

impl Driver for Slow {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("slow").service(Side::Write)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match (message.header.kind, IoctlBlock::of(&message).ok().map(|block| block.command)) {
            (Kind::Ioctl, Some(AT_ONCE)) => queue.acknowledge(&message, 7, None),
            (Kind::Ioctl, Some(LATER)) => {
                queue.set_passive();
                queue.enable_after(Duration::from_millis(30));
                queue.put_queue(message)
            }
            _ => Ok(()),
        }
    }

    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        while let Some(message) = queue.get()? {
            queue.acknowledge(&message, 8, None)?;
        }
        Ok(())
    }
}

#[test]
fn an_ioctl_that_a_driver_does_not_answer_ends_with_its_time() {
    in_own_process!();
    within(PATIENCE, "ioctls of a slow driver".to_owned());
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register_driver(Slow).expect("new"));
    let stream = Device::open_private("slow").expect("known");
    for modules in [0, 1] {
        if modules == 1 {
            stream.push("srvmod").expect("known");
        }
        let ioctl = |command, time: Duration| stream.ioctl(command, &mut Vec::new(), IoctlTimeout::After(time));
        let begun = Instant::now();
        assert_eq!(ioctl(AT_ONCE, Duration::from_secs(5)).expect("answered"), 7);
        let refused = ioctl(99, Duration::from_millis(50)).expect_err("nobody answers").errno();
        assert_eq!(refused, Errno::Time);
        assert!(begun.elapsed() >= Duration::from_millis(49) && begun.elapsed() < Duration::from_secs(3));
        // The answer of one that has given up is not that of the next.
        assert_eq!(ioctl(LATER, Duration::from_millis(5)).expect_err("too late").errno(), Errno::Time);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(ioctl(AT_ONCE, Duration::from_secs(5)).expect("answered"), 7);
        assert_eq!(ioctl(LATER, Duration::from_secs(10)).expect("answered, when it is time"), 8);
    }
    calm();
}

#[test]
fn a_partner_that_is_stopped_holds_the_writer_back_and_goes_on() {
    in_own_process!();
    within(PATIENCE, "a partner is stopped".to_owned());
    const BYTES: usize = 100_000;
    let directory = directory(0o700);
    for _ in 0..3 {
        let mut partner = child(|| {
            let stream = open(directory.path(), "loop", 1)?;
            stream.write(b"here")?;
            let (mut read, mut buffer) = (0, [0; 700]);
            while read < BYTES {
                let count = stream.read(&mut buffer)?;
                assert!(count > 0 && buffer[..count].iter().zip(read..).all(|(byte, at)| *byte == (at % 251) as u8));
                read += count;
            }
            stream.write(b"all").map(drop)
        });
        let stream = open(directory.path(), "loop", 0).expect("free");
        assert_eq!(text(&stream), "here");
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        let pid = partner.id() as libc::pid_t;
        // SAFETY: our own child, which has not been waited for.
        unsafe {
            libc::kill(pid, libc::SIGSTOP);
            assert_eq!(libc::waitpid(pid, &mut 0, libc::WUNTRACED), pid);
        }
        stream.set_nonblocking(true).expect("arm");
        let mut sent = 0;
        let start = Instant::now();
        // It may have been stopped in the middle of a call: then nothing goes.
        while start.elapsed() < Duration::from_millis(50) {
            match stream.write(&bytes[sent..BYTES.min(sent + 300)]) {
                Ok(count) => sent += count,
                Err(error) => assert_eq!(error.errno(), Errno::Again, "{error}"),
            }
        }
        assert!(sent < BYTES, "nobody reads");
        // A process that is stopped is no process that is gone.
        assert_eq!(polled(&stream, libc::POLLIN, Duration::from_millis(50)) & libc::POLLHUP, 0);
        let waker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGCONT) };
        });
        stream.set_nonblocking(false).expect("wait");
        assert_eq!(stream.write(&bytes[sent..]).expect("it goes on"), BYTES - sent);
        assert_eq!(text(&stream), "all");
        waker.join().expect("no panic");
        assert!(partner.wait().expect("wait").success());
    }
    calm();
}

/// A file system in memory, until it is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(options: &str) -> SmallDisk {
        let directory = tempfile::tempdir().expect("a directory");
        let [path, kind] =
            [directory.path().as_os_str().as_bytes(), b"tmpfs"].map(|text| CString::new(text).expect("a path"));
        let options = CString::new(format!("mode=0700,{options}")).expect("a text");
        // SAFETY: strings that outlive the call.
        let done = unsafe { libc::mount(kind.as_ptr(), path.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) };
        assert_eq!(done, 0, "mount: {}", std::io::Error::last_os_error());
        SmallDisk(directory)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = CString::new(self.0.path().as_os_str().as_bytes()).expect("a path");
        // SAFETY: as above.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

#[test]
fn a_full_disk_is_said_with_the_directory() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let before = common::open_things();
    // No room for bytes; and none for another file, of the driver or of the socket.
    for (options, spare) in [("size=4096,nr_inodes=100", 100), ("nr_inodes=4", 0), ("nr_inodes=4", 1)] {
        let disk = SmallDisk::mount(options);
        let mut fills = 0;
        while fills < 10 && std::fs::write(disk.0.path().join(format!("{fills}")), [1; 4096]).is_ok() {
            fills += 1;
        }
        if spare == 1 {
            std::fs::remove_file(disk.0.path().join("0")).expect("it was written");
        }
        let error = open(disk.0.path(), "echo", 0).expect_err("full");
        assert_eq!(error.errno(), Errno::new(libc::ENOSPC), "{options}: {error}");
        assert!(error.to_string().contains(&*disk.0.path().to_string_lossy()), "{options}: {error}");
        // It continues when there is room.
        (0..fills).for_each(|name| drop(std::fs::remove_file(disk.0.path().join(format!("{name}")))));
        let stream = open(disk.0.path(), "echo", 0).unwrap_or_else(|error| panic!("{options}: {error}"));
        stream.write(b"room").expect("room");
        assert_eq!(text(&stream), "room");
    }
    common::expect_nothing_left(before);
}

const GROUP: u32 = 54_321;

/// Becomes a user of that group, for good.
fn become_member(user: u32, group: u32) {
    // SAFETY: the calls touch no memory of ours but the null list, which is empty.
    let done = unsafe { libc::setgroups(0, std::ptr::null()) | libc::setgid(group) | libc::setuid(user) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn users_of_a_group_share_its_directory_and_others_do_not() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "two users share a directory".to_owned());
    let above = directory(0o755);
    let group = above.path().join("group");
    std::fs::create_dir(&group).expect("own");
    std::os::unix::fs::chown(&group, Some(0), Some(GROUP)).expect("root");
    std::fs::set_permissions(&group, std::fs::Permissions::from_mode(0o2770)).expect("own");
    for round in 0..3 {
        let mut first = started(|ready| {
            become_member(12_345, GROUP);
            let (echo, near) = (open(&group, "echo", 5)?, open(&group, "loop", 0)?);
            echo.write(b"from the first")?;
            ready();
            // From the other user, by the partner.
            assert_eq!(text(&near), "hello");
            near.write(b"hello too")?;
            assert_eq!(text(&near), "", "the partner has closed");
            Ok(())
        });
        let second = child(|| {
            become_member(12_346, GROUP);
            let (echo, far) = (open(&group, "echo", 5)?, open(&group, "loop", 1)?);
            assert_eq!(text(&echo), "from the first", "round {round}");
            far.write(b"hello")?;
            assert_eq!(text(&far), "hello too");
            drop(far);
            // The drivers' files are the first one's: what it has opened and closed this one opens anew.
            drop(open(&group, "nuls", 1)?);
            Ok(())
        });
        joined(second);
        assert!(first.wait().expect("wait").success());
        // A user outside of the group, and a later one of the group.
        joined(child(|| {
            become_member(12_347, 12_347);
            assert_eq!(open(&group, "echo", 5).expect_err("no member").errno(), Errno::new(libc::EACCES));
            Ok(())
        }));
    }
    calm();
}
