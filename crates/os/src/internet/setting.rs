//! Options of internet sockets, with one type for IPv4 and IPv6.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// An option of setsockopt(2), with a value of one or two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, clippy::exhaustive_enums, reason = "the kernel's names, spelled out; of this workspace alone")]
pub enum Setting {
    Debug,
    /// On or off, and seconds. The seconds are stored but have no effect ([`never_linger`]): the last close of the socket never
    /// waits. If it is on with 0 seconds, the last close resets the connection.
    Linger,
    SendBuffer,
    ReceiveBuffer,
    /// The buffer sizes that the kernel does not choose itself, because they were set: 1 for sending, 2 for receiving.
    BufferLocks,
    SendLowWater,
    ReceiveLowWater,
    /// The type of service of IPv4, or the traffic class of IPv6.
    TypeOfService,
    /// The number of routers that a packet may pass.
    TimeToLive,
    ReuseAddress,
    DontRoute,
    Broadcast,
    /// Datagrams are sent without a checksum. The kernel accepts no IPv6 datagram without one.
    NoChecksum,
    /// An IPv6 socket does not use IPv4 addresses.
    OnlyV6,
    NoDelay,
    SegmentSize,
    KeepAlive,
    /// The idle time in seconds after which the kernel begins to send probes.
    KeepAliveAfter,
}

impl Setting {
    /// Returns the level and the name of the option, for an IPv6 or an IPv4 socket.
    const fn numbers(self, is_v6: bool) -> (i32, i32) {
        match self {
            Setting::Debug => (libc::SOL_SOCKET, libc::SO_DEBUG),
            Setting::Linger => (libc::SOL_SOCKET, libc::SO_LINGER),
            Setting::SendBuffer => (libc::SOL_SOCKET, libc::SO_SNDBUF),
            Setting::ReceiveBuffer => (libc::SOL_SOCKET, libc::SO_RCVBUF),
            Setting::BufferLocks => (libc::SOL_SOCKET, libc::SO_BUF_LOCK),
            Setting::SendLowWater => (libc::SOL_SOCKET, libc::SO_SNDLOWAT),
            Setting::ReceiveLowWater => (libc::SOL_SOCKET, libc::SO_RCVLOWAT),
            Setting::TypeOfService if is_v6 => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            Setting::TypeOfService => (libc::IPPROTO_IP, libc::IP_TOS),
            Setting::TimeToLive if is_v6 => (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
            Setting::TimeToLive => (libc::IPPROTO_IP, libc::IP_TTL),
            Setting::ReuseAddress => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
            Setting::DontRoute => (libc::SOL_SOCKET, libc::SO_DONTROUTE),
            Setting::Broadcast => (libc::SOL_SOCKET, libc::SO_BROADCAST),
            Setting::NoChecksum => (libc::SOL_SOCKET, libc::SO_NO_CHECK),
            Setting::OnlyV6 => (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
            Setting::NoDelay => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            Setting::SegmentSize => (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
            Setting::KeepAlive => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            Setting::KeepAliveAfter => (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
        }
    }

    fn numbers_of(self, socket: BorrowedFd<'_>) -> io::Result<(i32, i32)> {
        let depends = matches!(self, Setting::TypeOfService | Setting::TimeToLive);
        let is_v6 = depends && word(socket, libc::SOL_SOCKET, libc::SO_DOMAIN)? == libc::AF_INET6;
        Ok(self.numbers(is_v6))
    }

    /// Returns the number of words of the value: 2 for [`Setting::Linger`] (on or off, seconds), otherwise 1.
    pub const fn words(self) -> usize {
        if matches!(self, Setting::Linger) { 2 } else { 1 }
    }

    /// Sets the option. A word that the value does not have is ignored.
    ///
    /// # Errors
    /// The errors of setsockopt(2).
    pub fn set(self, socket: BorrowedFd<'_>, words: [i32; 2]) -> io::Result<()> {
        match (self, words) {
            // Switched off, the option keeps its seconds in the kernel.
            (Setting::Linger, [on, seconds]) if on != 0 && seconds != 0 => {
                self.set_words(socket, [1, seconds])?;
                self.set_words(socket, [0, 0])
            }
            (Setting::Linger, [0, _]) => {
                self.set_words(socket, [1, 0])?;
                self.set_words(socket, [0, 0])
            }
            _ => self.set_words(socket, words),
        }
    }

    fn set_words(self, socket: BorrowedFd<'_>, words: [i32; 2]) -> io::Result<()> {
        let (level, name) = self.numbers_of(socket)?;
        let bytes = words.map(i32::to_ne_bytes);
        set_bytes(socket, level, name, bytes[..self.words()].as_flattened())
    }

    /// Returns the value of the option. A word that the value does not have is 0.
    ///
    /// # Errors
    /// The errors of getsockopt(2).
    pub fn get(self, socket: BorrowedFd<'_>) -> io::Result<[i32; 2]> {
        let words = self.words_of(socket)?;
        let is_noted = self == Setting::Linger && words[1] != 0;
        Ok(if is_noted { [1, words[1]] } else { words })
    }

    fn words_of(self, socket: BorrowedFd<'_>) -> io::Result<[i32; 2]> {
        let (level, name) = self.numbers_of(socket)?;
        let mut bytes = [0; 8];
        get_bytes(socket, level, name, &mut bytes[..self.words() * size_of::<i32>()])?;
        let (words, _) = bytes.as_chunks();
        Ok([i32::from_ne_bytes(words[0]), i32::from_ne_bytes(words[1])])
    }
}

/// Makes the last close of a socket return at once, also if another process has set SO_LINGER. The kernel sends the
/// remaining data in the background. The value that [`Setting::Linger`] returns stays the same. Does nothing for other files.
pub fn never_linger(file: BorrowedFd<'_>) {
    if Setting::Linger.words_of(file).is_ok_and(|[on, seconds]| on != 0 && seconds != 0) {
        let _ = Setting::Linger.set_words(file, [0, 0]);
    }
}

pub(super) fn set_word(socket: BorrowedFd<'_>, level: i32, name: i32, word: i32) -> io::Result<()> {
    set_bytes(socket, level, name, &word.to_ne_bytes())
}

pub(super) fn word(socket: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut bytes = [0; 4];
    get_bytes(socket, level, name, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}

pub(super) fn set_bytes(socket: BorrowedFd<'_>, level: i32, name: i32, bytes: &[u8]) -> io::Result<()> {
    let len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the slice has.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, bytes.as_ptr().cast(), len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option, and returns its length in bytes.
pub(super) fn get_bytes(socket: BorrowedFd<'_>, level: i32, name: i32, bytes: &mut [u8]) -> io::Result<usize> {
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which are there.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &raw mut len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}
