//! The hostile process: it has the far end, sometimes the victim's own socket, too, and the memory, and breaks every
//! rule.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

use headwater_streams::{Options, Result, Stream};

use crate::common::Random;
use crate::packets::{FILES_MAX, cut, packet, send, set, steal};
use crate::rage::{Deeds, rage};
use crate::{CALLS, PUSH, call_by_number};

/// Its actions; a case has some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Bell,
    NoRoom,
    Echo,
    /// A file's packet with any number of files in it.
    Files,
    /// Bytes of another program, from none to 64 KiB.
    Foreign,
    Empty,
    Large,
    Option,
    Shutdown,
    /// A filter cuts arriving packets.
    Cut,
    /// Takes packets that are not its own.
    Steal,
    Take,
    /// Calls of the library, as a peer without fault makes them.
    Call,
    SendFile,
    Scribble,
    /// Cuts, grows, punches and seals the memory.
    Memory,
    Flags,
    /// Sends the ends of the stream themselves.
    Ends,
}

const MILD: [Deed; 13] = [
    Deed::Bell,
    Deed::NoRoom,
    Deed::Echo,
    Deed::Files,
    Deed::Option,
    Deed::Steal,
    Deed::Take,
    Deed::Call,
    Deed::Call,
    Deed::SendFile,
    Deed::Memory,
    Deed::Flags,
    Deed::Ends,
];
const HARSH: [Deed; 6] = [Deed::Foreign, Deed::Empty, Deed::Large, Deed::Shutdown, Deed::Cut, Deed::Scribble];

#[derive(Debug)]
pub struct Peer<'s> {
    pub random: Random,
    pub end: &'s mut Stream,
    /// The victim's own socket, if it has that.
    pub theirs: Option<RawFd>,
    pub memory: File,
    pub options: Options,
    /// Whether modules are pushed. A procedure that has had an effect waits for the store without a limit, so a peer
    /// with modules does not pretend to be in the middle of a call for ever.
    pub modules: bool,
}

/// A call of the library that does not wait, with modules or without.
pub fn call(end: &Stream, random: &mut Random, modules: bool) -> Result<()> {
    let number = random.below(CALLS);
    if number == PUSH && !modules { Ok(()) } else { call_by_number(number, end, random) }
}

impl Peer<'_> {
    /// Until it is killed.
    pub fn rage(&mut self) -> ! {
        let deeds = Deeds {
            mild: &MILD,
            harsh: &HARSH,
            often: 300,
            random: |peer: &mut Self| &mut peer.random,
            commit: |peer, deed| peer.commit(deed),
            after: |_| (),
        };
        rage(self, deeds)
    }

    /// One of the sockets.
    fn socket(&mut self) -> RawFd {
        let own = self.end.as_fd().as_raw_fd();
        match self.theirs {
            Some(theirs) if self.random.one_in(2) => theirs,
            _ => own,
        }
    }

    fn commit(&mut self, deed: Deed) {
        let own = self.end.as_fd().as_raw_fd();
        let number = self.number();
        let file = self.memory.as_raw_fd();
        match deed {
            Deed::Bell => send(own, &packet('b', number), &[]),
            Deed::NoRoom => send(own, &packet('r', number % 2), &[]),
            Deed::Echo => send(own, &packet('e', number % 2), &[]),
            Deed::Files => {
                let files = vec![file; self.random.one_of(&[0, 1, 2, 20, FILES_MAX])];
                send(own, &packet(self.random.one_of(&['f', 'f', 'f', 'b', 'r']), number), &files);
            }
            Deed::Foreign => {
                let len = self.random.one_of(&[1, 10, 124, 125, 126, 300]);
                let bytes: Vec<u8> = (0..len).map(|_| self.random.next() as u8).collect();
                let files = vec![file; self.random.one_of(&[0, 1, FILES_MAX])];
                send(own, &bytes, &files);
            }
            Deed::Empty => {
                let files = vec![file; self.random.one_of(&[0, 1])];
                send(own, &[], &files);
            }
            Deed::Large => {
                let mut bytes = packet(self.random.one_of(&['b', 'r', 'f']), number);
                bytes.resize(self.random.one_of(&[4222, 9000, 65_535]), b'\n');
                send(own, &bytes, &[]);
            }
            Deed::Option => {
                let socket = self.socket();
                // The numbers are SO_PASSPIDFD and SO_PASSRIGHTS.
                let option = self.random.one_of(&[
                    libc::SO_PASSCRED,
                    libc::SO_PASSSEC,
                    76,
                    83,
                    libc::SO_SNDBUF,
                    libc::SO_RCVBUF,
                    libc::SO_SNDBUFFORCE,
                    libc::SO_TIMESTAMP,
                    libc::SO_TIMESTAMPNS,
                    libc::SO_PEEK_OFF,
                    libc::SO_RCVLOWAT,
                    libc::SO_BUSY_POLL,
                ]);
                set(socket, option, self.random.one_of(&[0, 1, 100, 5000, 1 << 20, -1]));
            }
            Deed::Shutdown => {
                let socket = self.socket();
                let how = self.random.one_of(&[libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR]);
                if self.random.one_in(10) {
                    // SAFETY: touches no memory.
                    unsafe { libc::shutdown(socket, how) };
                }
            }
            Deed::Cut => {
                let socket = self.socket();
                cut(socket, self.random.one_of(&[0, 1, 60, 124, 4000, u32::MAX]));
            }
            Deed::Steal => drop(self.theirs.map(steal)),
            Deed::Take => drop(steal(own)),
            Deed::Call => drop(call(self.end, &mut self.random, self.modules)),
            Deed::SendFile => drop(self.end.files().send(self.memory.as_fd())),
            Deed::Scribble if self.modules => {}
            Deed::Scribble => self.scribble(),
            Deed::Memory => self.spoil_memory(),
            Deed::Flags => {
                let (socket, flags) = (self.socket(), self.random.one_of(&[0, libc::O_NONBLOCK, libc::O_ASYNC]));
                // SAFETY: touches no memory.
                unsafe { libc::fcntl(socket, libc::F_SETFL, flags) };
            }
            Deed::Ends => send(own, &packet('f', number), &[own]),
        }
    }

    /// A number for a packet: one that may be meant, or any.
    fn number(&mut self) -> u32 {
        let any = self.random.next() as u32;
        self.random.one_of(&[0, 1, 2, 3, any % 16, any % 300, any, u32::MAX])
    }

    pub fn scribble(&mut self) {
        let len = self.memory.metadata().map_or(0, |data| data.len());
        crate::scribble(&self.memory, len, &self.options, &mut self.random);
    }

    pub fn spoil_memory(&mut self) {
        let file = self.memory.as_raw_fd();
        let len = self.memory.metadata().map_or(0, |data| data.len());
        let at = (self.random.next() % len.max(1)) as i64;
        let (action, seals) = (self.random.below(6), self.random.one_of(&[libc::F_SEAL_WRITE, 16, libc::F_SEAL_GROW]));
        match action {
            0 => _ = self.memory.set_len(self.random.next() % (2 * len)),
            // SAFETY: the calls touch no memory of this process but the mapping, which may change at any time.
            1 => _ = unsafe { libc::fcntl(file, libc::F_ADD_SEALS, seals) },
            // SAFETY: as above.
            2 => _ = unsafe { libc::fallocate(file, 0, at, len as i64) },
            3 if self.random.one_in(20) => {
                let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                // SAFETY: as above.
                _ = unsafe { libc::fallocate(file, hole, at, 4096) };
            }
            _ => _ = self.memory.read_at(&mut [0; 8], at as u64),
        }
    }
}
