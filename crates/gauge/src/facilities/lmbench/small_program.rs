//! A small static program that exits at once with a status of its own. Used by the operations that execute a program.
//!
//! There may be no compiler where Headwater runs, and Headwater's own program is large. So the file is written byte by
//! byte: the ELF file header, the program headers of a segment and of the stack (System V ABI, chapters 4 and 5), and
//! the two or three instructions of `exit(2)`. A linker produces the same. The kernel loads it like any other program.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The exit status of the program. No other program that the check could run exits with it.
const CODE: i32 = 42;

/// The instructions of `exit(42)`, and the ELF number of the architecture.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<(u16, &[u8])> = Some((
    62,
    &[
        0xbf, 42, 0, 0, 0, // mov edi, 42
        0xb8, 60, 0, 0, 0, // mov eax, 60
        0x0f, 0x05, // syscall
    ],
));

/// The instructions of `exit(42)`, and the ELF number of the architecture.
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<(u16, &[u8])> = Some((
    183,
    &[
        0x40, 0x05, 0x80, 0xd2, // mov x0, #42
        0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93
        0x01, 0x00, 0x00, 0xd4, // svc #0
    ],
));

/// Not available for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<(u16, &[u8])> = None;

/// The address of the segment: where linkers put static programs of x86-64.
const ADDRESS: u64 = 0x40_0000;

/// Sizes in bytes of the file header and of a program header.
const FILE_HEADER: u64 = 64;
const SEGMENT_HEADER: u64 = 56;

/// The program, in a file that is removed on drop.
#[derive(Debug)]
pub struct SmallProgram {
    path: PathBuf,
}

impl SmallProgram {
    /// Writes the program into the launch's directory, and runs it once.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed, or if there is no program for this architecture.
    pub fn make(job: &Job) -> Result<SmallProgram, Unavailable> {
        let Some((machine, code)) = MACHINE else {
            return Err(Unavailable("the small static program is not written for this kind of CPU".to_owned()));
        };
        let program = SmallProgram { path: job.directory.join(format!("{}-program", job.token)) };
        let refused = |what: &str, error| Unavailable::call(&format!("{what} {}", program.path.display()), error);
        write(&program.path, &image(machine, code)).map_err(|error| refused("write", error))?;
        // Run it, to learn why the kernel may refuse: the directory may be mounted `noexec`.
        let status = Command::new(&program.path).status().map_err(|error| refused("execve", error))?;
        check(status).map_err(|error| refused("run", error))?;
        Ok(program)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SmallProgram {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Checks that a process that ended with this status was the program.
///
/// # Errors
/// How it ended instead.
pub fn check(status: ExitStatus) -> io::Result<()> {
    match status.code() {
        Some(CODE) => Ok(()),
        _ => Err(io::Error::other(format!("the small program ends with {CODE}, but this was: {status}"))),
    }
}

fn write(path: &Path, image: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o700).open(path)?.write_all(image)
}

/// Returns the bytes of the file: the headers and the code, as one readable and executable segment.
fn image(machine: u16, code: &[u8]) -> Vec<u8> {
    let start = FILE_HEADER + 2 * SEGMENT_HEADER;
    let length = start + code.len() as u64;
    let mut image = Vec::with_capacity(length as usize);
    let mut put = |bytes: &[u8]| image.extend_from_slice(bytes);
    // Magic, 64 bits, little endian, version 1; padded to 16 bytes.
    put(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // Type executable (2), architecture, version 1.
    put(&2u16.to_le_bytes());
    put(&machine.to_le_bytes());
    put(&1u32.to_le_bytes());
    // Entry point; offset of the program headers; no section headers; no flags.
    put(&(ADDRESS + start).to_le_bytes());
    put(&FILE_HEADER.to_le_bytes());
    put(&0u64.to_le_bytes());
    put(&0u32.to_le_bytes());
    // Sizes and numbers of the headers: file, program headers (two), section headers (none).
    for value in [FILE_HEADER as u16, SEGMENT_HEADER as u16, 2, 0, 0, 0] {
        put(&value.to_le_bytes());
    }
    // A loadable segment (1), readable and executable (4 + 1): the whole file.
    put(&1u32.to_le_bytes());
    put(&5u32.to_le_bytes());
    for value in [0, ADDRESS, ADDRESS, length, length, 0x1000] {
        put(&value.to_le_bytes());
    }
    // The stack, readable and writable (4 + 2).
    put(&0x6474_e551_u32.to_le_bytes());
    put(&6u32.to_le_bytes());
    for value in [0, 0, 0, 0, 0, 16] {
        put(&u64::to_le_bytes(value));
    }
    put(code);
    image
}
