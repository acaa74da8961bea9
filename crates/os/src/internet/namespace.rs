//! Network namespaces of sockets, and tests whether an address belongs to this machine.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use super::setting::{get_bytes, word};
use super::{Kind, open, own_address};

/// Returns whether a descriptor refers to a UDP socket.
pub fn is_udp(socket: BorrowedFd<'_>) -> bool {
    word(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL).is_ok_and(|protocol| protocol == libc::IPPROTO_UDP)
}

/// Returns the kernel's number (cookie) of a socket's network namespace. It is not reused while the machine runs.
///
/// # Errors
/// The errors of getsockopt(2): `ENOPROTOOPT` before Linux 5.14.
pub fn namespace(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut cookie = [0; 8];
    get_bytes(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie)?;
    Ok(u64::from_ne_bytes(cookie))
}

/// <asm-generic/socket.h>
const SO_NETNS_COOKIE: i32 = 71;

/// Returns the source address of a datagram that is sent to an address of this machine in the namespace `of_namespace`.
/// Returns `None` if the destination is not an address of this machine, or if the calling thread is in another namespace.
pub fn source_within_machine(destination: SocketAddr, of_namespace: u64) -> Option<IpAddr> {
    let ip = destination.ip();
    if ip.is_multicast() || ip.is_unspecified() {
        return None;
    }
    let probe = open(Kind::Datagrams, ip.is_ipv6()).ok()?;
    if namespace(probe.as_fd()).ok()? != of_namespace {
        return None;
    }
    // This sends nothing. The kernel refuses broadcast addresses here.
    rustix::net::connect(&probe, &destination).ok()?;
    let source = own_address(probe.as_fd()).ok()?.ip();
    // A datagram to an address of this machine has that address as its source. To any other address it has another source.
    (source == ip || ip.is_loopback()).then_some(source)
}

#[cfg(test)]
mod tests {
    use super::super::tests::bound;
    use super::*;

    #[test]
    fn only_local_addresses_are_within_the_machine() {
        let one = bound(Kind::Datagrams, false);
        let own = namespace(one.as_fd()).unwrap();
        let source = |text: &str| source_within_machine(text.parse().unwrap(), own);
        assert_eq!(source("127.0.0.1:9"), Some("127.0.0.1".parse().unwrap()));
        for other in ["255.255.255.255:9", "224.0.0.1:9", "0.0.0.0:9", "192.0.2.77:9"] {
            assert_eq!(source(other), None, "{other}");
        }
        assert_eq!(source_within_machine("127.0.0.1:9".parse().unwrap(), own.wrapping_add(1)), None);
    }

    #[test]
    fn is_udp_tells_udp_from_tcp() {
        assert!(is_udp(bound(Kind::Datagrams, true).as_fd()));
        assert!(!is_udp(bound(Kind::Connections, false).as_fd()));
    }
}
