//! The line discipline against the kernel's: random bytes are typed at a pseudo-terminal of each with the same settings, and what a
//! process reads, read by read, and what comes back to the master has to be the same.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::common::{Random, calm, extent, in_own_process, private_directory, setting, within};
use headwater_streams::{DeviceOptions, IoctlTimeout, Stream};
use headwater_terminals::pty;
use headwater_terminals::termios::numbers::*;
use headwater_terminals::termios::{TERMIOS, Termios};

/// Starts the output, and is a line that is told from all others.
const END: &[u8] = b"\x11\x11~END\n";

/// Written before each round: the cursor is then in column 0, whatever the round before has echoed without OPOST.
const BEGIN: &[u8] = b"\r";

/// What is read, read by read, and what the master gets.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    reads: Vec<String>,
    echo: String,
}

impl Told {
    fn of(termios: &Termios, reads: Vec<Vec<u8>>, echo: &[u8]) -> Told {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        // Without lines the kernel delivers what has come.
        let reads = if termios.has_local(ICANON) { reads } else { vec![reads.concat()] };
        Told { reads: reads.iter().map(|read| text(read)).collect(), echo: text(echo) }
    }
}

/// Reads until the last line, which ends in `end`.
fn read_to_end(end: &[u8], mut read: impl FnMut(&mut [u8]) -> usize) -> Vec<Vec<u8>> {
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    while !bytes.ends_with(end) {
        let mut buffer = [0; 4096];
        let count = read(&mut buffer);
        bytes.extend_from_slice(&buffer[..count]);
        all.push(buffer[..count].to_vec());
    }
    all
}

/// The end of what is echoed.
fn echoed_end(termios: &Termios) -> Option<&'static [u8]> {
    let is_processed = termios.has_output(OPOST) && termios.has_output(ONLCR);
    termios.has_local(ECHO).then_some(if is_processed { &b"~END\r\n"[..] } else { b"~END\n" })
}

struct Kernel {
    master: File,
    slave: File,
}

impl Kernel {
    fn open() -> Kernel {
        let mut name = [0; 64];
        // SAFETY: calls without memory but the name's, whose length is right.
        let master = unsafe {
            let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
            assert!(master >= 0, "posix_openpt: {}", std::io::Error::last_os_error());
            assert_eq!((libc::grantpt(master), libc::unlockpt(master)), (0, 0));
            assert_eq!(libc::ptsname_r(master, name.as_mut_ptr(), name.len()), 0);
            OwnedFd::from_raw_fd(master)
        };
        // SAFETY: a path that ends in a zero.
        let slave = unsafe { libc::open(name.as_ptr(), libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC) };
        assert!(slave >= 0, "the slave: {}", std::io::Error::last_os_error());
        // SAFETY: a new descriptor.
        Kernel { master: master.into(), slave: unsafe { OwnedFd::from_raw_fd(slave) }.into() }
    }

    fn set(&mut self, termios: &Termios) {
        let mut bytes = termios.bytes();
        // SAFETY: TCSETS reads 36 bytes.
        let done = unsafe { libc::ioctl(self.slave.as_raw_fd(), TCSETS as _, bytes.as_mut_ptr()) };
        assert_eq!(done, 0, "TCSETS: {}", std::io::Error::last_os_error());
    }

    fn type_in(&mut self, termios: &Termios, typed: &[u8]) -> Told {
        self.set(&Termios::default());
        self.slave.write_all(BEGIN).expect("room");
        self.master.read_exact(&mut [0]).expect("the beginning");
        self.set(termios);
        self.master.write_all(&[typed, END].concat()).expect("room");
        let reads = read_to_end(b"~END\n", |buffer| self.slave.read(buffer).expect("no error"));
        let echo =
            echoed_end(termios).map(|end| read_to_end(end, |buffer| self.master.read(buffer).expect("no error")));
        Told::of(termios, reads, &echo.unwrap_or_default().concat())
    }
}

struct Streams {
    master: Stream,
    slave: Stream,
    _directory: tempfile::TempDir,
}

