//! Datagrams: sending and receiving them with fields of the packet header, and reports of those that were not delivered.

use std::io;
use std::mem;
use std::net::{SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::net::{SendFlags, sendto};

use super::control::Control;
use super::setting::{get_bytes, set_bytes, set_word};

const DONT_WAIT: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The options of an IPv4 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpOptions {
    bytes: [u8; IpOptions::MAX],
    len: usize,
}

impl IpOptions {
    /// The largest size of the options in bytes.
    pub const MAX: usize = 40;
    /// No options.
    pub const NONE: IpOptions = IpOptions { bytes: [0; IpOptions::MAX], len: 0 };

    /// Makes options from their bytes; `None` if there are more than [`IpOptions::MAX`].
    pub fn new(options: &[u8]) -> Option<IpOptions> {
        let mut bytes = [0; IpOptions::MAX];
        bytes.get_mut(..options.len())?.copy_from_slice(options);
        Some(IpOptions { bytes, len: options.len() })
    }

    /// Returns the options as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the options with which the socket sends every datagram.
    ///
    /// # Errors
    /// The errors of getsockopt(2).
    pub fn get(socket: BorrowedFd<'_>) -> io::Result<IpOptions> {
        let mut options = IpOptions::NONE;
        options.len = get_bytes(socket, libc::IPPROTO_IP, libc::IP_OPTIONS, &mut options.bytes)?.min(IpOptions::MAX);
        Ok(options)
    }

    /// Makes the socket send every datagram with these options.
    ///
    /// # Errors
    /// The errors of setsockopt(2): `InvalidInput` for bytes that are not options.
    pub fn set(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        set_bytes(socket, libc::IPPROTO_IP, libc::IP_OPTIONS, self.bytes())
    }
}

/// Fields of a datagram's packet header. A field without a value is as the settings of the socket say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "of this workspace alone")]
pub struct Fields {
    /// The type of service of IPv4, or the traffic class of IPv6.
    pub tos: Option<u8>,
    /// The number of routers that the packet may pass. Not known for a received packet.
    pub ttl: Option<u8>,
    /// The IP options. IPv4 only.
    pub options: IpOptions,
}

impl Fields {
    /// No field has a value.
    pub const USUAL: Fields = Fields { tos: None, ttl: None, options: IpOptions::NONE };
}

/// A report of the network about a datagram that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "of this workspace alone")]
pub struct Undelivered {
    /// The destination of the datagram, if the kernel reports it.
    pub destination: Option<SocketAddr>,
    /// The error (errno).
    pub errno: i32,
}

/// Makes the kernel report datagrams that were not delivered, and the header fields of received ones.
pub(super) fn prepare(socket: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    if is_v6 {
        set_word(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?;
        return set_word(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1);
    }
    for name in [libc::IP_RECVERR, libc::IP_RECVTOS, libc::IP_RECVOPTS] {
        set_word(socket, libc::IPPROTO_IP, name, 1)?;
    }
    Ok(())
}

/// Sends a datagram. Returns false if there is no room in the socket or in the network device.
///
/// # Errors
/// The errors of sendto(2), which may concern an earlier datagram; see [`undelivered`].
pub fn send_to(socket: BorrowedFd<'_>, data: &[u8], destination: SocketAddr) -> io::Result<bool> {
    was_sent(sendto(socket, data, DONT_WAIT, &destination).map(drop).map_err(io::Error::from))
}

fn was_sent(sent: io::Result<()>) -> io::Result<bool> {
    match sent {
        Ok(()) => Ok(true),
        Err(error) if [Some(libc::EAGAIN), Some(libc::ENOBUFS)].contains(&error.raw_os_error()) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sends a datagram with these header fields.
///
/// # Errors
/// Those of [`send_to`].
pub fn send_with(socket: BorrowedFd<'_>, data: &[u8], destination: SocketAddr, fields: &Fields) -> io::Result<bool> {
    let mut control = Control::new();
    let (level, tos, ttl) = if destination.is_ipv6() {
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::IPV6_HOPLIMIT)
    } else {
        (libc::IPPROTO_IP, libc::IP_TOS, libc::IP_TTL)
    };
    for (name, value) in [(tos, fields.tos), (ttl, fields.ttl)] {
        if let Some(value) = value {
            control.add(level, name, &i32::from(value).to_ne_bytes());
        }
    }
    if !fields.options.bytes().is_empty() {
        control.add(libc::IPPROTO_IP, libc::IP_RETOPTS, fields.options.bytes());
    }
    if control.is_empty() {
        return send_to(socket, data, destination);
    }
    let (mut name, len) = name_of(destination);
    let mut piece = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    // SAFETY: all zeros is a header without parts.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_name, header.msg_namelen) = ((&raw mut name).cast(), len);
    (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
    let (parts, len) = control.for_sending();
    (header.msg_control, header.msg_controllen) = (parts, len as _);
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the header describes the name, the data and the control part, which outlive the call; it changes none of them.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags) };
    was_sent(if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) })
}

