//! Looking at streams from outside: what is shown of several processes, and that looking changes nothing.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{
    Random, calm, child, expect_nothing_left, extent, in_own_process, joined, open_things, polled, private_directory,
    setting, within,
};
use headwater_os::child::Child;
use headwater_os::descriptors;
use headwater_streams::inspect::{self, Content, Role, Snapshot, State, StreamKind};
use headwater_streams::{Access, DeviceOptions, FifoOptions, Options, Policy, Priority, Result, Stream};

const PATIENCE: Duration = Duration::from_secs(30);

/// Options by which a test finds its own stream among those of the machine.
fn marked(mark: u32) -> Options {
    Options::new().strmsgsz(100_000 + mark)
}

fn all() -> Vec<Snapshot> {
    inspect::streams().expect("/proc")
}

/// The streams that this process has and whose mark this is.
fn own(mark: u32) -> Vec<Snapshot> {
    let is_own = |snapshot: &Snapshot| {
        snapshot.processes.iter().any(|process| process.pid == std::process::id())
            && snapshot.state().is_some_and(|state| state.strmsgsz == 100_000 + mark)
    };
    all().into_iter().filter(is_own).collect()
}

fn one(mark: u32) -> Snapshot {
    let mut own = own(mark);
    assert_eq!(own.len(), 1, "{own:?}");
    own.remove(0)
}

fn state(snapshot: &Snapshot) -> &State {
    let state = snapshot.state().expect("of this version");
    assert_eq!(state.contradictions, [""; 0]);
    state
}

fn pids(snapshot: &Snapshot, end: usize) -> Vec<u32> {
    let mut pids: Vec<u32> = snapshot.holders(end).map(|process| process.pid).collect();
    pids.sort_unstable();
    pids
}

