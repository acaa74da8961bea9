//! Tests of the state after a crash or with a full disk.

use super::*;

#[test]
fn an_incomplete_packet_is_skipped_repaired_and_followed_by_new_ones() {
    // Cut the last packet at several places, including its beginning.
    for cut in [1, 23, 24, 60, 111] {
        let dir = new_dir();
        write_at(dir.path(), &[10, 20]);
        let file = dir.path().join("user-0");
        let whole = fs::metadata(&file).expect("it is there").len();
        let opened = fs::OpenOptions::new().write(true).open(&file).expect("it is there");
        opened.set_len(whole - cut).expect("it is ours");

        let before = "10 user-0 cpu 0 tid 42 headwater:put n=7\n";
        assert_eq!(read_all(&[dir.path()]), before);
        let mut reader = Reader::open(&[dir.path()]).expect("it is a trace");
        while reader.next().expect("what is there is whole").is_some() {}
        assert_eq!(reader.cut().collect::<Vec<_>>(), [(file.as_path(), 112 - cut)]);

        let repaired = repair(dir.path()).expect("it can be");
        assert_eq!(repaired, Repaired { files: 1, bytes_cut: 112 - cut });
        assert_eq!(repair(dir.path()).expect("it is"), Repaired { files: 0, bytes_cut: 0 });

        let mut writer = Writer::resume(dir.path()).expect("it is a trace");
        writer.packet(Packet { begin: 15, end: 15, discarded: 4, parts: &[&put(15, 8)], ..packet() }).expect("room");
        writer.close().expect("room");
        let after = "lost 4 of user-0 in (10, 15)\n15 user-0 cpu 0 tid 42 headwater:put n=8\n";
        assert_eq!(read_all(&[dir.path()]), format!("{before}{after}"));
    }
}

#[test]
fn a_file_that_ends_within_its_first_packet_becomes_empty() {
    let dir = new_dir();
    write_at(dir.path(), &[10]);
    let file = fs::OpenOptions::new().write(true).open(dir.path().join("user-0")).expect("it is there");
    file.set_len(50).expect("it is ours");
    assert_eq!(repair(dir.path()).expect("it can be"), Repaired { files: 1, bytes_cut: 50 });
    assert_eq!(positions(dir.path()).expect("it is a trace"), [Position { stream: 0, ring: 0, position: None }]);
    assert_eq!(read_all(&[dir.path()]), "");
}

#[test]
fn the_position_of_the_last_whole_packet_is_known() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    writer.packet(Packet { position: 480, ..packet() }).expect("room");
    writer.packet(Packet { ring: 3, position: 1, ..packet() }).expect("room");
    writer.packet(Packet { position: 960, begin: 1, end: 1, ..packet() }).expect("room");
    // A loss alone does not move the position, and does not imply that the ring was read.
    writer.note_loss(0, 0, 0, 5, 2).expect("it is a stream");
    writer.note_loss(1, 0, 0, 5, 2).expect("it is a stream");
    writer.close().expect("room");
    let position = |stream, ring, position| Position { stream, ring, position };
    let expected = [position(0, 0, Some(960)), position(0, 3, Some(1)), position(1, 0, None)];
    assert_eq!(positions(dir.path()).expect("it is a trace"), expected);
}

#[test]
fn a_file_with_other_contents_is_not_cut() {
    let dir = new_dir();
    write_at(dir.path(), &[10]);
    let file = dir.path().join("user-0");
    let mut bytes = fs::read(&file).expect("it is there");
    bytes.extend([0x55; 100]);
    fs::write(&file, &bytes).expect("room");
    let error = repair(dir.path()).expect_err("that is no packet").to_string();
    assert_eq!(error, format!("{} is damaged at byte 200: no packet begins here", file.display()));
    assert_eq!(fs::read(&file).expect("it is there"), bytes);
    // The packets before the damage are read.
    let lines = read_all(&[dir.path()]);
    assert_eq!(lines, format!("10 user-0 cpu 0 tid 42 headwater:put n=7\n{error}\n"));
}

