//! The identity of a mapped file: the linker's build id, and the time of the file's last change. It identifies the file later,
//! when another file may have its name.
//!
//! For the tracer, also in signal handlers. Another thread may unmap the file meanwhile, so the kernel reads the memory.

use std::ffi::CStr;
use std::os::fd::{IntoRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io::{close, pread};

use super::Module;

/// The largest number of bytes of a build id that are kept. It is the size of a SHA-1, the longest id that linkers make by default.
pub const BUILD_ID_MAX: usize = 20;

/// The number of bytes that are read from the beginning of a file: room for 17 program headers.
const HEAD: usize = 1024;

/// The identity of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity {
    /// The beginning of the build id (`NT_GNU_BUILD_ID`).
    pub build_id: [u8; BUILD_ID_MAX],
    /// The number of bytes in use in `build_id`; 0 without a build id.
    pub build_id_len: usize,
    /// The last change of the inode (ctime), in nanoseconds since 1970; 0 if the path does not lead to the mapped file.
    pub changed: u64,
}

impl Identity {
    /// Returns the beginning of the build id; empty without one.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id[..self.build_id_len.min(BUILD_ID_MAX)]
    }
}

impl Module<'_> {
    /// Returns the identity of the module's file. Allocates nothing.
    pub fn identity(&self) -> Identity {
        let mut identity = Identity { changed: changed(self).unwrap_or(0), ..Identity::default() };
        Memory::open().read_build_id(self.base, &mut identity);
        identity
    }
}

/// The file /proc/self/mem, through which memory is read without a fault; `None` if it cannot be opened.
struct Memory(Option<OwnedFd>);

impl Memory {
    fn open() -> Memory {
        Memory(open(c"/proc/self/mem", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok())
    }

    /// Reads as many bytes at an address as can be read.
    fn read<'b>(&self, address: u64, into: &'b mut [u8]) -> Option<&'b [u8]> {
        let len = pread(self.0.as_ref()?, &mut *into, address).ok()?;
        into.get(..len)
    }

    fn read_build_id(&self, base: u64, identity: &mut Identity) -> Option<()> {
        let (mut head, mut notes) = ([0; HEAD], [0; 256]);
        let head = self.read(base, &mut head)?;
        // An ELF file, little-endian, with 64-bit addresses.
        head.starts_with(b"\x7fELF\x02\x01").then_some(())?;
        let first = usize::try_from(number(head, 32, 8)?).ok()?;
        let headers = head.get(first..)?.chunks_exact(56).take(number(head, 56, 2)? as usize);
        let mut begin = None;
        for header in headers {
            const LOAD: u64 = 1;
            const NOTE: u64 = 4;
            let (kind, address, bytes) = (number(header, 0, 4)?, number(header, 16, 8)?, number(header, 32, 8)?);
            if kind == LOAD {
                begin.get_or_insert(address & !4095);
            }
            if kind == NOTE {
                // Notes are in the first loaded segment. The header of that segment comes before, or the segment begins at 0.
                let at = base.wrapping_add(address).wrapping_sub(begin.unwrap_or(0));
                let len = notes.len().min(bytes as usize);
                let found = self.read(at, &mut notes[..len]).and_then(|notes| build_id(notes, number(header, 48, 8)?));
                if let Some(id) = found {
                    identity.build_id_len = id.len().min(BUILD_ID_MAX);
                    identity.build_id[..identity.build_id_len].copy_from_slice(&id[..identity.build_id_len]);
                    return Some(());
                }
            }
        }
        None
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(memory) = self.0.take() {
            // SAFETY: this value owns the descriptor, which is not used any more. `OwnedFd` is not dropped, because that calls
            // close(3) of the C library, which the program may have replaced, also by ours.
            unsafe { close(memory.into_raw_fd()) };
        }
    }
}

/// Returns the build id among these notes. `align` is their alignment.
fn build_id(notes: &[u8], align: u64) -> Option<&[u8]> {
    const BUILD_ID: u64 = 3;
    let align = if align == 8 { 8 } else { 4 };
    let mut rest = notes;
    loop {
        let [name, len, kind] = [number(rest, 0, 4)?, number(rest, 4, 4)?, number(rest, 8, 4)?];
        let at = 12_usize.checked_add((name as usize).next_multiple_of(4))?.next_multiple_of(align);
        let content = rest.get(at..)?.get(..len as usize)?;
        if kind == BUILD_ID && rest.get(12..16) == Some(b"GNU\0") {
            return Some(content);
        }
        rest = rest.get((at + content.len()).next_multiple_of(align)..)?;
    }
}

/// Reads a little-endian number.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.get(..len)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// Returns the time of the last change of the module's file, if its path leads to it.
fn changed(module: &Module<'_>) -> Option<u64> {
    let mut path = [0; HEAD];
    path.get_mut(..module.path.len())?.copy_from_slice(module.path);
    let path = CStr::from_bytes_until_nul(&path).ok().filter(|_| module.path.starts_with(b"/"))?;
    let status = stat(path).ok().filter(|status| status.st_ino == module.inode)?;
    u64::try_from(status.st_ctime).ok()?.checked_mul(1_000_000_000)?.checked_add(status.st_ctime_nsec)
}

#[cfg(test)]
mod tests;
