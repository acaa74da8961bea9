//! The unwind tables of an ELF file: for each place of its code, where the caller's registers are. Compilers make them for
//! exceptions, in C too: `.eh_frame_hdr` and `.eh_frame` (Linux Standard Base, Exception Frames), with the instructions of DWARF 5,
//! section 6.4. x86-64.
//!
//! The file may be anything: every number in it is checked, and what is read at once has a limit.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use object::LittleEndian as Le;
use object::elf;

use super::elf::{Elf, Identity, Unknown};

/// Bytes of a description of a function, or of what is common to several.
const ENTRY_MAX: u64 = 64 << 10;
/// Bytes of an expression; those of linkage tables and signal frames have 11 at most.
const EXPRESSION_MAX: u64 = 256;
/// Rows that are remembered at once.
const REMEMBERED_MAX: usize = 16;

/// The registers that are followed: the numbers of DWARF, in the order of [`Row::registers`].
const FOLLOWED: [u64; 3] = [6, 7, 16];
/// The places of the frame pointer, the stack pointer and the address of the code among them.
pub(super) const FRAME_POINTER: usize = 0;
pub(super) const STACK_POINTER: usize = 1;
pub(super) const ADDRESS: usize = 2;

/// The place of a register that is followed.
pub(super) fn place(register: u64) -> Option<usize> {
    FOLLOWED.iter().position(|followed| *followed == register)
}

/// Where the caller's registers are, at a place of the code.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub frame: Frame,
    pub registers: [Rule; FOLLOWED.len()],
    /// Whether the caller was interrupted: a signal's frame.
    pub is_signal: bool,
}

/// The canonical frame address: the caller's stack pointer behind the call.
#[derive(Debug, Clone)]
pub(super) enum Frame {
    /// Not known.
    Unknown,
    /// A register and what is added.
    Register(usize, i64),
    Expression(Rc<[u8]>),
}

/// Where a register of the caller is.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// It is unchanged.
    Same,
    Undefined,
    /// In memory, so far from the canonical frame address.
    At(i64),
    /// It is that address, so far on.
    Is(i64),
    /// In memory, or the value itself, as an expression says.
    AtExpression(Rc<[u8]>),
    IsExpression(Rc<[u8]>),
}

/// The tables of a file.
#[derive(Debug)]
pub(super) struct Tables {
    file: File,
    segments: Vec<Segment>,
    /// The address of the file's beginning as it was linked.
    begin: u64,
    /// By beginning: that of a function, and where its description is.
    functions: Vec<(u64, u64)>,
}

/// A part of the file that is mapped.
#[derive(Debug, Clone, Copy)]
struct Segment {
    address: u64,
    bytes: u64,
    offset: u64,
}

/// What several descriptions have in common.
#[derive(Debug)]
struct Common {
    code_unit: u64,
    data_unit: i64,
    /// How addresses are written.
    encoding: u8,
    /// Whether descriptions have a part of their own for it.
    is_augmented: bool,
    is_signal: bool,
    instructions: Vec<u8>,
}

impl Tables {
    /// Reads the list of a file's functions, at most `limit`.
    pub fn of(identity: &Identity, limit: usize) -> Result<Tables, Unknown> {
        Tables::read(identity.open()?, limit).ok_or(Unknown::Unnamed)
    }

    fn read(file: File, limit: usize) -> Option<Tables> {
        let elf = Elf::of(&file).filter(|elf| elf.header.e_machine.get(Le) == elf::EM_X86_64)?;
        let (begin, all) = (elf.begin()?, elf.segments()?);
        let of_kind = |kind| all.iter().filter(move |segment| segment.p_type.get(Le) == kind);
        let segments = of_kind(elf::PT_LOAD).map(|segment| Segment {
            address: segment.p_vaddr.get(Le),
            bytes: segment.p_filesz.get(Le),
            offset: segment.p_offset.get(Le),
        });
        let segments = segments.collect();
        let head = of_kind(elf::PT_GNU_EH_FRAME).next()?.p_vaddr.get(Le);
        let mut tables = Tables { file, segments, begin, functions: Vec::new() };
        // Version; encodings of the section's address, of the number of functions, and of the table: what linkers write.
        let words = tables.bytes(head, 12)?;
        let count = match words[..4] {
            [1, _, 0x03, 0x3b] => u32::from_le_bytes(words[8..].try_into().ok()?),
            _ => return None,
        };
        let count = usize::try_from(count).ok().filter(|count| *count <= limit)?;
        let pairs = tables.bytes(head + 12, 8 * count as u64)?;
        let relative = |bytes: &[u8]| {
            let distance = i32::from_le_bytes(bytes.try_into().expect("four bytes"));
            head.wrapping_add_signed(distance.into())
        };
        let pairs = pairs.chunks_exact(8).map(|pair| (relative(&pair[..4]), relative(&pair[4..])));
        tables.functions = pairs.collect();
        tables.functions.is_sorted().then_some(tables)
    }

    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Returns where the registers of the caller are, of the code `offset` behind the file's beginning.
    pub fn row(&self, offset: u64) -> Option<Row> {
        let address = self.begin.checked_add(offset)?;
        let behind = self.functions.partition_point(|(start, _)| *start <= address);
        let (_, at) = *self.functions.get(behind.checked_sub(1)?)?;
        let entry = self.entry(at)?;
        let mut bytes = Bytes { rest: &entry, address: at + 4 };
        let back = u64::from(bytes.u32()?);
        let common = self.common((at + 4).checked_sub(back).filter(|_| back > 0)?)?;
        let start = bytes.pointer(common.encoding)?;
        // The length has the form of an address, but is not relative to anything.
        let len = bytes.pointer(common.encoding & 0x0f)?;
        if !(start..start.checked_add(len)?).contains(&address) {
            return None;
        }
        if common.is_augmented {
            let len = bytes.unsigned()?;
            bytes.skip(len)?;
        }
        let row = Row {
            frame: Frame::Unknown,
            registers: [const { Rule::Same }; FOLLOWED.len()],
            is_signal: common.is_signal,
        };
        let mut state = State { common: &common, initial: row.clone(), row, remembered: Vec::new(), at: start };
        state.execute(Bytes { rest: &common.instructions, address: 0 }, u64::MAX)?;
        (state.initial, state.at) = (state.row.clone(), start);
        state.execute(bytes, address)?;
        Some(state.row)
    }

