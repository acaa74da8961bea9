//! A session's records are a trace that other tools can read.

use std::process::Command;

use headwater_trace_tools::ctf::{Reader, TraceItem, Writer};
use headwater_trace_tools::kernel::format::Format;
use headwater_trace_tools::kernel::plan::Plan;
use headwater_trace_tools::kernel::{Mode, Session, Settings, Tracefs};
use headwater_trace_tools::schema::{Clock, FieldKind, Schema, StreamKind};

use crate::common::{Waiting, only, usable};

/// A clock whose frequency does not matter here.
fn schema(stream: StreamKind) -> Schema {
    let clock = Clock { name: "tsc".into(), frequency_hz: 2_000_000_000, offset_s: 0, offset_ticks: 0 };
    Schema { clock, streams: vec![stream], environment: Vec::new() }
}

#[test]
fn every_event_of_this_kernel_can_be_described() {
    if !usable() {
        return;
    }
    let found = Tracefs::find().expect("usable");
    let list = std::fs::read_to_string(found.path("available_events")).expect("a list");
    let mut events = Vec::new();
    for (system, event) in list.lines().filter_map(|line| line.split_once(':')) {
        let text = std::fs::read_to_string(found.path(&format!("events/{system}/{event}/format"))).expect("a text");
        let format = Format::parse(&text).unwrap_or_else(|| panic!("{text}"));
        events.push(Plan::new(system, &format).0);
    }
    assert!(events.len() > 100);
    let fields = events.iter().flat_map(|kind| &kind.fields);
    let names: Vec<_> = fields.filter(|field| field.name.ends_with("comm")).collect();
    assert!(names.len() > 10 && names.iter().all(|field| field.kind == FieldKind::Text), "{names:?}");
    let directory = tempfile::tempdir().expect("a directory");
    let stream = StreamKind { name: "kernel".into(), events };
    Writer::create(directory.path(), &schema(stream)).expect("sound").close().expect("closed");
}

#[test]
fn a_session_is_written_as_a_trace_with_its_losses() {
    if !usable() {
        return;
    }
    let waiting = Waiting::calling(20_000);
    let settings = Settings { buffer_kb_per_cpu: 64, ..only(&[&waiting], Mode::Flight) };
    let settings = Settings { events: ["raw_syscalls", "sched", "irq"].map(str::to_owned).to_vec(), ..settings };
    let session = Session::start(&settings).expect("a session");
    waiting.run();
    let mut capture = session.stop().expect("a capture");
    let directory = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(directory.path(), &schema(capture.stream())).expect("a trace");
    let totals = capture.write(&mut writer, 0).expect("written");
    writer.close().expect("closed");
    let (records, lost) =
        totals.iter().fold((0, 0), |(records, lost), totals| (records + totals.records, lost + totals.lost.all()));
    assert!(lost > 0, "two pages hold no 40,000 events");
    let mut reader = Reader::open(&[directory.path()]).expect("readable");
    let (mut read, mut missed) = (0, 0);
    while let Some(item) = reader.next().expect("sound") {
        match item {
            TraceItem::Record(_) => read += 1,
            TraceItem::Loss(loss) => missed += loss.count,
        }
    }
    assert_eq!((read, missed), (records, lost));
    let Ok(shown) = Command::new("babeltrace2").arg(directory.path()).output() else {
        println!("skipped: no babeltrace2");
        return;
    };
    let said = String::from_utf8_lossy(&shown.stderr);
    assert!(shown.status.success(), "{said}");
    assert_eq!(shown.stdout.iter().filter(|byte| **byte == b'\n').count() as u64, records);
    assert!(said.lines().all(|line| line.contains("Tracer discarded") && !line.contains("may have")), "{said}");
}
