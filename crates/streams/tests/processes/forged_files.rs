//! A member of a device's stream that names files of other processes in the shared memory, or hands over others than the device's:
//! no file is locked or written that is not the driver's.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use headwater_os::{descriptors, ofd_lock};
use headwater_streams::{Access, Device, DeviceOptions, Errno, Stream, pipe};

use crate::common::{child, fifo, in_own_process, joined, open as fifo_end, polled, private_directory};

/// A file of the process that has nothing to do with streams.
const CONTENT: [u8; 64] = [0xa5; 64];

fn open(directory: &Path) -> Stream {
    DeviceOptions::new().directory(directory).open("echo").expect("a free number")
}

/// Another file, open for reading and writing.
fn other(path: &Path) -> File {
    std::fs::write(path, CONTENT).expect("a file");
    File::options().read(true).write(true).open(path).expect("it is there")
}

/// Nothing has happened to it.
fn is_untouched(path: &Path) {
    assert_eq!(std::fs::read(path).expect("it is there"), CONTENT);
    let looks = File::open(path).expect("it is there");
    assert!(!ofd_lock::is_locked(&looks, 0, 0).expect("fcntl"), "it is locked");
}

/// The memories of this process's streams, the latest last.
fn memories() -> Vec<File> {
    let is_stream = |found: &descriptors::Found| {
        descriptors::link(*found).is_ok_and(|link| link.to_string_lossy().starts_with("/memfd:headwater-stream"))
    };
    let mut found: Vec<_> = descriptors::own().expect("/proc").into_iter().filter(is_stream).collect();
    found.sort_by_key(|found| found.number);
    found.iter().map(|found| File::from(descriptors::duplicate(found.number).expect("open"))).collect()
}

/// The memory of the last one, in which a member writes.
fn memory() -> File {
    memories().pop().expect("it is open")
}

#[test]
fn a_file_that_a_member_names_in_the_memory_is_neither_locked_nor_written() {
    in_own_process!();
    let directory = private_directory();
    let stream = open(directory.path());
    // Also one that has the name of the driver's file.
    std::fs::create_dir(directory.path().join("other")).expect("mkdir");
    for path in [directory.path().join("another"), directory.path().join("other/echo")] {
        let file = other(&path);
        let status = file.metadata().expect("fstat");
        let table = std::fs::metadata(directory.path().join("echo")).expect("the driver's file");
        let memory = memory();
        let mut bytes = vec![0; 64 << 10];
        memory.read_exact_at(&mut bytes, 0).expect("it is longer");
        let identity = |device: u64, inode: u64| [device.to_ne_bytes(), inode.to_ne_bytes()].concat();
        let wanted = identity(table.dev(), table.ino());
        let at = bytes.windows(16).position(|words| words == wanted).expect("the lock's file is named") as u64;
        memory.write_all_at(&identity(status.dev(), status.ino()), at).expect("room");
        let taken = Stream::from_number(stream.as_fd().as_raw_fd().unsigned_abs());
        assert_eq!(taken.expect_err("it is another file").errno(), Errno::Nostr);
        memory.write_all_at(&wanted, at).expect("room");
        is_untouched(&path);
        drop(file);
    }
    let again = Stream::from_number(stream.as_fd().as_raw_fd().unsigned_abs()).expect("the driver's file");
    drop(stream);
    drop(again);
}

/// The descriptors of a device's stream, as it is sent: doorbell, memory, the driver's file, and the doorbell's other end.
fn parts(stream: &Stream) -> Vec<OwnedFd> {
    let (here, there) = UnixStream::pair().expect("pair");
    stream.send_over(&here).expect("room");
    descriptors::receive(there.as_fd()).expect("sent")
}

/// Takes a stream up whose third descriptor is another one.
fn taken_with(parts: &[OwnedFd], lock: BorrowedFd<'_>) -> headwater_streams::Result<Stream> {
    let (here, there) = UnixStream::pair().expect("pair");
    let files: Vec<BorrowedFd<'_>> =
        parts.iter().enumerate().map(|(at, file)| if at == 2 { lock } else { file.as_fd() }).collect();
    descriptors::send(here.as_fd(), &files).expect("room");
    Device::receive_over("echo", &there)
}

#[test]
fn a_device_is_not_taken_up_with_another_file_than_its_drivers() {
    in_own_process!();
    let directory = private_directory();
    let stream = open(directory.path());
    let parts = parts(&stream);
    let path = directory.path().join("another");
    let file = other(&path);
    // Its opener could not write it; the process that takes the stream up perhaps can.
    let read_only = File::open(directory.path().join("echo")).expect("the driver's file");
    for lock in [&file, &read_only] {
        assert_eq!(taken_with(&parts, lock.as_fd()).expect_err("another file").errno(), Errno::Nostr);
    }
    drop(file);
    is_untouched(&path);
    drop(taken_with(&parts, parts[2].as_fd()).expect("the driver's file"));
}

