//! UDP sockets of the kernel, which never wait: bound, asked for their addresses, with the errors that the network reports.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};

/// What can be set at a socket. Its value is a number: 0 and 1 for off and on, or as the option has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "of this workspace alone")]
pub enum SocketOption {
    /// Several sockets may have one address.
    ReuseAddress,
    /// Datagrams go to hosts of the local networks alone.
    DontRoute,
    /// Datagrams may go to broadcast addresses.
    Broadcast,
    /// Datagrams go out without a checksum; of IPv6 the kernel accepts none that come without.
    NoChecksum,
    /// How many routers a datagram may pass.
    Ttl,
    /// The type of service of IPv4, the traffic class of IPv6.
    Tos,
}

impl SocketOption {
    fn number(self, is_v6: bool) -> (i32, i32) {
        match self {
            SocketOption::ReuseAddress => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
            SocketOption::DontRoute => (libc::SOL_SOCKET, libc::SO_DONTROUTE),
            SocketOption::Broadcast => (libc::SOL_SOCKET, libc::SO_BROADCAST),
            SocketOption::NoChecksum => (libc::SOL_SOCKET, libc::SO_NO_CHECK),
            SocketOption::Ttl if is_v6 => (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
            SocketOption::Ttl => (libc::IPPROTO_IP, libc::IP_TTL),
            SocketOption::Tos if is_v6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            SocketOption::Tos => (libc::IPPROTO_IP, libc::IP_TOS),
        }
    }
}

/// An error that the network has reported about a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "of this workspace alone")]
pub struct Refused {
    /// Where the datagram was sent, if the kernel tells.
    pub destination: Option<SocketAddr>,
    /// The error number.
    pub errno: i32,
}

/// Makes a socket for the addresses of the family of `address`, and binds it. Errors of the network are kept for [`next_error`].
///
/// # Errors
/// What socket(2), setsockopt(2) and bind(2) report: `EADDRINUSE`, `EADDRNOTAVAIL` and `EACCES` among it.
pub fn bind(address: SocketAddr, options: &[(SocketOption, i32)]) -> io::Result<OwnedFd> {
    let socket = socket(address.ip())?;
    let (level, name) =
        if address.is_ipv6() { (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) } else { (libc::IPPROTO_IP, libc::IP_RECVERR) };
    set_number(socket.as_fd(), level, name, 1)?;
    for (option, value) in options {
        let (level, name) = option.number(address.is_ipv6());
        set_number(socket.as_fd(), level, name, *value)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

fn socket(family: IpAddr) -> io::Result<OwnedFd> {
    let is_v6 = family.is_ipv6();
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
    if is_v6 {
        set_number(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
    }
    Ok(socket)
}

/// Sets an option.
///
/// # Errors
/// What setsockopt(2) reports.
pub fn set(socket: BorrowedFd<'_>, option: SocketOption, value: i32) -> io::Result<()> {
    let (level, name) = option.number(local(socket)?.is_ipv6());
    set_number(socket, level, name, value)
}

/// The value of an option.
///
/// # Errors
/// What getsockopt(2) reports.
pub fn get(socket: BorrowedFd<'_>, option: SocketOption) -> io::Result<i32> {
    let (level, name) = option.number(local(socket)?.is_ipv6());
    let mut value = [0; 4];
    get_bytes(socket, level, name, &mut value)?;
    Ok(i32::from_ne_bytes(value))
}

/// The address to which a socket is bound.
///
/// # Errors
/// What getsockname(2) reports; `InvalidInput` if it is no socket of the internet's protocols.
pub fn local(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    Ok(SocketAddr::try_from(rustix::net::getsockname(socket)?)?)
}

/// Whether a descriptor is of a UDP socket.
pub fn is_udp(socket: BorrowedFd<'_>) -> bool {
    let mut protocol = [0; 4];
    let told = get_bytes(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL, &mut protocol);
    told.is_ok() && i32::from_ne_bytes(protocol) == libc::IPPROTO_UDP
}

/// The number by which the kernel knows the network namespace of a socket, for as long as the machine runs.
///
/// # Errors
/// What getsockopt(2) reports: `ENOPROTOOPT` before Linux 5.14.
pub fn namespace(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut cookie = [0; 8];
    get_bytes(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie)?;
    Ok(u64::from_ne_bytes(cookie))
}

/// <asm-generic/socket.h>
const SO_NETNS_COOKIE: i32 = 71;

/// The address from which a datagram goes to an address of this machine, in the namespace of that number; None: the destination is no
/// address of this machine, or not in the namespace of the calling thread.
pub fn source_within_machine(destination: SocketAddr, of_namespace: u64) -> Option<IpAddr> {
    let ip = destination.ip();
    if ip.is_multicast() || ip.is_unspecified() {
        return None;
    }
    let probe = socket(ip).ok()?;
    if namespace(probe.as_fd()).ok()? != of_namespace {
        return None;
    }
    // This sends nothing. The kernel refuses broadcast addresses here.
    rustix::net::connect(&probe, &destination).ok()?;
    let source = local(probe.as_fd()).ok()?.ip();
    // The source of what goes to an address of the machine is that address; of what goes to any other one, it is another.
    (source == ip || ip.is_loopback()).then_some(source)
}

/// Sends a datagram without waiting. False: there is no room.
///
/// # Errors
/// What sendto(2) reports, also of datagrams before: see [`next_error`].
pub fn send_to(socket: BorrowedFd<'_>, data: &[u8], destination: SocketAddr) -> io::Result<bool> {
    match rustix::net::sendto(socket, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &destination) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::NOBUFS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Receives a datagram without waiting, with its source. None: there is none.
///
/// # Errors
/// What recvfrom(2) reports, also of datagrams that were sent: see [`next_error`].
pub fn receive<'b>(
    socket: BorrowedFd<'_>,
    buffer: &'b mut [MaybeUninit<u8>],
) -> io::Result<Option<(&'b [u8], SocketAddr)>> {
    match rustix::net::recvfrom(socket, buffer, RecvFlags::DONTWAIT) {
        Ok(((data, _), _, source)) => {
            let source = source.and_then(|source| SocketAddr::try_from(source).ok());
            Ok(source.map(|source| (&*data, source)))
        }
        Err(rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Takes the first error that the network has reported; None: there is none.
pub fn next_error(socket: BorrowedFd<'_>) -> Option<Refused> {
    // Aligned for a cmsghdr.
    let mut control = [0_u64; 64];
    // SAFETY: all zeros is a value of both.
    let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) = unsafe { std::mem::zeroed() };
    header.msg_name = (&raw mut name).cast();
    header.msg_namelen = size_of_val(&name) as u32;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control);
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header describes the name and the control buffer, which live through the call; it has no data.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) } < 0 {
        return None;
    }
    let mut errno = 0;
    // SAFETY: the kernel has filled the control buffer and set its length; the macros stay within that.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while !message.is_null() {
            let kind = ((*message).cmsg_level, (*message).cmsg_type);
            let is_error =
                [(libc::IPPROTO_IP, libc::IP_RECVERR), (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)].contains(&kind);
            if is_error && (*message).cmsg_len >= size_of::<libc::sock_extended_err>() {
                errno = libc::CMSG_DATA(message).cast::<libc::sock_extended_err>().read_unaligned().ee_errno;
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    Some(Refused { destination: address_of(&name), errno: errno.cast_signed() })
}

fn address_of(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer = std::ptr::from_ref(name);
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: a sockaddr_storage is as large and aligned as any address, and every content is a value.
            let name = unsafe { &*pointer.cast::<libc::sockaddr_in>() };
            Some(SocketAddr::from((name.sin_addr.s_addr.to_ne_bytes(), u16::from_be(name.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*pointer.cast::<libc::sockaddr_in6>() };
            let ip = name.sin6_addr.s6_addr.into();
            let (port, flow) = (u16::from_be(name.sin6_port), u32::from_be(name.sin6_flowinfo));
            Some(std::net::SocketAddrV6::new(ip, port, flow, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn set_number(socket: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    let bytes = value.to_ne_bytes();
    // SAFETY: the bytes are those of the length.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, bytes.as_ptr().cast(), bytes.len() as u32) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn get_bytes(socket: BorrowedFd<'_>, level: i32, name: i32, bytes: &mut [u8]) -> io::Result<()> {
    let mut len = bytes.len() as u32;
    // SAFETY: the kernel writes at most `len` bytes, which are there.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &raw mut len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> (OwnedFd, SocketAddr) {
        let socket = bind("127.0.0.1:0".parse().unwrap(), &[]).unwrap();
        let address = local(socket.as_fd()).unwrap();
        (socket, address)
    }

    #[test]
    fn a_datagram_comes_with_its_source() {
        let ((one, from), (two, to)) = (bound(), bound());
        assert!(send_to(one.as_fd(), b"hello", to).unwrap());
        let mut buffer = [MaybeUninit::uninit(); 16];
        assert_eq!(receive(two.as_fd(), &mut buffer).unwrap(), Some((&b"hello"[..], from)));
        assert_eq!(receive(two.as_fd(), &mut buffer).unwrap(), None);
    }

    #[test]
    fn an_unreachable_port_is_reported_with_its_address() {
        let ((one, _), (two, to)) = (bound(), bound());
        drop(two);
        assert_eq!(next_error(one.as_fd()), None);
        assert!(send_to(one.as_fd(), b"hello", to).unwrap());
        let refused = Refused { destination: Some(to), errno: libc::ECONNREFUSED };
        assert_eq!(next_error(one.as_fd()), Some(refused));
        assert_eq!(next_error(one.as_fd()), None);
    }

    #[test]
    fn only_addresses_of_the_machine_are_within_it() {
        let (one, _) = bound();
        let of = namespace(one.as_fd()).unwrap();
        let source = |text: &str| source_within_machine(text.parse().unwrap(), of);
        assert_eq!(source("127.0.0.1:9"), Some("127.0.0.1".parse().unwrap()));
        for other in ["255.255.255.255:9", "224.0.0.1:9", "0.0.0.0:9", "192.0.2.77:9"] {
            assert_eq!(source(other), None, "{other}");
        }
        assert_eq!(source_within_machine("127.0.0.1:9".parse().unwrap(), of.wrapping_add(1)), None);
    }

    #[test]
    fn an_option_has_the_value_that_was_set() {
        let (one, _) = bound();
        for (option, value) in [(SocketOption::Ttl, 7), (SocketOption::Tos, 16), (SocketOption::NoChecksum, 1)] {
            set(one.as_fd(), option, value).unwrap();
            assert_eq!(get(one.as_fd(), option).unwrap(), value, "{option:?}");
        }
    }
}
