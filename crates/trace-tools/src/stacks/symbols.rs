//! The functions of an ELF file, from its symbol table (elf(5)). A file is read if it is the one that the trace means.
//!
//! The file may be anything: every number in it is checked, and what is read at once has a limit.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use object::LittleEndian as Le;
use object::elf::{self, FileHeader64, Ident, ProgramHeader64, SectionHeader64, SectionType, Sym64};
use object::pod::{self, Pod};
use object::read::elf::NoteIterator;
use rustix::fs::{Mode, OFlags};

/// Symbols of all kinds that are looked at in a file.
const SYMBOLS_MAX: u64 = 1 << 23;
/// Symbols that are read at once.
const AT_ONCE: u64 = 4096;
/// Program headers, sections and bytes of notes that are read.
const HEADERS_MAX: u64 = 1 << 16;
/// Bytes of a name; a longer one is none. Templates have names of thousands.
const NAME_MAX: usize = 4096;
/// Functions that begin before an address and do not contain it, among which the one that does is looked for.
const NESTED_MAX: usize = 16;

/// By what the trace says that it means a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub path: Vec<u8>,
    /// In hexadecimal digits; empty without one.
    pub build_id: String,
    /// When its inode was changed last, in nanoseconds since 1970; 0: unknown.
    pub changed: u64,
}

/// The functions of a file.
#[derive(Debug)]
pub struct Symbols {
    /// By their beginnings.
    functions: Vec<Function>,
    /// The file with the names, and where they are in it.
    names: (File, u64),
    /// The address of the file's beginning as it was linked.
    begin: u64,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    start: u64,
    end: u64,
    name: u32,
    /// Of several names of a function the one with the highest rank is shown.
    rank: u8,
}

/// The reason why a file's functions are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The file is not there, or it is another one.
    Replaced,
    /// It has no symbols, or the trace does not say which file it means.
    Unnamed,
}

impl Identity {
    /// Opens the file if it is the one that the trace means.
    fn open(&self) -> Result<File, Unknown> {
        if self.build_id.is_empty() && self.changed == 0 || !self.path.starts_with(b"/") {
            return Err(Unknown::Unnamed);
        }
        let file = open_plain(Path::new(OsStr::from_bytes(&self.path))).ok_or(Unknown::Replaced)?;
        let is_same = match self.build_id.is_empty() {
            true => changed(&file) == Some(self.changed),
            false => Elf::of(&file).and_then(|elf| elf.build_id()).is_some_and(|id| id.starts_with(&self.build_id)),
        };
        if is_same { Ok(file) } else { Err(Unknown::Replaced) }
    }

    /// The file in which a distribution has the symbols that it has removed from this one.
    fn debug_file(&self) -> Option<File> {
        let (first, rest) = self.build_id.split_at_checked(2).filter(|(_, rest)| rest.len() >= 6)?;
        let file = open_plain(&PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug")))?;
        Elf::of(&file)?.build_id().is_some_and(|id| id == self.build_id).then_some(file)
    }
}

impl Symbols {
    /// Reads the functions of a file, at most `limit` of them.
    pub fn of(identity: &Identity, limit: usize) -> Result<Symbols, Unknown> {
        let file = identity.open()?;
        let begin = Elf::of(&file).and_then(|elf| elf.begin()).ok_or(Unknown::Unnamed)?;
        let complete = read(&file, elf::SHT_SYMTAB, limit).map(|table| (table, None));
        let debug = || {
            let debug = identity.debug_file()?;
            Some((read(&debug, elf::SHT_SYMTAB, limit)?, Some(debug)))
        };
        // What a library exports is better than nothing.
        let exported = || read(&file, elf::SHT_DYNSYM, limit).map(|table| (table, None));
        let ((functions, strings), other) = complete.or_else(debug).or_else(exported).ok_or(Unknown::Unnamed)?;
        Ok(Symbols { functions, names: (other.unwrap_or(file), strings), begin })
    }

    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Returns the function that contains the address `offset` behind the file's beginning, and how far the address is behind the
    /// function's beginning.
    pub fn name(&self, offset: u64) -> Option<(String, u64)> {
        let address = self.begin.checked_add(offset)?;
        let behind = self.functions.partition_point(|function| function.start <= address);
        let mut before = self.functions[..behind].iter().rev().take(NESTED_MAX);
        let function = before.find(|function| address < function.end)?;
        let (file, strings) = &self.names;
        let mut name = [0; NAME_MAX];
        let len = file.read_at(&mut name, strings.checked_add(function.name.into())?).ok()?;
        let len = name[..len].iter().position(|byte| *byte == 0).filter(|len| *len > 0)?;
        Some((String::from_utf8_lossy(&name[..len]).into_owned(), address - function.start))
    }
}

/// Opens a plain file, and nothing that waits or acts when it is opened.
fn open_plain(path: &Path) -> Option<File> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok().filter(|metadata| metadata.is_file())?;
    Some(file)
}

