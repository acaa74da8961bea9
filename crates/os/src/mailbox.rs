//! A mailbox: a FIFO in a directory, in the kernel's packet mode. Any process that may use the directory can send packets
//! without waiting. A process that has the mailbox open receives them one at a time.
//!
//! The kernel keeps each packet whole, even if a sender is killed or stopped. It discards the packets when no process has the
//! mailbox open any more. A sender has it open only during the call.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, mknodat, openat};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;

use crate::file_facts::is_nonblocking;
use crate::files::remove_at;

/// The longest packet in bytes: PIPE_BUF, up to which the kernel writes all or nothing.
pub const PACKET_MAX: usize = 4096;
/// The requested size of the mailbox in bytes: the kernel's default limit for users without privileges. Each packet takes a
/// page of 4096 bytes, so 256 packets fit.
const SIZE: usize = 1 << 20;

/// Makes an empty mailbox for this user only, and opens it for receiving. Replaces a node of the same name.
///
/// # Errors
/// The errors of unlink(2), mknod(2) and open(2).
pub fn make_at(directory: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    remove_at(&directory, name)?;
    mknodat(&directory, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let mailbox = open_at(directory, name)?;
    // Fails if the user already has many large pipes. Then the mailbox is smaller.
    let _ = fcntl_setpipe_size(&mailbox, SIZE);
    Ok(mailbox)
}

/// Sends a packet to the mailbox of that name, without waiting. Returns false if the mailbox is full. If no process has the
/// mailbox open for receiving, the packet is lost, and the sender does not learn of it.
///
/// # Errors
/// `InvalidInput` if the packet is empty or longer than [`PACKET_MAX`], or if the node is not a FIFO; `NotFound`; the errors of
/// open(2) and write(2).
pub fn send_at(directory: impl AsFd, name: &str, packet: &[u8]) -> io::Result<bool> {
    if packet.is_empty() || packet.len() > PACKET_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a packet has 1 to {PACKET_MAX} bytes")));
    }
    let mailbox = open_at(directory, name)?;
    // Only fcntl(2) turns on the packet mode of a FIFO.
    fcntl_setfl(&mailbox, OFlags::NONBLOCK | OFlags::DIRECT)?;
    match rustix::io::write(&mailbox, packet) {
        Err(Errno::AGAIN) => Ok(false),
        written => Ok(written? == packet.len()),
    }
}

/// Takes the first packet out of a mailbox, without waiting. Returns its length; `None` if there is no packet. Bytes for which
/// the buffer has no room are lost.
///
/// # Errors
/// `InvalidInput` if the file is not non-blocking; the errors of read(2).
pub fn receive(mailbox: impl AsFd, packet: &mut [u8]) -> io::Result<Option<usize>> {
    if !is_nonblocking(&mailbox)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a mailbox: a read would wait"));
    }
    match rustix::io::read(mailbox, packet) {
        Err(Errno::AGAIN) => Ok(None),
        count => Ok(Some(count?).filter(|count| *count != 0)),
    }
}

/// Opens a FIFO for reading and writing. So a sender whose receiver is gone gets no SIGPIPE, and a receiver sees no end of file.
fn open_at(directory: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mailbox = openat(directory, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&mailbox)?.st_mode) != FileType::Fifo {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a FIFO"));
    }
    Ok(mailbox)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::find_directory;

    #[test]
    fn packets_stay_whole_and_a_full_mailbox_refuses_more() {
        let path = std::env::temp_dir().join(format!("headwater-mailbox-{}", std::process::id()));
        std::fs::create_dir(&path).expect("mkdir");
        let directory = find_directory(&path).expect("open");
        assert_eq!(send_at(&directory, "box", b"x").expect_err("none").kind(), io::ErrorKind::NotFound);
        let mailbox = make_at(&directory, "box").expect("make");
        let mut buffer = [0; PACKET_MAX];
        assert_eq!(receive(&mailbox, &mut buffer).expect("empty"), None);
        let long = [7; PACKET_MAX];
        for packet in [&b"first"[..], b"2", &long] {
            assert!(send_at(&directory, "box", packet).expect("room"));
        }
        for packet in [&b"first"[..], b"2", &long] {
            assert_eq!(receive(&mailbox, &mut buffer).expect("read"), Some(packet.len()));
            assert_eq!(&buffer[..packet.len()], packet);
        }
        let count = std::iter::from_fn(|| send_at(&directory, "box", b"x").expect("write").then_some(())).count();
        assert!(count >= 2, "{count}");
        for packet in [&[][..], &[0; PACKET_MAX + 1]] {
            assert_eq!(send_at(&directory, "box", packet).expect_err("length").kind(), io::ErrorKind::InvalidInput);
        }
        // An existing mailbox is replaced. A node that is not a FIFO is refused.
        drop(make_at(&directory, "box").expect("make"));
        std::fs::write(path.join("file"), "").expect("write");
        assert_eq!(send_at(&directory, "file", b"x").expect_err("a file").kind(), io::ErrorKind::InvalidInput);
        std::fs::remove_dir_all(&path).expect("remove");
    }
}
