//! Sockets of the internet's protocols: UDP, TCP and raw IP. None of the calls waits.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::net::{
    AddressFamily, Protocol, RawProtocol, RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketFlags, SocketType,
    accept_with, bind, connect, connect_unspec, getpeername, getsockname, listen, recv, recvfrom, send, sendto,
    shutdown, socket_with, sockopt,
};

use crate::own_numbers::settled;

/// A kind of socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UDP.
    Datagrams,
    /// TCP.
    Connections,
    /// An IP protocol of that number, without a transport.
    Raw(u8),
}

/// What a receive call has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered {
    /// Where the datagram was sent.
    pub destination: SocketAddr,
    /// The number of the error (errno).
    pub errno: u32,
}

const DONT_WAIT: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Makes a socket that does not wait, closed by exec. A socket for datagrams reports those that were not delivered: see [`undelivered`].
///
/// # Errors
/// What socket(2) and setsockopt(2) report, `EPERM` for a raw socket without `CAP_NET_RAW` among it.
pub fn open(kind: Kind, is_v6: bool) -> io::Result<OwnedFd> {
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let (of, protocol) = match kind {
        Kind::Datagrams => (SocketType::DGRAM, None),
        Kind::Connections => (SocketType::STREAM, None),
        Kind::Raw(number) => {
            let number = RawProtocol::new(number.into()).ok_or(rustix::io::Errno::PROTONOSUPPORT)?;
            (SocketType::RAW, Some(Protocol::from_raw(number)))
        }
    };
    let socket = settled(socket_with(family, of, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)?);
    if kind != Kind::Connections {
        let (level, name) =
            if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) } else { (libc::IPPROTO_IP, libc::IP_RECVERR) };
        set_words(socket.as_fd(), level, name, &[1])?;
    }
    Ok(socket)
}

/// Gives the socket an address.
///
/// # Errors
/// What bind(2) reports.
pub fn take_address(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    Ok(bind(socket, &address)?)
}

/// Lets others connect to the socket: the kernel completes so many connections before [`accept`] takes them.
///
/// # Errors
/// What listen(2) reports.
pub fn wait_for_calls(socket: BorrowedFd<'_>, waiting: u32) -> io::Result<()> {
    Ok(listen(socket, waiting.min(i32::MAX as u32) as i32)?)
}

