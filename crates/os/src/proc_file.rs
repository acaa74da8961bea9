//! Reading files of /proc without allocating: a signal handler may check whether a process is alive, and may have interrupted
//! the allocator.

use std::fmt;
use std::io::{self, Write};

use rustix::fd::OwnedFd;
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;

/// Returns whether the descriptors of this process have paths in /proc.
pub(crate) fn is_mounted() -> bool {
    rustix::fs::access("/proc/self/fd", Access::EXISTS).is_ok()
}

/// Returns the error of opening a file through a descriptor's path in /proc. If the path does not exist because /proc is not
/// mounted, the error says so.
#[cold]
pub(crate) fn not_opened(error: Errno) -> io::Error {
    if error == Errno::NOENT && !is_mounted() {
        let why = "/proc is not mounted here, and a file that is open is opened anew by its path there \
                   (mount -t proc proc /proc)";
        return io::Error::new(io::ErrorKind::NotFound, why);
    }
    error.into()
}

/// The longest path in bytes. All paths of /proc that are read here are shorter.
const PATH_MAX: usize = 64;

/// The first `MAX` bytes of a file.
pub(crate) struct Start<const MAX: usize> {
    bytes: [u8; MAX],
    len: usize,
}

impl<const MAX: usize> Start<MAX> {
    /// Reads the file at the path; `None` if it cannot be read.
    pub fn read(path: fmt::Arguments<'_>) -> Option<Start<MAX>> {
        let file = open(path)?;
        let mut start = Start { bytes: [0; MAX], len: 0 };
        loop {
            match read(&file, &mut start.bytes[start.len..])? {
                0 => return Some(start),
                count => start.len += count,
            }
        }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Returns whether `fits` accepts any line of the file. Lines are cut to 4096 bytes. Returns false if the file cannot be read.
pub(crate) fn any_line(path: fmt::Arguments<'_>, mut fits: impl FnMut(&[u8]) -> bool) -> bool {
    let Some(file) = open(path) else { return false };
    let (mut bytes, mut len, mut skips) = ([0; 4096], 0, false);
    loop {
        let Some(count @ 1..) = read(&file, &mut bytes[len..]) else { return len > 0 && !skips && fits(&bytes[..len]) };
        len += count;
        let mut begin = 0;
        while let Some(end) = bytes[begin..len].iter().position(|byte| *byte == b'\n') {
            if !std::mem::take(&mut skips) && fits(&bytes[begin..begin + end]) {
                return true;
            }
            begin += end + 1;
        }
        bytes.copy_within(begin..len, 0);
        len -= begin;
        if len == bytes.len() {
            // The rest of a long line is skipped.
            if !skips && fits(&bytes) {
                return true;
            }
            (len, skips) = (0, true);
        }
    }
}

fn open(path: fmt::Arguments<'_>) -> Option<OwnedFd> {
    let mut place = [0; PATH_MAX];
    let mut rest = &mut place[..];
    rest.write_fmt(path).ok()?;
    let len = PATH_MAX - rest.len();
    rustix::fs::open(&place[..len], OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Reads from the file; `None` on an error.
fn read(file: &OwnedFd, bytes: &mut [u8]) -> Option<usize> {
    loop {
        match rustix::io::read(file, &mut *bytes) {
            Err(Errno::INTR) => {}
            done => return done.ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_line_checks_each_line_once() {
        let path = std::env::temp_dir().join(format!("hw-lines-{}", std::process::id()));
        let long = "y".repeat(10_000);
        std::fs::write(&path, format!("first\n\n{long}\nlast but one\nlast")).expect("write");
        let mut lines = Vec::new();
        any_line(format_args!("{}", path.display()), |line| {
            lines.push(line.len());
            false
        });
        assert_eq!(lines, [5, 0, 4096, 12, 4]);
        assert!(any_line(format_args!("{}", path.display()), |line| line == b"last"));
        assert!(!any_line(format_args!("/proc/self/no-such-file"), |_| true));
        let start = Start::<8>::read(format_args!("{}", path.display())).expect("there");
        assert_eq!(start.bytes(), b"first\n\ny");
        std::fs::remove_file(&path).expect("there");
    }
}
