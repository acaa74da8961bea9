use std::io::Write;

use super::*;
use crate::usage::Usage;

/// Faults that `body` takes; the other threads of the test take theirs, so this runs in a child.
fn faults(body: impl FnOnce()) -> u64 {
    let before = Usage::of_process();
    body();
    Usage::of_process().since(&before).minor_faults
}

fn in_child(body: impl FnOnce() -> bool) {
    let mut child = headwater_os::child::Child::fork(|| i32::from(!body())).expect("fork");
    assert!(child.wait().expect("wait").success());
}

#[test]
fn populated_memory_does_not_fault_and_emptied_memory_does_and_is_zero() {
    in_child(|| {
        let pages = 64;
        let mut memory = Memory::populated(pages * page_bytes()).expect("mapped");
        memory.ask_for_small_pages().expect("no huge ones");
        let touch = |memory: &mut Memory| {
            faults(|| memory.words_mut().chunks_mut(page_bytes() / 8).for_each(|page| page[0].set(7)))
        };
        let first = touch(&mut memory);
        let all_set = memory.words().iter().step_by(page_bytes() / 8).all(|word| word.get() == 7);
        memory.empty().expect("emptied");
        let second = touch(&mut memory);
        memory.empty().expect("emptied");
        let is_zero = memory.bytes_mut().iter().all(|&byte| byte == 0);
        // Getrusage itself may fault once.
        first < 4 && second >= pages as u64 && all_set && is_zero
    });
}

#[test]
fn memory_begins_where_it_is_asked_to_and_impossible_wishes_are_refused() {
    let mut memory = Memory::new(5 << 20, 2 << 20).expect("mapped");
    assert_eq!(memory.bytes_mut().as_ptr().addr() % (2 << 20), 0);
    assert_eq!((memory.bytes_mut().len(), memory.words().len()), (5 << 20, (5 << 20) / 8));
    memory.bytes_mut().fill(1);
    assert_eq!(Memory::new(1, 0).expect("mapped").bytes_mut().len(), page_bytes());
    for (len, align) in [(0, 0), (4096, 3 * page_bytes()), (usize::MAX, 0), (usize::MAX / 2, 1 << 62)] {
        assert!(Memory::new(len, align).is_err(), "{len} {align}");
    }
}

#[test]
fn memory_is_writable_again_after_it_was_protected() {
    let mut memory = Memory::populated(page_bytes()).expect("mapped");
    memory.protect_and_back().expect("protected");
    memory.words_mut()[0].set(1);
    assert_eq!(memory.bytes_mut()[..2], [1, 0]);
}

#[test]
fn a_view_shows_the_file_and_what_is_written_to_it_later() {
    let path = std::env::temp_dir().join(format!("headwater-test-view-{}", std::process::id()));
    let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).expect("new");
    std::fs::remove_file(&path).expect("it is there");
    file.write_all(&[1; 9000]).expect("written");
    let copy = || OwnedFd::from(file.try_clone().expect("dup"));
    let mapped = MappedFile::new(copy(), 9000).expect("long enough");
    let view = mapped.map().expect("mapped");
    assert_eq!((view.words().len(), view.words()[1124].get(), view.byte(8999)), (1125, 0x0101_0101_0101_0101, 1));
    std::os::unix::fs::FileExt::write_all_at(&file, &[2], 8999).expect("written");
    assert_eq!(view.byte(8999), 2);
    assert!(std::panic::catch_unwind(|| view.byte(9000)).is_err(), "beyond the end");
    assert_eq!((view.integers().len(), view.integers()[2249].get()), (2250, 0x0201_0101));
    assert!(MappedFile::new(copy(), 9001).is_err(), "longer than the file");
    assert!(MappedFile::new(copy(), 0).is_err());
}

#[test]
fn what_is_stored_to_a_writable_view_is_in_the_file() {
    let path = std::env::temp_dir().join(format!("headwater-test-writable-view-{}", std::process::id()));
    let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).expect("new");
    let reader = std::fs::File::open(&path).expect("it is there");
    std::fs::remove_file(&path).expect("it is there");
    file.write_all(&[1; 5000]).expect("written");
    let mapped = MappedFile::new(file.into(), 5000).expect("long enough");
    let mut view = mapped.map_writable().expect("mapped");
    view.store(4999, 7);
    let mut bytes = [0; 2];
    std::os::unix::fs::FileExt::read_exact_at(&reader, &mut bytes, 4998).expect("read");
    assert_eq!(bytes, [1, 7]);
    let store_beyond = std::panic::AssertUnwindSafe(|| view.store(5000, 7));
    assert!(std::panic::catch_unwind(store_beyond).is_err(), "beyond the end");
    let refused = MappedFile::new(reader.into(), 5000).expect("long enough").map_writable().expect_err("for reading");
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
}
