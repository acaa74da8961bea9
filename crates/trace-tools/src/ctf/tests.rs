use std::fs;
use std::path::Path;

use expect_test::expect;
use tempfile::TempDir;

use super::*;
use crate::schema::{FieldKind, Schema, StreamKind};
use crate::testing::{clock, kind, read_all, record, sample, unsigned};

mod babeltrace;
mod crash;
mod random;

/// Two streams. Events 1 and 2 of `user` have a number, event 1 of `kernel` has a text.
fn schema() -> Schema {
    let number = [("n", unsigned(4))];
    let user = vec![kind(1, "headwater:put", &number), kind(2, "headwater:get", &number)];
    let kernel = vec![kind(1, "sched:wake", &[("comm", FieldKind::Text)])];
    let stream = |name: &str, events| StreamKind { name: name.into(), events };
    Schema { clock: clock(), streams: vec![stream("user", user), stream("kernel", kernel)], environment: vec![] }
}

/// Returns an empty packet of ring 0 of `user` at time 0.
fn packet<'a>() -> Packet<'a> {
    Packet { stream: 0, ring: 0, cpu: 0, begin: 0, end: 0, discarded: 0, position: 0, parts: &[] }
}

/// Returns a record of event 1 of `user`.
fn put(time: u64, number: u32) -> Vec<u8> {
    record(time, 1, 42, &number.to_le_bytes())
}

/// Writes records of `user` to ring 0 at these times, each in a packet of its own.
fn write_at(dir: &Path, times: &[u64]) {
    let mut writer = Writer::create(dir, &schema()).expect("a new directory");
    for time in times {
        writer.packet(Packet { begin: *time, end: *time, parts: &[&put(*time, 7)], ..packet() }).expect("room");
    }
    writer.close().expect("room");
}

fn new_dir() -> TempDir {
    tempfile::tempdir().expect("room")
}

#[test]
fn records_of_all_rings_come_in_the_order_of_time() {
    let dir = new_dir();
    let mut writer = Writer::create(&dir.path().join("new/trace"), &schema()).expect("a new directory");
    let (a, b) = ([put(10, 1), put(30, 2)].concat(), put(20, 3));
    writer.packet(Packet { begin: 10, end: 30, position: 48, parts: &[&a[..30], &a[30..]], ..packet() }).expect("room");
    writer.packet(Packet { ring: 9, cpu: 1, begin: 20, end: 20, parts: &[&b], ..packet() }).expect("room");
    let wake = record(25, 1, 43, b"a b\0");
    writer.packet(Packet { stream: 1, begin: 25, end: 25, parts: &[&wake], ..packet() }).expect("room");
    writer.close().expect("room");
    expect![[r#"
        10 user-0 cpu 0 tid 42 headwater:put n=1
        20 user-9 cpu 1 tid 42 headwater:put n=3
        25 kernel-0 cpu 0 tid 43 sched:wake comm="a b"
        30 user-0 cpu 0 tid 42 headwater:put n=2
    "#]]
    .assert_eq(&read_all(&[dir.path().join("new/trace")]));
    let mut names: Vec<_> = fs::read_dir(dir.path().join("new/trace"))
        .expect("it is there")
        .map(|entry| entry.expect("it is there").file_name().into_string().expect("ASCII"))
        .collect();
    names.sort();
    assert_eq!(names, ["kernel-0", "metadata", "user-0", "user-9"]);
}

#[test]
fn losses_are_counted_from_the_first_packet_to_the_last() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    writer.packet(Packet { begin: 10, end: 10, discarded: 3, parts: &[&put(10, 1)], ..packet() }).expect("room");
    writer.packet(Packet { begin: 20, end: 25, discarded: 3, parts: &[&put(20, 2)], ..packet() }).expect("room");
    writer.packet(Packet { begin: 30, end: 30, discarded: 5, parts: &[&put(30, 3)], ..packet() }).expect("room");
    // A loss that the last packet already contains, one that no packet contains, and one of a ring without packets.
    writer.note_loss(0, 0, 0, 5, 40).expect("it is a stream");
    writer.note_loss(0, 0, 0, 9, 41).expect("it is a stream");
    writer.note_loss(0, 1, 1, 7, 50).expect("it is a stream");
    writer.note_loss(0, 2, 0, 0, 50).expect("it is a stream");
    writer.close().expect("room");
    expect![[r#"
        lost 3 of user-0 in (10, 10)
        10 user-0 cpu 0 tid 42 headwater:put n=1
        20 user-0 cpu 0 tid 42 headwater:put n=2
        lost 2 of user-0 in (25, 30)
        30 user-0 cpu 0 tid 42 headwater:put n=3
        lost 4 of user-0 in (30, 41)
        lost 7 of user-1 in (50, 50)
    "#]]
    .assert_eq(&read_all(&[dir.path()]));
    assert!(!dir.path().join("user-2").exists(), "a ring without records and loss has no file");
}

#[test]
fn a_directory_that_is_not_empty_is_refused() {
    let dir = new_dir();
    fs::write(dir.path().join("x"), "").expect("room");
    let error = Writer::create(dir.path(), &schema()).expect_err("it must be refused").to_string();
    let expected = "is not empty: name a directory that does not exist yet, or remove what is in it";
    assert_eq!(error, format!("{} {expected}", dir.path().display()));
    assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 1);
}

#[test]
fn an_event_type_may_be_added_later() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    let late = record(5, 300, 1, &[9, 0]);
    let packet = Packet { begin: 5, end: 5, parts: &[&late], ..packet() };
    let error = writer.packet(packet).expect_err("it is not known").to_string();
    assert!(error.ends_with("is not sound: at byte 0: the stream has no event with the id 300"), "{error}");
    let new = kind(300, "new", &[("n", unsigned(2))]);
    writer.add_event(0, new.clone()).expect("it is new");
    writer.add_event(0, new).expect("it is the same");
    let error = writer.add_event(0, kind(300, "other", &[])).expect_err("it is another").to_string();
    assert!(error.ends_with("the id 300 of other is that of new"), "{error}");
    assert!(writer.add_event(2, kind(1, "x", &[])).is_err());
    writer.packet(packet).expect("it is known");
    writer.close().expect("room");
    assert_eq!(read_all(&[dir.path()]), "5 user-0 cpu 0 tid 1 new n=9\n");
}

#[test]
fn a_packet_with_an_invalid_record_is_refused_completely() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    let good = put(10, 1);
    let whole = Packet { begin: 10, end: 10, discarded: 2, parts: &[&good], ..packet() };
    assert_eq!(writer.packet(whole).expect("room"), 88 + 88 + 24);
    for bad in [
        Packet { begin: 9, ..whole },
        Packet { begin: 11, ..whole },
        Packet { discarded: 1, ..whole },
        Packet { parts: &[&good, &good[..23]], ..whole },
        Packet { parts: &[&good, &[0; 16]], ..whole },
        Packet { stream: 2, ..whole },
    ] {
        assert!(writer.packet(bad).is_err(), "{bad:?}");
    }
    let error = writer.packet(Packet { parts: &[&good, &good[..20]], ..whole }).expect_err("it is cut");
    assert!(matches!(error, Error::Unsound { unsound: Unsound { sound: 24, .. }, .. }), "{error}");
    writer.close().expect("room");
    assert_eq!(fs::metadata(dir.path().join("user-0")).expect("it is there").len(), 200);
}

