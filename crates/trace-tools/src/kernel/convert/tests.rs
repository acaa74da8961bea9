use std::io::Write;

use proptest::prelude::*;

use super::super::Clock;
use super::super::calls::Signature;
use super::super::drain::LossMark;
use super::super::fixtures::{self, HEADER_PAGE, OVERWRITTEN, OVERWRITTEN_EVENTS, WHOLE, WHOLE_TEXT};
use super::super::format::Format;
use super::super::pages::Store;
use super::super::parts::Place;
use super::super::stacks::Stacks;
use super::*;
use crate::record::records;
use crate::schema::{EventKind, FieldKind};

fn capture(bytes: &[u8], stats: Stats, marks: Vec<LossMark>) -> Capture {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("room");
    let pages = Pages::new(3, Store { file, path: None }, marks, Some(stats), None);
    let layout = Layout::parse(HEADER_PAGE).expect("the kernel's own text");
    Capture {
        description: None,
        cpus: vec![pages],
        layout,
        kinds: fixtures::kinds(),
        clock: Clock::Tsc,
        parts: None,
        stacks: Stacks::default(),
    }
}

/// Converts a capture. Returns `discarded` and the number of records of each packet, all records, and the totals.
fn converted(capture: &mut Capture) -> (Vec<(u64, usize)>, Vec<u8>, Totals) {
    let (mut packets, mut all) = (Vec::new(), Vec::new());
    let totals = capture.convert(&mut |packet| {
        assert_eq!(packet.ring, 3);
        packets.push((packet.discarded, records(packet.records).count()));
        all.extend_from_slice(packet.records);
        Ok(())
    });
    let totals = totals.expect("no error")[0];
    assert_eq!(totals.records, records(&all).count() as u64);
    (packets, all, totals)
}

/// Formats a field as the kernel prints it.
fn value(kind: &EventKind, name: &str, fields: &[u8]) -> String {
    let mut at = 0;
    for field in &kind.fields {
        let rest = &fields[at..];
        let number = |bytes: usize| {
            let mut wide = [0; 8];
            wide[..bytes].copy_from_slice(&rest[..bytes]);
            u64::from_le_bytes(wide)
        };
        let (len, shown) = match &field.kind {
            FieldKind::Text => {
                let len = rest.iter().position(|byte| *byte == 0).expect("a NUL");
                (len + 1, String::from_utf8(rest[..len].to_vec()).expect("UTF-8"))
            }
            FieldKind::Signed { bytes } => {
                let shift = 64 - 8 * u32::from(*bytes);
                (usize::from(*bytes), ((number(usize::from(*bytes)) << shift).cast_signed() >> shift).to_string())
            }
            FieldKind::Unsigned { bytes, .. } | FieldKind::Named { bytes, .. } => {
                (usize::from(*bytes), number(usize::from(*bytes)).to_string())
            }
            FieldKind::Array { count, .. } => (8 * *count as usize, format!("{:x}", number(8))),
            other => panic!("none of these events has {other:?}"),
        };
        if field.name == name {
            return shown;
        }
        at += len;
    }
    panic!("{} has no {name}", kind.name)
}

#[test]
fn records_agree_with_the_kernels_own_text() {
    let lines: Vec<&str> = WHOLE_TEXT.lines().collect();
    let stats = Stats { read: lines.len() as u64, ..Stats::default() };
    let mut capture = capture(WHOLE, stats, Vec::new());
    let (packets, all, totals) = converted(&mut capture);
    assert_eq!((packets.as_slice(), totals.lost.all()), ([(0, lines.len())].as_slice(), 0));
    for ((head, fields), line) in records(&all).zip(lines) {
        let (kind, _) = capture.kinds.iter().find(|(kind, _)| kind.id == head.event).expect("known");
        let value = |name| value(kind, name, fields);
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().expect("four words");
        assert_eq!((word(), word()), (head.thread.to_string().as_str(), head.time.to_string().as_str()), "{line}");
        let (event, text) = (word(), word());
        assert_eq!(kind.name.split_once(':').expect("a system").1, event, "{line}");
        let shown = match event {
            "sys_enter" => format!("NR {} ({}", value("id"), value("args")),
            "sched_process_exec" => {
                format!("filename={} pid={} old_pid={}", value("filename"), value("pid"), value("old_pid"))
            }
            "sched_process_exit" => format!("comm={} pid={} prio={}", value("comm"), value("pid"), value("prio")),
            "sched_switch" => {
                format!(
                    "prev_comm={} prev_pid={} prev_prio={}",
                    value("prev_comm"),
                    value("prev_pid"),
                    value("prev_prio")
                )
            }
            "signal_generate" => format!("sig={} errno={} code={}", value("sig"), value("errno"), value("code")),
            other => panic!("{other}"),
        };
        assert!(text.starts_with(&shown), "{shown}: {line}");
    }
}

