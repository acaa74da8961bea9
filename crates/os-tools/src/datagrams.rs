//! Several datagrams per system call: `sendmmsg(2)` and `recvmmsg(2)` over a [`Batch`], and UDP's segmentation offload,
//! where one large buffer crosses the kernel as a single packet that stands for many datagrams.
//!
//! Called by the UDP transports. It owns the buffers but no socket, and knows nothing of the datagrams' contents.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

/// Buffers for a number of datagrams that are sent or received in one call.
#[derive(Debug)]
pub struct Batch {
    /// The slots, one behind the other, `stride` bytes each.
    buffer: Vec<u8>,
    stride: usize,
    /// Bytes of each slot that are a datagram.
    size: usize,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Batch {
    /// `slots` slots for datagrams of `size` bytes each (at least 1). A slot is longer than that where `size` is below
    /// `slot_bytes_min`. The memory is touched.
    pub fn new(slots: usize, size: usize, slot_bytes_min: usize) -> Batch {
        assert!(slots > 0 && size > 0, "a batch has a slot and a slot a byte");
        let stride = size.max(slot_bytes_min);
        // SAFETY: both are plain C structures, for which all zeros is a valid value: null pointers and no lengths.
        let (vector, header) = unsafe { (mem::zeroed::<libc::iovec>(), mem::zeroed::<libc::mmsghdr>()) };
        // Not zero, because the allocator would hand out untouched pages for that.
        Batch {
            buffer: vec![0xFF; stride * slots],
            stride,
            size,
            vectors: vec![vector; slots],
            headers: vec![header; slots],
        }
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.headers.len()
    }

    /// A slot with its surplus bytes.
    #[inline]
    pub fn slot(&mut self, index: usize) -> &mut [u8] {
        &mut self.buffer[index * self.stride..(index + 1) * self.stride]
    }

    /// The datagram that the last [`Batch::receive`] put into a slot below its count.
    #[inline]
    pub fn received(&self, index: usize) -> &[u8] {
        let length = (self.headers[index].msg_len as usize).min(self.size);
        &self.buffer[index * self.stride..][..length]
    }

    /// Sends slots `first .. first + count` over a connected socket in one call; returns how many the system took.
    ///
    /// # Errors
    /// What `sendmmsg(2)` reports of the first of them; an error of a later one shows in the next call.
    #[inline]
    pub fn send(&mut self, socket: impl AsFd, first: usize, count: usize) -> io::Result<usize> {
        self.point(first, count);
        let headers = &mut self.headers[first..first + count];
        // SAFETY: `point` made every header of the slice name one vector, and every vector `size` bytes of the buffer;
        // all of them live in `self`, which is borrowed for the call. The lengths fit, since slices bound them.
        let sent = unsafe {
            libc::sendmmsg(socket.as_fd().as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_NOSIGNAL as _)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Receives the available datagrams, and waits for the first if the socket does; returns how many.
    ///
    /// # Errors
    /// What `recvmmsg(2)` reports: `EAGAIN` from a non-blocking socket, or after the socket's receive timeout.
    #[inline]
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let count = self.slots();
        self.point(0, count);
        // SAFETY: as in `send`; the timeout may be null.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as u32,
                libc::MSG_WAITFORONE as _,
                ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// Makes the headers of `first .. first + count` point to their slots. Done before each call, so that no pointer has
    /// to stay valid between two; it costs far less than the call.
    #[inline]
    fn point(&mut self, first: usize, count: usize) {
        let slots = self.buffer[first * self.stride..(first + count) * self.stride].chunks_exact_mut(self.stride);
        let vectors = &mut self.vectors[first..first + count];
        for ((header, vector), slot) in self.headers[first..first + count].iter_mut().zip(vectors).zip(slots) {
            *vector = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: self.size };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
    }
}

/// Makes the kernel cut the data sent over a UDP socket into datagrams of `bytes` each (`UDP_SEGMENT`, Linux 4.18); a
/// shorter rest goes as a shorter datagram.
///
/// # Errors
/// What `setsockopt(2)` reports: `ENOPROTOOPT` from a kernel that lacks it.
pub fn set_segment_bytes(socket: impl AsFd, bytes: u16) -> io::Result<()> {
    set_udp_option(socket, libc::UDP_SEGMENT, bytes.into())
}

/// Lets [`receive_segments`] take many datagrams that belong together in one call (`UDP_GRO`, Linux 5.0).
///
/// # Errors
/// What `setsockopt(2)` reports: `ENOPROTOOPT` from a kernel that lacks it.
pub fn accept_segments(socket: impl AsFd) -> io::Result<()> {
    set_udp_option(socket, libc::UDP_GRO, 1)
}

fn set_udp_option(socket: impl AsFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the value is an int that lives through the call, and its length is given.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_UDP,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The datagrams that [`receive_segments`] put into the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Bytes in all.
    pub bytes: usize,
    /// Bytes of each datagram but the last, which may be shorter.
    pub segment_bytes: usize,
}

/// Room for the one control message that says how long a segment is, aligned as control messages must be.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Receives one datagram, or several of the same length that came as one packet, and waits if the socket does.
///
/// # Errors
/// What `recvmsg(2)` reports: `EAGAIN` from a non-blocking socket, or after the socket's receive timeout.
#[inline]
pub fn receive_segments(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Segments> {
    let mut control = Control([0; 64]);
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a plain C structure, for which all zeros is a valid value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header names one vector over `buffer`, and the control room with its length; all outlive the call.
    let received = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, 0) };
    let bytes = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    Ok(Segments { bytes, segment_bytes: segment_bytes(&header).unwrap_or(bytes) })
}

/// The length in the `UDP_GRO` control message of a header that `recvmsg` has just filled, if there is one.
fn segment_bytes(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel has set the control length to what it wrote into the room, so that CMSG_FIRSTHDR and
    // CMSG_NXTHDR stay within it.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !control.is_null() {
        // SAFETY: not null, so it names a whole header in the room.
        let (level, kind) = unsafe { ((*control).cmsg_level, (*control).cmsg_type) };
        if level == libc::SOL_UDP && kind == libc::UDP_GRO {
            // SAFETY: the kernel puts an int behind the header of this kind; it need not be aligned.
            let bytes = unsafe { libc::CMSG_DATA(control).cast::<libc::c_int>().read_unaligned() };
            return usize::try_from(bytes).ok().filter(|&bytes| bytes > 0);
        }
        // SAFETY: as above.
        control = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    None
}

#[cfg(test)]
mod tests;
