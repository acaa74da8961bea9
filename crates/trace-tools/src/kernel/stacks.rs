//! The stacks of the kernel's events. With the option `stacktrace` of an instance, the kernel's record of an event is followed by one of
//! `ftrace:kernel_stack`, with an interrupt's events perhaps in between. Here it becomes a field of the event's own record.
//!
//! The names of functions are valid until the machine is restarted, so the needed ones go into the trace.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};

use headwater_trace::event::STACK_FRAMES;

use super::format::Format;
use crate::record::{HEAD, Head, RECORD_MAX};
use crate::schema::{Base, EventKind, Field, FieldKind};
use crate::stacks::{FIELD, KERNEL_FUNCTION};

/// Bytes of the field, and its place in a record: before the others.
pub(super) const BYTES: usize = 8 * STACK_FRAMES;
const AT: usize = HEAD;

/// The longest function of which an address is taken to be one, where /proc/kallsyms has a gap behind it.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

/// How far behind its event, in bytes of records, a stack is waited for.
const NEAR_BYTES: usize = 8 << 10;

/// The event type by which a trace names a function; the kernel's own types have low numbers.
const FUNCTION_ID: u16 = u16::MAX - 1;

/// What is known of a capture's stacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Stacks {
    /// `None` if events have none.
    pub format: Option<StackFormat>,
    /// The id of the boot in which they were recorded.
    pub boot: String,
    /// The return addresses in what has been converted.
    pub addresses: BTreeSet<u64>,
}

/// Where the kernel's record of a stack has what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StackFormat {
    pub id: u16,
    size_at: usize,
    callers_at: usize,
}

/// Returns the id by which the kernel names this boot.
pub(super) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Whether this is the event type of stacks.
pub(super) fn is_stack(system: &str, format: &Format) -> bool {
    system == "ftrace" && format.name == "kernel_stack"
}

/// The field with the stack.
pub(super) fn field() -> Field {
    let item = FieldKind::Unsigned { bytes: 8, base: Base::Hexadecimal };
    Field { name: FIELD.to_owned(), kind: FieldKind::Array { item: Box::new(item), count: STACK_FRAMES as u32 } }
}

impl StackFormat {
    /// Returns the places in a record of the event type of stacks.
    pub fn of(format: &Format) -> Option<StackFormat> {
        let at = |name| format.fields.iter().find(|field| field.name == name).map(|field| field.offset as usize);
        Some(StackFormat { id: format.id, size_at: at("size")?, callers_at: at("caller")? })
    }

    /// The return addresses in a record, the newest first.
    fn callers(self, content: &[u8]) -> impl Iterator<Item = u64> {
        let size =
            content.get(self.size_at..).and_then(<[u8]>::first_chunk::<4>).map_or(0, |size| u32::from_le_bytes(*size));
        let callers = content.get(self.callers_at..).unwrap_or_default().chunks_exact(8);
        let callers = callers.map(|caller| u64::from_le_bytes(caller.try_into().expect("eight bytes")));
        callers.take(STACK_FRAMES.min(size as usize)).take_while(|caller| *caller != 0)
    }
}

/// The context of a kernel record: interrupt, preemption count, thread. That of an event's stack is the same, and that of an interrupt in
/// between differs.
type Context = [u8; 6];

fn context(content: &[u8]) -> Option<Context> {
    content.get(2..8)?.try_into().ok()
}

/// Events whose stacks have not come yet, with the places of their records. At most one in each context.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<(Context, usize)>);

impl Waiting {
    /// Whether no stack is to be expected for one of the last of so many bytes of records: a packet may end. In some
    /// interrupts the kernel makes none.
    pub fn is_settled(&self, len: usize) -> bool {
        self.0.iter().all(|(_, place)| place + NEAR_BYTES < len)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes note of an event whose record begins at a place. An event before it in its context has lost its stack.
    pub fn event(&mut self, content: &[u8], place: usize) {
        let Some(context) = context(content) else { return };
        self.0.retain(|(other, _)| *other != context);
        self.0.push((context, place));
    }

    /// Puts a stack into the record of its event, if that is waiting.
    pub fn stack(&mut self, format: StackFormat, content: &[u8], records: &mut [u8], addresses: &mut BTreeSet<u64>) {
        let of = self.0.iter().rposition(|(other, _)| context(content) == Some(*other));
        let Some(place) = of.map(|at| self.0.remove(at).1) else { return };
        let Some(field) = records.get_mut(place + AT..).and_then(|rest| rest.get_mut(..BYTES)) else { return };
        for (item, caller) in field.chunks_exact_mut(8).zip(format.callers(content)) {
            item.copy_from_slice(&caller.to_le_bytes());
            addresses.insert(caller);
        }
    }
}

/// A function of the kernel: its addresses and its name, with that of its module in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    start: u64,
    end: u64,
    name: String,
}