/// Takes a connection that another has made.
///
/// # Errors
/// `WouldBlock` if there is none; what accept(2) reports.
pub fn accept(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(settled(accept_with(socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?))
}

/// Begins to connect. False: it is under way, and the socket is writable when it is over.
///
/// # Errors
/// What connect(2) reports.
pub fn call(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<bool> {
    match connect(socket, &address) {
        Err(rustix::io::Errno::INPROGRESS) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

/// Whether the socket's call for a connection is under way.
pub fn is_calling(socket: BorrowedFd<'_>) -> bool {
    /// TCP_SYN_SENT, TCP_SYN_RECV of the kernel.
    const CALLING: [u8; 2] = [2, 3];
    // The first byte of the structure tcp_info is the state.
    let (mut state, mut len) = (0u8, 1);
    // SAFETY: the kernel writes at most `len` bytes, which `state` has.
    let done = unsafe {
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut state).cast(), &raw mut len)
    };
    done == 0 && CALLING.contains(&state)
}

/// The error that the socket has met since it was asked last.
///
/// # Errors
/// What getsockopt(2) reports, and the error.
pub fn check(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Ends a connection at once: the peer gets a reset, whichever processes have copies of the socket.
///
/// # Errors
/// What connect(2) reports.
pub fn abort(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(connect_unspec(socket)?)
}

/// Ends this socket's direction of a connection, behind all that was sent.
///
/// # Errors
/// What shutdown(2) reports.
pub fn end_sending(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(shutdown(socket, Shutdown::Write)?)
}

/// The socket's own address.
///
/// # Errors
/// What getsockname(2) reports.
pub fn own_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    Ok(getsockname(socket)?.try_into()?)
}

/// The address of the other end of a connection.
///
/// # Errors
/// `NotConnected`; what getpeername(2) reports.
pub fn other_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    match getpeername(socket)? {
        Some(address) => Ok(address.try_into()?),
        None => Err(io::ErrorKind::NotConnected.into()),
    }
}

/// Sends a datagram.
///
/// # Errors
/// `WouldBlock` if the socket is full; what sendto(2) reports, also the error of an earlier datagram.
pub fn send_to(socket: BorrowedFd<'_>, data: &[u8], address: SocketAddr) -> io::Result<()> {
    Ok(sendto(socket, data, DONT_WAIT, &address).map(drop)?)
}

/// Sends bytes of a connection, and returns how many; the last one as urgent if that is asked for.
///
/// # Errors
/// `WouldBlock` if the socket is full; what send(2) reports. There is no SIGPIPE.
pub fn send_bytes(socket: BorrowedFd<'_>, data: &[u8], is_urgent: bool) -> io::Result<usize> {
    let flags = if is_urgent { DONT_WAIT | SendFlags::OOB } else { DONT_WAIT };
    Ok(send(socket, data, flags)?)
}

/// Receives a datagram into the free room of an empty buffer. Returns where it comes from; None if the kernel does not say.
///
/// # Errors
/// `WouldBlock` if there is none; what recvfrom(2) reports.
pub fn receive_from(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<Option<SocketAddr>> {
    buffer.clear();
    let (_, _, from) = recvfrom(socket, spare_capacity(buffer), RecvFlags::DONTWAIT)?;
    Ok(from.and_then(|from: SocketAddrAny| from.try_into().ok()))
}

/// Receives bytes of a connection into the free room of an empty buffer: none at the end.
///
/// # Errors
/// `WouldBlock` if there are none; what recv(2) reports.
pub fn receive_bytes(socket: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    Ok(recv(socket, spare_capacity(buffer), RecvFlags::DONTWAIT)?.0)
}

/// Receives the urgent byte of a connection.
///
/// # Errors
/// `InvalidInput` if there is none, or it was taken; `WouldBlock` if it is announced and has not come; what recv(2) reports.
pub fn receive_urgent(socket: BorrowedFd<'_>) -> io::Result<Option<u8>> {
    let mut byte = [0; 1];
    let (_, count) = recv(socket, &mut byte[..], RecvFlags::DONTWAIT | RecvFlags::OOB)?;
    Ok((count > 0).then_some(byte[0]))
}

/// Takes the oldest report of a datagram that was not delivered (IP_RECVERR). None: there is no other.
///
/// # Errors
/// What recvmsg(2) reports.
pub fn undelivered(socket: BorrowedFd<'_>) -> io::Result<Option<Undelivered>> {
    const ROOM: usize = 512;
    #[repr(align(8))]
    struct Control([u8; ROOM]);
    let (mut control, mut name) = (Control([0; ROOM]), MaybeUninit::<libc::sockaddr_storage>::zeroed());
    // SAFETY: zeros are a message header without parts; the parts that are put there outlive the call.
    let (received, header) = unsafe {
        let mut header: libc::msghdr = mem::zeroed();
        header.msg_name = name.as_mut_ptr().cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as u32;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = ROOM;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        (libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags), header)
    };
    if received < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    let mut errno = 0;
    // SAFETY: the kernel has filled the control part in, and CMSG_FIRSTHDR and CMSG_NXTHDR stay inside it.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(at) = part.as_ref() {
            let kind = (at.cmsg_level, at.cmsg_type);
            if kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) {
                // The first word of the report is the error.
                errno = libc::CMSG_DATA(part).cast::<u32>().read_unaligned();
            }
            part = libc::CMSG_NXTHDR(&raw const header, part);
        }
    }
    // SAFETY: all bytes were zeros before the kernel has written some.
    let name = unsafe { name.assume_init() };
    Ok(Some(Undelivered { destination: address_of(&name), errno }))
}

