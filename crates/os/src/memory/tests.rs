use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::SharedMemory;

fn refusal(memfd: OwnedFd, len_max: usize) -> String {
    SharedMemory::from_fd(memfd, len_max).expect_err("must be refused").to_string()
}

#[test]
fn mappings_share_their_contents() {
    let first = SharedMemory::create("hw-test", 8192).expect("create");
    first.populate().expect("populate");
    let copy = first.as_fd().try_clone_to_owned().expect("dup");
    let second = SharedMemory::from_fd(copy, 8192).expect("attach");
    first.get::<AtomicU64>(4096).expect("inside").store(0x0102_0304, Ordering::SeqCst);
    assert_eq!(second.get::<AtomicU64>(4096).expect("inside").load(Ordering::SeqCst), 0x0102_0304);
    assert_eq!(second.len(), 8192);
}

#[test]
fn get_refuses_places_outside_the_mapping() {
    let memory = SharedMemory::create("hw-test", 4096).expect("create");
    assert!(memory.get::<AtomicU32>(4092).is_some());
    assert!(memory.get::<AtomicU32>(4093).is_none(), "reaches past the end");
    assert!(memory.get::<AtomicU32>(2).is_none(), "not aligned");
    assert!(memory.get::<AtomicU64>(4092).is_none(), "half outside");
    assert!(memory.bytes(4096, 0).is_some());
    assert!(memory.bytes(4096, 1).is_none());
    assert!(memory.bytes(usize::MAX, 2).is_none(), "offset + len overflows");
}

#[test]
fn size_is_sealed() {
    let memory = SharedMemory::create("hw-test", 4096).expect("create");
    assert!(rustix::fs::ftruncate(memory.as_fd(), 0).is_err());
    assert!(rustix::fs::ftruncate(memory.as_fd(), 8192).is_err());
}

#[test]
fn from_fd_refuses_memory_that_could_be_truncated() {
    let bare = rustix::fs::memfd_create("hw-test", rustix::fs::MemfdFlags::ALLOW_SEALING).expect("memfd");
    rustix::fs::ftruncate(&bare, 4096).expect("size");
    assert_eq!(refusal(bare, 4096), "shared memory is not sealed against resizing");
    let (pipe, _other) = rustix::pipe::pipe().expect("pipe");
    assert_eq!(refusal(pipe, 4096), "descriptor is not a memfd");
    let memory = SharedMemory::create("hw-test", 4096).expect("create");
    let copy = memory.as_fd().try_clone_to_owned().expect("dup");
    assert_eq!(refusal(copy, 4095), "shared memory has an unexpected size");
    assert!(SharedMemory::create("hw-test", 0).is_err());
}

#[test]
fn discarded_pages_are_zeros_and_use_no_memory() {
    let memory = SharedMemory::create("headwater-test", 1 << 20).expect("memfd");
    memory.populate().expect("madvise");
    let word = memory.get::<AtomicU64>(8192).expect("inside");
    word.store(7, Ordering::Relaxed);
    assert_eq!(memory.resident().expect("fstat"), 1 << 20);
    memory.discard(4096, (1 << 20) - 4096).expect("fallocate");
    assert_eq!(memory.resident().expect("fstat"), 4096);
    assert_eq!(word.load(Ordering::Relaxed), 0);
}
