//! Checks that JSON complies with the Trace Event Format and can be shown by Perfetto. For tests of this crate and of
//! the command.
//!
//! Source: "Trace Event Format", sections JSON Object Format, Complete Events, Instant Events, Flow Events, Metadata
//! Events. The format requires no order of events. Flows must end at slices; the slices of a track must be nested or
//! disjoint.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// A track: process and thread.
type Track = (u64, u64);

/// Checks a whole file.
///
/// Panics with the first invalid event.
pub fn check(json: &Value) {
    let events = json["traceEvents"].as_array().expect("an object with a list");
    // In ns, as in the exporter; begin and end of each slice.
    let mut slices: BTreeMap<Track, Vec<(u64, u64)>> = BTreeMap::new();
    let mut flows: HashMap<u64, (bool, u64)> = HashMap::new();
    let mut ends: Vec<(Track, u64, &Value)> = Vec::new();
    for event in events {
        let number = |key: &str| event[key].as_u64().filter(|number| u32::try_from(*number).is_ok());
        let track = number("pid").zip(number("tid")).unwrap_or_else(|| panic!("no track: {event}"));
        assert!(event["name"].is_string(), "no name: {event}");
        let phase = event["ph"].as_str().unwrap_or_else(|| panic!("no phase: {event}"));
        if phase == "M" {
            let known = ["process_name", "thread_name"].iter().any(|name| event["name"] == *name);
            assert!(known && event["args"]["name"].is_string(), "no name of a track: {event}");
            continue;
        }
        assert!(event["cat"].is_string(), "no category: {event}");
        let time = nanoseconds(&event["ts"]).unwrap_or_else(|| panic!("no time: {event}"));
        match phase {
            "X" => {
                let len = nanoseconds(&event["dur"]).unwrap_or_else(|| panic!("no duration: {event}"));
                slices.entry(track).or_default().push((time, time + len));
            }
            "i" => assert!(["g", "p", "t"].iter().any(|scope| event["s"] == *scope), "no scope: {event}"),
            "s" | "f" => {
                let id = event["id"].as_u64().unwrap_or_else(|| panic!("no id: {event}"));
                if phase == "s" {
                    assert!(flows.insert(id, (false, time)).is_none(), "begun twice: {event}");
                } else {
                    assert_eq!(event["bp"], "e", "bound to what comes next: {event}");
                    let (ended, begun) = flows.get_mut(&id).unwrap_or_else(|| panic!("never begun: {event}"));
                    assert!(!std::mem::replace(ended, true) && *begun <= time, "ended twice, or before: {event}");
                }
                ends.push((track, time, event));
            }
            "C" => assert!(event["args"]["value"].is_number(), "no value: {event}"),
            other => panic!("phase {other}: {event}"),
        }
    }
    for (track, slices) in &mut slices {
        slices.sort_by_key(|(begin, end)| (*begin, u64::MAX - end));
        let mut around: Vec<u64> = Vec::new();
        for (begin, end) in slices {
            while around.pop_if(|outer| *outer <= *begin).is_some() {}
            assert!(around.last().is_none_or(|outer| *end <= *outer), "slices cross at {begin} of {track:?}");
            around.push(*end);
        }
    }
    let endless = flows.values().filter(|(ended, _)| !ended).count();
    assert_eq!(endless, 0, "of {} arrows so many have no end", flows.len());
    for (track, time, event) in ends {
        let own = slices.get(&track).map_or(&[][..], Vec::as_slice);
        assert!(own.iter().any(|(begin, end)| (*begin..=*end).contains(&time)), "an arrow at no slice: {event}");
    }
}

/// Converts microseconds with three decimals, which must be a number and not a string.
fn nanoseconds(value: &Value) -> Option<u64> {
    let ns = value.as_f64().filter(|us| *us >= 0.0)? * 1000.0;
    Some(ns.round() as u64)
}
