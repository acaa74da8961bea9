//! A mailbox: a FIFO in a directory, in the kernel's packet mode. Any process that may use the directory puts packets into it
//! without waiting; a process that holds it open takes them out, one at a time.
//!
//! The kernel keeps each packet whole, whichever of several senders is killed or stopped, and throws the packets away when
//! the last process that holds the mailbox has ended. A sender holds it only during the call.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, mknodat, openat};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;

use crate::file_facts::is_nonblocking;
use crate::files::remove_at;

/// Longest packet in bytes: PIPE_BUF, up to which the kernel writes all or nothing.
pub const PACKET_MAX: usize = 4096;
/// Size asked for, bytes: the most that a user without privileges gets unless the administrator has changed it. Each packet
/// takes a page of 4096 bytes, so 256 packets fit.
const SIZE: usize = 1 << 20;

/// Makes an empty mailbox for this user alone in place of what is there, and opens it for receiving.
///
/// # Errors
/// The errors of unlink(2), mknod(2) and open(2).
pub fn make_at(directory: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    remove_at(&directory, name)?;
    mknodat(&directory, name, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let mailbox = open_at(directory, name)?;
    // A user who has many large pipes gets a small one.
    let _ = fcntl_setpipe_size(&mailbox, SIZE);
    Ok(mailbox)
}

/// Puts a packet into the mailbox of that name, without waiting. False if it is full. If no process has the mailbox open for
/// receiving, the packet is lost: a sender cannot tell.
///
/// # Errors
/// `InvalidInput` for an empty packet, for one longer than [`PACKET_MAX`], and if the name is of something else; `NotFound`; what
/// open(2) and write(2) report.
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

/// Takes the first packet out of a mailbox, without waiting. Returns its length; None if there is none. What does not fit the
/// buffer is lost.
///
/// # Errors
/// `InvalidInput` for a file at which a read would wait; the errors of read(2).
pub fn receive(mailbox: impl AsFd, packet: &mut [u8]) -> io::Result<Option<usize>> {
    if !is_nonblocking(&mailbox)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no mailbox: a read would wait"));
    }
    match rustix::io::read(mailbox, packet) {
        Err(Errno::AGAIN) => Ok(None),
        count => Ok(Some(count?).filter(|count| *count != 0)),
    }
}

/// For reading and writing: so a sender that loses its receiver gets no SIGPIPE, and a receiver sees no end of the file.
fn open_at(directory: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mailbox = openat(directory, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&mailbox)?.st_mode) != FileType::Fifo {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no FIFO"));
    }
    Ok(mailbox)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::find_directory;

    #[test]
    fn packets_stay_whole_and_a_full_mailbox_refuses() {
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
        // What is there already is replaced, and what is no FIFO is refused.
        drop(make_at(&directory, "box").expect("make"));
        std::fs::write(path.join("file"), "").expect("write");
        assert_eq!(send_at(&directory, "file", b"x").expect_err("a file").kind(), io::ErrorKind::InvalidInput);
        std::fs::remove_dir_all(&path).expect("remove");
    }
}
