//! Files of each kind without a fault, from which the changed ones are made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_results::history::exchange::{Figure, Writer};
use headwater_results::origin::Origin;
use headwater_results::schema::Event;
use headwater_results::summary::Fold;
use headwater_streams::drivers::sad::{SadCommand, SadRequest};
use headwater_streams::tpi::{Capabilities, InternetAddress, OptionStatus, Primitive, TransportOption};
use headwater_trace_tools::ctf::{Packet, Writer as TraceWriter};
use headwater_trace_tools::record::Head;
use headwater_trace_tools::schema::{Base, Clock, EventKind, Field, FieldKind, Schema, StreamKind};

use crate::feed;

fn files_in(place: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(place).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() { files_in(&path, found) } else { found.push(path) }
    }
}

/// The files of other programs that the tests of `headwater import` have: their beginnings and other pieces, since a short text is read
/// often, and the shortest one whole.
pub fn outputs() -> Vec<Vec<u8>> {
    const LINES: usize = 30;
    let mut paths = Vec::new();
    files_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import"), &mut paths);
    paths.sort();
    let mut pieces = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).expect("a text");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let understood = lines.chunks(LINES).map(<[&str]>::concat).filter(|piece| feed::is_output(piece.as_bytes()));
        pieces.extend(understood.take(3).map(String::into_bytes));
    }
    pieces
}

fn runs() -> impl Iterator<Item = Vec<Event>> {
    outputs().into_iter().filter_map(|bytes| {
        let imported = feed::import(&bytes).next()?;
        Some(imported.events("2026-01-01-host", "2026-01-01T00:00:00Z", vec!["headwater".into(), "import".into()]))
    })
}

/// A `run.jsonl` of each.
pub fn events() -> Vec<Vec<u8>> {
    let line = |event: &Event| serde_json::to_string(event).expect("JSON") + "\n";
    runs().map(|events| events.iter().map(line).collect::<String>().into_bytes()).collect()
}

/// A `run.json` of each.
pub fn documents() -> Vec<Vec<u8>> {
    let document = |events| serde_json::to_vec_pretty(&Fold::run_of(events).expect("a run")).expect("JSON");
    runs().map(document).collect()
}

/// What an archive with one run prints for a comparison.
pub fn lines_of_archive() -> Vec<u8> {
    let run = Fold::run_of(runs().next().expect("one")).expect("a run");
    let mut writer = Writer::new();
    for (at, result) in run.results.iter().enumerate() {
        writer.row(at as i64, &Arc::new(result.row.clone()));
    }
    writer.rows_end();
    writer.facts(1, || BTreeMap::from([("kernel".to_owned(), "6.1".to_owned())]));
    writer.run(7, 1, Origin::of("run", &run));
    for (at, result) in run.results.iter().enumerate() {
        let metric = &result.metrics[0];
        let (estimate, launches, blocks) = (metric.estimate, metric.launches.clone(), metric.blocks.clone());
        writer.figure(7, at as i64, Ok(Figure { estimate, launches, blocks }));
    }
    writer.figure(7, 0, Err("no estimate".to_owned()));
    writer.finish().into_bytes()
}

/// Lines as a user writes them, and requests of a program in C.
pub fn autopush_lines() -> Vec<Vec<u8>> {
    let text = "# drivers\necho -1 0 nullmod\nticlts 3 0 srvmod bufmod # one\npts 0 17 ldterm ptem\n";
    let request = SadRequest::new(SadCommand::Range, 77).minors(3, 9).modules(["nullmod", "srvmod"]);
    vec![text.into(), request.bytes().expect("short names").to_vec()]
}

/// A stored table.
pub fn autopush_table() -> Vec<u8> {
    b"# headwater autopush 1\necho -1 0 nullmod\nticlts 3 0 srvmod bufmod\n# end\n".to_vec()
}

