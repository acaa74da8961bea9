//! The cookies of local sockets by inode. `/proc/PID/fd` shows the inode of another process's socket, but the memory of a stream
//! names its doorbells by cookie.
//!
//! A single query to the kernel returns all local sockets of the network namespace, without opening them (NETLINK_SOCK_DIAG,
//! unix_diag). Called by the inspection of streams.

use std::collections::HashMap;
use std::io;

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Constants of linux/netlink.h and linux/sock_diag.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const AF_UNIX: u8 = 1;
/// The length of a netlink header in bytes.
const HEADER: usize = 16;
/// The length of a `unix_diag_msg` in bytes.
const SOCKET: usize = 16;

/// Returns the cookie of each local socket of this network namespace, by inode.
///
/// # Errors
/// `NotFound` if the kernel has no unix_diag; another error if a filter refuses the socket.
pub fn all() -> io::Result<HashMap<u64, u64>> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    rustix::net::sendto(&socket, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut cookies = HashMap::new();
    // The kernel sends at most 32 KiB at a time.
    let mut packet = vec![0; 64 << 10];
    loop {
        let (count, _) = match rustix::net::recv(&socket, &mut packet[..], RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => continue,
            received => received?,
        };
        if count == 0 || read_packet(&packet[..count], &mut cookies)? {
            return Ok(cookies);
        }
    }
}

/// The length of a request in bytes: a header, then a `unix_diag_req`.
const REQUEST: usize = HEADER + 24;

/// Returns a request for all local sockets in all states.
fn request() -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    bytes[HEADER] = AF_UNIX;
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&u32::MAX.to_ne_bytes());
    bytes
}

/// Reads the messages of a packet. Returns whether it was the last one.
fn read_packet(mut packet: &[u8], cookies: &mut HashMap<u64, u64>) -> io::Result<bool> {
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map_or(0, |word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
    };
    while packet.len() >= HEADER {
        let len = word(packet, 0) as usize;
        if len < HEADER || len > packet.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let message = &packet[HEADER..len];
        match u16::from_ne_bytes([packet[4], packet[5]]) {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => return Err(io::Error::from_raw_os_error(0i32.wrapping_sub(word(message, 0) as i32))),
            SOCK_DIAG_BY_FAMILY if message.len() >= SOCKET => {
                let cookie = u64::from(word(message, 8)) | u64::from(word(message, 12)) << 32;
                cookies.insert(word(message, 4).into(), cookie);
            }
            _ => {}
        }
        packet = &packet[len.next_multiple_of(4).min(packet.len())..];
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::descriptors::inode;

    #[test]
    fn cookie_is_found_by_inode() {
        let (near, far) = UnixStream::pair().expect("pair");
        let cookies = all().expect("unix_diag");
        for socket in [&near, &far] {
            let own = rustix::net::sockopt::socket_cookie(socket).expect("SO_COOKIE");
            assert_eq!(cookies.get(&inode(socket).expect("fstat")), Some(&own));
        }
    }

    #[test]
    fn invalid_packets_are_refused() {
        let mut cookies = HashMap::new();
        assert!(read_packet(&[0xff; 40], &mut cookies).is_err());
        assert!(read_packet(&[0; 40], &mut cookies).is_err());
        assert!(!read_packet(&[1; 15], &mut cookies).expect("too short for a message"));
    }
}
