//! The rows of `headwater streams ls`: one for each end of a stream, and one for each queue of a module if asked for.

use headwater_streams::inspect::{Content, Queue, Role, Snapshot, State, StreamKind};

use super::columns::Column;
use super::words;
use crate::cli::trace::size;

/// What is shown of each stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    /// Further columns, and descriptors and arguments of processes.
    pub wide: bool,
    /// A row for each queue of a module or driver.
    pub modules: bool,
}

/// The columns.
pub(super) fn columns(shown: Shown) -> Vec<Column> {
    let mut columns = vec![("STREAM", true), ("WHAT", false), ("END", false), ("MODULES", false)];
    columns.extend([("QUEUED", true), ("HIWAT", true), ("MSGS", true), ("READ", true)]);
    if shown.wide {
        columns.extend([("LOWAT", true), ("MAXPSZ", true), ("WRITTEN", true), ("ALL MSGS", true)]);
        columns.extend([("BELLS", true), ("HANDLES", true), ("MEMORY", true)]);
    }
    columns.extend([("STATE", false), ("PROCESSES", false)]);
    columns
}

/// The rows of a stream.
pub(super) fn rows(stream: &Snapshot, shown: Shown) -> Vec<Vec<String>> {
    let mut rows = match &stream.content {
        Content::State(state) => ends(stream, state, shown),
        Content::Unreadable(why) => vec![unknown(stream, why, shown)],
        _ => vec![unknown(stream, "", shown)],
    };
    // The first one names the stream.
    if let Some(first) = rows.first_mut() {
        first[0] = stream.id.to_string();
        first[1] = words::name(stream);
    }
    rows
}

fn unknown(stream: &Snapshot, why: &str, shown: Shown) -> Vec<String> {
    let mut row = Row::new("-", "-");
    row.state = why.to_owned();
    row.processes = words::processes(stream.processes.iter(), shown.wide);
    row.memory = size(stream.resident);
    row.cells(shown)
}

fn ends(stream: &Snapshot, state: &State, shown: Shown) -> Vec<Vec<String>> {
    let is_device = matches!(stream.kind, StreamKind::Device { .. });
    let mut rows = Vec::new();
    for end in 0..if is_device { 1 } else { 2 } {
        rows.push(of_end(stream, state, end, shown).cells(shown));
        if shown.modules {
            for module in &state.ends[end].modules {
                rows.push(of_queue(&module.name, "write", &module.write).cells(shown));
                rows.push(of_queue(&module.name, "read", &module.read).cells(shown));
            }
        }
    }
    if let Some(driver) = state.driver.as_ref().filter(|_| shown.modules) {
        rows.push(of_queue(&driver.name, "write", &driver.write).cells(shown));
        rows.push(of_queue(&driver.name, "read", &driver.read).cells(shown));
        for (id, lower) in &driver.links {
            let mut row = Row::new("link", &id.to_string());
            row.state = format!("stream {lower}");
            rows.push(row.cells(shown));
        }
    }
    let has_end = |role: Role| matches!(role, Role::End(_));
    let others: Vec<_> = stream
        .processes
        .iter()
        .filter(|process| !process.descriptors.iter().any(|found| has_end(found.role)))
        .collect();
    if !others.is_empty() {
        let mut row = Row::new("none", "-");
        row.state = "memory alone".to_owned();
        row.processes = words::processes(others.into_iter(), shown.wide);
        rows.push(row.cells(shown));
    }
    rows
}

/// The cells of a row, before they are put in order.
#[derive(Debug, Default)]
struct Row {
    end: String,
    modules: String,
    queued: String,
    hiwat: String,
    messages: String,
    read: String,
    lowat: String,
    maxpsz: String,
    written: String,
    all_messages: String,
    bells: String,
    handles: String,
    memory: String,
    state: String,
    processes: String,
}

impl Row {
    fn new(end: &str, modules: &str) -> Row {
        Row { end: end.to_owned(), modules: modules.to_owned(), ..Row::default() }
    }

    fn cells(self, shown: Shown) -> Vec<String> {
        let mut cells = vec![String::new(), String::new(), self.end, self.modules];
        cells.extend([self.queued, self.hiwat, self.messages, self.read]);
        if shown.wide {
            cells.extend([self.lowat, self.maxpsz, self.written, self.all_messages, self.bells, self.handles]);
            cells.push(self.memory);
        }
        cells.extend([self.state, self.processes]);
        cells
    }
}

fn of_end(stream: &Snapshot, state: &State, end: usize, shown: Shown) -> Row {
    let mut row = Row::new(words::end(stream, end), &words::modules(state, end));
    let (own, inward, outward) = (&state.ends[end], &state.directions[1 - end], &state.directions[end]);
    let is_fifo = matches!(stream.kind, StreamKind::Fifo { .. });
    if !is_fifo || end == 1 {
        row.queued = size(inward.queued());
        row.hiwat = size(inward.hiwat.into());
        row.lowat = size(inward.lowat.into());
        row.messages = inward.queued_messages().to_string();
        row.read = size(inward.written().saturating_sub(inward.queued()));
    }
    if !is_fifo || end == 0 {
        row.maxpsz = size(outward.maxpsz.into());
        row.written = size(outward.written());
        row.all_messages = outward.messages_written().to_string();
    }
    row.bells = own.packets_sent.to_string();
    row.handles = own.handles.to_string();
    if end == 0 {
        row.memory = size(stream.resident);
    }
    let mut words = words::state(stream, state, end);
    if !state.contradictions.is_empty() && end == 0 {
        words.push(format!("contradicts itself: {}", state.contradictions.join("; ")));
    }
    row.state = words::joined(&words);
    row.processes = words::processes(stream.holders(end), shown.wide);
    row
}

fn of_queue(module: &str, side: &str, queue: &Queue) -> Row {
    let mut row = Row::new(side, &format!("  {module}"));
    row.queued = size(queue.bytes);
    row.hiwat = size(queue.hiwat.into());
    row.lowat = size(queue.lowat.into());
    row.messages = queue.messages.to_string();
    row.read = size(queue.bytes_put.saturating_sub(queue.bytes));
    row.written = size(queue.bytes_put);
    row.all_messages = queue.messages_put.to_string();
    row.state = words::joined(&words::queue(queue));
    row
}
