//! Streams, their processes and states in a few words: for the cells of the tables.

use headwater_streams::inspect::{Content, Process, Queue, Role, Snapshot, State, StreamKind};

use crate::cli::trace::size;

/// What a stream is: `pipe`, `fifo PATH`, `echo/3`.
pub(super) fn name(stream: &Snapshot) -> String {
    match (&stream.kind, &stream.content) {
        (_, Content::OtherVersion(version)) => format!("stream of version {version}"),
        (_, Content::Unreadable(_)) => "no stream".to_owned(),
        (StreamKind::Pipe, _) => "pipe".to_owned(),
        (StreamKind::Fifo { path: Some(path), .. }, _) => path.display().to_string(),
        (StreamKind::Fifo { node: [device, inode], .. }, _) => format!("fifo {device}:{inode}"),
        (StreamKind::Device { driver, minor }, _) => format!("{driver}/{minor}"),
        _ => "stream".to_owned(),
    }
}

/// What an end is.
pub(super) fn end(stream: &Snapshot, end: usize) -> &'static str {
    match (&stream.kind, end) {
        (StreamKind::Fifo { .. }, 0) => "writer",
        (StreamKind::Fifo { .. }, _) => "reader",
        (StreamKind::Device { .. }, 0) => "user",
        (StreamKind::Device { .. }, _) => "driver",
        (_, 0) => "0",
        _ => "1",
    }
}

/// A process: `4711 cat`; with everything: `4711 cat -n [3 memory, 4 end 0]`.
pub(super) fn process(process: &Process, is_wide: bool) -> String {
    let stopped = if process.state == 'T' { " (stopped)" } else { "" };
    if !is_wide {
        return format!("{} {}{stopped}", process.pid, command(process));
    }
    let words = if process.arguments.is_empty() { process.command.clone() } else { process.arguments.join(" ") };
    let numbers: Vec<String> =
        process.descriptors.iter().map(|found| format!("{}{}", found.number, what(found.role))).collect();
    format!("{} {words}{stopped} [{}]", process.pid, numbers.join(", "))
}

/// The name of a program; of one that was started by the number of its file, which is its name then, that of its arguments.
fn command(process: &Process) -> &str {
    let is_number = !process.command.is_empty() && process.command.bytes().all(|byte| byte.is_ascii_digit());
    let first = process.arguments.first().filter(|_| is_number);
    first.and_then(|first| first.rsplit('/').next()).unwrap_or(&process.command)
}

/// What a descriptor is, in a word behind its number.
fn what(role: Role) -> &'static str {
    match role {
        Role::Memory => " memory",
        Role::End(0) => " end 0",
        Role::End(_) => " end 1",
        Role::Node => " node",
        Role::MinorNumber => " minor",
        Role::Witness => " witness",
        Role::SharedFiles => " driver",
        _ => "",
    }
}

/// Several of them. Without an end: the processes that have the memory and no end.
pub(super) fn processes<'a>(all: impl Iterator<Item = &'a Process>, is_wide: bool) -> String {
    let all: Vec<String> = all.map(|found| process(found, is_wide)).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

/// The names of an end's modules, the one next to the head first.
pub(super) fn modules(state: &State, end: usize) -> String {
    let names: Vec<&str> = state.ends[end].modules.iter().map(|module| module.name.as_str()).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(" ") }
}

/// The state of an end.
pub(super) fn state(stream: &Snapshot, state: &State, end: usize) -> Vec<String> {
    let (own, inward, outward) = (&state.ends[end], &state.directions[1 - end], &state.directions[end]);
    let (is_fifo, is_device) =
        (matches!(stream.kind, StreamKind::Fifo { .. }), matches!(stream.kind, StreamKind::Device { .. }));
    let (reads, writes) = (!is_fifo || end == 1, !is_fifo || end == 0);
    let mut words: Vec<String> = Vec::new();
    let mut note = |holds: bool, word: &str| {
        if holds {
            words.push(word.to_owned());
        }
    };
    note(!is_device && stream.holders(end).next().is_none(), "closed");
    note(own.is_hung_up, "hung up");
    note(own.is_linked, "linked");
    note(own.is_shut_to_write, "writes no more");
    note(own.is_shut_to_read, "reads no more");
    note(reads && inward.is_full, "full");
    note(reads && inward.reader.is_asleep, "reader sleeps");
    note(reads && inward.reader.awaits_descriptor && own.asked > 0, "reader polls");
    note(writes && outward.writer.is_asleep, "writer sleeps");
    note(writes && outward.writer.awaits_descriptor, "writer polls");
    note(own.ioctl.is_some(), "in an ioctl");
    for (error, what) in [(own.read_error, "read"), (own.write_error, "write")] {
        if let Some(number) = error {
            words.push(format!("{what} error {number}"));
        }
    }
    if own.signals != 0 {
        words.push(format!("signals {:#x}", own.signals));
    }
    words
}

/// The state of a queue.
pub(super) fn queue(queue: &Queue) -> Vec<String> {
    let mut words: Vec<&str> = Vec::new();
    let flags = [
        (queue.is_enabled, "enabled"),
        (queue.has_put_back, "put back"),
        (queue.is_disabled, "not enabled by messages"),
        (queue.wants_memory, "waits for memory"),
        (queue.bands.iter().any(|band| band.is_full), "full"),
        (queue.bands.iter().any(|band| band.is_wanted), "wanted"),
    ];
    words.extend(flags.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word));
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    for band in queue.bands.iter().filter(|band| band.band > 0 && band.bytes > 0) {
        words.push(format!("band {}: {}", band.band, size(band.bytes.into())));
    }
    words
}

/// Words with commas between them, or a dash.
pub(super) fn joined(words: &[String]) -> String {
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}