    fn common(&self, at: u64) -> Option<Common> {
        let entry = self.entry(at)?;
        let mut bytes = Bytes { rest: &entry, address: at + 4 };
        let is_common = bytes.u32()? == 0;
        let version = bytes.u8().filter(|version| is_common && matches!(version, 1 | 3))?;
        let augmentation = bytes.text()?;
        let (code_unit, data_unit) = (bytes.unsigned()?, bytes.signed()?);
        let register = if version == 1 { bytes.u8()?.into() } else { bytes.unsigned()? };
        let mut common = Common {
            code_unit,
            data_unit,
            encoding: 0,
            is_augmented: augmentation.first() == Some(&b'z'),
            is_signal: false,
            instructions: Vec::new(),
        };
        if register != FOLLOWED[ADDRESS] || !common.is_augmented && !augmentation.is_empty() {
            return None;
        }
        if common.is_augmented {
            let len = bytes.unsigned()?;
            let mut data = bytes.take(len)?;
            for letter in &augmentation[1..] {
                match letter {
                    b'R' => common.encoding = data.u8()?,
                    b'L' => drop(data.u8()?),
                    b'P' => {
                        let encoding = data.u8()?;
                        data.pointer(encoding & !INDIRECT)?;
                    }
                    b'S' => common.is_signal = true,
                    b'B' | b'G' => {}
                    _ => return None,
                }
            }
        }
        common.instructions = bytes.rest.to_vec();
        Some(common)
    }

    /// The description at an address, without its length.
    fn entry(&self, at: u64) -> Option<Vec<u8>> {
        let len = u32::from_le_bytes(self.bytes(at, 4)?.try_into().ok()?);
        let len = u64::from(len);
        self.bytes(at.checked_add(4)?, len).filter(|_| (4..=ENTRY_MAX).contains(&len))
    }

    /// What is at an address as the file was linked.
    fn bytes(&self, address: u64, len: u64) -> Option<Vec<u8>> {
        let has = |segment: &&Segment| {
            let within = address.checked_sub(segment.address);
            within.and_then(|within| within.checked_add(len)).is_some_and(|end| end <= segment.bytes)
        };
        let segment = self.segments.iter().find(has)?;
        let at = segment.offset.checked_add(address - segment.address)?;
        // A file that is shorter than it says does not make us take the memory.
        at.checked_add(len).filter(|end| self.file.metadata().is_ok_and(|file| *end <= file.len()))?;
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

/// In the encoding of an address: it is that of a word with the address.
const INDIRECT: u8 = 0x80;

/// The rest of a description.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub rest: &'a [u8],
    /// The address of the first.
    pub address: u64,
}

impl<'a> Bytes<'a> {
    #[inline(never)]
    fn take(&mut self, count: u64) -> Option<Bytes<'a>> {
        let (first, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        let taken = Bytes { rest: first, address: self.address };
        (self.rest, self.address) = (rest, self.address.wrapping_add(count));
        Some(taken)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.take(count).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N as u64)?.rest.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number in LEB128, and how many bits it has. A copy in each place that reads one would be kilobytes of code.
    #[inline(never)]
    fn leb128(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut bits) = (0, 0);
        loop {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(bits)?;
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
            }
        }
    }

    pub fn unsigned(&mut self) -> Option<u64> {
        self.leb128().map(|(value, ..)| value)
    }

    pub fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.leb128()?;
        let sign = if last & 0x40 != 0 && bits < 64 { u64::MAX << bits } else { 0 };
        Some((value | sign).cast_signed())
    }

    /// A text up to a byte of 0.
    fn text(&mut self) -> Option<&'a [u8]> {
        let len = self.rest.iter().position(|byte| *byte == 0)? as u64;
        let text = self.take(len)?.rest;
        self.skip(1)?;
        Some(text)
    }

    /// A block with its length before it.
    #[inline(never)]
    fn block(&mut self) -> Option<Rc<[u8]>> {
        let len = self.unsigned().filter(|len| *len <= EXPRESSION_MAX)?;
        self.take(len).map(|block| block.rest.into())
    }

    /// An address in an encoding: the low half says its form, the high one to what it is relative.
    fn pointer(&mut self, encoding: u8) -> Option<u64> {
        let base = match encoding & 0xf0 {
            0x00 => 0,
            0x10 => self.address,
            _ => return None,
        };
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => self.u64()?,
            0x02 => self.u16()?.into(),
            0x03 => self.u32()?.into(),
            0x0a => i64::from(self.u16()?.cast_signed()).cast_unsigned(),
            0x0b => i64::from(self.u32()?.cast_signed()).cast_unsigned(),
            _ => return None,
        };
        Some(base.wrapping_add(value))
    }
}

