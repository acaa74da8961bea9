//! Calls on terminals, for a stream with the modules `ptem` and `ldterm`, and calls on the master side of a
//! pseudo-terminal. glibc makes them by ioctls that this library does not see, because no symbol names them.

use std::ffi::{c_char, c_int};

use headwater_streams::IoctlTimeout;
use libc::termios;

use crate::errno::{CResult, Called, Failure, returned};
use crate::memory;
use crate::next::next;
use crate::table::{self, Open};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_char, c_int, next, termios};

    next! {
        isatty(fd: c_int) -> c_int;
        tcgetattr(fd: c_int, settings: *mut termios) -> c_int;
        tcsetattr(fd: c_int, when: c_int, settings: *const termios) -> c_int;
        tcflush(fd: c_int, queues: c_int) -> c_int;
        tcflow(fd: c_int, action: c_int) -> c_int;
        tcdrain(fd: c_int) -> c_int;
        tcsendbreak(fd: c_int, duration: c_int) -> c_int;
        grantpt(fd: c_int) -> c_int;
        unlockpt(fd: c_int) -> c_int;
        ptsname(fd: c_int) -> *mut c_char;
        ptsname_r(fd: c_int, name: *mut c_char, room: usize) -> c_int;
        __ptsname_r_chk(fd: c_int, name: *mut c_char, room: usize, real_room: usize) -> c_int;
    }
}

impl CResult for *mut c_char {
    const FAILED: *mut c_char = std::ptr::null_mut();
}

/// The sizes of the kernel's struct termios. The C library's has more room for characters.
const CHARACTERS: usize = 19;
const KERNEL: usize = 4 * size_of::<u32>() + 1 + CHARACTERS;

/// The library's own modules and drivers that know no request for a terminal and pass none to another stream. `ldterm`
/// is not among them: the terminal below it may be the program's own module.
const NO_TERMINALS: [&str; 22] = [
    "bufmod",
    "connld",
    "nullmod",
    "pckt",
    "pipemod",
    "sockmod",
    "srvmod",
    "testmod",
    "timod",
    "tirdwr", // modules
    "echo",
    "inet-rawip",
    "inet-tcp",
    "inet-udp",
    "log",
    "loop",
    "nuls",
    "sad",
    "ticlts",
    "ticots",
    "ticotsord",
    "udp",
];

/// Checks whether a module or driver of the stream may know requests for a terminal. No message is sent, because a
/// message would wait behind data that the other end does not read.
///
/// # Errors
/// `ENOTTY` if no module or driver may know them.
fn check_terminal(open: &Open) -> Called<()> {
    let names = open.stream.modules().list()?;
    let may_be = names.iter().any(|name| !NO_TERMINALS.contains(&name.as_str()));
    if may_be { Ok(()) } else { Err(Failure(libc::ENOTTY)) }
}

/// Returns whether a request of termio(7) can only be refused, because the stream is no terminal.
pub(super) fn is_in_vain(open: &Open, command: u32) -> bool {
    let of_termio = libc::TCGETS as u32..=libc::TIOCMSET as u32;
    of_termio.contains(&command) && check_terminal(open) == Err(Failure(libc::ENOTTY))
}

/// Sends a request whose argument points at `bytes`. The bytes are sent with it, as the stream head of SVR4 does for
/// requests of termio(7).
fn request(open: &Open, command: u64, bytes: &mut [u8], time: IoctlTimeout) -> Called<c_int> {
    check_terminal(open)?;
    let mut data = bytes.to_vec();
    let done = open.stream.ioctl(command as u32, &mut data, time).map_err(|error| match Failure::from(error) {
        // No module knows the request, so the stream is no terminal.
        Failure(libc::EINVAL) => Failure(libc::ENOTTY),
        failure => failure,
    })?;
    if let Some(given) = data.get(..bytes.len()) {
        bytes.copy_from_slice(given);
    }
    Ok(done)
}

/// Sends a request whose argument is an int.
fn request_number(open: &Open, command: u64, number: c_int, time: IoctlTimeout) -> Called<c_int> {
    Ok(open.stream.ioctl(command as u32, &mut number.to_ne_bytes().to_vec(), time)?)
}

fn settings(open: &Open) -> Called<termios> {
    let mut bytes = [0; KERNEL];
    request(open, libc::TCGETS, &mut bytes, IoctlTimeout::Usual)?;
    // SAFETY: zeros are a value of termios.
    let mut settings: termios = unsafe { std::mem::zeroed() };
    let word = |at: usize| u32::from_ne_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]]);
    (settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag) = (word(0), word(1), word(2), word(3));
    settings.c_line = bytes[16];
    settings.c_cc[..CHARACTERS].copy_from_slice(&bytes[17..]);
    let speed = settings.c_cflag & libc::CBAUD;
    (settings.c_ispeed, settings.c_ospeed) = (speed, speed);
    Ok(settings)
}

