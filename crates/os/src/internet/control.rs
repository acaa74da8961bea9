//! The control data of a socket message (cmsg(3)): a sequence of parts, each with a level, a kind and bytes.

use std::mem::size_of;

/// The largest size of all parts in bytes: enough for the fields of an IP header, and for an error with two addresses.
const ROOM: usize = 512;
/// The size of a part's header in bytes: the length of the part, the level and the kind.
const HEADER: usize = size_of::<libc::cmsghdr>();
const ALIGNMENT: usize = align_of::<libc::cmsghdr>();

/// The control data of one message.
#[derive(Debug)]
#[repr(align(8))]
pub(super) struct Control {
    bytes: [u8; ROOM],
    len: usize,
}

impl Control {
    pub const fn new() -> Control {
        Control { bytes: [0; ROOM], len: 0 }
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a part, unless there is no room for it.
    pub fn add(&mut self, level: i32, kind: i32, part: &[u8]) {
        let end = self.len + HEADER + part.len();
        let Some(room) = self.bytes.get_mut(self.len..end) else { return };
        room[..size_of::<usize>()].copy_from_slice(&(HEADER + part.len()).to_ne_bytes());
        room[HEADER - 8..HEADER - 4].copy_from_slice(&level.to_ne_bytes());
        room[HEADER - 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
        room[HEADER..].copy_from_slice(part);
        self.len = end.next_multiple_of(ALIGNMENT).min(ROOM);
    }

    /// Returns the address and the length of the parts, for sending.
    pub fn for_sending(&mut self) -> (*mut libc::c_void, usize) {
        (self.bytes.as_mut_ptr().cast(), self.len)
    }

    /// Returns the address and the size of the buffer, for receiving.
    pub fn for_receiving(&mut self) -> (*mut libc::c_void, usize) {
        (self.bytes.as_mut_ptr().cast(), ROOM)
    }

    /// Sets the number of bytes that the kernel has stored.
    pub fn received(&mut self, len: usize) {
        self.len = len.min(ROOM);
    }

    /// Returns the parts: level, kind and bytes.
    pub fn parts(&self) -> impl Iterator<Item = ((i32, i32), &[u8])> {
        let mut rest = &self.bytes[..self.len];
        std::iter::from_fn(move || {
            let len = usize::from_ne_bytes(*rest.first_chunk()?);
            let number = |at: usize| Some(i32::from_ne_bytes(*rest.get(at..)?.first_chunk()?));
            let kind = (number(HEADER - 8)?, number(HEADER - 4)?);
            let part = rest.get(HEADER..len)?;
            rest = rest.get(len.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
            Some((kind, part))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_returns_what_was_added() {
        let mut control = Control::new();
        assert!(control.is_empty() && control.parts().next().is_none());
        control.add(1, 2, b"x");
        control.add(3, 4, b"12345678");
        control.add(5, 6, &[0; ROOM]);
        control.add(7, -8, b"");
        let parts: Vec<_> = control.parts().collect();
        assert_eq!(parts, [((1, 2), &b"x"[..]), ((3, 4), b"12345678"), ((7, -8), b"")]);
        // The kernel may cut the parts at any byte.
        for len in 0..control.len {
            control.received(len);
            assert!(control.parts().count() < 3, "{len} bytes");
        }
    }

    #[test]
    fn layout_agrees_with_the_cmsg_macros() {
        let mut control = Control::new();
        control.add(11, 12, b"abc");
        control.add(13, 14, b"d");
        // SAFETY: all zeros is a header without parts; the macros stay within the control part.
        let (first, second) = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            (header.msg_control, header.msg_controllen) = control.for_sending();
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            let second = libc::CMSG_NXTHDR(&raw const header, first);
            (first.read(), second.read())
        };
        assert_eq!((first.cmsg_len, first.cmsg_level, first.cmsg_type), (HEADER + 3, 11, 12));
        assert_eq!((second.cmsg_len, second.cmsg_level, second.cmsg_type), (HEADER + 1, 13, 14));
    }
}
