//! Settings of a socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A setting of a socket, of one or two words (the names of setsockopt(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, clippy::exhaustive_enums, reason = "the kernel's names, spelled out; of this workspace alone")]
pub enum Setting {
    Debug,
    /// On or off, and seconds. Seconds are only noted ([`never_linger`]): the last close of the socket does not wait, whatever it is. On
    /// with 0 seconds, it resets the connection.
    Linger,
    SendBuffer,
    ReceiveBuffer,
    /// Which sizes of buffers were set and are not the kernel's choice: 1 the sender's, 2 the receiver's.
    BufferLocks,
    SendLowWater,
    ReceiveLowWater,
    /// The type of service of IPv4, the traffic class of IPv6.
    TypeOfService,
    /// How many routers a packet may pass.
    TimeToLive,
    ReuseAddress,
    DontRoute,
    Broadcast,
    /// Datagrams go out without a checksum; of IPv6 the kernel accepts none that come without.
    NoChecksum,
    /// A socket of IPv6 has nothing to do with addresses of IPv4.
    OnlyV6,
    NoDelay,
    SegmentSize,
    KeepAlive,
    /// Seconds of silence after which the kernel begins to ask.
    KeepAliveAfter,
}

impl Setting {
    /// The level and the name, in a socket of IPv6 or of IPv4.
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

    /// Its words: 2 of [`Setting::Linger`] (on or off, seconds), else 1.
    pub const fn words(self) -> usize {
        if matches!(self, Setting::Linger) { 2 } else { 1 }
    }

    /// Changes it. What is missing of the words is 0.
    ///
    /// # Errors
    /// The errors of setsockopt(2).
    pub fn set(self, socket: BorrowedFd<'_>, words: [i32; 2]) -> io::Result<()> {
        match (self, words) {
            // The kernel keeps the seconds when it is switched off.
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

    /// Its words; what is missing is 0.
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

/// Has the last close of a socket not wait, also if another process that has it has asked for that (SO_LINGER). The kernel sends what
/// waits in the background. What [`Setting::Linger`] tells stays. Another file is left alone.
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

/// Returns how many bytes there are.
pub(super) fn get_bytes(socket: BorrowedFd<'_>, level: i32, name: i32, bytes: &mut [u8]) -> io::Result<usize> {
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which are there.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &raw mut len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}