fn set_settings(open: &Open, when: c_int, settings: *const termios) -> Called<c_int> {
    let (command, time) = match when {
        libc::TCSANOW => (libc::TCSETS, IoctlTimeout::Usual),
        // The call must wait until all output has been taken.
        libc::TCSADRAIN => (libc::TCSETSW, IoctlTimeout::Never),
        libc::TCSAFLUSH => (libc::TCSETSF, IoctlTimeout::Never),
        _ => return Err(Failure(libc::EINVAL)),
    };
    // SAFETY: `memory::get` checks that `settings` is readable, and any bytes are a valid termios.
    let settings = unsafe { memory::get(settings)? };
    let mut bytes = [0; KERNEL];
    let words = [settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes[16] = settings.c_line;
    bytes[17..].copy_from_slice(&settings.c_cc[..CHARACTERS]);
    request(open, command, &mut bytes, time).map(|_| 0)
}

/// Returns the number of a master's slave, which need not be open. No request is sent, because a master that was hung
/// up could send none.
fn slave(open: &Open) -> Called<u32> {
    let is_master = open.stream.modules().list()?.last().is_some_and(|driver| driver == "ptm");
    open.stream.minor().filter(|_| is_master).ok_or(Failure(libc::ENOTTY))
}

fn unlock(open: &Open) -> Called<c_int> {
    slave(open)?;
    request(open, libc::TIOCSPTLCK, &mut 0i32.to_ne_bytes(), IoctlTimeout::Usual).map(|_| 0)
}

/// Returns the slave's path, with a NUL.
fn slave_path(open: &Open) -> Called<String> {
    Ok(format!("/dev/streams/pts/{}\0", slave(open)?))
}

macro_rules! of_terminals {
    ($($name:ident = $real:ident(fd $(, $argument:ident: $type:ty)*): $open:ident => $done:expr;)*) => {
        $(
            /// Calls the function of the next library, or does the same on a stream.
            ///
            /// # Safety
            /// A pointer is as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(fd: c_int $(, $argument: $type)*) -> c_int {
                match table::with(fd, |$open| $done) {
                    Some(done) => returned(done),
                    // SAFETY: the caller promises that a pointer is as this function's man page requires.
                    None => unsafe { real::$real(fd $(, $argument)*) },
                }
            }
        )*
    };
}

of_terminals! {
    hw_c_tcgetattr = tcgetattr(fd, at: *mut termios): open => {
        memory::check_room(at).and_then(|()| memory::put(at, settings(open)?).map(|()| 0))
    };
    hw_c_tcsetattr = tcsetattr(fd, when: c_int, at: *const termios): open => set_settings(open, when, at);
    hw_c_tcflush = tcflush(fd, queues: c_int): open => {
        settings(open).and_then(|_| request_number(open, libc::TCFLSH, queues, IoctlTimeout::Usual))
    };
    hw_c_tcflow = tcflow(fd, action: c_int): open => {
        settings(open).and_then(|_| request_number(open, libc::TCXONC, action, IoctlTimeout::Usual))
    };
    hw_c_tcdrain = tcdrain(fd): open => {
        settings(open).and_then(|_| request_number(open, libc::TCSBRK, 1, IoctlTimeout::Never))
    };
    hw_c_tcsendbreak = tcsendbreak(fd, duration: c_int): open => {
        let _ = duration;
        settings(open).and_then(|_| request_number(open, libc::TCSBRK, 0, IoctlTimeout::Usual))
    };
    hw_c_grantpt = grantpt(fd): open => slave(open).map(|_| 0);
    hw_c_unlockpt = unlockpt(fd): open => unlock(open);
}

/// isatty(3). Returns 1, or 0 with errno.
///
/// # Safety
/// Safe for any `fd`: no pointer is passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_isatty(fd: c_int) -> c_int {
    match table::with(fd, settings) {
        Some(Ok(_)) => 1,
        Some(Err(Failure(errno))) => {
            crate::errno::set(errno);
            0
        }
        // SAFETY: no pointer is passed.
        None => unsafe { real::isatty(fd) },
    }
}

/// ptsname_r(3). Returns 0 or an errno.
///
/// # Safety
/// `name` points at `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_ptsname_r(fd: c_int, name: *mut c_char, room: usize) -> c_int {
    let put = |path: String| {
        if path.len() > room {
            return Err(Failure(libc::ERANGE));
        }
        // SAFETY: `bytes_mut` checks the bytes at `name`, which are only written.
        unsafe { memory::bytes_mut(name.cast(), path.len())? }.copy_from_slice(path.as_bytes());
        Ok(())
    };
    let done = match table::with(fd, |open| put(slave_path(open)?)) {
        Some(done) => done,
        // SAFETY: the caller promises `room` writable bytes at `name` (ptsname_r(3)).
        None => return unsafe { real::ptsname_r(fd, name, room) },
    };
    done.map_or_else(
        |Failure(errno)| {
            crate::errno::set(errno);
            errno
        },
        |()| 0,
    )
}

/// ptsname_r(3) of a fortified program. The call ends the program if `room` is more than `real_room`.
///
/// # Safety
/// `name` points at `real_room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___ptsname_r_chk(fd: c_int, name: *mut c_char, room: usize, real_room: usize) -> c_int {
    if room <= real_room && table::is_stream(fd) {
        // SAFETY: the caller promises `real_room` writable bytes at `name`, and `room` is at most as many.
        return unsafe { hw_c_ptsname_r(fd, name, room) };
    }
    // SAFETY: the caller promises `real_room` writable bytes at `name`; the function checks `room`.
    unsafe { real::__ptsname_r_chk(fd, name, room, real_room) }
}

/// ptsname(3). The next call overwrites the name.
///
/// # Safety
/// No other thread calls ptsname at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_ptsname(fd: c_int) -> *mut c_char {
    static mut NAME: [c_char; 64] = [0; 64];
    if !table::is_stream(fd) {
        // SAFETY: the caller promises that no other thread calls ptsname at the same time.
        return unsafe { real::ptsname(fd) };
    }
    let name = (&raw mut NAME).cast::<c_char>();
    // SAFETY: NAME has 64 bytes; the caller promises that no other thread calls ptsname at the same time.
    if unsafe { hw_c_ptsname_r(fd, name, 64) } == 0 { name } else { std::ptr::null_mut() }
}