#[test]
fn traces_on_one_clock_merge_and_others_are_refused() {
    let (first, second, third) = (new_dir(), new_dir(), new_dir());
    write_at(first.path(), &[10, 30]);
    write_at(second.path(), &[20, 30]);
    let times: Vec<String> = read_all(&[first.path(), second.path()])
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(times, ["10", "20", "30", "30"]);

    let mut other = schema();
    other.clock.frequency_hz = 2;
    Writer::create(third.path(), &other).expect("an empty directory").close().expect("room");
    let refused = |paths: &[&Path]| Reader::open(paths).expect_err("it must be refused").to_string();
    let error = refused(&[first.path(), third.path()]);
    assert!(error.ends_with("of different clocks: 1000000000 and 2 ticks a second"), "{error}");
    assert!(refused(&[first.path(), first.path()]).ends_with("they are the same trace"));
}

#[test]
fn a_directory_of_traces_opens_all_of_them() {
    let dir = new_dir();
    let refused = || Reader::open(&[dir.path()]).expect_err("there is none").to_string();
    assert!(refused().contains("there is no trace here, nor in the directories in it"), "{}", refused());
    write_at(&dir.path().join("b"), &[1]);
    write_at(&dir.path().join("a"), &[1]);
    let reader = Reader::open(&[dir.path()]).expect("there are two");
    let paths: Vec<&Path> = reader.schemas().map(|(path, _)| path).collect();
    assert_eq!(paths, [dir.path().join("a"), dir.path().join("b")]);
    fs::write(dir.path().join("a/foreign"), "").expect("room");
    assert!(refused().contains("foreign does not belong to the trace"), "{}", refused());
}

#[test]
fn every_trace_has_a_uuid_of_its_own() {
    let uuid = || {
        let dir = new_dir();
        Writer::create(dir.path(), &sample()).expect("an empty directory").close().expect("room");
        let text = fs::read_to_string(dir.path().join("metadata")).expect("it is there");
        Metadata::parse(&text).expect("it is ours").uuid
    };
    let (one, other) = (uuid(), uuid());
    assert_ne!(one, other);
    for uuid in [one, other] {
        assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (4, 2), "version 4");
    }
}

#[test]
fn many_rings_need_few_descriptors() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    let open = || fs::read_dir("/proc/self/fd").expect("it is there").count();
    let before = open();
    for round in 0..2 {
        for ring in 0..600 {
            writer
                .packet(Packet { ring, begin: round, end: round, parts: &[&put(round, 1)], ..packet() })
                .expect("room");
        }
    }
    // Other tests run in parallel.
    assert!(open() < before + 400, "{} and {before}", open());
    writer.sync().expect("there is a disk");
    writer.close().expect("room");
    assert_eq!(read_all(&[dir.path()]).lines().count(), 1200);
}

#[test]
fn packets_may_be_longer_than_one_read() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    // 40 records of almost the maximum length alternate with short ones: 170 kB per packet, so that records cross each
    // multiple of 256 KiB.
    let long = [&vec![b'x'; 4000][..], &[0]].concat();
    let mut time = 0;
    for _ in 0..8 {
        let begin = time;
        let mut all = Vec::new();
        for _ in 0..40 {
            all.extend(record(time, 1, 1, &long));
            all.extend(record(time + 1, 1, 1, b"\0"));
            time += 2;
        }
        writer.packet(Packet { stream: 1, begin, end: time, parts: &[&all], ..packet() }).expect("room");
    }
    writer.close().expect("room");
    let mut reader = Reader::open(&[dir.path()]).expect("it is a trace");
    let mut expected = 0;
    while let Some(TraceItem::Record(record)) = reader.next().expect("it is sound") {
        assert_eq!(record.time, expected);
        let len = record.field("comm").and_then(|comm| comm.as_text()).map(|comm| comm.len());
        assert_eq!(len, Some(if expected % 2 == 0 { 4000 } else { 0 }));
        expected += 1;
    }
    assert_eq!(expected, 640);
}
