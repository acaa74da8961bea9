//! Names the return addresses of recorded stacks: the function, or else the offset from the beginning of the file that was
//! mapped there. Those of a copied stack are found here. Exports use it. The only files that it reads besides the trace are those that the trace's programs had mapped.

mod elf;
mod symbols;
mod tables;
mod unwind;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use headwater_trace::event::{COPY, MODULE, STACK, STACK_COPY, THREAD};

use crate::ctf::{Error, Reader, Record, TraceItem};
use crate::value::Value;
use elf::{Identity, Unknown};
use symbols::Symbols;
use tables::{Row, Tables};

/// The field of a record that has the stack.
pub const FIELD: &str = STACK;

/// The event by which a trace of the kernel names a function: its first address, the one behind it, its name.
pub const KERNEL_FUNCTION: &str = "headwater:kernel_function";
/// The lowest address of the kernel.
const KERNEL: u64 = 1 << 63;

/// Functions of all files together: 24 bytes of memory each.
const FUNCTIONS_MAX: usize = 1 << 22;
/// Bytes of all files' unwind tables together; those of a program of a hundred megabytes have some ten.
const TABLES_MAX: usize = 256 << 20;
/// Files; mappings of further ones are not known.
const FILES_MAX: usize = 4096;
/// Mappings of a process that are looked through for each address.
const MODULES_MAX: usize = 4096;
/// Names that are kept, and rows of tables; when there are more, all are forgotten.
const NAMES_MAX: usize = 1 << 16;
/// Characters of a function's name that are printed.
const NAME_CHARACTERS: usize = 200;

/// Whether a field of a record is its stack, or the copy of it. A program may have a field of that name.
pub(crate) fn is_stack(field: &str, value: &Value<'_>) -> bool {
    matches!(field, STACK | COPY) && matches!(value, Value::Array(_))
}

/// What the addresses of stacks are shown as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shown {
    /// Functions and files; for [`Shown::Offsets`] no file but the trace is read, unless stacks are copied.
    #[default]
    Functions,
    /// Files and offsets.
    Offsets,
}

/// Where the processes of a trace had mapped their executable files.
#[derive(Debug, Default)]
pub struct Modules {
    shown: Shown,
    of_process: HashMap<u32, Vec<Module>>,
    process_of_thread: HashMap<u32, u32>,
    files: Vec<ModuleFile>,
    /// The functions of the kernel, by their first addresses: the one behind, and the name.
    kernel: BTreeMap<u64, (u64, String)>,
    /// The functions at offsets of files, None where there is no function.
    names: RefCell<HashMap<(usize, u64), Option<String>>>,
    /// Where the caller's registers are, at offsets of files.
    rows: RefCell<HashMap<(usize, u64), Option<Row>>>,
}

#[derive(Debug, Clone, Copy)]
struct Module {
    start: u64,
    end: u64,
    base: u64,
    /// Since when.
    time: u64,
    /// Its place in the list.
    file: usize,
}

#[derive(Debug)]
struct ModuleFile {
    identity: Identity,
    /// The last part of its path.
    name: String,
    symbols: OnceCell<Result<Symbols, Unknown>>,
    tables: OnceCell<Result<Tables, Unknown>>,
}

impl Module {
    /// Whether it is the same mapping, whenever.
    fn is(&self, other: &Module) -> bool {
        (self.start, self.end, self.base, self.file) == (other.start, other.end, other.base, other.file)
    }

    fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

impl Modules {
    /// Reads the modules of these traces. It reads the whole traces, if any has stacks.
    ///
    /// # Errors
    /// Those of [`Reader::open`].
    pub fn of<P: AsRef<Path>>(paths: &[P], shown: Shown) -> Result<Modules, Error> {
        let mut modules = Modules { shown, ..Modules::default() };
        let mut reader = Reader::open(paths)?;
        let mut kinds = reader.schemas().flat_map(|(_, schema)| &schema.streams).flat_map(|stream| &stream.events);
        let has_modules = kinds.any(|kind| kind.name == MODULE || kind.name == KERNEL_FUNCTION);
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
        if record.kind.name == KERNEL_FUNCTION
            && let (Some(start), Some(end)) = (number("start"), number("end"))
            && let Some(name) = record.field("name").and_then(|name| name.as_text())
            && self.kernel.len() < NAMES_MAX
        {
            self.kernel.insert(start, (end, printable(&name)));
        }
        if record.kind.name == MODULE
            && let (Some(pid), Some(base), Some(start), Some(end)) =
                (number("pid"), number("base"), number("start"), number("end"))
            && let Some(Value::Text(path)) = record.field("path")
        {
            if self.files.len() >= FILES_MAX {
                return;
            }
            // Recordings of older versions do not say by what their files are known.
            let build_id = record.field("build_id").and_then(|id| id.as_text()).unwrap_or_default();
            let changed = number("changed").unwrap_or(0);
            let file = self.place(Identity { path: path.to_owned(), build_id, changed });
            self.add(pid as u32, Module { start, end, base, time: record.time, file });
        }
    }

    fn kernel_function(&self, address: u64) -> Option<String> {
        let (start, (end, name)) =
            self.kernel.range(..address).next_back().filter(|_| self.shown == Shown::Functions)?;
        (address <= *end).then(|| format!("{name}+{:#x} (kernel)", address - start))
    }

    fn place(&mut self, identity: Identity) -> usize {
        self.files.iter().position(|file| file.identity == identity).unwrap_or_else(|| {
            let name = identity.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let name = printable(&String::from_utf8_lossy(name));
            self.files.push(ModuleFile { identity, name, symbols: OnceCell::new(), tables: OnceCell::new() });
            self.files.len() - 1
        })
    }

    fn add(&mut self, pid: u32, module: Module) {
        let all = self.of_process.entry(pid).or_default();
        let overlaps = |other: &&Module| other.start < module.end && module.start < other.end;
        // Each part of a recording names all of them again.
        let is_known = all.iter().rev().find(overlaps).is_some_and(|other| other.is(&module));
        if !is_known && all.len() < MODULES_MAX {
            all.push(module);
        }
    }

    /// What a thread's process had mapped at an address at a time. A file that was mapped later is better than none: the
    /// program notes a file when it meets it first.
    fn module(&self, thread: u32, time: u64, address: u64) -> Option<&Module> {
        // The main thread's id is that of its process.
        let process = self.process_of_thread.get(&thread).copied().unwrap_or(thread);
        // A process that has executed another program has its modules too.
        let all = self.of_process.get(&process)?;
        let before = all.iter().rev().find(|module| module.time <= time && module.contains(address));
        before.or_else(|| all.iter().find(|module| module.contains(address)))
    }

    /// Returns what is at a return address of a thread's process at a time: the function, with the address's offset in it,
    /// and the file, such as `answer+0x1c (shop)`; or the file and the offset, such as `shop+0x1234`. None if no file is known there.
    pub fn name(&self, thread: u32, time: u64, address: u64) -> Option<String> {
        if address >= KERNEL {
            return self.kernel_function(address);
        }
        let module = self.module(thread, time, address)?;
        let (offset, file) = (address.wrapping_sub(module.base), &self.files[module.file]);
        let function = match self.shown {
            Shown::Functions => self.function(module.file, offset),
            Shown::Offsets => None,
        };
        Some(match function {
            Some(function) => format!("{function} ({})", file.name),
            None => format!("{}+{offset:#x}", file.name),
        })
    }

    fn function(&self, file: usize, offset: u64) -> Option<String> {
        kept(&self.names, (file, offset), || {
            let symbols = self.read(file, |file| &file.symbols, FUNCTIONS_MAX, Symbols::len, Symbols::of)?;
            // A call may be the last instruction of its function, so the address behind it is that of another. A signal handler
            // returns to the beginning of a function.
            let found = symbols.name(offset.checked_sub(1)?).map(|(name, within)| (name, within + 1));
            found.or_else(|| symbols.name(offset)).map(|(name, within)| {
                let mut text = demangled(&name);
                write!(text, "+{within:#x}").expect("a text takes everything");
                text
            })
        })
    }

