use headwater_os::files::{self, OFlags};

use super::*;
use crate::Options;

fn node() -> headwater_os::descriptors::Pinned {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("fifo");
    files::make_fifo(&path, 0o600).expect("mkfifo");
    files::find_fifo(&path).expect("it is one")
}

fn region() -> Region {
    Region::create_fifo("headwater-test", &Options::default(), [1, 2]).expect("room")
}

#[test]
fn marks_name_the_descriptors_of_the_memory() {
    let node = node();
    let open = |flags| node.open(flags | OFlags::NONBLOCK).expect("it is ours");
    let looks = open(OFlags::RDONLY);
    let named = |except: Option<&Region>| {
        let mut all: Vec<_> = Marks::of(&looks, except).map(|mark| mark.expect("fcntl").expect("one byte")).collect();
        all.sort_by_key(|found| found.number);
        all
    };
    assert_eq!(named(None), []);
    let regions = [region(), region(), region()];
    let holders: Vec<_> = regions
        .iter()
        .map(|region| {
            let holder = open(OFlags::WRONLY);
            assert!(set(&holder, region).expect("fcntl"));
            holder
        })
        .collect();
    let mut all = regions.each_ref().map(|region| Found::own(region.as_fd()));
    all.sort_by_key(|found| found.number);
    assert_eq!(named(None), all);
    assert_eq!(
        named(Some(&regions[1])),
        all.into_iter().filter(|found| *found != Found::own(regions[1].as_fd())).collect::<Vec<_>>()
    );
    drop(holders);
    assert_eq!(named(None), []);
}

#[test]
fn the_same_descriptor_is_marked_more_than_once_and_not_without_end() {
    let node = node();
    let _reader = node.open(OFlags::RDONLY | OFlags::NONBLOCK).expect("it is ours");
    let region = region();
    let holders: Vec<_> = (0..17).map(|_| node.open(OFlags::WRONLY | OFlags::NONBLOCK).expect("it is ours")).collect();
    let marked: Vec<_> = holders.iter().map(|holder| set(holder, &region).expect("fcntl")).collect();
    assert_eq!(marked.iter().filter(|marked| **marked).count(), 16);
    assert!(!marked[16]);
}

#[test]
fn a_lock_over_many_bytes_names_nothing() {
    let node = node();
    let looks = node.open(OFlags::RDWR | OFlags::NONBLOCK).expect("it is ours");
    let stranger = node.open(OFlags::WRONLY | OFlags::NONBLOCK).expect("it is ours");
    assert!(ofd_lock::mark(&stranger, 0, 0).expect("fcntl"));
    let all: Vec<_> = Marks::of(&looks, None).map(|mark| mark.expect("fcntl")).collect();
    assert_eq!(all, [None]);
}