#[test]
fn the_number_that_a_member_writes_into_the_memory_closes_no_other_stream() {
    in_own_process!();
    let directory = private_directory();
    let (first, second) = (open(directory.path()), open(directory.path()));
    let (one, other) = (first.minor().expect("a device"), second.minor().expect("a device"));
    assert_eq!((one, other), (0, 1));
    let table = File::open(directory.path().join("echo")).expect("the driver's file");
    let words = || {
        let mut words = [0; 16];
        table.read_exact_at(&mut words, 0).expect("two words");
        [0, 8].map(|at| u64::from_ne_bytes(words[at..at + 8].try_into().expect("eight bytes")))
    };
    let noted = words();
    assert!(noted[0] != 0 && noted[1] != 0);
    // The second one's memory names the first one's number.
    let identity: Vec<u8> = {
        let status = table.metadata().expect("fstat");
        [status.dev().to_ne_bytes(), status.ino().to_ne_bytes()].concat()
    };
    for memory in memories() {
        let mut bytes = vec![0; 64 << 10];
        memory.read_exact_at(&mut bytes, 0).expect("it is longer");
        let at = bytes.windows(16).position(|words| words == identity).expect("the lock's file is named");
        // The number stands 16 bytes before: minor, opens, closed, is_stand_in.
        let minor = u32::from_ne_bytes(bytes[at - 16..at - 12].try_into().expect("four bytes"));
        if minor == other {
            memory.write_all_at(&one.to_ne_bytes(), at as u64 - 16).expect("room");
        }
    }
    assert_eq!(second.minor().expect("a device"), one, "the memory was found");
    drop(second);
    assert_eq!(words(), [noted[0], 0], "the second one alone was closed");
    drop(first);
    assert_eq!(words(), [0, 0]);
}

/// Two FIFOs of one process: a member of the first names the second one's pipe.
#[test]
fn a_member_of_a_fifo_names_no_pipe_of_another_one() {
    in_own_process!();
    let ((_one, path), (_other, other_path)) = (fifo(), fifo());
    let reader = fifo_end(&path, Access::Read).expect("it is ours");
    let other = fifo_end(&other_path, Access::Read).expect("it is ours");
    let inode = |end: &Stream| descriptors::inode(end.as_fd()).expect("fstat").to_ne_bytes();
    let (own, wrong) = (inode(&reader), inode(&other));
    for found in descriptors::own().expect("/proc") {
        let is_memory = |link: std::path::PathBuf| link.to_string_lossy().starts_with("/memfd:headwater-fifo");
        if !descriptors::link(found).is_ok_and(is_memory) {
            continue;
        }
        let memory = File::from(descriptors::duplicate(found.number).expect("open"));
        let mut bytes = vec![0; 1024];
        memory.read_exact_at(&mut bytes, 0).expect("it is longer");
        for at in (0..bytes.len()).step_by(8).filter(|at| bytes[*at..at + 8] == own) {
            memory.write_all_at(&wrong, at as u64).expect("room");
        }
    }
    joined(child(|| fifo_end(&path, Access::Write)?.write(b"x").map(drop)));
    assert_eq!(polled(&other, libc::POLLIN, Duration::ZERO) & libc::POLLIN, 0, "the other FIFO's pipe was used");
    assert_eq!(reader.read(&mut [0; 8]).expect("it has come"), 1);
}

/// Where a memory has the cookies of its doorbell.
fn cookies_at(memory: &File, doorbell: BorrowedFd<'_>) -> (u64, u64) {
    let cookie = headwater_os::doorbell::Doorbell::from_fd(doorbell.try_clone_to_owned().expect("open"))
        .and_then(|doorbell| doorbell.cookie())
        .expect("a doorbell");
    let mut bytes = vec![0; 1024];
    memory.read_exact_at(&mut bytes, 0).expect("it is longer");
    let at = bytes.chunks(8).position(|word| word == cookie.to_ne_bytes()).expect("the header has it");
    (8 * at as u64, cookie)
}

/// After exec a stream's sockets are found among the process's own: a member that writes another one's cookie has none of them used.
#[test]
fn a_cookie_that_a_member_writes_chooses_no_other_socket() {
    in_own_process!();
    let (first, _first_far): (Stream, Stream) = pipe().expect("pipe");
    let first_memory = memory();
    let (second, second_far) = pipe().expect("pipe");
    // The memory of the first pipe, which is found first, names the second one's doorbell.
    let (at, _) = cookies_at(&first_memory, first.as_fd());
    let number = second.as_fd().as_raw_fd().unsigned_abs();
    let (_, wanted) = cookies_at(&memory(), second.as_fd());
    first_memory.write_all_at(&wanted.to_ne_bytes(), at).expect("room");
    let taken = Stream::from_number(number).expect("the second pipe");
    taken.write(b"x").expect("room");
    second_far.set_nonblocking(true).expect("it can");
    assert_eq!(second_far.read(&mut [0; 8]).expect("it went through the second pipe"), 1);
}

#[test]
fn a_device_is_not_taken_up_with_a_socket_that_a_member_names() {
    in_own_process!();
    let directory = private_directory();
    let device = open(directory.path());
    let own = memory();
    let parts = parts(&device);
    let (other, _far) = pipe().expect("pipe");
    let (at, cookie) = cookies_at(&own, parts[3].as_fd());
    let (_, wrong) = cookies_at(&memory(), other.as_fd());
    own.write_all_at(&wrong.to_ne_bytes(), at).expect("room");
    let number = device.as_fd().as_raw_fd().unsigned_abs();
    drop(parts);
    assert_eq!(
        Stream::from_number(number).expect_err("the far end is not the one in the memory").errno(),
        Errno::Nostr
    );
    own.write_all_at(&cookie.to_ne_bytes(), at).expect("room");
    drop(Stream::from_number(number).expect("the device's own"));
}
