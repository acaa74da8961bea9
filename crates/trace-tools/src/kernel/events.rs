//! Selects events of the kernel by patterns.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, tracefs};
use crate::names::{glob, nearest};

/// Selected events by system: for example `sched_switch` and `sched_waking` of `sched`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    systems: BTreeMap<String, Chosen>,
}

/// The selected events of a system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Chosen {
    /// Their names, sorted.
    events: Vec<String>,
    /// Whether these are all events of the system, so that one write enables them.
    all: bool,
}

impl Selection {
    /// Selects those of `available` (lines `system:event`, as tracefs lists them) that match one of `patterns`:
    /// `sched:*`, `irq` (all events of a system), `syscalls:sys_enter_read`, `sched_switch` (of any system).
    ///
    /// # Errors
    /// [`Error::UnknownEvent`] for a pattern that matches nothing.
    pub fn choose<S: AsRef<str>>(available: &str, patterns: &[S]) -> Result<Selection, Error> {
        let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (system, event) in available.lines().filter_map(|line| line.split_once(':')) {
            known.entry(system).or_default().push(event);
        }
        let mut chosen = Selection::default();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let meant = |system: &str, event: &str| match pattern.split_once(':') {
                Some((of, name)) => glob(of, system) && glob(name, event),
                None => glob(pattern, system) || glob(pattern, event),
            };
            let mut any = false;
            for (system, events) in &known {
                let those: Vec<&str> = events.iter().copied().filter(|event| meant(system, event)).collect();
                any |= !those.is_empty();
                chosen.add(system, &those, events.len());
            }
            if !any {
                return Err(unknown(pattern, &known));
            }
        }
        Ok(chosen)
    }

    fn add(&mut self, system: &str, events: &[&str], of: usize) {
        if events.is_empty() {
            return;
        }
        let chosen = self.systems.entry(system.to_owned()).or_default();
        chosen.events.extend(events.iter().map(|event| (*event).to_owned()));
        chosen.events.sort();
        chosen.events.dedup();
        chosen.all = chosen.events.len() == of;
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.systems.values().map(|chosen| chosen.events.len()).sum()
    }

    /// Whether there are none: the list of patterns was empty.
    pub fn is_empty(&self) -> bool {
        self.systems.is_empty()
    }

    /// Returns systems and events, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.systems.iter().flat_map(|(system, chosen)| chosen.events.iter().map(|event| (&**system, &**event)))
    }

    /// Switches the events in the instance at `instance` on or off. A whole system takes one write, since each write waits for all
    /// CPUs.
    pub(super) fn switch(&self, instance: &Path, on: bool) -> Result<(), Error> {
        let value = if on { "1" } else { "0" };
        for (system, chosen) in &self.systems {
            let home = instance.join("events").join(system);
            if chosen.all {
                tracefs::write(&home.join("enable"), value)?;
                continue;
            }
            for event in &chosen.events {
                tracefs::write(&home.join(event).join("enable"), value)?;
            }
        }
        Ok(())
    }
}

fn unknown(pattern: &str, known: &BTreeMap<&str, Vec<&str>>) -> Error {
    // A pattern without a system may be a misspelt system or event.
    let full = || known.iter().flat_map(|(system, events)| events.iter().map(move |event| format!("{system}:{event}")));
    let names: Vec<String> = match pattern.contains(':') {
        true => full().collect(),
        false => known.keys().copied().chain(known.values().flatten().copied()).map(str::to_owned).collect(),
    };
    let near = nearest(pattern, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
    Error::UnknownEvent { pattern: pattern.to_owned(), nearest: near }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVAILABLE: &str = "sched:sched_switch\nsched:sched_waking\nirq:irq_handler_entry\nirq:softirq_raise\n\
        raw_syscalls:sys_enter\nraw_syscalls:sys_exit\nsyscalls:sys_enter_read\nsyscalls:sys_exit_read\n";

    fn chosen(patterns: &[&str]) -> Vec<String> {
        let selection = Selection::choose(AVAILABLE, patterns).expect("known");
        let list: Vec<String> = selection.iter().map(|(system, event)| format!("{system}:{event}")).collect();
        assert_eq!(list.len(), selection.len());
        list
    }

    #[test]
    fn patterns_match_systems_events_and_both() {
        assert_eq!(chosen(&["sched:*"]), ["sched:sched_switch", "sched:sched_waking"]);
        assert_eq!(chosen(&["irq"]), ["irq:irq_handler_entry", "irq:softirq_raise"]);
        assert_eq!(chosen(&["sched_switch", "sched:sched_switch"]), ["sched:sched_switch"]);
        assert_eq!(chosen(&["*:sys_enter*"]), ["raw_syscalls:sys_enter", "syscalls:sys_enter_read"]);
        assert!(chosen(&[]).is_empty());
    }

    #[test]
    fn a_whole_system_is_noticed_however_it_was_put_together() {
        let all = |patterns: &[&str]| Selection::choose(AVAILABLE, patterns).expect("known").systems["sched"].all;
        assert!(all(&["sched"]) && all(&["sched_waking", "sched_switch"]) && !all(&["sched_switch"]));
    }

    #[test]
    fn an_unknown_event_suggests_similar_ones() {
        for (pattern, near) in
            [("sched:sched_swich", "sched:sched_switch"), ("sys_entre", "sys_enter"), ("shed", "sched")]
        {
            let error = Selection::choose(AVAILABLE, &["irq", pattern]).expect_err("unknown");
            let Error::UnknownEvent { pattern: said, nearest } = &error else { panic!("{error}") };
            assert!(said == pattern && nearest[0] == near, "{error}");
        }
        let text = Selection::choose(AVAILABLE, &["sched:sched_swich"]).expect_err("unknown").to_string();
        assert!(
            text.starts_with("no event of this kernel is meant by sched:sched_swich; did you mean sched:"),
            "{text}"
        );
    }
}