impl Streams {
    fn open() -> Streams {
        let directory = private_directory();
        let options = DeviceOptions::new().directory(directory.path());
        headwater_terminals::register().expect("free names");
        let master = options.open("ptm").expect("a free number");
        master.ioctl(pty::UNLOCK, &mut Vec::new(), IoctlTimeout::Usual).expect("unlock");
        let number = master.minor().expect("a device");
        let slave = options.clone().minor(number).open("pts").expect("unlocked");
        ["ptem", "ldterm"].iter().for_each(|name| slave.push(name).expect("known"));
        Streams { master, slave, _directory: directory }
    }

    fn set(&mut self, termios: &Termios) {
        let mut bytes = termios.bytes()[..TERMIOS].to_vec();
        self.slave.ioctl(TCSETS, &mut bytes, IoctlTimeout::Usual).expect("TCSETS");
    }

    fn type_in(&mut self, termios: &Termios, typed: &[u8]) -> Told {
        self.set(&Termios::default());
        self.slave.write(BEGIN).expect("room");
        assert_eq!(self.master.read(&mut [0]).expect("the beginning"), 1);
        self.set(termios);
        self.master.write(&[typed, END].concat()).expect("room");
        let reads = read_to_end(b"~END\n", |buffer| self.slave.read(buffer).expect("no error"));
        let echo =
            echoed_end(termios).map(|end| read_to_end(end, |buffer| self.master.read(buffer).expect("no error")));
        Told::of(termios, reads, &echo.unwrap_or_default().concat())
    }
}

/// Settings in which both say the same, and in which the last line stays as it is: what a signal discards depends on how far the kernel's own thread has come.
fn random_settings(random: &mut Random) -> Termios {
    let mut termios = Termios::default();
    let mut some = |of: &[u32]| of.iter().filter(|_| random.one_in(2)).fold(0, |modes, mode| modes | mode);
    termios.input = IXON | some(&[IXANY, IUTF8, ISTRIP, IGNCR, ICRNL, ICRNL]);
    termios.output = some(&[OPOST, OPOST | ONLCR, OCRNL, ONOCR]);
    termios.local =
        NOFLSH | some(&[ICANON, ICANON, ECHO, ECHO, ECHOE, ECHOE, ECHOK, ECHONL, ECHOCTL, ECHOKE, IEXTEN, ISIG]);
    if !termios.has_local(ICANON) {
        // The kernel then echoes a newline as ^J, and termios(3) says that it does not.
        termios.local &= !ECHOCTL;
    }
    if termios.has_input(IUTF8) {
        termios.input &= !ISTRIP;
    }
    termios
}

const ALPHABET: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b" ",
    b"\n",
    b"\r",
    b"\x7f",
    b"\x7f",
    b"\x15",
    b"\x04",
    b"\x16",
    b"\x12",
    b"\x13",
    b"\x11",
    b"\x01",
    b"\x1b",
    "\u{e4}".as_bytes(),
    "\u{20ac}".as_bytes(),
    // Bytes of a character whose first byte is missing, and a first byte alone.
    b"\x80",
    b"\xbf\xbf",
    b"\xe2",
    b"\x03",
    b"word and word\x17",
];

#[test]
fn what_is_read_and_echoed_is_what_the_kernels_terminal_reads_and_echoes() {
    in_own_process!();
    let (mut kernel, mut streams) = (Kernel::open(), Streams::open());
    let mut random = Random(setting("HEADWATER_SEED", 1));
    for round in 0..extent("HEADWATER_ROUNDS", 500) {
        let termios = random_settings(&mut random);
        let count = random.below(12);
        let typed: Vec<u8> = (0..count).flat_map(|_| random.one_of(ALPHABET).to_vec()).collect();
        let what = format!("round {round}: {} with {termios:x?}", typed.escape_ascii());
        within(Duration::from_secs(20), what.clone());
        assert_eq!(streams.type_in(&termios, &typed), kernel.type_in(&termios, &typed), "{what}");
    }
    calm();
}