fn schema() -> Schema {
    let unsigned = |bytes| FieldKind::Unsigned { bytes, base: Base::Decimal };
    let kind = |id, name: &str, fields: Vec<(&str, FieldKind)>| {
        let fields = fields.into_iter().map(|(name, kind)| Field { name: name.into(), kind }).collect();
        EventKind { id, name: name.into(), fields }
    };
    let state = FieldKind::Named { bytes: 1, names: vec![(0, "running".into()), (255, "\"away\"".into())] };
    let numbers = FieldKind::Array { item: Box::new(FieldKind::Signed { bytes: 4 }), count: 3 };
    let user = vec![
        kind(1, "headwater:thread", vec![("pid", unsigned(4)), ("name", FieldKind::Text)]),
        kind(7, "shop:put", vec![("len", unsigned(4)), ("text", FieldKind::Text), ("counter", unsigned(8))]),
        kind(3, "app:work_begin", vec![]),
        kind(4, "app:work_end", vec![]),
    ];
    let kernel = vec![
        kind(
            1,
            "sched:sched_switch",
            vec![("next_comm", FieldKind::Text), ("next_pid", FieldKind::Signed { bytes: 4 })],
        ),
        kind(2, "all:kinds", vec![("state", state), ("numbers", numbers), ("share", FieldKind::Float { bytes: 8 })]),
    ];
    let stream = |name: &str, events| StreamKind { name: name.into(), events };
    Schema {
        clock: Clock { name: "tsc".into(), frequency_hz: 2_100_000_000, offset_s: 1_700_000_000, offset_ticks: 5 },
        streams: vec![stream("user", user), stream("kernel", kernel)],
        environment: vec![("hostname".into(), "a \"b\"\n".into())],
    }
}

fn record(time: u64, event: u16, fields: &[u8]) -> Vec<u8> {
    let len = Head::len_with(fields.len());
    let mut record = Head { time, event, len: len as u16, thread: 42 }.to_bytes().to_vec();
    record.extend_from_slice(fields);
    record.resize(len, 0);
    record
}

/// A trace of two threads and the kernel, as [`feed::files_of`] takes it.
pub fn trace() -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut writer = TraceWriter::create(directory.path(), &schema()).expect("an empty directory");
    let put = |time, len: u32| record(time, 7, &[&len.to_le_bytes()[..], b"text\0", &9u64.to_le_bytes()].concat());
    let named = record(1000, 1, &[&40u32.to_le_bytes()[..], b"worker\0"].concat());
    let switch = record(1500, 1, &[&b"other\0"[..], &43i32.to_le_bytes()].concat());
    let kinds = record(1600, 2, &[&[255][..], &[0; 12], &0.5f64.to_le_bytes()].concat());
    let packets = [
        (0, 0, vec![named, put(1100, 3), record(1200, 3, b""), record(1300, 4, b"")]),
        (0, 1, vec![put(1150, u32::MAX)]),
        (1, 0, vec![switch, kinds]),
        (0, 0, vec![put(2000, 4)]),
    ];
    for (stream, ring, records) in packets {
        let time = |record: &Vec<u8>| Head::read(record).expect("whole").time;
        let (begin, end) = (time(&records[0]), time(&records[records.len() - 1]));
        let all = records.concat();
        let discarded = u64::from(begin == 2000);
        let packet = Packet { stream, ring, cpu: ring, begin, end, discarded, position: 0, parts: &[&all] };
        writer.packet(packet).expect("room");
    }
    writer.close().expect("room");
    feed::one_of_files(directory.path())
}

/// The description of that trace.
pub fn metadata() -> Vec<u8> {
    let trace = trace();
    let len = usize::from(u16::from_le_bytes([trace[0], trace[1]]));
    trace[2..2 + len].to_vec()
}

/// Primitives of several forms.
pub fn primitives() -> Vec<Vec<u8>> {
    let address = InternetAddress::from(std::net::SocketAddr::from(([127, 0, 0, 1], 80)));
    let mut options = Vec::new();
    TransportOption { level: 1, name: 2, status: OptionStatus::NONE, value: b"five5" }.append_to(&mut options);
    TransportOption { level: 0, name: 4, status: OptionStatus::NONE, value: &[] }.append_to(&mut options);
    let all = Capabilities { info: true, acceptor: true };
    let primitives = [
        Primitive::BindReq { address: address.bytes(), waiting: 1 },
        Primitive::ConnReq { destination: address.bytes(), options: &options },
        Primitive::UnitdataReq { destination: b"other", options: &options },
        Primitive::ConnRes { acceptor: 3, options: &options, sequence: 9 },
        Primitive::CapabilityReq { wanted: all },
        Primitive::DataReq { more: true },
        Primitive::DisconReq { sequence: 4 },
    ];
    primitives.iter().map(Primitive::encode).collect()
}
