use std::process::Command;

use expect_test::expect;

use super::*;
use crate::ctf::Writer;
use crate::schema::{FieldKind, Schema, StreamKind};
use crate::testing::{self, kind, unsigned};

fn exported(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let exported = export(&[dir], &Choice::default(), &mut bytes).expect("it is a trace");
    assert!(exported.damaged.is_empty());
    bytes
}

/// Returns the fields of a message as `number:value`, with inner messages in braces. `path` has the numbers of the fields around it.
fn shown(mut bytes: &[u8], path: &[u64]) -> String {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a varint");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let path = [path, &[key >> 3]].concat();
        let value = match key & 7 {
            0 => varint(&mut bytes).to_string(),
            1 => {
                let (first, rest) = bytes.split_first_chunk().expect("8 bytes");
                bytes = rest;
                format!("{:#x}", u64::from_le_bytes(*first))
            }
            2 => {
                let len = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(len);
                bytes = rest;
                match path[..] {
                    [1] | [1, 11 | 60] | [1, 11, 4] | [1, 60, 3 | 4 | 8] => format!("{{{}}}", shown(inner, &path)),
                    _ => format!("{:?}", str::from_utf8(inner).expect("a text")),
                }
            }
            other => panic!("wire type {other}"),
        };
        fields.push(format!("{}:{value}", key >> 3));
    }
    fields.join(if path.is_empty() { "\n" } else { " " })
}