/// Receives a datagram into the spare capacity of an emptied buffer. Returns its source, if the kernel reports it, and the
/// header fields that are not zero; `None` if there is no datagram.
///
/// # Errors
/// The errors of recvmsg(2), which may concern a datagram that was sent earlier; see [`undelivered`].
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<Option<(Option<SocketAddr>, Fields)>> {
    buffer.clear();
    let Some((len, source, control)) = received(socket, buffer.spare_capacity_mut(), 0)? else { return Ok(None) };
    // SAFETY: the kernel has written this many bytes into the spare capacity.
    unsafe { buffer.set_len(len.min(buffer.capacity())) };
    let mut fields = Fields::USUAL;
    for (kind, part) in control.parts() {
        match kind {
            (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                // The kernel stores a byte for IPv4 and a word for IPv6.
                let word = part.first_chunk().map(|word| i32::from_ne_bytes(*word));
                fields.tos =
                    word.or(part.first().map(|tos| i32::from(*tos))).map(|tos| tos as u8).filter(|tos| *tos > 0);
            }
            (libc::IPPROTO_IP, libc::IP_RECVOPTS) => fields.options = IpOptions::new(part).unwrap_or(IpOptions::NONE),
            _ => {}
        }
    }
    Ok(Some((source, fields)))
}

/// Takes the oldest report about a datagram that was not delivered; `None` if there is none.
pub fn undelivered(socket: BorrowedFd<'_>) -> Option<Undelivered> {
    let (_, destination, control) = received(socket, &mut [], libc::MSG_ERRQUEUE).ok()??;
    // The report begins with the error (sock_extended_err).
    let errno = control.parts().find_map(|(kind, part)| {
        let is_error = kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR);
        part.first_chunk().filter(|_| is_error).map(|word| i32::from_ne_bytes(*word))
    });
    Some(Undelivered { destination, errno: errno.unwrap_or(0) })
}

/// A received message: the number of its bytes, the address that came with it, and the control data.
type Received = (usize, Option<SocketAddr>, Control);

fn received(socket: BorrowedFd<'_>, data: &mut [mem::MaybeUninit<u8>], flags: i32) -> io::Result<Option<Received>> {
    let mut control = Control::new();
    let mut piece = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: all zeros is a value of both.
    let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) = unsafe { mem::zeroed() };
    (header.msg_name, header.msg_namelen) = ((&raw mut name).cast(), size_of_val(&name) as libc::socklen_t);
    (header.msg_iov, header.msg_iovlen) = (&raw mut piece, 1);
    let (parts, len) = control.for_receiving();
    (header.msg_control, header.msg_controllen) = (parts, len as _);
    // SAFETY: the header describes the name, the room for data and the control part, which outlive the call.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags | libc::MSG_DONTWAIT) };
    let Ok(len) = usize::try_from(len) else {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    };
    control.received(header.msg_controllen as _);
    Ok(Some((len, address_of(&name), control)))
}

/// Converts an address to the kernel's structure. Returns it with its length.
fn name_of(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeros is a value.
    let mut name: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let at = &raw mut name;
    let len = match address {
        SocketAddr::V4(address) => {
            // SAFETY: the storage is as large and as aligned as any address.
            let v4 = unsafe { &mut *at.cast::<libc::sockaddr_in>() };
            v4.sin_family = libc::AF_INET as libc::sa_family_t;
            v4.sin_port = address.port().to_be();
            v4.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
            size_of_val(v4)
        }
        SocketAddr::V6(address) => {
            // SAFETY: as above.
            let v6 = unsafe { &mut *at.cast::<libc::sockaddr_in6>() };
            v6.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            v6.sin6_port = address.port().to_be();
            v6.sin6_flowinfo = address.flowinfo().to_be();
            v6.sin6_addr.s6_addr = address.ip().octets();
            v6.sin6_scope_id = address.scope_id();
            size_of_val(v6)
        }
    };
    (name, len as libc::socklen_t)
}