fn changed(file: &File) -> Option<u64> {
    let metadata = file.metadata().ok()?;
    let nanoseconds = u64::try_from(metadata.ctime_nsec()).ok()?;
    u64::try_from(metadata.ctime()).ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// The head of an ELF file of 64 bits, little-endian.
struct Elf<'a> {
    file: &'a File,
    header: FileHeader64<Le>,
}

impl Elf<'_> {
    fn of(file: &File) -> Option<Elf<'_>> {
        let header: FileHeader64<Le> = *table(file, 0, 1)?.first()?;
        let Ident { magic, class, data, .. } = header.e_ident;
        let is_read = magic == elf::ELFMAG && class == elf::ELFCLASS64 && data == elf::ELFDATA2LSB;
        is_read.then_some(Elf { file, header })
    }

    fn segments(&self) -> Option<Vec<ProgramHeader64<Le>>> {
        table(self.file, self.header.e_phoff.get(Le), self.header.e_phnum.get(Le).into())
    }

    /// The address at which its beginning is linked.
    fn begin(&self) -> Option<u64> {
        let segments = self.segments()?;
        let is_first =
            |segment: &&ProgramHeader64<Le>| segment.p_type.get(Le) == elf::PT_LOAD && segment.p_offset.get(Le) < 4096;
        Some(segments.iter().find(is_first)?.p_vaddr.get(Le) & !4095)
    }

    fn build_id(&self) -> Option<String> {
        let segments = self.segments()?;
        let notes = segments.iter().filter(|segment| segment.p_type.get(Le) == elf::PT_NOTE).take(16);
        notes.into_iter().find_map(|segment| {
            let bytes = table::<u8>(self.file, segment.p_offset.get(Le), segment.p_filesz.get(Le))?;
            let mut notes = NoteIterator::<FileHeader64<Le>>::new(Le, segment.p_align.get(Le), &bytes).ok()?;
            while let Ok(Some(note)) = notes.next() {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(Le) == elf::NT_GNU_BUILD_ID {
                    return Some(note.desc().iter().map(|byte| format!("{byte:02x}")).collect());
                }
            }
            None
        })
    }
}

/// Reads items of a file; None if there are more than a limit, or it ends before.
fn table<T: Pod>(file: &File, at: u64, count: u64) -> Option<Vec<T>> {
    let count = usize::try_from(count).ok().filter(|count| *count as u64 <= HEADERS_MAX)?;
    let mut bytes = vec![0; count.checked_mul(size_of::<T>())?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(pod::slice_from_bytes(&bytes, count).ok()?.0.to_vec())
}

/// Reads the functions of a table of symbols, and where the file has their names.
fn read(file: &File, kind: SectionType, limit: usize) -> Option<(Vec<Function>, u64)> {
    let header = Elf::of(file)?.header;
    let sections: Vec<SectionHeader64<Le>> = table(file, header.e_shoff.get(Le), header.e_shnum.get(Le).into())?;
    let symbols = sections.iter().find(|section| section.sh_type.get(Le) == kind)?;
    let strings = sections.get(symbols.sh_link.get(Le) as usize)?.sh_offset.get(Le);
    let mut functions = Vec::new();
    let (from, count) = (symbols.sh_offset.get(Le), symbols.sh_size.get(Le) / size_of::<Sym64<Le>>() as u64);
    for first in (0..count.min(SYMBOLS_MAX)).step_by(AT_ONCE as usize) {
        let at = from.checked_add(first * size_of::<Sym64<Le>>() as u64)?;
        let symbols: Vec<Sym64<Le>> = table(file, at, AT_ONCE.min(count - first))?;
        functions.extend(symbols.iter().filter_map(Function::of));
        if functions.len() > limit {
            return None;
        }
    }
    functions.sort_unstable_by_key(|function| (function.start, function.rank));
    (!functions.is_empty()).then_some((functions, strings))
}

impl Function {
    fn of(symbol: &Sym64<Le>) -> Option<Function> {
        let is_code = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
        let start = symbol.st_value.get(Le);
        let end = start.checked_add(symbol.st_size.get(Le))?;
        let rank = match symbol.st_bind() {
            elf::STB_GLOBAL => 2,
            elf::STB_WEAK => 1,
            _ => 0,
        };
        let is_there = symbol.st_shndx.get(Le) != elf::SHN_UNDEF && end > start;
        (is_code && is_there).then_some(Function { start, end, name: symbol.st_name.get(Le), rank })
    }
}

#[cfg(test)]
mod tests;
