use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use headwater_os::memory::SharedMemory;

use super::Region;
use crate::error::Error;
use crate::layout::{Header, WINDOW_AT};

/// Opens a region whose header was changed after it was made.
fn open_changed(change: impl Fn(&Header)) -> Result<Region, Error> {
    let region = Region::create(4096).expect("create");
    change(region.memory.get(0).expect("header"));
    Region::open(region.as_fd().try_clone_to_owned().expect("dup"))
}

#[test]
fn an_untouched_header_opens() {
    let region = open_changed(|_| ()).expect("open");
    assert_eq!(region.window(), 4096);
}

#[test]
fn a_header_that_contradicts_itself_is_corrupt() {
    type Change = (&'static str, fn(&Header));
    let changes: [Change; 7] = [
        ("not a ring", |header| header.magic.store(1, Ordering::Relaxed)),
        ("another version", |header| header.version.store(99, Ordering::Relaxed)),
        ("unknown fence", |header| header.fence.store(0, Ordering::Relaxed)),
        ("window and size", |header| header.window.store(8192, Ordering::Relaxed)),
        ("window and size", |header| header.window.store(0, Ordering::Relaxed)),
        ("window and size", |header| header.window.store(4095, Ordering::Relaxed)),
        ("window and size", |header| header.window.store(u64::MAX, Ordering::Relaxed)),
    ];
    for (text, change) in changes {
        match open_changed(change) {
            Err(Error::Corrupt(why)) => assert!(why.starts_with(text), "{why}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn memory_too_short_for_a_header_is_corrupt() {
    for len in [1, 8, 24, WINDOW_AT] {
        let memory = SharedMemory::create("hw-test", len).expect("create");
        let opened = Region::open(memory.as_fd().try_clone_to_owned().expect("dup"));
        assert!(matches!(opened, Err(Error::Corrupt(_))), "{len}: {opened:?}");
    }
}

#[test]
fn copies_wrap_and_stay_inside() {
    let region = Region::create(64).expect("create");
    let source: Vec<u8> = (0..64).collect();
    for at in [0, 1, 63, 64, 1000, u64::MAX - 200] {
        region.copy_in(at, &source);
        let mut target = [0; 64];
        region.copy_out(at, &mut target);
        assert_eq!(target.as_slice(), source, "at {at}");
    }
}

#[test]
#[should_panic(expected = "a copy fits the window")]
fn a_copy_longer_than_the_window_is_refused() {
    Region::create(64).expect("create").copy_in(0, &[0; 65]);
}
