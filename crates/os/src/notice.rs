//! Notices to the user of a program: lines on standard error, each kind once in a process. They report facts that the program
//! does not learn, because its calls succeed. Writing a notice never waits, raises no signal, and never writes to a stream.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::net::{SendFlags, SocketType, sockopt};

use crate::descriptors::FOR_ALL;
use crate::doorbell::pipe::quietly;

/// The longest line in bytes. A writable pipe takes this many without waiting.
const LINE_MAX: usize = 4096;

/// A kind of notice, which is given at most once in a process.
#[derive(Debug, Default)]
pub struct Notice(AtomicBool);

impl Notice {
    /// Makes a kind of notice that was not given yet.
    pub const fn new() -> Notice {
        Notice(AtomicBool::new(false))
    }

    /// Writes a line, unless a notice of this kind was written before, or standard error does not take it now.
    pub fn give(&self, text: &str) {
        if self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut line = format!("headwater: {text}\n");
        if line.len() > LINE_MAX {
            line.truncate(line.floor_char_boundary(LINE_MAX - 1));
            line.push('\n');
        }
        // SAFETY: only borrowed for system calls, which fail if the descriptor is not open.
        let standard_error = unsafe { BorrowedFd::borrow_raw(2) };
        write(standard_error, line.as_bytes());
    }
}

/// Writes a line to a file, unless that would wait, raise a signal, or write to a stream. Otherwise the line is lost.
fn write(file: BorrowedFd<'_>, line: &[u8]) {
    let Ok(status) = rustix::fs::fstat(file) else { return };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::from_borrowed_fd(file, PollFlags::OUT)];
    if poll(&mut polled, Some(&now)).is_err() || polled[0].revents() != PollFlags::OUT {
        return;
    }
    match FileType::from_raw_mode(status.st_mode) {
        // An end of a stream is a packet socket, or a pipe with the permissions FOR_ALL.
        FileType::Socket if sockopt::socket_type(file) != Ok(SocketType::SEQPACKET) => {
            let _ = rustix::net::send(file, line, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        FileType::Fifo if status.st_mode & 0o777 != FOR_ALL => {
            let _ = quietly(|| rustix::io::write(file, line).map(drop));
        }
        FileType::CharacterDevice | FileType::RegularFile => {
            let _ = rustix::io::write(file, line);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::doorbell::Doorbell;
    use crate::files;

    #[test]
    fn line_is_written_to_files_but_not_to_streams() {
        let (source, sink) = files::pipe().expect("pipe");
        write(sink.as_fd(), b"to a pipe\n");
        drop(sink);
        let mut read = String::new();
        std::fs::File::from(source).read_to_string(&mut read).expect("text");
        assert_eq!(read, "to a pipe\n");
        let (near, mut far) = UnixStream::pair().expect("pair");
        write(near.as_fd(), b"to a socket\n");
        drop(near);
        read.clear();
        far.read_to_string(&mut read).expect("text");
        assert_eq!(read, "to a socket\n");
        // A pipe without a reader causes neither an error nor a signal.
        let (source, sink) = files::pipe().expect("pipe");
        drop(source);
        write(sink.as_fd(), b"x");
        // A full pipe is not waited for.
        let (_source, sink) = files::pipe().expect("pipe");
        rustix::io::ioctl_fionbio(&sink, true).expect("a pipe");
        while rustix::io::write(&sink, &[0; 4096]).is_ok() {}
        rustix::io::ioctl_fionbio(&sink, false).expect("a pipe");
        write(sink.as_fd(), b"x");
        let (near, far) = Doorbell::pair().expect("pair");
        write(near.as_fd(), b"x");
        assert_eq!(rustix::io::ioctl_fionread(&far).expect("a socket"), 0);
        let (source, sink) = files::shared_pipe().expect("pipe");
        write(sink.as_fd(), b"x");
        assert_eq!(rustix::io::ioctl_fionread(&source).expect("a pipe"), 0);
    }
}