/// The row in the making.
#[derive(Debug)]
struct State<'a> {
    common: &'a Common,
    /// What the common instructions say.
    initial: Row,
    row: Row,
    remembered: Vec<Row>,
    /// The place in the code.
    at: u64,
}

impl State<'_> {
    /// Executes instructions as far as they are for the code up to an address.
    fn execute(&mut self, mut bytes: Bytes<'_>, address: u64) -> Option<()> {
        while !bytes.rest.is_empty() {
            let code = bytes.u8()?;
            let low = u64::from(code & 0x3f);
            let distance = match code {
                0x40..=0x7f => low,
                0x02 => bytes.u8()?.into(),
                0x03 => bytes.u16()?.into(),
                0x04 => bytes.u32()?.into(),
                _ => {
                    self.instruction(code, low, &mut bytes)?;
                    continue;
                }
            };
            self.at = self.at.checked_add(distance.checked_mul(self.common.code_unit)?)?;
            if self.at > address {
                return Some(());
            }
        }
        Some(())
    }

    /// Executes an instruction that changes the row.
    fn instruction(&mut self, code: u8, low: u64, bytes: &mut Bytes<'_>) -> Option<()> {
        let unit = self.common.data_unit;
        let scaled = |number: u64| i64::try_from(number).ok()?.checked_mul(unit);
        match code {
            0x80..=0xbf => self.set(low, Rule::At(scaled(bytes.unsigned()?)?)),
            0xc0.. => self.restore(low),
            // Nothing; the size of arguments.
            0x00 => {}
            0x2e => drop(bytes.unsigned()?),
            0x05 => self.set(bytes.unsigned()?, Rule::At(scaled(bytes.unsigned()?)?)),
            0x06 => self.restore(bytes.unsigned()?),
            0x07 => self.set(bytes.unsigned()?, Rule::Undefined),
            0x08 => self.set(bytes.unsigned()?, Rule::Same),
            // In another register.
            0x09 => {
                let register = bytes.unsigned()?;
                bytes.unsigned()?;
                self.set(register, Rule::Undefined);
            }
            0x0a if self.remembered.len() < REMEMBERED_MAX => self.remembered.push(self.row.clone()),
            0x0b => self.row = self.remembered.pop()?,
            0x0c => self.row.frame = of_register(bytes.unsigned()?, i64::try_from(bytes.unsigned()?).ok()?),
            0x0d => {
                let Frame::Register(_, offset) = self.row.frame else { return None };
                self.row.frame = of_register(bytes.unsigned()?, offset);
            }
            0x0e => self.set_offset(i64::try_from(bytes.unsigned()?).ok()?)?,
            0x0f => self.row.frame = Frame::Expression(bytes.block()?),
            0x10 => self.set(bytes.unsigned()?, Rule::AtExpression(bytes.block()?)),
            0x11 => self.set(bytes.unsigned()?, Rule::At(bytes.signed()?.checked_mul(unit)?)),
            0x12 => self.row.frame = of_register(bytes.unsigned()?, bytes.signed()?.checked_mul(unit)?),
            0x13 => self.set_offset(bytes.signed()?.checked_mul(unit)?)?,
            0x14 => self.set(bytes.unsigned()?, Rule::Is(scaled(bytes.unsigned()?)?)),
            0x15 => self.set(bytes.unsigned()?, Rule::Is(bytes.signed()?.checked_mul(unit)?)),
            0x16 => self.set(bytes.unsigned()?, Rule::IsExpression(bytes.block()?)),
            _ => return None,
        }
        Some(())
    }

    #[inline(never)]
    fn set(&mut self, register: u64, rule: Rule) {
        if let Some(place) = place(register) {
            self.row.registers[place] = rule;
        }
    }

    fn restore(&mut self, register: u64) {
        if let Some(place) = place(register) {
            self.row.registers[place] = self.initial.registers[place].clone();
        }
    }

    fn set_offset(&mut self, offset: i64) -> Option<()> {
        let Frame::Register(register, _) = self.row.frame else { return None };
        self.row.frame = Frame::Register(register, offset);
        Some(())
    }
}

/// A frame by a register, if that is followed.
fn of_register(register: u64, offset: i64) -> Frame {
    place(register).map_or(Frame::Unknown, |place| Frame::Register(place, offset))
}

#[cfg(test)]
mod tests;
