//! `streams-pty`, `streams-pts`: the STREAMS pseudo-terminal, to be compared with the kernel's [`pty`](super::super::pty), in raw mode
//! and with the modules of a terminal (`ptem`, `ldterm`), and without modules. As there, messages go from the terminal side to the
//! master and answers back.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_streams::{DeviceOptions, Error, IoctlTimeout, Stream};
use headwater_terminals::pty::UNLOCK;
use headwater_terminals::termios::numbers::TCSETS;
use headwater_terminals::termios::{TERMIOS, Termios};

use super::super::{Endpoint, Info, Setup, Transport, Unavailable};
use super::{PIPE, StreamEnd};

/// A pseudo-terminal with or without modules: the type of a transport.
pub trait Terminal: 'static {
    /// The properties of the transport.
    const INFO: Info;
    /// Whether the modules of a terminal are pushed.
    const HAS_MODULES: bool;
}

/// With `ptem` and `ldterm`.
#[derive(Debug)]
pub struct WithModules;

impl Terminal for WithModules {
    const INFO: Info = Info {
        name: "streams-pty",
        summary: "STREAMS pseudo-terminal in raw mode, from the terminal side to the master",
        special: true,
        ..PIPE.info
    };
    const HAS_MODULES: bool = true;
}

/// The drivers alone.
#[derive(Debug)]
pub struct WithoutModules;

impl Terminal for WithoutModules {
    const INFO: Info = Info {
        name: "streams-pts",
        summary: "STREAMS pseudo-terminal without modules, from the slave's side to the master",
        special: true,
        ..PIPE.info
    };
    const HAS_MODULES: bool = false;
}

/// The transport.
#[derive(Debug)]
pub struct Pty<T>(PhantomData<T>);

impl<T: Terminal> Transport for Pty<T> {
    type End = PtyEnd;

    const INFO: Info = T::INFO;

    fn open(setup: &Setup<'_>) -> Result<(PtyEnd, PtyEnd), Unavailable> {
        let directory = setup.directory.join(T::INFO.name);
        let options = DeviceOptions::new().directory(&directory);
        let ends = open(&options, T::HAS_MODULES, setup.nonblocking);
        // The names are removed even if the opening failed.
        let _ = fs::remove_dir_all(&directory);
        let (terminal, master) = ends.map_err(|error| Unavailable::call("STREAMS pseudo-terminal", error))?;
        Ok((PtyEnd(StreamEnd(terminal.direct())), PtyEnd(StreamEnd(master.direct()))))
    }
}

/// Opens the master, and its slave as a terminal in raw mode.
fn open(options: &DeviceOptions, has_modules: bool, nonblocking: bool) -> Result<(Stream, Stream), Error> {
    headwater_terminals::register()?;
    let master = options.open("ptm")?;
    master.ioctl(UNLOCK, &mut Vec::new(), IoctlTimeout::Usual)?;
    let number = master.minor().unwrap_or_default();
    let terminal = options.clone().minor(number).open("pts")?;
    // The processes that are forked have met the partner.
    master.attach()?;
    if has_modules {
        terminal.push("ptem")?;
        terminal.push("ldterm")?;
        let raw = Termios::default().raw();
        terminal.ioctl(TCSETS, &mut raw.bytes()[..TERMIOS].to_vec(), IoctlTimeout::Usual)?;
    }
    for end in [&terminal, &master] {
        end.set_nonblocking(nonblocking)?;
    }
    Ok((terminal, master))
}

/// One side of the pseudo-terminal.
#[derive(Debug)]
pub struct PtyEnd(StreamEnd);

impl Endpoint for PtyEnd {
    fn attach(&mut self) -> io::Result<()> {
        self.0.attach()
    }

    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.0.send_some(message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive_some(buffer)
    }

    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.0.as_fd())
    }

    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.0.as_fd())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.counters()
    }
}
