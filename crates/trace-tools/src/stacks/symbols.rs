//! The functions of an ELF file, from its symbol table (elf(5)).

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::LittleEndian as Le;
use object::elf::{self, SectionHeader64, SectionType, Sym64};

use super::elf::{Elf, Identity, Unknown, table};

/// Symbols of all kinds that are looked at in a file.
const SYMBOLS_MAX: u64 = 1 << 23;
/// Symbols that are read at once.
const AT_ONCE: u64 = 4096;
/// Bytes of a name; a longer one is none. Templates have names of thousands.
const NAME_MAX: usize = 4096;
/// Functions that begin before an address and do not contain it, among which the one that does is looked for.
const NESTED_MAX: usize = 16;

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