/// Converts the kernel's structure to an address; `None` if it is of another family.
fn address_of(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let at: *const libc::sockaddr_storage = name;
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the storage is as large and as aligned as any address, and every content is a value.
            let v4 = unsafe { &*at.cast::<libc::sockaddr_in>() };
            Some(SocketAddr::from((v4.sin_addr.s_addr.to_ne_bytes(), u16::from_be(v4.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*at.cast::<libc::sockaddr_in6>() };
            let (port, flow) = (u16::from_be(v6.sin6_port), u32::from_be(v6.sin6_flowinfo));
            Some(SocketAddrV6::new(v6.sin6_addr.s6_addr.into(), port, flow, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::time::Duration;

    use super::super::tests::bound;
    use super::super::{Kind, own_address};
    use super::*;
    use crate::readiness::{self, Watched};

    fn next(socket: &OwnedFd) -> (Vec<u8>, Option<SocketAddr>, Fields) {
        let mut polled = [Watched::new(socket.as_fd(), Watched::IN)];
        readiness::wait(&mut polled, Some(Duration::from_secs(10))).expect("poll");
        let mut buffer = Vec::with_capacity(64);
        let (source, fields) = receive(socket.as_fd(), &mut buffer).expect("no error").expect("it has come");
        (buffer, source, fields)
    }

    #[test]
    fn datagram_arrives_with_source_and_fields() {
        for is_v6 in [false, true] {
            let (one, two) = (bound(Kind::Datagrams, is_v6), bound(Kind::Datagrams, is_v6));
            let (from, to) = (own_address(one.as_fd()).unwrap(), own_address(two.as_fd()).unwrap());
            assert!(send_to(one.as_fd(), b"plain", to).unwrap());
            assert_eq!(next(&two), (b"plain".to_vec(), Some(from), Fields::USUAL));
            let fields = Fields { tos: Some(0x10), ttl: Some(3), ..Fields::USUAL };
            assert!(send_with(one.as_fd(), b"with", to, &fields).unwrap());
            assert_eq!(next(&two), (b"with".to_vec(), Some(from), Fields { tos: Some(0x10), ..Fields::USUAL }));
            assert!(receive(two.as_fd(), &mut Vec::with_capacity(8)).unwrap().is_none());
        }
    }

    #[test]
    fn ip_options_arrive_as_they_were_sent() {
        let (one, two) = (bound(Kind::Datagrams, false), bound(Kind::Datagrams, false));
        let to = own_address(two.as_fd()).unwrap();
        // Three no-operations, and the end of options.
        let options = IpOptions::new(&[1, 1, 1, 0]).unwrap();
        assert!(send_with(one.as_fd(), b"x", to, &Fields { options, ..Fields::USUAL }).unwrap());
        assert_eq!(next(&two).2.options, options);
        assert_eq!(IpOptions::get(one.as_fd()).unwrap(), IpOptions::NONE);
        options.set(one.as_fd()).unwrap();
        assert_eq!(IpOptions::get(one.as_fd()).unwrap(), options);
        assert!(send_to(one.as_fd(), b"x", to).unwrap());
        assert_eq!(next(&two).2.options, options);
        assert_eq!(IpOptions::new(&[0; 41]), None);
    }

    #[test]
    fn undelivered_reports_the_destination() {
        for is_v6 in [false, true] {
            let sender = bound(Kind::Datagrams, is_v6);
            assert_eq!(undelivered(sender.as_fd()), None);
            // A child that another test forks may have a copy of the socket for a moment, which then gets the datagram.
            let told = (0..20).find_map(|_| {
                let gone = own_address(bound(Kind::Datagrams, is_v6).as_fd()).expect("bound");
                send_to(sender.as_fd(), b"lost", gone).expect("room");
                let mut polled = [Watched::new(sender.as_fd(), 0)];
                readiness::wait(&mut polled, Some(Duration::from_millis(500))).expect("poll");
                undelivered(sender.as_fd()).map(|told| (told, gone))
            });
            let (told, gone) = told.expect("one of them went to no socket");
            assert_eq!(told, Undelivered { destination: Some(gone), errno: libc::ECONNREFUSED });
            assert_eq!(undelivered(sender.as_fd()), None);
        }
    }
}