#[test]
fn overwritten_events_are_reported_before_the_next_page() {
    let overwritten = OVERWRITTEN_EVENTS.trim().parse().expect("a number");
    // This is the kernel's first page; the page before it is a copy without its flags.
    let mut before = OVERWRITTEN.to_vec();
    before[11] = 0;
    let here = records_in(OVERWRITTEN);
    let stats = Stats { read: here * 2, overwritten, ..Stats::default() };
    let (packets, _, totals) = converted(&mut capture(&[&before, OVERWRITTEN].concat(), stats, Vec::new()));
    assert_eq!(packets, [(0, here as usize), (overwritten, here as usize)]);
    assert_eq!((totals.lost.all(), totals.lost.overwritten), (overwritten, overwritten));
}

#[test]
fn uncounted_losses_are_reported_with_the_last_uncounted_page() {
    let here = records_in(OVERWRITTEN);
    let mut uncounted = OVERWRITTEN.to_vec();
    // The flag that says that a count is stored.
    uncounted[11] &= !0x40;
    let counted: u64 = OVERWRITTEN_EVENTS.trim().parse().expect("a number");
    let stats = Stats { read: here * 3, overwritten: counted + 100, ..Stats::default() };
    let bytes = [&uncounted, OVERWRITTEN, &uncounted].concat();
    let (packets, _, _) = converted(&mut capture(&bytes, stats, Vec::new()));
    let discarded: Vec<u64> = packets.iter().map(|(discarded, _)| *discarded).collect();
    assert_eq!(discarded, [1, counted + 1, counted + 100]);
}

// The pages and the numbers of calls are of x86-64.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_whose_arguments_are_known_has_an_event_type_of_its_own() {
    const EXECVE: u64 = 59;
    let signature = "execve(const char * filename, const char *const * argv, int flags)";
    let calls = [Signature::parse(signature).expect("written so")];
    let read = WHOLE_TEXT.lines().count() as u64;
    let mut capture = capture(WHOLE, Stats { read, ..Stats::default() }, Vec::new());
    let formats = fixtures::formats();
    for ((kind, plan), (_, text)) in capture.kinds.iter_mut().zip(&formats) {
        plan.name_arguments(kind, &Format::parse(text).expect("the kernel's own text"), &calls, 2_000);
    }
    let (mut kinds, mut found) = (Vec::new(), Vec::new());
    let totals = capture.convert(&mut |packet| {
        kinds.extend(packet.kinds.iter().map(|kind| (*kind).clone()));
        let named = |id: u16| kinds.iter().any(|kind: &EventKind| kind.id == id);
        assert!(records(packet.records).all(|(head, _)| head.event < 2_000 || named(head.event)), "named in time");
        found.extend(records(packet.records).map(|(head, fields)| (head.event, fields.to_vec())));
        Ok(())
    });
    assert_eq!(totals.expect("no error")[0].lost.all(), 0);
    let [kind] = &kinds[..] else { panic!("one call is known, and named once: {kinds:?}") };
    assert_eq!((kind.name.as_str(), kind.fields.len()), ("raw_syscalls:sys_enter", 4));
    let lines: Vec<&str> = WHOLE_TEXT.lines().filter(|line| line.contains(" NR 59 (")).collect();
    let records: Vec<&Vec<u8>> = found.iter().filter(|(id, _)| *id == kind.id).map(|(_, fields)| fields).collect();
    assert!(records.len() == lines.len() && lines.len() > 1, "{} and {lines:?}", records.len());
    for (fields, line) in records.into_iter().zip(lines) {
        let [id, filename, argv, flags] = [0, 4, 12, 20].map(|at| {
            let len = if at == 0 || at == 20 { 4 } else { 8 };
            fields[at..at + len].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        });
        assert_eq!((id, fields.len()), (EXECVE, 24));
        let (_, shown) = line.split_once('(').expect("registers");
        let mut shown = shown.split([',', ')']).map(|number| u64::from_str_radix(number.trim(), 16).unwrap_or(0));
        let mut register = || shown.next().expect("six");
        assert_eq!((filename, argv, flags), (register(), register(), register() & 0xffff_ffff), "{line}");
    }
}

fn records_in(page: &[u8]) -> u64 {
    converted(&mut capture(page, Stats::default(), Vec::new())).2.records
}

#[test]
fn discarded_events_are_reported_at_their_mark_and_at_the_end() {
    let (first, both) = (records_in(&WHOLE[..4096]), records_in(WHOLE));
    let stats = Stats { read: both, discarded: 50, nested: 3, ..Stats::default() };
    let marks = vec![LossMark { bytes: 4096, lost: 30 }];
    let (packets, _, totals) = converted(&mut capture(WHOLE, stats, marks));
    assert_eq!(packets, [(0, first as usize), (30, (both - first) as usize), (53, 0)]);
    assert_eq!((totals.lost.discarded, totals.lost.nested, totals.lost.all()), (50, 3, 53));
}