impl Stacks {
    /// Returns the event type of the names of functions, and records of those that the addresses are in, which have this
    /// time. `None` if there are none: the kernel hides them (kptr_restrict), or has been restarted.
    pub fn names(&self, time: u64) -> Option<(EventKind, Vec<u8>, u64)> {
        if self.addresses.is_empty() || self.boot != boot() {
            return None;
        }
        let read = |each: &mut dyn FnMut(u64, bool, &str)| {
            let file = File::open("/proc/kallsyms").map(BufReader::new);
            let lines = file.into_iter().flat_map(|file| file.lines().map_while(Result::ok));
            lines.for_each(|line| {
                if let Some((start, is_code, name)) = symbol(&line) {
                    each(start, is_code, name);
                }
            });
        };
        let functions = functions(&self.addresses, read);
        let mut records = Vec::new();
        for function in &functions {
            let from = records.len();
            records.resize(from + HEAD, 0);
            records.extend([function.start, function.end].map(u64::to_le_bytes).concat());
            records.extend(function.name.bytes().filter(|byte| *byte != 0).take(RECORD_MAX - HEAD - 24).chain([0]));
            let len = Head::len_with(records.len() - from - HEAD);
            records.resize(from + len, 0);
            let head = Head { time, event: FUNCTION_ID, len: len as u16, thread: 0 };
            records[from..from + HEAD].copy_from_slice(&head.to_bytes());
        }
        let address = |name: &str| {
            let kind = FieldKind::Unsigned { bytes: 8, base: Base::Hexadecimal };
            Field { name: name.to_owned(), kind }
        };
        let name = Field { name: "name".to_owned(), kind: FieldKind::Text };
        let fields = vec![address("start"), address("end"), name];
        let kind = EventKind { id: FUNCTION_ID, name: KERNEL_FUNCTION.to_owned(), fields };
        (!functions.is_empty()).then_some((kind, records, functions.len() as u64))
    }
}

/// Parses a line of /proc/kallsyms: address, whether it is code, name. `None` for a hidden address.
fn symbol(line: &str) -> Option<(u64, bool, &str)> {
    let (address, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(' ')?;
    let start = u64::from_str_radix(address, 16).ok().filter(|start| *start != 0)?;
    Some((start, matches!(kind, "t" | "T" | "w" | "W"), name))
}

/// The functions that contain these return addresses, among the symbols that `read` passes on, the same at each call.
fn functions(addresses: &BTreeSet<u64>, read: impl Fn(&mut dyn FnMut(u64, bool, &str))) -> Vec<Function> {
    // All symbols end the function before them.
    let mut starts: BTreeSet<u64> = BTreeSet::new();
    read(&mut |start, _, _| {
        starts.insert(start);
    });
    let mut needed: Vec<Function> = Vec::new();
    for address in addresses {
        // A call may be the last instruction of its function.
        let Some(start) = starts.range(..*address).next_back().copied() else { continue };
        let end =
            starts.range(start + 1..).next().map_or(u64::MAX, |end| *end).min(start.saturating_add(FUNCTION_BYTES_MAX));
        if *address <= end && needed.last().is_none_or(|last| last.start != start) {
            needed.push(Function { start, end, name: String::new() });
        }
    }
    read(&mut |start, is_code, name| {
        if let Ok(at) = needed.binary_search_by_key(&start, |function| function.start)
            && is_code
            && needed[at].name.is_empty()
        {
            needed[at].name = name.replace('\t', " ");
        }
    });
    needed.retain(|function| !function.name.is_empty());
    needed
}

#[cfg(test)]
mod tests;
