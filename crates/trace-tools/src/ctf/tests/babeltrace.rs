//! Tests with babeltrace2, an independent reader: it must read every trace without a warning.

use std::process::{Command, Stdio};

use super::*;
use crate::testing::{drafts, write_drafts};

/// Returns babeltrace2's output for these traces, in ticks, and its warnings; `None`, with a printed reason, if it is
/// not installed.
fn babeltrace(paths: &[&Path]) -> Option<(String, String)> {
    let mut command = Command::new("babeltrace2");
    command.args(["--clock-cycles", "--no-delta"]).args(paths).stdin(Stdio::null()).env("TZ", "UTC");
    match command.output() {
        Ok(output) => {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            assert!(output.status.success(), "{err}");
            Some((out, err))
        }
        Err(error) => {
            println!("skipped: babeltrace2 cannot be run: {error} (Debian has it as babeltrace2)");
            None
        }
    }
}

#[test]
fn it_reads_every_kind_of_field() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &sample()).expect("an empty directory");
    let put = |time, text: &str| {
        record(time, 7, 42, &[&5_u32.to_le_bytes()[..], text.as_bytes(), &[0], &6_u16.to_le_bytes()].concat())
    };
    // Records with each length of padding, also as the last of a packet.
    for (at, text) in ["", "a", "ab", "abc", "abcd", "abcde", "abcdef", "a \"b\"\n"].into_iter().enumerate() {
        let time = at as u64 * 10;
        let both = [put(time, text), record(time + 1, 2, 43, &[])].concat();
        writer.packet(Packet { begin: time, end: time + 1, parts: &[&both], ..packet() }).expect("room");
        let one = put(time + 2, text);
        writer.packet(Packet { begin: time + 2, end: time + 2, parts: &[&one], ..packet() }).expect("room");
    }
    let mut all = 0xdead_beef_u64.to_le_bytes().to_vec();
    all.push(255);
    [-1_i32, 0, 7].iter().for_each(|number| all.extend(number.to_le_bytes()));
    all.extend(0.25_f64.to_le_bytes());
    all.extend((-1.5_f32).to_le_bytes());
    let all = record(1000, 1, 4, &all);
    writer.packet(Packet { stream: 1, cpu: 3, begin: 1000, end: 1000, parts: &[&all], ..packet() }).expect("room");
    writer.close().expect("room");

    let Some((out, err)) = babeltrace(&[dir.path()]) else { return };
    assert_eq!(err, "");
    // Each line contains the host name, which here contains a line feed and a tab.
    let out = out.replace(" a \"b\"\n\tc\\ é ", " host ");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 25);
    let shown = [lines[0], lines[1], lines[3], lines[23], lines[24]].join("\n");
    let expected = expect![[r#"
        [00000000000000000000] host headwater:put: { cpu_id = 0, ring = 0, position = 0 }, { len = 24, tid = 42 }, { len = 5, text = "", struct = 6 }
        [00000000000000000001] host headwater:nothing: { cpu_id = 0, ring = 0, position = 0 }, { len = 16, tid = 43 }, { }
        [00000000000000000010] host headwater:put: { cpu_id = 0, ring = 0, position = 0 }, { len = 24, tid = 42 }, { len = 5, text = "a", struct = 6 }
        [00000000000000000072] host headwater:put: { cpu_id = 0, ring = 0, position = 0 }, { len = 32, tid = 42 }, { len = 5, text = "a \"b\"\n", struct = 6 }
        [00000000000000001000] host all:kinds: { cpu_id = 3, ring = 0, position = 0 }, { len = 56, tid = 4 }, { address = 0xDEADBEEF, state = ( "\"away\"" : container = 255 ), numbers = [ [0] = -1, [1] = 0, [2] = 7 ], share = 0.25, part = -1.5 }"#]];
    expected.assert_eq(&shown);
}

#[test]
fn it_reports_every_loss() {
    let dir = new_dir();
    let mut writer = Writer::create(dir.path(), &schema()).expect("an empty directory");
    writer.packet(Packet { begin: 10, end: 10, discarded: 3, parts: &[&put(10, 1)], ..packet() }).expect("room");
    writer.packet(Packet { begin: 30, end: 30, discarded: 3, parts: &[&put(30, 3)], ..packet() }).expect("room");
    writer.note_loss(0, 0, 0, 10, 40).expect("it is a stream");
    writer.close().expect("room");
    let Some((out, err)) = babeltrace(&[dir.path()]) else { return };
    assert_eq!(out.lines().count(), 2);
    let found: Vec<&str> = err.lines().map(|line| line.split(" in trace ").next().unwrap_or_default()).collect();
    assert_eq!(
        found,
        [
            "WARNING: Tracer discarded 3 events between [22:13:20.000000010] and [22:13:20.000000010]",
            "WARNING: Tracer discarded 7 events between [22:13:20.000000030] and [22:13:20.000000040]",
        ]
    );
}

#[test]
fn it_merges_two_traces() {
    let (first, second) = (new_dir(), new_dir());
    write_at(first.path(), &[10, 30]);
    write_at(second.path(), &[20, 40]);
    let Some((out, err)) = babeltrace(&[first.path(), second.path()]) else { return };
    let times: Vec<&str> = out.lines().map(|line| &line[..22]).collect();
    let expected = [10, 20, 30, 40].map(|time| format!("[{time:020}]"));
    assert_eq!((times, err.as_str()), (expected.iter().map(String::as_str).collect(), ""));
}

#[test]
fn it_reads_a_repaired_trace_and_refuses_it_before() {
    let dir = new_dir();
    write_at(dir.path(), &[10, 20]);
    let file = fs::OpenOptions::new().write(true).open(dir.path().join("user-0")).expect("it is there");
    file.set_len(300).expect("it is ours");
    let unrepaired = Command::new("babeltrace2").arg(dir.path()).output();
    assert!(!unrepaired.is_ok_and(|output| output.status.success()), "then there is nothing to repair");
    repair(dir.path()).expect("it can be");
    let Some((out, err)) = babeltrace(&[dir.path()]) else { return };
    assert_eq!((out.lines().count(), err.as_str()), (1, ""));

    // A file that was cut to nothing is accepted too.
    file.set_len(50).expect("it is ours");
    repair(dir.path()).expect("it can be");
    assert_eq!(babeltrace(&[dir.path()]), Some((String::new(), String::new())));
}

#[test]
fn it_reads_any_schema_and_records() {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    for _ in 0..12 {
        let mut schema = crate::testing::schemas().new_tree(&mut runner).expect("there is one").current();
        // A limit of babeltrace2, not of ours: it cannot represent times beyond 64 bits of nanoseconds.
        schema.clock = clock();
        let drafts = drafts().new_tree(&mut runner).expect("there is one").current();
        let dir = new_dir();
        let written = write_drafts(dir.path(), &schema, &drafts);
        let Some((out, err)) = babeltrace(&[dir.path()]) else { return };
        assert_eq!(err, "", "{schema:#?}");
        let records = out.lines().filter(|line| line.starts_with("[000000")).count();
        assert_eq!(records, written.len(), "{out}\n{schema:#?}");
    }
}
