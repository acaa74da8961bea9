//! Names the return addresses of recorded stacks: the file that was mapped there, and the offset from the file's beginning.
//! Exports use it; it reads no file but the trace.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use headwater_trace::event::{MODULE, THREAD};

use crate::ctf::{Error, Reader, Record, TraceItem};
use crate::value::Value;

/// The field of a record that has the stack.
pub const FIELD: &str = "stack";

/// Where the processes of a trace had mapped their executable files.
#[derive(Debug, Default)]
pub struct Modules {
    of_process: HashMap<u32, Vec<Module>>,
    process_of_thread: HashMap<u32, u32>,
}

#[derive(Debug)]
struct Module {
    start: u64,
    end: u64,
    base: u64,
    /// The last part of its path.
    name: String,
}

impl Modules {
    /// Reads the modules of these traces. It reads the whole traces, if any has stacks.
    ///
    /// # Errors
    /// Those of [`Reader::open`].
    pub fn of<P: AsRef<Path>>(paths: &[P]) -> Result<Modules, Error> {
        let mut modules = Modules::default();
        let mut reader = Reader::open(paths)?;
        let mut kinds = reader.schemas().flat_map(|(_, schema)| &schema.streams).flat_map(|stream| &stream.events);
        let has_modules = kinds.any(|kind| kind.name == MODULE);
        drop(kinds);
        if !has_modules {
            return Ok(modules);
        }
        loop {
            match reader.next() {
                Ok(Some(TraceItem::Record(record))) => modules.learn(&record),
                Ok(None) => return Ok(modules),
                // The export reports the errors of files.
                Ok(Some(TraceItem::Loss(_))) | Err(_) => {}
            }
        }
    }

    /// Takes note of a record that names a thread or a module; does nothing with others.
    pub fn learn(&mut self, record: &Record<'_>) {
        let number = |name| record.field(name).and_then(|value| value.as_u64());
        if record.kind.name == THREAD
            && let Some(pid) = number("pid")
        {
            self.process_of_thread.insert(record.tid, pid as u32);
        }
        if record.kind.name == MODULE
            && let (Some(pid), Some(base), Some(start), Some(end)) =
                (number("pid"), number("base"), number("start"), number("end"))
            && let Some(path) = record.field("path").and_then(|path| path.as_text())
        {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            self.of_process.entry(pid as u32).or_default().push(Module { start, end, base, name });
        }
    }

    /// Returns the file and the offset of an address of a thread's process, such as `shop+0x1234`. None if no module is
    /// known there.
    pub fn name(&self, thread: u32, address: u64) -> Option<String> {
        // The main thread's id is that of its process.
        let process = self.process_of_thread.get(&thread).copied().unwrap_or(thread);
        // A process that has executed another program has its modules too.
        let mut all = self.of_process.get(&process)?.iter().rev();
        let module = all.find(|module| (module.start..module.end).contains(&address))?;
        Some(format!("{}+{:#x}", module.name, address.wrapping_sub(module.base)))
    }

    /// Writes a stack in brackets, the newest frame first.
    pub(crate) fn write(&self, thread: u32, value: Value<'_>, out: &mut impl fmt::Write) -> fmt::Result {
        let Value::Array(items) = value else { return Ok(()) };
        let mut separator = '[';
        for address in items.filter_map(|item| item.as_u64()).take_while(|address| *address != 0) {
            let name = self.name(thread, address).unwrap_or_else(|| format!("{address:#x}"));
            write!(out, "{separator}{name}")?;
            separator = ' ';
        }
        out.write_str(if separator == '[' { "[]" } else { "]" })
    }
}