#[test]
fn a_full_disk_leaves_whole_packets() {
    const FULL: &str = "HEADWATER_TRACE_TEST_FULL";
    // The limit of the file size applies to the process, so this test runs itself again as a process. A write beyond
    // the limit is first cut short and then refused, as on a full disk.
    let Some(dir) = std::env::var_os(FULL) else {
        let dir = new_dir();
        let own = std::env::current_exe().expect("it is running");
        // The limit is 4 KiB. With SIGXFSZ ignored, a write fails instead of killing the process.
        let script =
            "trap '' XFSZ; ulimit -f 4; exec \"$0\" --exact ctf::tests::crash::a_full_disk_leaves_whole_packets";
        let output = std::process::Command::new("bash")
            .args(["-c".as_ref(), script.as_ref(), own.as_os_str()])
            .env(FULL, dir.path())
            .output()
            .expect("there is a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    };
    let dir = Path::new(&dir);
    let mut writer = Writer::create(dir, &schema()).expect("an empty directory");
    let mut time = 0;
    let error = loop {
        time += 1;
        match writer.packet(Packet { begin: time, end: time, parts: &[&put(time, 1)], ..packet() }) {
            Ok(_) => assert!(time < 100, "there is a limit"),
            Err(error) => break error.to_string(),
        }
    };
    let file = dir.join("user-0");
    assert!(error.starts_with(&format!("cannot write {}: File too large", file.display())), "{error}");
    let len = fs::metadata(&file).expect("it is there").len();
    assert_eq!(len, 200 + 112 * (time - 2), "whole packets");
    assert!(len + 112 > 4096 && len < 4096, "the last write was cut short");
    // Another ring can be written, and this one with a smaller packet: a packet without records still fits.
    writer.packet(Packet { ring: 1, begin: 1, end: 1, parts: &[&put(1, 1)], ..packet() }).expect("room");
    writer.note_loss(0, 0, 0, 1, time).expect("it is a stream");
    let closed = writer.close();
    assert_eq!(closed.is_ok(), len + 88 <= 4096, "{closed:?}");
    assert_eq!(repair(dir).expect("it is a trace"), Repaired { files: 0, bytes_cut: 0 });
    let expected = (time - 1) as usize + 1 + usize::from(closed.is_ok());
    assert_eq!(read_all(&[dir]).lines().count(), expected);
}

#[test]
fn errors_of_the_file_system_name_the_path() {
    let error = Writer::create(Path::new("/proc/trace"), &schema()).expect_err("there is no room").to_string();
    assert!(error.starts_with("cannot create the directory /proc/trace: "), "{error}");
    let error = Reader::open(&["/proc/none"]).expect_err("there is none").to_string();
    assert!(error.starts_with("cannot list /proc/none: No such file"), "{error}");
}

#[test]
fn invalid_data_is_refused_with_its_position() {
    // Two packets: an empty one, and one with a single record, 88 + 24 bytes.
    let number = |at: usize, to: u64| (at, to.to_le_bytes().to_vec());
    let second = 88;
    for ((at, to), expected) in [
        ((4, vec![0; 4]), "0: the packet is of another trace"),
        ((second + 20, vec![1]), "88: the packet is of another ring than the file's name says"),
        ((second + 76, vec![1]), "88: the packet is of another ring than the file's name says"),
        (number(second + 56, 2), "88: the packet's number does not follow the one before it"),
        (number(32, 11), "88: the packet begins before the one before it ends"),
        (number(64, 1), "88: the packet has lost fewer records than the one before it"),
        // The record would extend beyond the packet.
        ((second + 98, vec![32]), "176: no whole record stands here"),
        ((second + 98, vec![16]), "176: the fields of the record do not fill it"),
        ((second + 96, vec![9]), "176: the metadata does not know the record's event"),
        ((second + 88, vec![11]), "176: the record's time is not between those before and behind it"),
        ((second + 88, vec![9]), "176: the record's time is not between those before and behind it"),
    ] {
        let dir = new_dir();
        write_at(dir.path(), &[10, 20]);
        let file = dir.path().join("user-0");
        let mut bytes = fs::read(&file).expect("it is there");
        bytes[at..at + to.len()].copy_from_slice(&to);
        fs::write(&file, bytes).expect("room");
        let lines = read_all(&[dir.path()]);
        let last = lines.lines().find(|line| line.contains("damaged")).unwrap_or(&lines);
        assert_eq!(last, format!("{} is damaged at byte {expected}", file.display()), "{at} {to:?}");
    }
    let dir = new_dir();
    write_at(dir.path(), &[10]);
    fs::rename(dir.path().join("user-0"), dir.path().join("user-00")).expect("it is there");
    let error = Reader::open(&[dir.path()]).expect_err("nothing is called so").to_string();
    assert!(error.contains("user-00 does not belong to the trace"), "{error}");
}