/// Looks again until something holds.
fn until(mark: u32, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    within(PATIENCE, what.to_owned());
    loop {
        if let Some(found) = own(mark).into_iter().find(&holds) {
            calm();
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A process with something of a stream, until it is told to end.
struct Holder {
    child: Child,
    go: Option<std::io::PipeWriter>,
}

impl Holder {
    /// When this returns, `body` has returned there.
    fn start<T>(body: impl FnOnce() -> Result<T>) -> Holder {
        let (ready, told) = std::io::pipe().expect("pipe");
        let (waits, go) = std::io::pipe().expect("pipe");
        let mut ends = Some((ready, go));
        let child = child(|| {
            drop(ends.take());
            let held = body()?;
            (&told).write_all(b"x")?;
            let _ = (&waits).read(&mut [0]);
            drop(held);
            Ok(())
        });
        drop((told, waits));
        let (ready, go) = ends.take().expect("the child has a copy");
        assert_eq!((&ready).read(&mut [0]).expect("read"), 1, "the holder has failed");
        Holder { child, go: Some(go) }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn end(mut self) {
        drop(self.go.take());
        joined(self.child);
    }
}

#[test]
fn a_pipe_shows_its_processes_modules_and_what_is_queued() {
    in_own_process!();
    let (near, far) = marked(1).pipe().expect("pipe");
    let (mut near, mut far) = (Some(near), Some(far));
    let holder = Holder::start(|| {
        drop(near.take());
        let far = far.take().expect("inherited");
        far.push("nullmod")?;
        far.push("srvmod")?;
        far.write(b"back")?;
        Ok(far)
    });
    drop(far.take());
    let near = near.take().expect("own");
    near.push("pipemod").expect("known");
    near.write(b"plain").expect("room");
    near.putmsg(Some(b"control"), Some(b"data")).expect("room");
    near.putpmsg(Some(b"urgent"), None, Priority::Band(7)).expect("room");

    let snapshot = one(1);
    assert_eq!(snapshot.kind, StreamKind::Pipe);
    assert_eq!(snapshot.owner, headwater_os::files::own_user());
    assert!(snapshot.resident > 0 && snapshot.resident < snapshot.memory);
    assert_eq!(pids(&snapshot, 0), [std::process::id()]);
    assert_eq!(pids(&snapshot, 1), [holder.pid()]);
    let own = snapshot.holders(0).next().expect("it has end 0");
    assert!(own.has(Role::Memory) && !own.has(Role::End(1)) && !own.command.is_empty() && !own.arguments.is_empty());
    let number = near.as_fd().as_raw_fd().unsigned_abs();
    assert!(own.descriptors.iter().any(|found| found.number == number && found.role == Role::End(0)));

    let state = state(&snapshot);
    let names = |end: usize| state.ends[end].modules.iter().map(|module| module.name.as_str()).collect::<Vec<_>>();
    assert_eq!((names(0), names(1)), (vec!["pipemod"], vec!["srvmod", "nullmod"]));
    let [forth, back] = &state.directions;
    assert_eq!((forth.lane_written, forth.lane_read, forth.lane_messages_written), (5 + 11, 0, 1));
    assert_eq!((forth.queued(), forth.queued_messages()), (5 + 11 + 6, 2));
    assert_eq!((forth.written(), forth.messages_written()), (5 + 11 + 6, 2));
    let bands: Vec<(u8, u32)> = forth.stored.bands.iter().map(|band| (band.band, band.bytes)).collect();
    assert_eq!(bands, [(0, 0), (7, 6)]);
    assert_eq!((back.queued(), back.hiwat), (4, Options::new().hiwat));
    assert!(
        state.members.iter().any(|member| member.pid == holder.pid() && member.end == Some(1) && !member.has_ended)
    );
    assert_eq!([0, 1].map(|end| state.ends[end].handles), [1, 1]);

    let mut buffer = [0; 64];
    assert_eq!(near.read(&mut buffer).expect("there"), 4);
    let after = one(1);
    let back = &after.state().expect("of this version").directions[1];
    assert_eq!((back.written(), back.lane_read, back.queued()), (4, 4, 0));
    holder.end();
    assert_eq!(pids(&one(1), 1), [0; 0], "the other end is gone");
}

#[test]
fn without_a_lane_messages_are_counted_in_their_queues() {
    in_own_process!();
    let (near, far) = marked(2).policy(Policy::EAGER).pipe().expect("pipe");
    for _ in 0..3 {
        near.write(b"four").expect("room");
    }
    far.read(&mut [0; 4]).expect("there");
    let snapshot = one(2);
    let forth = &state(&snapshot).directions[0];
    assert_eq!((forth.written(), forth.messages_written(), forth.queued()), (12, 3, 8));
}

#[test]
fn a_module_s_queue_shows_what_it_holds_and_what_was_put_into_it() {
    in_own_process!();
    let (near, far) = marked(10).hiwat(8).lowat(4).pipe().expect("pipe");
    far.push("srvmod").expect("known");
    near.set_nonblocking(true).expect("open");
    let written = (0..).take_while(|_| near.write(b"four").is_ok()).count() as u64;
    let snapshot = one(10);
    let (forth, read) = (&state(&snapshot).directions[0], &state(&snapshot).ends[1].modules[0].read);
    assert_eq!(forth.queued() + read.bytes, 4 * written, "{read:?}");
    assert!(read.messages > 0 && read.bands[0].is_wanted && read.has_put_back, "{read:?}");
    // The first message was taken straight to the service procedure, which has put it back.
    assert_eq!((read.messages_put + 1, read.bytes_put + 4), (read.messages.into(), read.bytes), "{read:?}");
    let put = read.messages_put;
    // The service procedure of the reader's process moves messages on, and puts one back.
    far.read(&mut [0; 64]).expect("there");
    let snapshot = one(10);
    let after = &state(&snapshot).ends[1].modules[0].read;
    assert!(after.messages < read.messages, "{after:?}");
    assert_eq!(after.messages_put, put, "what was put back is not counted again");
    assert_eq!(after.bytes_put, read.bytes_put);
}

#[test]
fn a_sleeper_a_full_queue_and_a_stopped_or_killed_process_are_shown() {
    in_own_process!();
    let (near, far) = marked(3).hiwat(1000).lowat(500).pipe().expect("pipe");
    let (mut near, mut far) = (Some(near), Some(far));
    let mut reader = child(|| {
        drop(near.take());
        let mut buffer = [0; 16];
        while far.as_ref().expect("inherited").read(&mut buffer)? > 0 {}
        Ok(())
    });
    drop(far.take());
    let near = near.take().expect("own");
    let asleep = |snapshot: &Snapshot| {
        let reader = snapshot.state().expect("of this version").directions[0].reader;
        reader.is_asleep || reader.awaits_descriptor && !reader.is_unmet
    };
    until(3, "the reader falls asleep", asleep);
    reader.stop().expect("our own child");
    let stopped = |snapshot: &Snapshot| {
        snapshot.processes.iter().any(|process| process.pid == reader.id() && process.state == 'T')
    };
    until(3, "the reader is stopped", stopped);
    near.set_nonblocking(true).expect("open");
    while near.write(&[1; 100]).is_ok() {}
    let snapshot = one(3);
    let forth = &state(&snapshot).directions[0];
    assert!(forth.is_full && forth.queued() > 1000 && (forth.hiwat, forth.lowat) == (1000, 500), "{forth:?}");
    assert!(forth.writer.awaits_descriptor, "{forth:?}");
    reader.kill();
    let _ = reader.wait();
    let snapshot = one(3);
    assert!(state(&snapshot).members.iter().any(|member| member.pid == reader.id() && member.has_ended));
    assert_eq!(pids(&snapshot, 1), [0; 0]);
}

#[test]
fn a_fifo_shows_its_path_and_which_side_each_process_has() {
    in_own_process!();
    let directory = private_directory();
    let path = directory.path().join("queue");
    let options = FifoOptions::new().create(0o600).nonblocking(true).stream(marked(4));
    let reader = options.open(&path, Access::Read).expect("open");
    let there = path.clone();
    let writer = Holder::start(|| {
        let writer = options.open(there, Access::Write)?;
        writer.write(b"hello")?;
        Ok(writer)
    });
    let snapshot = one(4);
    let status = std::fs::metadata(&path).expect("it is there");
    let node = [status.dev(), status.ino()];
    assert_eq!(snapshot.kind, StreamKind::Fifo { node, path: Some(path.clone()) });
    assert_eq!(pids(&snapshot, 0), [writer.pid()]);
    // The writer was forked while the reader was open, and has a copy.
    assert_eq!(pids(&snapshot, 1), [std::process::id(), writer.pid()]);
    assert_eq!(state(&snapshot).directions[0].queued(), 5);
    writer.end();
    drop(reader);
    assert_eq!(own(4), []);
}

#[test]
fn a_device_shows_its_driver_minor_number_and_modules() {
    in_own_process!();
    let directory = private_directory();
    let options = DeviceOptions::new().directory(directory.path()).minor(17).stream(marked(5));
    let stream = options.open("echo").expect("open");
    let holder = Holder::start(|| {
        let stream = options.open("echo")?;
        stream.push("nullmod")?;
        stream.write(b"hello")?;
        Ok(stream)
    });
    let snapshot = one(5);
    assert_eq!(snapshot.kind, StreamKind::Device { driver: "echo".to_owned(), minor: 17 });
    assert_eq!(pids(&snapshot, 0), [std::process::id(), holder.pid()]);
    assert!(snapshot.processes.iter().all(|process| process.has(Role::MinorNumber)));
    let state = state(&snapshot);
    let driver = state.driver.as_ref().expect("a device");
    assert_eq!((driver.name.as_str(), driver.minor, driver.opens, driver.is_closed), ("echo", 17, 2, false));
    assert_eq!(state.ends[0].modules[0].name, "nullmod");
    assert_eq!(state.directions[1].queued(), 5, "the driver has sent it back");
    holder.end();
    drop(stream);
}

#[test]
fn looking_takes_no_page_changes_no_byte_and_leaves_nothing_open() {
    in_own_process!();
    let (near, far) = marked(6).pipe().expect("pipe");
    near.push("srvmod").expect("known");
    near.putmsg(Some(b"control"), Some(b"data")).expect("room");
    let is_it = |link: &str| link.starts_with("/memfd:headwater-stream-");
    let own = descriptors::own().expect("/proc").into_iter();
    let mut memory = own.filter(|found| descriptors::link(*found).is_ok_and(|link| is_it(&link.to_string_lossy())));
    // Not asked of the inspection: nothing has looked yet.
    let memory =
        memory.next().and_then(|found| descriptors::duplicate(found.number).ok()).map(File::from).expect("own");
    let bytes = || {
        let mut bytes = vec![0; memory.metadata().expect("fstat").len() as usize];
        memory.read_exact_at(&mut bytes, 0).expect("it is as long");
        bytes
    };
    let (pages, before, open) = (memory.metadata().expect("fstat").blocks(), bytes(), open_things());
    for _ in 0..20 {
        assert_eq!(one(6).id, memory.metadata().expect("fstat").ino());
    }
    assert_eq!(memory.metadata().expect("fstat").blocks(), pages);
    assert!(bytes() == before, "a byte has changed");
    expect_nothing_left(open);
    // A process that looks is no user of the stream.
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let (looker, users) = (File::open(path).expect("own"), |snapshot: &Snapshot| snapshot.processes.clone());
    let numbers = |snapshot: &Snapshot| -> Vec<u32> {
        users(snapshot).iter().flat_map(|process| &process.descriptors).map(|found| found.number).collect()
    };
    assert!(!numbers(&one(6)).contains(&looker.as_raw_fd().unsigned_abs()));
    assert!(numbers(&one(6)).contains(&memory.as_raw_fd().unsigned_abs()));
    drop((near, far));
}

#[test]
fn the_hang_up_is_seen_while_processes_look() {
    in_own_process!();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut looks = 0;
            while !is_over.load(Ordering::Relaxed) {
                all();
                looks += 1;
            }
            looks
        });
        for round in 0..extent("HEADWATER_ROUNDS", 20) {
            let (near, far) = marked(7).pipe().expect("pipe");
            let (mut near, mut far) = (Some(near), Some(far));
            let mut holder = Holder::start(|| {
                drop(near.take());
                Ok(far.take())
            });
            drop(far.take());
            let near = near.take().expect("own");
            one(7);
            holder.child.kill();
            within(PATIENCE, format!("round {round}: the hang-up is waited for"));
            assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
            assert!(polled(&near, libc::POLLIN, Duration::ZERO) & libc::POLLHUP != 0);
            calm();
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(looker.join().expect("no panic") > 0);
    });
}

#[test]
fn processes_that_come_and_go_make_no_look_fail() {
    in_own_process!();
    let open = open_things();
    let makers: Vec<Child> = (0..3)
        .map(|maker| {
            child(|| {
                let mut random = Random(maker);
                loop {
                    let (near, far) = marked(8).pipe()?;
                    near.write(&vec![1; random.below(5000)])?;
                    if random.one_in(3) {
                        far.push("srvmod")?;
                    }
                    if random.one_in(4) {
                        let _ = child(|| Ok(())).wait();
                    }
                }
            })
        })
        .collect();
    let end = Instant::now() + Duration::from_millis(setting("HEADWATER_MS", 700));
    let mut seen = 0;
    within(PATIENCE, "looking".to_owned());
    // On a busy machine it takes longer until one is caught while it lives.
    while Instant::now() < end || seen == 0 {
        seen += all().iter().filter(|snapshot| snapshot.state().is_some_and(|state| state.strmsgsz == 100_008)).count();
    }
    calm();
    drop(makers);
    expect_nothing_left(open);
}

/// A memory with the name of a stream's.
fn memfd(name: &str) -> File {
    let name = CString::new(name).expect("no zero");
    // SAFETY: a string that ends with a zero; what is returned is a new descriptor, or -1.
    let file = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0);
    // SAFETY: nothing else has it.
    unsafe { File::from_raw_fd(file) }
}

