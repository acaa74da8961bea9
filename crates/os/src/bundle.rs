//! A bundle: one descriptor that stands for several. It is a socket in whose queue the others are. A program that receives the
//! one descriptor, by SCM_RIGHTS or otherwise, can take all of them out of it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::descriptors;
use crate::file_facts::is_local_pair;

/// The bytes of the packet, by which a bundle is recognized.
const MAGIC: &[u8; 32] = b"headwater bundle of descriptors\n";

/// Makes a bundle of up to twelve descriptors.
///
/// # Errors
/// `EMFILE` without two free descriptors; `InvalidInput` for more than twelve.
pub fn make(files: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
    let (inside, outside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    descriptors::send_with(inside.as_fd(), MAGIC, files)?;
    Ok(outside)
}

/// Returns copies of the descriptors in a bundle; `None` if the file is not a bundle. The bundle keeps its descriptors until
/// [`empty`] is called.
///
/// # Errors
/// `EMFILE` without enough free descriptors; the errors of recvmsg(2).
pub fn open(file: BorrowedFd<'_>) -> io::Result<Option<Vec<OwnedFd>>> {
    if !is_local_pair(file) {
        return Ok(None);
    }
    let mut bytes = [0; MAGIC.len() + 1];
    // Only peek: if the file is a socket of the program, its packets must stay.
    match rustix::net::recv(file, &mut bytes[..], rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT) {
        Ok((len, _)) if bytes[..len] == MAGIC[..] => {}
        _ => return Ok(None),
    }
    Ok(Some(descriptors::peek_all(file, &mut bytes)?.1))
}

/// Removes the descriptors from a bundle that [`open`] has recognized.
pub fn empty(file: BorrowedFd<'_>) {
    // The call has no room for descriptors, so the kernel closes them.
    let _ = rustix::net::recv(file, &mut [0; 1][..], rustix::net::RecvFlags::DONTWAIT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_returns_the_bundled_files_and_leaves_other_sockets_alone() {
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