/// The address in a structure of the kernel; the unspecified one if it is of another family.
fn address_of(name: &libc::sockaddr_storage) -> SocketAddr {
    let name: *const libc::sockaddr_storage = name;
    // SAFETY: the storage is as large and as aligned as any address, and all its bytes are initialized.
    unsafe {
        if i32::from((*name).ss_family) == libc::AF_INET6 {
            let v6 = &*name.cast::<libc::sockaddr_in6>();
            return SocketAddr::V6(std::net::SocketAddrV6::new(
                v6.sin6_addr.s6_addr.into(),
                u16::from_be(v6.sin6_port),
                u32::from_be(v6.sin6_flowinfo),
                v6.sin6_scope_id,
            ));
        }
        let v4 = &*name.cast::<libc::sockaddr_in>();
        (u32::from_be(v4.sin_addr.s_addr).to_be_bytes(), u16::from_be(v4.sin_port)).into()
    }
}

/// A setting of a socket, of one or two words (the names of setsockopt(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kernel's names, spelled out")]
pub enum Setting {
    Debug,
    Linger,
    SendBuffer,
    ReceiveBuffer,
    SendLowWater,
    ReceiveLowWater,
    TypeOfService,
    TimeToLive,
    ReuseAddress,
    DontRoute,
    Broadcast,
    NoChecksum,
    NoDelay,
    SegmentSize,
    KeepAlive,
    /// Seconds of silence after which the kernel begins to ask.
    KeepAliveAfter,
}

impl Setting {
    const fn numbers(self) -> (i32, i32) {
        match self {
            Setting::Debug => (libc::SOL_SOCKET, libc::SO_DEBUG),
            Setting::Linger => (libc::SOL_SOCKET, libc::SO_LINGER),
            Setting::SendBuffer => (libc::SOL_SOCKET, libc::SO_SNDBUF),
            Setting::ReceiveBuffer => (libc::SOL_SOCKET, libc::SO_RCVBUF),
            Setting::SendLowWater => (libc::SOL_SOCKET, libc::SO_SNDLOWAT),
            Setting::ReceiveLowWater => (libc::SOL_SOCKET, libc::SO_RCVLOWAT),
            Setting::TypeOfService => (libc::IPPROTO_IP, libc::IP_TOS),
            Setting::TimeToLive => (libc::IPPROTO_IP, libc::IP_TTL),
            Setting::ReuseAddress => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
            Setting::DontRoute => (libc::SOL_SOCKET, libc::SO_DONTROUTE),
            Setting::Broadcast => (libc::SOL_SOCKET, libc::SO_BROADCAST),
            Setting::NoChecksum => (libc::SOL_SOCKET, libc::SO_NO_CHECK),
            Setting::NoDelay => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            Setting::SegmentSize => (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
            Setting::KeepAlive => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            Setting::KeepAliveAfter => (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
        }
    }

    /// Its words: 2 of [`Setting::Linger`] (on or off, seconds), else 1.
    pub const fn words(self) -> usize {
        if matches!(self, Setting::Linger) { 2 } else { 1 }
    }

    /// Changes it. What is missing of the words is 0.
    ///
    /// # Errors
    /// What setsockopt(2) reports.
    pub fn set(self, socket: BorrowedFd<'_>, words: [i32; 2]) -> io::Result<()> {
        let (level, name) = self.numbers();
        set_words(socket, level, name, &words[..self.words()])
    }

    /// Its words; what is missing is 0.
    ///
    /// # Errors
    /// What getsockopt(2) reports.
    pub fn get(self, socket: BorrowedFd<'_>) -> io::Result<[i32; 2]> {
        let (level, name) = self.numbers();
        let mut words = [0i32; 2];
        let mut len = (self.words() * size_of::<i32>()) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which `words` has.
        let done =
            unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, words.as_mut_ptr().cast(), &raw mut len) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(words) }
    }
}

