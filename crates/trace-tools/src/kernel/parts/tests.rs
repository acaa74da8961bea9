use std::sync::Arc;

use super::*;

fn place(bytes: u64, read: u64, overwritten: u64) -> Place {
    Place { bytes, stats: Stats { read, overwritten, ..Stats::default() } }
}

fn removed(parts: u64, events: u64, lost: u64) -> Removed {
    Removed { parts, events, lost }
}

#[test]
fn the_file_comes_back_as_it_was_written_and_not_if_it_was_cut() {
    let mut file = PartsFile { number: 1, ..PartsFile::default() };
    file.begin_part(&[(0, place(4096, 70, 1)), (3, place(0, 0, 0))], None);
    file.begin_part(&[(0, place(8192, 1 << 40, 5)), (3, place(4096, 8, 0))], None);
    file.note_converted(7, 1);
    let text = file.to_text();
    assert_eq!(PartsFile::parse(&text).as_ref(), Some(&file));
    assert!((1..text.len()).all(|len| PartsFile::parse(&text[..len]).is_none()));
}

#[test]
fn a_file_that_contradicts_itself_is_none() {
    let mut file = PartsFile { number: 1, ..PartsFile::default() };
    file.begin_part(&[(0, place(4096, 70, 1))], None);
    file.begin_part(&[(0, place(8192, 90, 1))], None);
    file.note_converted(7, 1);
    let text = file.to_text();
    for (from, to) in [
        // Parts that have begun nowhere; more gone than there were; numbers whose sum is too large.
        ("part 3", "part 4"),
        ("part 3", "part 4294967294"),
        ("part 3", "part 4294967295"),
        ("converted 1 7 1", "converted 4 7 1"),
        ("removed 0 0 0", "removed 18446744073709551615 0 0"),
    ] {
        assert!(text.contains(from), "{text}");
        assert_eq!(PartsFile::parse(&text.replace(from, to)), None, "{to}");
    }
}

#[test]
fn what_is_removed_converted_and_there_is_everything_once() {
    let mut file = PartsFile { number: 1, ..PartsFile::default() };
    for number in 1..=5 {
        file.begin_part(
            &[(0, place(number << 12, number * 100, number)), (1, place(number << 13, number * 10, 0))],
            Some(3),
        );
    }
    // Parts 4, 5 and 6 are there: 110 events and one loss each are gone with 1, 2 and 3.
    assert_eq!((file.removed, file.there()), (removed(3, 330, 3), 4..=6));
    assert_eq!((file.begin(4, 0), file.begin(3, 0)), (place(3 << 12, 300, 3), Place::default()));
    file.note_converted(109, 2);
    assert_eq!((file.converted, file.there()), (removed(1, 109, 2), 5..=6));
    file.note_converted(110, 1);
    file.note_converted(20, 0);
    assert_eq!((file.converted, file.there().count()), (removed(3, 239, 3), 0));
}

/// A file of pages and its reader.
struct Cpu {
    file: File,
    line: Arc<CutLine>,
    bytes: u64,
}

#[test]
fn a_part_ends_when_each_reader_has_said_where_or_has_ended_and_old_pages_are_freed() {
    let home = tempfile::tempdir().expect("a directory");
    let pages = home.path().join("kernel.pages");
    let file = |name: &str| {
        let path = home.path().join(name);
        fs::write(&path, [1; 64 << 10]).expect("room");
        File::options().write(true).read(true).open(path).expect("it is there")
    };
    let cpu = |name: &str| Cpu { file: file(name), line: Arc::default(), bytes: 0 };
    let mut cpus = [cpu("0"), cpu("1")];
    let rotation = Rotation { bytes: 16 << 10, keep: Some(1) };
    let mut parts = Parts::begin(rotation, &pages, &file("new"), 4096).expect("a part");
    let rotate = |parts: &mut Parts, cpus: &[Cpu], has_ended: bool| {
        let cpus: Vec<PartCpu<'_>> = cpus
            .iter()
            .enumerate()
            .map(|(cpu, Cpu { file, line, bytes })| PartCpu {
                cpu: cpu as u32,
                line,
                file,
                carried_bytes: *bytes,
                has_ended: has_ended && cpu == 1,
            })
            .collect();
        parts.rotate(&cpus, |_| Ok(Stats { read: 9, unread: 4, ..Stats::default() })).expect("room");
        parts.file.number
    };
    assert_eq!((rotate(&mut parts, &cpus, false), cpus[0].line.wanted()), (1, None));
    (cpus[0].bytes, cpus[1].bytes) = (12 << 10, (8 << 10) + 5);
    assert_eq!((rotate(&mut parts, &cpus, false), cpus[0].line.wanted()), (1, Some(2)));
    cpus[0].line.begin(2, place(16 << 10, 50, 0));
    assert_eq!((rotate(&mut parts, &cpus, false), cpus[0].line.wanted(), cpus[1].line.wanted()), (1, None, Some(2)));
    assert_eq!(rotate(&mut parts, &cpus, true), 2);
    // The second reader has ended in the middle of a page.
    assert_eq!(parts.file.begin(2, 1), place(8 << 10, 9, 0));
    assert_eq!(parts.file.removed, removed(1, 59, 0));
    assert_eq!(PartsFile::read(&pages).expect("readable").as_ref(), Some(&parts.file));
    let bytes = |name: &str| fs::read(home.path().join(name)).expect("it is there");
    for (name, freed) in [("0", 16 << 10), ("1", 8 << 10)] {
        let bytes = bytes(name);
        assert_eq!((bytes.len(), bytes.iter().position(|byte| *byte == 1)), (64 << 10, Some(freed)));
    }
    assert_eq!(cpus[0].line.removed_bytes(), 16 << 10);
    // Only what has come since counts for the next.
    cpus[0].bytes = 20 << 10;
    assert_eq!((rotate(&mut parts, &cpus, true), cpus[0].line.wanted()), (2, None));
}
