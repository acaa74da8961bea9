use expect_test::expect;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::ctf::{Packet, Writer};
use crate::testing;

/// Returns the output as JSON, and as text with one event per line.
fn exported(dir: &Path) -> (Value, String) {
    let mut text = Vec::new();
    let exported = export(&[dir], &Choice::default(), &mut text).expect("it is a trace");
    assert!(exported.damaged.is_empty());
    let text = String::from_utf8(text).expect("JSON is UTF-8");
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    sound::check(&json);
    (json, text)
}

#[test]
fn slices_arrows_cpus_and_names_are_found() {
    let dir = testing::exported_sample();
    let (_, text) = exported(dir.path());
    expect![[r#"
        {"displayTimeUnit":"ns","otherData":{"ns since 1970 at 0":"1700000000000001000"},
        "traceEvents":[
        {"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"idle"}},
        {"ph":"M","pid":0,"tid":0,"name":"thread_name","args":{"name":"idle"}},
        {"ph":"M","pid":40,"tid":42,"name":"process_name","args":{"name":"40"}},
        {"ph":"M","pid":40,"tid":42,"name":"thread_name","args":{"name":"the \"worker\""}},
        {"ph":"M","pid":43,"tid":43,"name":"process_name","args":{"name":"other"}},
        {"ph":"M","pid":43,"tid":43,"name":"thread_name","args":{"name":"other"}},
        {"ph":"M","pid":44,"tid":44,"name":"process_name","args":{"name":"last"}},
        {"ph":"M","pid":44,"tid":44,"name":"thread_name","args":{"name":"last"}},
        {"ph":"M","pid":4194305,"tid":1,"name":"process_name","args":{"name":"CPUs"}},
        {"ph":"M","pid":4194305,"tid":1,"name":"thread_name","args":{"name":"CPU 1"}},
        {"ph":"i","pid":40,"tid":42,"s":"t","name":"headwater:thread","cat":"user","ts":0.000,"args":{"on cpu":0,"pid":40,"name":"the \"worker\""}},
        {"ph":"i","pid":40,"tid":42,"s":"t","name":"headwater:put","cat":"user","ts":1.500,"args":{"on cpu":0,"len":"18446744073709551615","share":"NaN"}},
        {"ph":"X","pid":40,"tid":42,"name":"app:work","cat":"user","ts":1.000,"dur":1.000,"args":{"on cpu":0,"end":{"on cpu":0}}},
        {"ph":"X","pid":40,"tid":42,"name":"app:wake_from","cat":"user","ts":2.100,"dur":0.000,"args":{"on cpu":0,"flow":9}},
        {"ph":"X","pid":40,"tid":42,"name":"sched:sched_waking","cat":"kernel","ts":2.200,"dur":0.000,"args":{"on cpu":0,"comm":"other","pid":43}},
        {"ph":"i","pid":0,"tid":0,"s":"t","name":"sched:sched_switch","cat":"kernel","ts":2.300,"args":{"on cpu":1,"next_comm":"other","next_pid":43}},
        {"ph":"s","pid":40,"tid":42,"name":"wakes","cat":"flow","id":1,"ts":2.200},
        {"ph":"f","pid":4194305,"tid":1,"bp":"e","name":"wakes","cat":"flow","id":1,"ts":2.300},
        {"ph":"X","pid":43,"tid":43,"name":"app:wake_to","cat":"user","ts":2.500,"dur":0.000,"args":{"on cpu":1,"flow":9}},
        {"ph":"s","pid":40,"tid":42,"name":"wakes","cat":"flow","id":2,"ts":2.100},
        {"ph":"f","pid":43,"tid":43,"bp":"e","name":"wakes","cat":"flow","id":2,"ts":2.500},
        {"ph":"i","pid":0,"tid":0,"s":"g","name":"5 records lost","cat":"user","ts":2.500,"args":{"stream":"user","ring":1,"cpu":1}},
        {"ph":"i","pid":43,"tid":43,"s":"t","name":"headwater:put","cat":"user","ts":4.000,"args":{"on cpu":1,"len":64,"share":0.5}},
        {"ph":"i","pid":43,"tid":43,"s":"t","name":"sched:sched_switch","cat":"kernel","ts":5.000,"args":{"on cpu":1,"next_comm":"idle","next_pid":0}},
        {"ph":"X","pid":4194305,"tid":1,"name":"other","cat":"cpu","ts":2.300,"dur":2.700,"args":{"tid":43}},
        {"ph":"i","pid":0,"tid":0,"s":"t","name":"sched:sched_switch","cat":"kernel","ts":5.500,"args":{"on cpu":1,"next_comm":"other","next_pid":43}},
        {"ph":"i","pid":43,"tid":43,"s":"t","name":"sched:sched_switch","cat":"kernel","ts":6.000,"args":{"on cpu":1,"next_comm":"last","next_pid":44}},
        {"ph":"X","pid":4194305,"tid":1,"name":"other","cat":"cpu","ts":5.500,"dur":0.500,"args":{"tid":43}},
        {"ph":"X","pid":4194305,"tid":1,"name":"last","cat":"cpu","ts":6.000,"dur":0.000,"args":{"tid":44}}
        ]}
    "#]].assert_eq(&text);
}

#[test]
fn losses_break_slices() {
    let dir = tempfile::tempdir().expect("room");
    let schema = testing::exported_schema();
    let mut writer = Writer::create(dir.path(), &schema).expect("an empty directory");
    let mut packet = |time, discarded, id| {
        let record = testing::record(time, id, 5, &[]);
        let packet =
            Packet { stream: 0, ring: 0, cpu: 0, begin: time, end: time, discarded, position: 0, parts: &[&record] };
        writer.packet(packet).expect("room");
    };
    // `work_begin` and `work_end`: a pair, a pair with a loss in between, and a beginning without an end.
    [(10, 0, 3), (20, 0, 4), (30, 0, 3), (40, 1, 4), (50, 1, 3)]
        .into_iter()
        .for_each(|(time, lost, id)| packet(time, lost, id));
    writer.close().expect("room");
    let (json, _) = exported(dir.path());
    let all = json["traceEvents"].as_array().expect("a list");
    let seen: Vec<String> = all
        .iter()
        .filter(|event| event["ph"] != "M")
        .map(|event| format!("{} {} {} {}", event["ph"], event["name"], event["ts"], event["dur"]))
        .collect();
    assert_eq!(
        seen,
        [
            r#""X" "app:work" 0.0 0.01"#,
            r#""i" "app:work" 0.02 null"#,
            r#""i" "1 records lost" 0.02 null"#,
            r#""i" "app:work_end" 0.03 null"#,
            r#""i" "app:work" 0.04 null"#,
        ]
    );
}

#[test]
fn ends_belong_to_the_innermost_beginning_of_their_name() {
    let open = |name: &str| OpenSlice { name: name.into(), stream: "s".into(), begin: 0, args: String::new() };
    let mut slices = OpenSlices::default();
    ["a", "b", "a", "c"].into_iter().for_each(|name| assert_eq!(slices.begin(1, open(name)), None));
    assert_eq!(slices.end(2, "a"), (None, vec![]));
    assert_eq!(slices.end(1, "x"), (None, vec![]));
    assert_eq!(slices.end(1, "a"), (Some(open("a")), vec![open("c")]));
    assert_eq!(slices.end(1, "a"), (Some(open("a")), vec![open("b")]));
    assert_eq!(slices.end(1, "a"), (None, vec![]));
    let given_back = (0..70).filter(|_| slices.begin(1, open("d")).is_some()).count();
    assert_eq!(given_back, 6, "64 are kept");
    assert_eq!(slices.break_off("t"), vec![]);
    assert_eq!(slices.break_off("s").len(), 64);
    assert_eq!(slices.all(), vec![]);
}

#[test]
fn arrows_join_equal_values_of_flow() {
    let dir = tempfile::tempdir().expect("room");
    let mut schema = testing::exported_schema();
    schema.streams[0].events.push(testing::kind(7, "app:passed", &[("flow", testing::unsigned(8))]));
    let mut writer = Writer::create(dir.path(), &schema).expect("an empty directory");
    // Ends without a beginning, a pair by names, two alternating pairs, and a beginning without an end, which is not an
    // arrow.
    let flows = [(6, 1), (5, 1), (6, 1), (6, 1), (7, 2), (7, 3), (7, 2), (7, 3), (7, 2)];
    for (time, (event, flow)) in (0_u64..).zip(flows) {
        let record = testing::record(time, event, 5, &u64::to_le_bytes(flow));
        let parts: &[&[u8]] = &[&record];
        let packet = Packet { stream: 0, ring: 0, cpu: 0, begin: time, end: time, discarded: 0, position: 0, parts };
        writer.packet(packet).expect("room");
    }
    writer.close().expect("room");
    let (json, _) = exported(dir.path());
    let arrows = json["traceEvents"].as_array().expect("a list").iter().filter(|event| event["cat"] == "flow");
    let seen: Vec<String> =
        arrows.map(|event| format!("{} {} {}", event["ph"], event["id"], event["ts"]).replace('"', "")).collect();
    let expected = ["s 1 0.001", "f 1 0.002", "s 2 0.004", "f 2 0.006", "s 3 0.005", "f 3 0.007"];
    assert_eq!(seen, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_trace_is_exported_as_valid_json(schema in testing::schemas(), drafts in testing::drafts()) {
        let dir = tempfile::tempdir().expect("room");
        let written = testing::write_drafts(dir.path(), &schema, &drafts);
        let (json, _) = exported(dir.path());
        let all = json["traceEvents"].as_array().expect("a list");
        prop_assert_eq!(all.iter().filter(|event| event["ph"] == "i" || event["ph"] == "X").count(), written.len());
    }
}
