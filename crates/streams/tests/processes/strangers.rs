//! The effects of users on a FIFO that they may not, or may only partly, open: they cost a little time and nothing
//! else.

use crate::common;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use headwater_os::abstract_socket::Listener;
use headwater_os::child::Child;
use headwater_os::descriptors;
use headwater_os::memory::SharedMemory;
use headwater_os::ofd_lock::{self, Right};
use headwater_streams::Access;

use crate::common::users::{NOBODY, become_user, fifo, holder, is_root};
use crate::common::{calm, child, in_own_process, joined, open, within};

/// As in `fifo/broker.rs` and `fifo/marks.rs`.
const CLAIMS_TO_READ: u64 = 1 << 40;
const CLAIMS_TO_WRITE: u64 = 2 << 40;
const MARKS: u64 = 1 << 60;

/// Much longer than any open may take beside strangers, and much shorter than with the faults that the tests detect.
const SOON: Duration = Duration::from_secs(3);

/// Bytes of a stream's memory, among them all words of sleepers.
const BEGINNING: u64 = 64 << 10;

/// The beginning of the names of the sockets of a node's brokers.
fn beginning(path: &Path) -> String {
    let node = std::fs::metadata(path).expect("stat");
    format!("headwater-fifo-{}-{}-", node.dev(), node.ino())
}

fn open_node(path: &Path, read: bool, write: bool) -> File {
    let mut options = OpenOptions::new();
    options.read(read).write(write).custom_flags(libc::O_NONBLOCK).open(path).expect("the mode allows it")
}

/// Locks all bytes of a file.
fn lock_all(file: &File, kind: libc::c_int) {
    lock(file, kind, 0, 0);
}

/// Locks so many bytes of a file from `start` on; 0 are all.
fn lock(file: &File, kind: libc::c_int, start: u64, len: u64) {
    let mut all = libc::flock { l_type: kind as i16, l_whence: 0, l_start: start as i64, l_len: len as i64, l_pid: 0 };
    // SAFETY: the command reads a valid flock.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &mut all) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// An open of each end, and a message from one to the other.
fn passes_a_message(path: &Path) {
    let start = Instant::now();
    within(Duration::from_secs(20), format!("opening {}", path.display()));
    let reader = open(path, Access::Read).expect("the owner may");
    let writer = open(path, Access::Write).expect("somebody reads");
    calm();
    let took = start.elapsed();
    writer.write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    assert!(took < SOON, "{took:?}");
}

/// A process that poses as a broker of the FIFO at `path` and sends a file instead of the pipe. It has a stream
/// of its own at `other`, and sends a copy of its memory with the file's inode as the number of the pipe.
fn false_broker(path: &Path, other: &Path, victim: &Path, sent: UnixStream) -> Child {
    holder(move || {
        become_user(NOBODY);
        let reader = open(other, Access::Read)?;
        let writer = open(other, Access::Write)?;
        // A reader that was refused waits for the notification of a message: by a byte into the pipe.
        reader.read(&mut [0; 8]).expect_err("nothing is there");
        let link = |found| descriptors::link(found).unwrap_or_default().into_os_string().into_string().expect("ASCII");
        let own = || descriptors::own().expect("/proc").into_iter();
        let memory = own().find(|found| link(*found).starts_with("/memfd:headwater-fifo")).expect("it is open");
        let original = File::from(descriptors::duplicate(memory.number)?);
        let copy = SharedMemory::create(beginning(path).trim_end_matches('-'), original.metadata()?.len() as usize)?;
        let memory = File::from(copy.as_fd().try_clone_to_owned()?);
        std::io::copy(&mut (&original).take(BEGINNING), &mut &memory)?;
        // O_PATH: a user that may not open a file may still have a descriptor of it.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(victim)?;
        let pipes: Vec<u64> = descriptors::own()?
            .into_iter()
            .filter_map(|found| link(found).strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok())
            .collect();
        let mut header = [0; 128];
        memory.read_exact_at(&mut header, 0)?;
        let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().expect("eight"));
        let cookies = (0..112).step_by(8).find(|at| pipes.contains(&word(*at)) && pipes.contains(&word(at + 8)));
        let cookies = cookies.expect("the header names the pipe");
        for at in [0, 8] {
            memory.write_all_at(&file.metadata()?.ino().to_ne_bytes(), cookies as u64 + at)?;
        }

        let node = open_node(path, true, true);
        let pid = u64::from(std::process::id());
        let mark = (memory.metadata()?.ino() % (1 << 14)) << 46 | pid << 24 | (memory.as_raw_fd() as u64) << 4;
        assert!(ofd_lock::mark(&node, MARKS + mark, 1)?);
        let listener = Listener::bind(&format!("{}{pid}-0", beginning(path)))?;
        let thread = std::thread::spawn(move || {
            loop {
                let _ = listener.wait();
                if let Ok(Some(socket)) = listener.accept() {
                    let shown = ofd_lock::claim(&node, Right::Read, CLAIMS_TO_READ + pid)
                        .and_then(|()| ofd_lock::claim(&node, Right::Write, CLAIMS_TO_WRITE + pid));
                    shown.expect("it has the node open both ways");
                    let _ = descriptors::send(socket.as_fd(), &[memory.as_fd(), file.as_fd()]);
                    let _ = std::io::Write::write_all(&mut &sent, b"s");
                    std::mem::forget(socket);
                }
            }
        });
        Ok((reader, writer, copy, thread))
    })
}

