//! `pty`: a pseudo-terminal in raw mode. Messages go from the terminal side to the master, as a program's output does;
//! answers go back as its input.

use std::io;
use std::os::fd::OwnedFd;

use headwater_os_tools::library_calls;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

use super::pipe::set_nonblocking;
use super::{Endpoint, Info, Setup, Transport, Unavailable};

/// A pseudo-terminal.
#[derive(Debug)]
pub struct Pty;

impl Transport for Pty {
    type End = PtyEnd;

    const INFO: Info = Info {
        name: "pty",
        summary: "pseudo-terminal in raw mode, from the terminal side to the master",
        pollable: false,
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(PtyEnd, PtyEnd), Unavailable> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).map_err(|error| Unavailable::call("posix_openpt (see kernel.pty.max)", error))?;
        unlockpt(&master).map_err(|error| Unavailable::call("unlockpt", error))?;
        // Opened through the master's descriptor: in a container, the path of the other side may name another terminal.
        let terminal =
            ioctl_tiocgptpeer(&master, flags).map_err(|error| Unavailable::call("ioctl TIOCGPTPEER", error))?;
        make_raw(&terminal).map_err(|error| Unavailable::call("tcsetattr", error))?;
        if setup.nonblocking {
            for side in [&terminal, &master] {
                set_nonblocking(side).map_err(|error| Unavailable::call("fcntl F_SETFL", error))?;
            }
        }
        Ok((PtyEnd { side: terminal }, PtyEnd { side: master }))
    }
}

/// No line editing, echo, signals or translation, and eight bits: every byte arrives unchanged.
fn make_raw(terminal: &OwnedFd) -> rustix::io::Result<()> {
    let mut attributes = tcgetattr(terminal)?;
    attributes.make_raw();
    // A read waits for the first byte and returns what is available.
    attributes.special_codes[SpecialCodeIndex::VMIN] = 1;
    attributes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(terminal, OptionalActions::Now, &attributes)
}

/// One side of the pseudo-terminal.
#[derive(Debug)]
pub struct PtyEnd {
    side: OwnedFd,
}

impl Endpoint for PtyEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        library_calls::write(&self.side, message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        library_calls::read(&self.side, buffer)
    }
}
