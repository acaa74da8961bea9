//! The role of an event type in the picture, from its name and fields.

use std::collections::{HashMap, HashSet};

use crate::schema::{EventKind, Schema};

/// Suffixes of two events that begin and end a slice.
const SUFFIXES: [(&str, &str); 4] = [("_begin", "_end"), ("_enter", "_exit"), ("_entry", "_exit"), ("_start", "_end")];

/// The same within a name: the rest of the name is the same for both.
const INFIXES: [(&str, &str); 1] = [("sys_enter_", "sys_exit_")];

/// The end of a slice or arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Begin,
    End,
}

/// The role of an event type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Role {
    /// It begins or ends the slice with this name.
    pub side: Option<(Side, String)>,
    /// That slice has the name of the system call in its field `id` instead.
    pub is_call: bool,
    /// It is an end of an arrow; the inner value is the side, if its name tells.
    pub flow: Option<Option<Side>>,
    /// It is a sample of a counter.
    pub counts: bool,
    /// It wakes the thread in its field `pid`.
    pub wakes: bool,
    /// It switches a CPU from one thread to another.
    pub switches: bool,
    /// It reports the name and process of its own thread.
    pub names_itself: bool,
    /// Pairs of fields with the name of a thread and its id.
    pub names: Vec<(String, String)>,
}

/// The roles of all event types, by name: several traces may have the same type.
#[derive(Debug, Default)]
pub struct Roles {
    by_name: HashMap<String, Role>,
    none: Role,
}

impl Roles {
    pub fn of<'a>(schemas: impl Iterator<Item = &'a Schema>) -> Roles {
        let kinds: Vec<&EventKind> =
            schemas.flat_map(|schema| &schema.streams).flat_map(|stream| &stream.events).collect();
        let ends: HashSet<(Side, String)> = kinds.iter().flat_map(|kind| sides(&kind.name)).collect();
        let by_name = kinds.into_iter().map(|kind| (kind.name.clone(), role(kind, &ends))).collect();
        Roles { by_name, none: Role::default() }
    }

    pub fn of_kind(&self, kind: &EventKind) -> &Role {
        self.by_name.get(&kind.name).unwrap_or(&self.none)
    }
}

fn role(kind: &EventKind, ends: &HashSet<(Side, String)>) -> Role {
    let has = |name: &str| kind.fields.iter().any(|field| field.name == name);
    // A type without a counterpart has no side, for example `sched_process_exit`.
    let side = sides(&kind.name).into_iter().find(|(side, name)| {
        let other = if *side == Side::Begin { Side::End } else { Side::Begin };
        ends.contains(&(other, name.clone()))
    });
    let flow = has("flow").then(|| match &kind.name {
        name if name.ends_with("_from") => Some(Side::Begin),
        name if name.ends_with("_to") => Some(Side::End),
        _ => None,
    });
    // The scheduler's events have, for each thread, fields `pid` and `comm` with a common prefix.
    let scheduler = kind.name.starts_with("sched:") || kind.name.starts_with("task:");
    let comms = kind.fields.iter().filter_map(|field| Some((field, field.name.strip_suffix("comm")?)));
    let names = comms.map(|(field, before)| (field.name.clone(), format!("{before}pid")));
    Role {
        side,
        is_call: kind.name.starts_with("raw_syscalls:sys_") && has("id"),
        flow,
        counts: has("counter"),
        wakes: kind.name == "sched:sched_waking" && has("pid"),
        switches: kind.name == "sched:sched_switch" && has("next_pid"),
        names_itself: kind.name == "headwater:thread",
        names: names.filter(|(_, pid)| scheduler && has(pid)).collect(),
    }
}

/// Returns the slices that an event of this name may begin or end.
fn sides(name: &str) -> Vec<(Side, String)> {
    let mut sides = Vec::new();
    for (begin, end) in SUFFIXES {
        sides.extend(name.strip_suffix(begin).map(|name| (Side::Begin, name.to_owned())));
        sides.extend(name.strip_suffix(end).map(|name| (Side::End, name.to_owned())));
    }
    for (begin, end) in INFIXES {
        sides.extend(name.split_once(begin).map(|(before, behind)| (Side::Begin, format!("{before}{behind}"))));
        sides.extend(name.split_once(end).map(|(before, behind)| (Side::End, format!("{before}{behind}"))));
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::StreamKind;
    use crate::testing::{clock, kind, unsigned};

    #[test]
    fn names_and_fields_determine_the_role_of_an_event() {
        let flow = [("flow", unsigned(8))];
        let comms = [("comm", unsigned(1)), ("pid", unsigned(4)), ("other_comm", unsigned(1))];
        let events = vec![
            kind(1, "a:work_begin", &[]),
            kind(2, "a:work_end", &[]),
            kind(3, "syscalls:sys_enter_read", &[]),
            kind(4, "syscalls:sys_exit_read", &[]),
            kind(5, "sched:sched_process_exit", &comms),
            kind(6, "a:start_end", &[]),
            kind(7, "a:x_from", &flow),
            kind(8, "a:x_to", &flow),
            kind(9, "a:x", &flow),
            kind(10, "b:comms", &comms),
        ];
        let schema = Schema {
            clock: clock(),
            streams: vec![StreamKind { name: "s".into(), events: events.clone() }],
            environment: vec![],
        };
        let roles = Roles::of(std::iter::once(&schema));
        let side = |at: usize| roles.of_kind(&events[at]).side.clone();
        assert_eq!(side(0), Some((Side::Begin, "a:work".into())));
        assert_eq!(side(1), Some((Side::End, "a:work".into())));
        assert_eq!(side(2), Some((Side::Begin, "syscalls:read".into())));
        assert_eq!(side(3), Some((Side::End, "syscalls:read".into())));
        assert_eq!((side(4), side(5)), (None, None), "nothing begins or ends what they do");
        let flow = |at: usize| roles.of_kind(&events[at]).flow;
        let ends = [Some(Some(Side::Begin)), Some(Some(Side::End)), Some(None), None];
        assert_eq!([flow(6), flow(7), flow(8), flow(0)], ends);
        assert_eq!(roles.of_kind(&events[4]).names, [("comm".to_owned(), "pid".to_owned())]);
        assert_eq!(roles.of_kind(&events[9]).names, []);
    }
}