#[test]
fn a_false_broker_cannot_make_root_write_to_a_file() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (directory, path) = fifo(0o666);
    let (_other_directory, other) = fifo(0o666);
    let victim = directory.path().join("of-root-alone");
    std::fs::write(&victim, "untouched").expect("write");
    std::fs::set_permissions(&victim, Permissions::from_mode(0o600)).expect("chmod");
    let (sent, was_sent) = UnixStream::pair().expect("pair");
    let _false = false_broker(&path, &other, &victim, sent);
    was_sent.set_read_timeout(Some(SOON)).expect("setsockopt");
    // Whether root gets a stream of its own, or an error.
    joined(child(|| {
        if let Ok(writer) = open(&path, Access::Write) {
            let _ = writer.write(b"x");
        }
        Ok(())
    }));
    (&was_sent).read_exact(&mut [0]).expect("root has asked it");
    assert_eq!(std::fs::read_to_string(&victim).expect("read"), "untouched");
}

#[test]
fn strangers_who_may_only_read_stop_no_open() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o644);
    let _stranger = holder(|| {
        become_user(NOBODY);
        let node = open_node(&path, true, false);
        lock_all(&node, libc::F_RDLCK);
        // SAFETY: it takes numbers.
        assert_eq!(unsafe { libc::flock(node.as_raw_fd(), libc::LOCK_EX) }, 0);
        Ok(node)
    });
    passes_a_message(&path);
}

#[test]
fn strangers_who_may_only_write_stop_no_open() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o622);
    // Without a reader a node cannot be opened for writing alone.
    let reader = open_node(&path, true, false);
    let _stranger = holder(|| {
        become_user(NOBODY);
        let node = open_node(&path, false, true);
        lock_all(&node, libc::F_WRLCK);
        Ok(node)
    });
    drop(reader);
    passes_a_message(&path);
}

#[test]
fn strangers_locks_keep_nobody_from_meeting() {
    in_own_process!();
    if !is_root() {
        return;
    }
    // No process can mark the node: processes that open it at the same time see each other in /proc alone.
    for _ in 0..8 {
        let (_directory, path) = fifo(0o644);
        let mut stranger = holder(|| {
            become_user(NOBODY);
            let node = open_node(&path, true, false);
            lock_all(&node, libc::F_RDLCK);
            Ok(node)
        });
        common::meet_at_the_same_time(&path);
        // The next process finds one that could not mark the node, also when the locks are gone.
        let reader = open(&path, Access::Read).expect("root may");
        stranger.kill();
        stranger.wait().expect("wait");
        open(&path, Access::Write).expect("somebody reads").write(b"x").expect("room");
        assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    }
}

#[test]
fn squatted_names_delay_no_open() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o666);
    let _squatter = holder(|| {
        become_user(NOBODY - 1);
        let names = (0..20).map(|count| format!("{}0-{count}", beginning(&path)));
        Ok(names.map(|name| Listener::bind(&name).expect("free")).collect::<Vec<_>>())
    });
    // The other user does not see its descriptors.
    let _holder = holder(|| open(&path, Access::Read));
    joined(child(|| {
        become_user(NOBODY);
        let start = Instant::now();
        open(&path, Access::Write)?.write(b"x")?;
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        Ok(())
    }));
}

#[test]
fn a_name_without_a_right_delays_no_open() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o600);
    // A stranger whose process is the one in its sockets' names, but who cannot show that it may open the node.
    let _squatter = holder(|| {
        become_user(NOBODY);
        let names = (0..20).map(|count| format!("{}{}-{count}", beginning(&path), std::process::id()));
        Ok(names.map(|name| Listener::bind(&name).expect("free")).collect::<Vec<_>>())
    });
    let _holder = holder(|| open(&path, Access::Read));
    joined(child(|| {
        common::users::become_powerless();
        let start = Instant::now();
        open(&path, Access::Write).expect_err("the reader lets nobody in");
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        Ok(())
    }));
}

#[test]
fn a_process_that_is_stopped_while_it_leaves_is_passed_by() {
    in_own_process!();
    let (_directory, path) = fifo(0o600);
    let number = std::fs::metadata(&path).expect("stat").ino();
    // What a process that is closing its end has left: the memory and the pipe, and no mark.
    let leaving = holder(|| {
        let end = open(&path, Access::Read)?;
        for found in descriptors::own()? {
            if found.pin().and_then(|pinned| pinned.status()).is_ok_and(|status| status.number == number) {
                // SAFETY: the end is not used any more, and the process ends by a signal.
                unsafe { libc::close(found.number as i32) };
            }
        }
        Ok(end)
    });
    let reader = open(&path, Access::Read).expect("it is ours");
    // The locks of a stranger leave the reader's mark alone and keep the writer from making one, so that it looks everywhere.
    let node = open_node(&path, true, false);
    let mark = ofd_lock::marked(&node, MARKS, MARKS).expect("fcntl").expect("the reader's").start;
    lock(&node, libc::F_RDLCK, MARKS, mark - MARKS);
    lock(&node, libc::F_RDLCK, mark + 1, 0);
    within(Duration::from_secs(20), "opening beside a process that leaves".to_owned());
    let writer = open(&path, Access::Write).expect("there is a reader");
    calm();
    writer.write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("they have met"), 1);
    drop(leaving);
}