fn content_of(file: &File) -> Option<Content> {
    let id = file.metadata().expect("fstat").ino();
    let found = |snapshot: &Snapshot| {
        snapshot.id == id && snapshot.processes.iter().any(|process| process.pid == std::process::id())
    };
    all().into_iter().find(found).map(|snapshot| snapshot.content)
}

#[test]
fn memories_of_any_content_are_listed_as_what_they_are() {
    in_own_process!();
    let empty = memfd("headwater-stream-1-2");
    assert!(matches!(content_of(&empty), Some(Content::Unreadable(_))));
    let version = memfd("headwater-fifo-1-2");
    version.write_all_at(b"HWSTREAM\x07\0\0\0\0\0\0\0", 0).expect("room");
    assert_eq!(content_of(&version), Some(Content::OtherVersion(7)));
    let other = memfd("headwater-other");
    assert_eq!(content_of(&other), None);
    for name in ["headwater-stream", "headwater-stream2", "headwater-fifo", "headwater-stream (deleted)"] {
        assert_eq!(content_of(&memfd(name)), None, "{name}");
    }
    let mut random = Random(setting("HEADWATER_SEED", 1));
    for _ in 0..extent("HEADWATER_ROUNDS", 20) {
        let file = memfd("headwater-stream-1-2");
        let bytes: Vec<u8> = (0..random.below(60_000)).map(|_| random.next() as u8).collect();
        file.write_all_at(&bytes, 0).expect("room");
        if random.one_in(2) {
            file.write_all_at(b"HWSTREAM", 0).expect("room");
        }
        if random.one_in(2) {
            file.set_len(1 << 40).expect("a hole");
        }
        assert!(content_of(&file).is_some_and(|content| !matches!(content, Content::State(_))));
    }
}