    /// Returns where the registers of a function's caller are, by an address in the function.
    fn row(&self, thread: u32, time: u64, address: u64) -> Option<Row> {
        let module = self.module(thread, time, address)?;
        let (offset, file) = (address.wrapping_sub(module.base), module.file);
        kept(&self.rows, (file, offset), || {
            self.read(file, |file| &file.tables, TABLES_MAX, Tables::len, Tables::of)?.row(offset)
        })
    }

    /// Returns what is known of a file's functions, which is read once: no more than `max` for all files together.
    fn read<T>(
        &self,
        file: usize,
        place: fn(&ModuleFile) -> &OnceCell<Result<T, Unknown>>,
        max: usize,
        len: fn(&T) -> usize,
        read: fn(&Identity, usize) -> Result<T, Unknown>,
    ) -> Option<&T> {
        let of_all = || {
            let used: usize = self.files.iter().filter_map(|file| place(file).get()?.as_ref().ok().map(len)).sum();
            read(&self.files[file].identity, max - used.min(max))
        };
        place(&self.files[file]).get_or_init(of_all).as_ref().ok()
    }

    /// Returns the files whose functions could not be named, or whose stacks could not be unwound, because another file is at their place now, or none.
    pub fn replaced(&self) -> Vec<PathBuf> {
        let is_replaced = |file: &&ModuleFile| {
            let is_without = [
                file.symbols.get().map(|found| found.as_ref().err()),
                file.tables.get().map(|found| found.as_ref().err()),
            ];
            is_without.contains(&Some(Some(&Unknown::Replaced)))
        };
        let path = |file: &ModuleFile| PathBuf::from(String::from_utf8_lossy(&file.identity.path).into_owned());
        self.files.iter().filter(is_replaced).map(path).collect()
    }

    /// The frames of a stack, the newest first.
    pub(crate) fn frames(&self, record: &Record<'_>, (field, value): (&str, Value<'_>)) -> Vec<String> {
        let Value::Array(items) = value else { return Vec::new() };
        let mut addresses: Vec<u64> = items.filter_map(|item| item.as_u64()).collect();
        if field == COPY {
            // Of another length it is no copy of ours.
            let copy = <&[u64; STACK_COPY]>::try_from(&addresses[..]);
            let row = |address| self.row(record.tid, record.time, address);
            addresses = copy.map_or_else(|_| Vec::new(), |copy| unwind::addresses(copy, row));
        }
        let name = |address| self.name(record.tid, record.time, address).unwrap_or_else(|| format!("{address:#x}"));
        addresses.into_iter().take_while(|address| *address != 0).map(name).collect()
    }

    /// Writes a stack in brackets, the newest frame first.
    pub(crate) fn write(&self, record: &Record<'_>, field: (&str, Value<'_>), out: &mut impl Write) -> fmt::Result {
        // Names of functions have spaces.
        let separator = if self.shown == Shown::Functions { ", " } else { " " };
        write!(out, "[{}]", self.frames(record, field).join(separator))
    }
}

/// Returns what is found at an offset of a file, which is kept for the next time.
fn kept<T: Clone>(
    all: &RefCell<HashMap<(usize, u64), Option<T>>>,
    place: (usize, u64),
    find: impl FnOnce() -> Option<T>,
) -> Option<T> {
    if let Some(known) = all.borrow().get(&place) {
        return known.clone();
    }
    let found = find();
    let mut all = all.borrow_mut();
    if all.len() >= NAMES_MAX {
        all.clear();
    }
    all.insert(place, found.clone());
    found
}

/// A function's name as its source has it, if it is one of Rust.
fn demangled(name: &str) -> String {
    let mut short = Short { text: String::new(), left: NAME_CHARACTERS };
    let written = match rustc_demangle::try_demangle(name) {
        Ok(name) => write!(short, "{name:#}"),
        Err(_) => short.write_str(name),
    };
    let end = if written.is_err() { "..." } else { "" };
    printable(&short.text) + end
}

/// Takes so many characters: names of Rust can be of any length when they are written out.
struct Short {
    text: String,
    left: usize,
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(character);
        }
        Ok(())
    }
}

/// The text with `?` in place of what a terminal may obey.
pub(crate) fn printable(text: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || character.is_ascii_graphic() || character == ' ';
    text.chars().map(|character| if is_plain(character) { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests;