/// Returns a capture of these pages in two parts, of which the first has one page.
fn two_parts(bytes: &[u8], first: Stats, stats: Option<Stats>, marks: Vec<LossMark>) -> Capture {
    let mut capture = capture(bytes, Stats::default(), marks);
    capture.cpus[0].stats = stats;
    capture.cpus[0].end = Some(Place { bytes: 4096, stats: first });
    capture
}

/// Converts the second part of such a capture.
fn second(capture: &mut Capture) -> (Vec<(u64, usize)>, Totals) {
    capture.cpus[0].begin = capture.cpus[0].end.take().expect("the end of the first");
    let (packets, _, totals) = converted(capture);
    (packets, totals)
}

#[test]
fn parts_have_each_event_and_each_loss_once() {
    let (first, both) = (records_in(&WHOLE[..4096]), records_in(WHOLE));
    let at_cut = Stats { read: first, discarded: 30, ..Stats::default() };
    let stats = Stats { read: both, discarded: 50, nested: 3, ..Stats::default() };
    let marks = vec![LossMark { bytes: 0, lost: 20 }, LossMark { bytes: 4096, lost: 40 }];
    let mut capture = two_parts(WHOLE, at_cut, Some(stats), marks);
    let (packets, _, totals) = converted(&mut capture);
    assert_eq!((totals.records, totals.lost.all(), totals.lost.discarded), (first, 30, 30));
    assert_eq!(packets, [(20, first as usize), (30, 0)]);
    let (packets, totals) = second(&mut capture);
    assert_eq!((totals.records, totals.lost.all(), totals.lost.nested), (both - first, 23, 3));
    assert_eq!(packets, [(10, (both - first) as usize), (23, 0)]);
}

#[test]
fn what_was_overwritten_before_a_part_counts_in_the_part_in_which_it_happened() {
    let overwritten: u64 = OVERWRITTEN_EVENTS.trim().parse().expect("a number");
    let mut before = OVERWRITTEN.to_vec();
    before[11] = 0;
    let (bytes, here) = ([&before, OVERWRITTEN].concat(), records_in(OVERWRITTEN));
    // All but five had been overwritten when the first part ended; the next page reports all.
    let at_cut = Stats { read: here, overwritten: overwritten - 5, ..Stats::default() };
    let stats = Stats { read: here * 2, overwritten, ..Stats::default() };
    let mut capture = two_parts(&bytes, at_cut, Some(stats), Vec::new());
    assert_eq!(converted(&mut capture).2.lost.all(), overwritten - 5);
    assert_eq!(second(&mut capture).0, [(5, here as usize)]);
    // If the kernel's counts were lost, the page may not report again what the first part has counted.
    let mut capture = two_parts(&bytes, at_cut, None, Vec::new());
    assert_eq!(converted(&mut capture).2.lost.all(), overwritten - 5);
    assert_eq!(second(&mut capture).0, [(0, here as usize)]);
}

#[test]
fn events_missing_in_the_file_count_as_lost() {
    let (first, both) = (records_in(&WHOLE[..4096]), records_in(WHOLE));
    let stats = Stats { read: both, unread: 7, ..Stats::default() };
    let (packets, _, totals) = converted(&mut capture(&WHOLE[..8000], stats, Vec::new()));
    assert_eq!((totals.records, totals.lost.unsaved), (first, both - first + 7));
    assert_eq!(packets.last(), Some(&(totals.lost.all(), 0)));
}

#[test]
fn events_that_were_not_requested_count_as_unknown() {
    let read = WHOLE_TEXT.lines().count() as u64;
    let mut capture = capture(WHOLE, Stats { read, ..Stats::default() }, Vec::new());
    capture.kinds.retain(|(kind, _)| kind.name == "raw_syscalls:sys_enter");
    let (_, _, totals) = converted(&mut capture);
    let calls = WHOLE_TEXT.lines().filter(|line| line.contains("sys_enter")).count() as u64;
    assert_eq!((totals.records, totals.lost.unknown, totals.lost.all()), (calls, read - calls, read - calls));
}

#[test]
fn an_error_of_the_sink_ends_the_conversion() {
    let mut capture = capture(WHOLE, Stats::default(), Vec::new());
    let error = capture.convert(&mut |_| Err(io::Error::other("full"))).expect_err("the sink's");
    assert_eq!(error.to_string(), "full");
}

proptest! {
    #[test]
    fn damaged_pages_yield_whole_records_in_order(
        changes in prop::collection::vec((0..8192usize, any::<u8>()), 1..60),
        read in 0..200u64,
    ) {
        let mut bytes = WHOLE.to_vec();
        changes.into_iter().for_each(|(at, value)| bytes[at] = value);
        let (_, all, totals) = converted(&mut capture(&bytes, Stats { read, ..Stats::default() }, Vec::new()));
        let mut now = 0;
        let mut len = 0;
        for (head, _) in records(&all) {
            prop_assert!(now <= head.time);
            now = head.time;
            len += usize::from(head.len);
        }
        prop_assert_eq!(len, all.len());
        prop_assert!(totals.records + totals.lost.all() >= read);
    }
}
