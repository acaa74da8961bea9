//! Raw packets with raw control messages, as no user of the library would send them.

use std::mem::zeroed;
use std::os::fd::RawFd;

use headwater_os::doorbell::Doorbell;

/// The beginning of every packet of the library.
const TEXT: &str = "headwater: this descriptor is one end of a STREAMS pipe, and its data is in shared memory (see headwater_streams). ";

/// Descriptors that the kernel takes in one packet.
pub const FILES_MAX: usize = 253;

/// A packet of the library's form: `b` a bell, `r` no room, `e` an echo, `f` a file.
pub fn packet(kind: char, number: u32) -> Vec<u8> {
    let mut bytes = format!("{TEXT}{kind}{number:08x}\n").into_bytes();
    if kind == 'r' {
        bytes.extend([b'\n'; 4096]);
    }
    bytes
}

/// Sends a packet with descriptors, without waiting, and ignores the result.
pub fn send(socket: RawFd, bytes: &[u8], files: &[RawFd]) {
    let mut control = [0u64; 32 + FILES_MAX.div_ceil(2)];
    let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: a header of zeros is one without address, pieces and control; every pointer that is put into it leads to
    // a place that lives until the call is over, and the control buffer is large enough for all descriptors.
    unsafe {
        let mut header: libc::msghdr = zeroed();
        (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
        if !files.is_empty() {
            let len = size_of_val(files) as u32;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(len) as usize;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(len) as usize;
            libc::CMSG_DATA(first).cast::<RawFd>().copy_from_nonoverlapping(files.as_ptr(), files.len());
        }
        libc::sendmsg(socket, &raw const header, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    }
}

/// Takes a packet away, with the descriptors in it.
pub fn steal(socket: RawFd) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 5000];
    // SAFETY: room for as many bytes.
    let len = unsafe { libc::recv(socket, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
    bytes.truncate(usize::try_from(len).ok()?);
    Some(bytes)
}

/// Sets an option of the socket to a number.
pub fn set(socket: RawFd, option: i32, value: i32) {
    let len = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the option's value is read from a valid place.
    unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, option, (&raw const value).cast(), len) };
}

/// Lets through only the first bytes of each packet to this socket; with 0, nothing arrives.
pub fn cut(socket: RawFd, len: u32) {
    let mut code = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: len }];
    let program = libc::sock_fprog { len: 1, filter: code.as_mut_ptr() };
    let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: the kernel copies the program from a valid place.
    unsafe {
        libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program).cast(), size);
    }
}

#[test]
fn packets_are_of_the_library_s_form() {
    // Another test of this program counts descriptors.
    let _alone = crate::common::alone();
    use std::os::fd::{AsFd, AsRawFd};

    let (near, far) = Doorbell::pair().expect("pair");
    near.ring(0x0123_abcd);
    near.ask_echo();
    assert!(near.is_room_open().expect("poll"));
    near.block_room(7).expect("sent");
    let sent = || steal(far.as_fd().as_raw_fd()).expect("a packet");
    assert_eq!(sent(), packet('b', 0x0123_abcd));
    assert_eq!(sent(), packet('e', 0));
    assert_eq!(sent(), packet('r', 0));
}
