//! Switches events of a running recording on and off.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use headwater_os::files::try_lock;
use headwater_trace::region::{Region, SWITCHED};
use headwater_trace::{listen, session};
use headwater_trace_tools::kernel;

use super::{PAGES, SessionFile};

headwater_trace::events! {
    /// What a command has switched: in the trace, so that a reader knows why events begin or cease there.
    switched("headwater:switched") { what: &str }
}

/// Which events to switch: patterns of names.
#[derive(Debug, Clone, Default)]
pub struct Switches {
    /// Events of programs to record from now on.
    pub on: Vec<String>,
    /// Events of programs to record no longer.
    pub off: Vec<String>,
    /// Events of the kernel to record from now on.
    pub kernel_on: Vec<String>,
    /// Events of the kernel to record no longer.
    pub kernel_off: Vec<String>,
}

/// The events that a recording has on.
#[derive(Debug)]
pub struct Switched {
    /// The patterns of the events of programs; after `!`, those of events that are off. The last one that matches decides.
    pub patterns: Vec<String>,
    /// Events of the kernel; `None` if the recording has none.
    pub kernel: Option<Vec<String>>,
}

/// Switches events of a recording whose recorder is running. Without switches, only returns what is on.
///
/// # Errors
/// In words: its recorder is not running; unknown events of the kernel; a list of patterns that is too long.
pub fn switch(recording: &Path, switches: &Switches) -> anyhow::Result<Switched> {
    let (recording, file) = &SessionFile::read_own(recording)?;
    let shown = recording.display();
    if file.end.is_some() {
        bail!("{shown}: its recorder has ended");
    }
    let region = Region::open(&file.memory).with_context(|| file.memory.display().to_string())?;
    if region.claim()? {
        bail!("{shown}: its recorder (process {}) has died; `headwater trace recover {shown}`", file.recorder);
    }
    let Switches { on, off, kernel_on, kernel_off } = switches;
    let pages = recording.join(PAGES);
    let kernel = kernel::switch(&pages, kernel_on, kernel_off).map_err(super::recording::no_kernel)?;
    if kernel.is_none() && !(kernel_on.is_empty() && kernel_off.is_empty()) {
        bail!("{shown} records no events of the kernel; begin a recording with -k to switch them");
    }
    if !(on.is_empty() && off.is_empty()) {
        // One command at a time: each changes the list that it has read.
        let lock = fs::File::open(recording).and_then(|directory| try_lock(&directory));
        let Some(_lock) = lock.with_context(|| shown.to_string())? else {
            bail!("{shown}: another command switches its events; try again");
        };
        region.set_patterns(&changed(region.patterns(), on, off))?;
        tell_listeners(&region, &file.memory);
    }
    note(&file.memory, switches);
    Ok(Switched { patterns: region.patterns(), kernel })
}

/// Returns the patterns after these changes. Patterns that no longer matter are left out.
fn changed(mut patterns: Vec<String>, on: &[String], off: &[String]) -> Vec<String> {
    let off = off.iter().map(|pattern| (pattern, format!("!{pattern}")));
    for (pattern, entry) in off.chain(on.iter().map(|pattern| (pattern, pattern.clone()))) {
        patterns.retain(|there| pattern != "*" && there.trim_start_matches('!') != pattern);
        patterns.push(entry);
    }
    // What is off before anything is on is off anyway.
    let first = patterns.iter().position(|pattern| !pattern.starts_with('!')).unwrap_or(patterns.len());
    patterns.split_off(first)
}

/// Tells the session's programs that accept recorders. They switch their events at once, others at their next event.
fn tell_listeners(region: &Region, memory: &Path) {
    let processes: BTreeSet<u32> = region.greetings(0).flatten().map(|greeting| greeting.pid).collect();
    for pid in processes {
        // Another process may have that id now.
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        if maps.lines().any(|line| line.ends_with(&*memory.to_string_lossy())) {
            // One that does not listen notices the change later.
            let _ = listen::attach(pid, memory);
        }
    }
}

/// Writes an event into the recording that says what was switched.
fn note(memory: &Path, switches: &Switches) {
    let Switches { on, off, kernel_on, kernel_off } = switches;
    let words = [("off", off), ("on", on), ("kernel off", kernel_off), ("kernel on", kernel_on)];
    let words = words.into_iter().filter(|(_, patterns)| !patterns.is_empty());
    let words: Vec<String> = words.map(|(what, patterns)| format!("{what} {}", patterns.join(","))).collect();
    debug_assert_eq!(switched::EVENT.name(), SWITCHED);
    if !words.is_empty() && session::join_beside(memory).is_ok() {
        switched(&words.join(" "));
        headwater_trace::leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_replaces_what_it_makes_irrelevant() {
        for (before, on, off, after) in [
            ("a:*", "b:*", "", "a:*,b:*"),
            ("a:*", "", "a:x", "a:*,!a:x"),
            ("a:*,!a:x", "a:x", "", "a:*,a:x"),
            ("a:*,!a:x", "", "a:x", "a:*,!a:x"),
            ("a:*,!a:x", "*", "", "*"),
            ("a:*", "", "*", ""),
            ("a:*", "a:x", "*", "a:x"),
            ("a:*,b:*", "", "a:*", "b:*,!a:*"),
        ] {
            let list = |text: &str| -> Vec<String> {
                text.split(',').filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect()
            };
            assert_eq!(changed(list(before), &list(on), &list(off)), list(after), "{before} on {on} off {off}");
        }
    }
}