fn set_words(socket: BorrowedFd<'_>, level: i32, name: i32, words: &[i32]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the slice has.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, words.as_ptr().cast(), size_of_val(words) as libc::socklen_t)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::readiness::{self, Watched};

    fn until_ready(socket: &OwnedFd, events: u16) {
        let mut polled = [Watched::new(socket.as_fd(), events)];
        readiness::wait(&mut polled, Some(Duration::from_secs(10))).expect("poll");
        assert_ne!(polled[0].ready, 0, "nothing happened");
    }

    fn bound(kind: Kind, is_v6: bool) -> OwnedFd {
        let socket = open(kind, is_v6).expect("a socket");
        let address = if is_v6 { "[::1]:0" } else { "127.0.0.1:0" };
        take_address(socket.as_fd(), address.parse().unwrap()).expect("a port");
        socket
    }

    #[test]
    fn a_datagram_to_nobody_is_reported_with_its_destination() {
        for is_v6 in [false, true] {
            let sender = bound(Kind::Datagrams, is_v6);
            assert_eq!(undelivered(sender.as_fd()).expect("no error"), None);
            // A child that another test forks may have a copy of the socket for a moment, which then gets the datagram.
            let told = (0..20).find_map(|_| {
                let gone = own_address(bound(Kind::Datagrams, is_v6).as_fd()).expect("bound");
                send_to(sender.as_fd(), b"lost", gone).expect("room");
                let mut polled = [Watched::new(sender.as_fd(), 0)];
                readiness::wait(&mut polled, Some(Duration::from_millis(500))).expect("poll");
                undelivered(sender.as_fd()).expect("no error").map(|told| (told, gone))
            });
            let (told, gone) = told.expect("one of them went to no socket");
            assert_eq!(told, Undelivered { destination: gone, errno: libc::ECONNREFUSED as u32 });
            assert_eq!(undelivered(sender.as_fd()).expect("no error"), None);
        }
    }

    #[test]
    fn a_connection_carries_bytes_and_an_urgent_one_and_is_aborted() {
        let listener = bound(Kind::Connections, false);
        wait_for_calls(listener.as_fd(), 1).expect("listen");
        let caller = open(Kind::Connections, false).expect("a socket");
        call(caller.as_fd(), own_address(listener.as_fd()).expect("bound")).expect("a listener");
        until_ready(&listener, Watched::IN);
        let called = accept(listener.as_fd()).expect("one");
        until_ready(&caller, Watched::OUT);
        check(caller.as_fd()).expect("connected");
        assert_eq!(other_address(called.as_fd()).unwrap(), own_address(caller.as_fd()).unwrap());
        assert_eq!(send_bytes(caller.as_fd(), b"ab", true).expect("room"), 2);
        until_ready(&called, Watched::IN);
        let mut bytes = Vec::with_capacity(8);
        assert_eq!(receive_bytes(called.as_fd(), &mut bytes).expect("there"), 1);
        assert_eq!((&bytes[..], receive_urgent(called.as_fd()).expect("there")), (&b"a"[..], Some(b'b')));
        abort(caller.as_fd()).expect("connected");
        until_ready(&called, Watched::IN);
        let error = receive_bytes(called.as_fd(), &mut bytes).expect_err("a reset");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn settings_are_read_as_they_were_set() {
        let socket = open(Kind::Connections, false).expect("a socket");
        for (setting, words) in [
            (Setting::Linger, [1, 7]),
            (Setting::TimeToLive, [9, 0]),
            (Setting::NoDelay, [1, 0]),
            (Setting::KeepAliveAfter, [77, 0]),
        ] {
            setting.set(socket.as_fd(), words).expect("allowed");
            assert_eq!(setting.get(socket.as_fd()).expect("there"), words, "{setting:?}");
        }
        let error = Setting::TimeToLive.set(socket.as_fd(), [256, 0]).expect_err("a byte");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