#[test]
fn a_memory_that_is_overwritten_and_cut_meanwhile_does_no_harm() {
    in_own_process!();
    let (near, far): (Stream, Stream) = marked(9).pipe().expect("pipe");
    near.push("srvmod").expect("known");
    near.write(b"hello").expect("room");
    let id = one(9).id;
    let own = descriptors::own().expect("/proc").into_iter();
    let copies = own.filter_map(|found| descriptors::duplicate(found.number).ok()).map(File::from);
    let sound = copies.into_iter().find(|file| file.metadata().is_ok_and(|status| status.ino() == id)).expect("own");
    let len = sound.metadata().expect("fstat").len();
    let mut bytes = vec![0; len as usize];
    sound.read_exact_at(&mut bytes, 0).expect("it is as long");
    // A copy without seals, which a process can cut at any time.
    let copy = memfd("headwater-stream-1-2");
    copy.write_all_at(&bytes, 0).expect("room");
    assert!(matches!(content_of(&copy), Some(Content::State(_))), "the copy is a stream like the other");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(setting("HEADWATER_SEED", 1));
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..200 {
                    // Behind the header, so that it stays a stream.
                    let at = 256 + random.below(40_000) as u64;
                    copy.write_all_at(&random.next().to_ne_bytes(), at).expect("room");
                }
                copy.set_len(random.below(len as usize) as u64).expect("no seals");
                copy.set_len(len).expect("no seals");
                copy.write_all_at(&bytes[..40_000], 0).expect("room");
            }
        });
        let (mut states, mut others) = (0, 0);
        within(PATIENCE, "looking".to_owned());
        let end = Instant::now() + Duration::from_millis(setting("HEADWATER_MS", 700));
        while Instant::now() < end {
            match content_of(&copy) {
                Some(Content::State(_)) => states += 1,
                _ => others += 1,
            }
        }
        calm();
        is_over.store(true, Ordering::Relaxed);
        assert!(states + others > 0);
    });
    drop((near, far));
}
