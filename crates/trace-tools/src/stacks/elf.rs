//! The ELF file (elf(5)) that a trace means, if it is still there.
//!
//! The file may be anything: every number in it is checked, and what is read at once has a limit.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use headwater_os::plain_file;
use object::LittleEndian as Le;
use object::elf::{self, FileHeader64, Ident, ProgramHeader64};
use object::pod::{self, Pod};
use object::read::elf::NoteIterator;

/// Program headers, sections and bytes of notes that are read.
const HEADERS_MAX: u64 = 1 << 16;

/// By what the trace says that it means a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub path: Vec<u8>,
    /// In hexadecimal digits; empty without one.
    pub build_id: String,
    /// When its inode was changed last, in nanoseconds since 1970; 0: unknown.
    pub changed: u64,
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
    pub(super) fn open(&self) -> Result<File, Unknown> {
        if self.build_id.is_empty() && self.changed == 0 || !self.path.starts_with(b"/") {
            return Err(Unknown::Unnamed);
        }
        let file = plain_file::open(Path::new(OsStr::from_bytes(&self.path))).map_err(|_| Unknown::Replaced)?;
        let is_same = match self.build_id.is_empty() {
            true => changed(&file) == Some(self.changed),
            false => Elf::of(&file).and_then(|elf| elf.build_id()).is_some_and(|id| id.starts_with(&self.build_id)),
        };
        if is_same { Ok(file) } else { Err(Unknown::Replaced) }
    }

    /// The file in which a distribution has the symbols that it has removed from this one.
    pub(super) fn debug_file(&self) -> Option<File> {
        let (first, rest) = self.build_id.split_at_checked(2).filter(|(_, rest)| rest.len() >= 6)?;
        let file = plain_file::open(&PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"))).ok()?;
        Elf::of(&file)?.build_id().is_some_and(|id| id == self.build_id).then_some(file)
    }
}

pub(super) fn changed(file: &File) -> Option<u64> {
    let metadata = file.metadata().ok()?;
    let nanoseconds = u64::try_from(metadata.ctime_nsec()).ok()?;
    u64::try_from(metadata.ctime()).ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// The head of an ELF file of 64 bits, little-endian.
pub(super) struct Elf<'a> {
    file: &'a File,
    pub(super) header: FileHeader64<Le>,
}

impl Elf<'_> {
    pub(super) fn of(file: &File) -> Option<Elf<'_>> {
        let header: FileHeader64<Le> = *table(file, 0, 1)?.first()?;
        let Ident { magic, class, data, .. } = header.e_ident;
        let is_read = magic == elf::ELFMAG && class == elf::ELFCLASS64 && data == elf::ELFDATA2LSB;
        is_read.then_some(Elf { file, header })
    }

    pub(super) fn segments(&self) -> Option<Vec<ProgramHeader64<Le>>> {
        table(self.file, self.header.e_phoff.get(Le), self.header.e_phnum.get(Le).into())
    }

    /// The address at which its beginning is linked.
    pub(super) fn begin(&self) -> Option<u64> {
        let segments = self.segments()?;
        let is_first =
            |segment: &&ProgramHeader64<Le>| segment.p_type.get(Le) == elf::PT_LOAD && segment.p_offset.get(Le) < 4096;
        Some(segments.iter().find(is_first)?.p_vaddr.get(Le) & !4095)
    }

    pub(super) fn build_id(&self) -> Option<String> {
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
pub(super) fn table<T: Pod>(file: &File, at: u64, count: u64) -> Option<Vec<T>> {
    let count = usize::try_from(count).ok().filter(|count| *count as u64 <= HEADERS_MAX)?;
    let mut bytes = vec![0; count.checked_mul(size_of::<T>())?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(pod::slice_from_bytes(&bytes, count).ok()?.0.to_vec())
}
