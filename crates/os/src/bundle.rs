//! Several descriptors passed as one: a socket in which they wait. A program that gets one descriptor, by SCM_RIGHTS or otherwise,
//! gets all that belongs to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::descriptors;
use crate::file_facts::is_local_pair;

/// The first packet's bytes: no other socket has them by chance.
const MAGIC: &[u8; 32] = b"headwater bundle of descriptors\n";

/// Makes a descriptor that stands for these, at most twelve.
///
/// # Errors
/// `EMFILE` without two free descriptors; `InvalidInput` for more than twelve.
pub fn make(files: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
    let (inside, outside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    descriptors::send_with(inside.as_fd(), MAGIC, files)?;
    Ok(outside)
}

/// Returns copies of the descriptors for which one stands; None if it is another file. The descriptor is left as it is until
/// [`empty`] is called.
///
/// # Errors
/// `EMFILE` without so many free descriptors; the errors of recvmsg(2).
pub fn open(file: BorrowedFd<'_>) -> io::Result<Option<Vec<OwnedFd>>> {
    if !is_local_pair(file) {
        return Ok(None);
    }
    let mut bytes = [0; MAGIC.len() + 1];
    // A socket of the program's keeps its packets: they are only looked at first.
    match rustix::net::recv(file, &mut bytes[..], rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT) {
        Ok((len, _)) if bytes[..len] == MAGIC[..] => {}
        _ => return Ok(None),
    }
    Ok(Some(descriptors::peek_all(file, &mut bytes)?.1))
}

/// Takes out the descriptors for which one stands: from now on it stands for nothing. Of a descriptor from [`open`].
pub fn empty(file: BorrowedFd<'_>) {
    // Without room for descriptors the kernel closes them.
    let _ = rustix::net::recv(file, &mut [0; 1][..], rustix::net::RecvFlags::DONTWAIT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_come_out_as_they_went_in_and_other_sockets_are_left_alone() {
        let (source, sink) = io::pipe().expect("pipe");
        let bundle = make(&[source.as_fd(), sink.as_fd()]).expect("room");
        let inodes =
            |files: &[OwnedFd]| files.iter().map(|file| descriptors::inode(file).expect("fstat")).collect::<Vec<_>>();
        let wanted = [descriptors::inode(&source).expect("fstat"), descriptors::inode(&sink).expect("fstat")];
        for _ in 0..2 {
            assert_eq!(inodes(&open(bundle.as_fd()).expect("room").expect("a bundle")), wanted);
        }
        empty(bundle.as_fd());
        assert!(open(bundle.as_fd()).expect("asked").is_none(), "it was emptied");
        assert!(open(source.as_fd()).expect("asked").is_none());
        let (near, far) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("pair");
        descriptors::send(near.as_fd(), &[source.as_fd()]).expect("room");
        assert!(open(far.as_fd()).expect("asked").is_none());
        assert_eq!(descriptors::receive(far.as_fd()).expect("it is still there").len(), 1);
    }
}
