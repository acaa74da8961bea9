//! The unwind tables of an ELF file: for each place of its code, where the caller's registers are. Compilers make them for
//! exceptions, in C too: `.eh_frame_hdr` and `.eh_frame` (Linux Standard Base, Exception Frames), with the instructions of DWARF 5,
//! section 6.4, which gimli reads. x86-64.
//!
//! The file may be anything: what is read at once has a limit.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EhFrameOffset, EndianSlice, LittleEndian, ParsedEhFrameHdr, Pointer,
    Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection, X86_64,
};
use object::LittleEndian as Le;
use object::elf;

use super::elf::{Elf, Identity, Unknown};

/// Bytes of a description of a function, or of what is common to several.
const ENTRY_MAX: usize = 64 << 10;
/// Bytes of an expression; those of linkage tables and signal frames have 11 at most.
const EXPRESSION_MAX: usize = 256;

/// The registers that are followed, in the order of [`Row::registers`].
const FOLLOWED: [Register; 3] = [X86_64::RBP, X86_64::RSP, X86_64::RA];
/// The places of the frame pointer, the stack pointer and the address of the code among them.
pub(super) const FRAME_POINTER: usize = 0;
pub(super) const STACK_POINTER: usize = 1;
pub(super) const ADDRESS: usize = 2;

/// The place of a register that is followed.
pub(super) fn place(register: Register) -> Option<usize> {
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

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The tables of a file.
#[derive(Debug)]
pub(super) struct Tables {
    /// `.eh_frame_hdr`: the list of functions.
    header: Vec<u8>,
    /// `.eh_frame`, and what follows it in its segment: the descriptions of functions.
    frames: Vec<u8>,
    /// Where both are linked.
    bases: BaseAddresses,
    /// The address of the file's beginning as it was linked.
    begin: u64,
}

impl Tables {
    /// Reads the tables of a file, at most `limit` bytes.
    pub fn of(identity: &Identity, limit: usize) -> Result<Tables, Unknown> {
        Tables::read(&identity.open()?, limit).ok_or(Unknown::Unnamed)
    }

    fn read(file: &File, limit: usize) -> Option<Tables> {
        let elf = Elf::of(file).filter(|elf| elf.header.e_machine.get(Le) == elf::EM_X86_64)?;
        let (begin, segments) = (elf.begin()?, elf.segments()?);
        let header = segments.iter().find(|segment| segment.p_type.get(Le) == elf::PT_GNU_EH_FRAME)?;
        let at = header.p_vaddr.get(Le);
        let header = bytes(file, header.p_offset.get(Le), header.p_filesz.get(Le), limit)?;
        // Version; encodings of the section's address, of the number of functions, and of the table: what linkers write.
        let [1, _, 0x03, 0x3b] = header.get(..4)? else { return None };
        let bases = BaseAddresses::default().set_eh_frame_hdr(at);
        let mut tables = Tables { header, frames: Vec::new(), bases, begin };
        let Pointer::Direct(frames) = tables.functions()?.eh_frame_ptr() else { return None };
        let within = segments.iter().filter(|segment| segment.p_type.get(Le) == elf::PT_LOAD).find_map(|segment| {
            let within = frames.checked_sub(segment.p_vaddr.get(Le))?;
            let len = segment.p_filesz.get(Le).checked_sub(within)?;
            Some((segment.p_offset.get(Le).checked_add(within)?, len))
        });
        let (from, len) = within?;
        tables.frames = bytes(file, from, len, limit - tables.header.len())?;
        tables.bases = tables.bases.set_eh_frame(frames);
        Some(tables)
    }

    /// The bytes that are kept.
    pub fn len(&self) -> usize {
        self.header.len() + self.frames.len()
    }

    fn functions(&self) -> Option<ParsedEhFrameHdr<Slice<'_>>> {
        EhFrameHdr::new(&self.header, LittleEndian).parse(&self.bases, 8).ok()
    }

    /// Returns where the registers of the caller are, of the code `offset` behind the file's beginning.
    pub fn row(&self, offset: u64) -> Option<Row> {
        let address = self.begin.checked_add(offset)?;
        let (functions, frames) = (self.functions()?, EhFrame::new(&self.frames, LittleEndian));
        let Pointer::Direct(at) = functions.table()?.lookup(address, &self.bases).ok()? else { return None };
        let Pointer::Direct(begin) = functions.eh_frame_ptr() else { return None };
        // Not by the call that does both: its subtraction may overflow.
        let offset = EhFrameOffset(usize::try_from(at.checked_sub(begin)?).ok()?);
        let function = frames.fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset).ok()?;
        let is_short = function.entry_len() <= ENTRY_MAX && function.cie().entry_len() <= ENTRY_MAX;
        if !is_short || !function.contains(address) {
            return None;
        }
        let mut context = UnwindContext::new();
        let row = function.unwind_info_for_address(&frames, &self.bases, &mut context, address).ok()?;
        let expression = |found: &UnwindExpression<usize>| -> Option<Rc<[u8]>> {
            let found = found.get(&frames).ok()?.0;
            (found.slice().len() <= EXPRESSION_MAX).then(|| found.slice().into())
        };
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                place(*register).map_or(Frame::Unknown, |place| Frame::Register(place, *offset))
            }
            CfaRule::Expression(found) => Frame::Expression(expression(found)?),
        };
        let rule = |register| {
            Some(match row.register(register) {
                None | Some(RegisterRule::SameValue) => Rule::Same,
                Some(RegisterRule::Offset(offset)) => Rule::At(offset),
                Some(RegisterRule::ValOffset(offset)) => Rule::Is(offset),
                Some(RegisterRule::Expression(found)) => Rule::AtExpression(expression(&found)?),
                Some(RegisterRule::ValExpression(found)) => Rule::IsExpression(expression(&found)?),
                // In a register that is not followed.
                Some(_) => Rule::Undefined,
            })
        };
        let [frame_pointer, stack_pointer, address] = FOLLOWED.map(rule);
        let registers = [frame_pointer?, stack_pointer?, address?];
        Some(Row { frame, registers, is_signal: function.is_signal_trampoline() })
    }
}

/// Reads a part of a file; None if it is longer than a limit, or than the file.
fn bytes(file: &File, at: u64, len: u64, limit: usize) -> Option<Vec<u8>> {
    // A file that is shorter than it says does not make us take the memory.
    at.checked_add(len).filter(|end| file.metadata().is_ok_and(|file| *end <= file.len()))?;
    let mut bytes = vec![0; usize::try_from(len).ok().filter(|len| *len <= limit)?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests;