#[test]
fn tracks_slices_instants_arrows_and_losses_are_packets() {
    let dir = testing::exported_sample();
    expect![[r#"
        1:{13:1 60:{1:1 2:"lost events"} 10:1}
        1:{60:{1:4294967296 3:{1:0 6:"idle"}} 10:1}
        1:{60:{1:9223372036854775808 5:4294967296 4:{1:0 2:0 5:"idle"}} 10:1}
        1:{60:{1:4294967336 3:{1:40 6:"40"}} 10:1}
        1:{60:{1:9223372122754121770 5:4294967336 4:{1:40 2:42 5:"the \"worker\""}} 10:1}
        1:{60:{1:4294967339 3:{1:43 6:"other"}} 10:1}
        1:{60:{1:9223372129196572715 5:4294967339 4:{1:43 2:43 5:"other"}} 10:1}
        1:{60:{1:4294967340 3:{1:44 6:"last"}} 10:1}
        1:{60:{1:9223372131344056364 5:4294967340 4:{1:44 2:44 5:"last"}} 10:1}
        1:{60:{1:4299161601 3:{1:4194305 6:"CPUs"}} 10:1}
        1:{60:{1:9232379238257000449 5:4299161601 4:{1:4194305 2:1 5:"CPU 1"}} 10:1}
        1:{8:1700000000000001000 11:{23:"headwater:thread" 22:"user" 4:{10:"event" 9:"{\"on cpu\":0,\"pid\":40,\"name\":\"the \\\"worker\\\"\"}"} 9:3 11:9223372122754121770} 10:1}
        1:{8:1700000000000002500 11:{23:"headwater:put" 22:"user" 4:{10:"event" 9:"{\"on cpu\":0,\"len\":\"18446744073709551615\",\"share\":\"NaN\"}"} 9:3 11:9223372122754121770} 10:1}
        1:{8:1700000000000002000 11:{23:"app:work" 22:"user" 4:{10:"event" 9:"{\"on cpu\":0,\"end\":{\"on cpu\":0}}"} 9:1 11:9223372122754121770} 10:1}
        1:{8:1700000000000003000 11:{9:2 11:9223372122754121770} 10:1}
        1:{8:1700000000000003100 11:{23:"app:wake_from" 22:"user" 4:{10:"event" 9:"{\"on cpu\":0,\"flow\":9}"} 9:1 11:9223372122754121770} 10:1}
        1:{8:1700000000000003100 11:{9:2 11:9223372122754121770} 10:1}
        1:{8:1700000000000003200 11:{23:"sched:sched_waking" 22:"kernel" 4:{10:"event" 9:"{\"on cpu\":0,\"comm\":\"other\",\"pid\":43}"} 9:1 11:9223372122754121770} 10:1}
        1:{8:1700000000000003200 11:{9:2 11:9223372122754121770} 10:1}
        1:{8:1700000000000003300 11:{23:"sched:sched_switch" 22:"kernel" 4:{10:"event" 9:"{\"on cpu\":1,\"next_comm\":\"other\",\"next_pid\":43}"} 9:3 11:9223372036854775808} 10:1}
        1:{8:1700000000000003200 11:{23:"wakes" 22:"flow" 47:0x1 9:3 11:9223372122754121770} 10:1}
        1:{8:1700000000000003300 11:{23:"wakes" 22:"flow" 48:0x1 9:3 11:9232379238257000449} 10:1}
        1:{8:1700000000000003500 11:{23:"app:wake_to" 22:"user" 4:{10:"event" 9:"{\"on cpu\":1,\"flow\":9}"} 9:1 11:9223372129196572715} 10:1}
        1:{8:1700000000000003500 11:{9:2 11:9223372129196572715} 10:1}
        1:{8:1700000000000003100 11:{23:"wakes" 22:"flow" 47:0x2 9:3 11:9223372122754121770} 10:1}
        1:{8:1700000000000003500 11:{23:"wakes" 22:"flow" 48:0x2 9:3 11:9223372129196572715} 10:1}
        1:{8:1700000000000003500 11:{23:"5 records lost" 22:"user" 4:{10:"event" 9:"{\"stream\":\"user\",\"ring\":1,\"cpu\":1}"} 9:3 11:1} 10:1}
        1:{8:1700000000000005000 11:{23:"headwater:put" 22:"user" 4:{10:"event" 9:"{\"on cpu\":1,\"len\":64,\"share\":0.5}"} 9:3 11:9223372129196572715} 10:1}
        1:{8:1700000000000006000 11:{23:"sched:sched_switch" 22:"kernel" 4:{10:"event" 9:"{\"on cpu\":1,\"next_comm\":\"idle\",\"next_pid\":0}"} 9:3 11:9223372129196572715} 10:1}
        1:{8:1700000000000003300 11:{23:"other" 22:"cpu" 4:{10:"event" 9:"{\"tid\":43}"} 9:1 11:9232379238257000449} 10:1}
        1:{8:1700000000000006000 11:{9:2 11:9232379238257000449} 10:1}
        1:{8:1700000000000006500 11:{23:"sched:sched_switch" 22:"kernel" 4:{10:"event" 9:"{\"on cpu\":1,\"next_comm\":\"other\",\"next_pid\":43}"} 9:3 11:9223372036854775808} 10:1}
        1:{8:1700000000000007000 11:{23:"sched:sched_switch" 22:"kernel" 4:{10:"event" 9:"{\"on cpu\":1,\"next_comm\":\"last\",\"next_pid\":44}"} 9:3 11:9223372129196572715} 10:1}
        1:{8:1700000000000006500 11:{23:"other" 22:"cpu" 4:{10:"event" 9:"{\"tid\":43}"} 9:1 11:9232379238257000449} 10:1}
        1:{8:1700000000000007000 11:{9:2 11:9232379238257000449} 10:1}
        1:{8:1700000000000007000 11:{23:"last" 22:"cpu" 4:{10:"event" 9:"{\"tid\":44}"} 9:1 11:9232379238257000449} 10:1}
        1:{8:1700000000000007000 11:{9:2 11:9232379238257000449} 10:1}"#]].assert_eq(&shown(&exported(dir.path()), &[]));
}

/// A trace with a counter of two kinds of numbers.
fn with_counters() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("room");
    let events = vec![
        kind(1, "app:depth", &[("counter", unsigned(8))]),
        kind(2, "app:load", &[("counter", FieldKind::Float { bytes: 8 })]),
    ];
    let streams = vec![StreamKind { name: "user".into(), events }];
    let schema = Schema { clock: testing::clock(), streams, environment: vec![] };
    let mut writer = Writer::create(dir.path(), &schema).expect("an empty directory");
    let sample = |time, id, value: u64| testing::record(time, id, 5, &value.to_le_bytes());
    let all = [sample(10, 1, 3), sample(20, 2, 0.5_f64.to_bits()), sample(30, 1, 4)].concat();
    let parts = &[&all[..]];
    let packet =
        crate::ctf::Packet { stream: 0, ring: 0, cpu: 0, begin: 10, end: 30, discarded: 0, position: 0, parts };
    writer.packet(packet).expect("room");
    writer.close().expect("room");
    dir
}

#[test]
fn a_field_named_counter_is_a_sample() {
    let text = shown(&exported(with_counters().path()), &[]);
    let samples: Vec<&str> = text.lines().filter(|line| line.contains(" 44:") || line.contains("44:0x")).collect();
    expect![[r#"
        1:{8:1700000000000000010 11:{44:0x4008000000000000 9:4 11:8589934592} 10:1}
        1:{8:1700000000000000020 11:{44:0x3fe0000000000000 9:4 11:8589934593} 10:1}
        1:{8:1700000000000000030 11:{44:0x4010000000000000 9:4 11:8589934592} 10:1}"#]]
    .assert_eq(&samples.join("\n"));
    assert_eq!(text.lines().filter(|line| line.contains("8:{}")).count(), 2, "two tracks: {text}");
}

/// Checks with the package `perfetto` of Python that all fields are known to Perfetto, and that the trace processor would find
/// tracks, ends of slices and both ends of flows.
const CHECK: &str = r#"
import sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
data = open(sys.argv[1], 'rb').read()
trace = pb.Trace(); trace.ParseFromString(data)
def known(message):
    assert message.ByteSize() == len(message.SerializeToString())
    copy = type(message)(); copy.CopyFrom(message); copy.DiscardUnknownFields()
    assert copy.ByteSize() == message.ByteSize(), f'unknown fields in {message}'
known(trace)
E = pb.TrackEvent
tracks, depth, begun, ended, kinds = {}, {}, set(), set(), {}
events = []
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    if packet.HasField('track_descriptor'):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        continue
    event = packet.track_event
    assert event.track_uuid in tracks, 'a track without a description'
    assert (event.type == E.TYPE_COUNTER) == tracks[event.track_uuid].HasField('counter')
    kinds[E.Type.Name(event.type)] = kinds.get(E.Type.Name(event.type), 0) + 1
    begun.update(event.flow_ids); ended.update(event.terminating_flow_ids)
    events.append((packet.timestamp, event))
for _, event in sorted(events, key=lambda pair: pair[0]):
    change = {E.TYPE_SLICE_BEGIN: 1, E.TYPE_SLICE_END: -1}.get(event.type, 0)
    depth[event.track_uuid] = depth.get(event.track_uuid, 0) + change
    assert depth[event.track_uuid] >= 0, 'an end without a beginning'
assert not any(depth.values()), 'a beginning without an end'
assert begun == ended, 'half a flow'
for track in tracks.values():
    assert not track.parent_uuid or tracks[track.parent_uuid].HasField('process')
print(sorted(kinds.items()), len(begun), sorted({t.thread.thread_name for t in tracks.values() if t.HasField('thread')}))
"#;

#[test]
fn perfetto_knows_every_field() {
    let has = |code| Command::new("python3").args(["-c", code]).output().is_ok_and(|output| output.status.success());
    if !has("import perfetto.protos.perfetto.trace.perfetto_trace_pb2") {
        println!("skipped: Python has no package `perfetto`");
        return;
    }
    let mut said = String::new();
    for dir in [testing::exported_sample(), with_counters()] {
        let path = dir.path().join("trace.pftrace");
        std::fs::write(&path, exported(dir.path())).expect("room");
        let output = Command::new("python3").args(["-c", CHECK]).arg(&path).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        said += &String::from_utf8_lossy(&output.stdout);
    }
    expect![[r#"
        [('TYPE_INSTANT', 12), ('TYPE_SLICE_BEGIN', 7), ('TYPE_SLICE_END', 7)] 2 ['CPU 1', 'idle', 'last', 'other', 'the "worker"']
        [('TYPE_COUNTER', 3), ('TYPE_INSTANT', 3)] 0 ['5']
    "#]].assert_eq(&said);
}
