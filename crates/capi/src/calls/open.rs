//! open, openat, creat and pipe: the calls that make a stream.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use headwater_streams::attach::{AttachedOptions, is_attached_file};
use headwater_streams::{Access, DeviceOptions, DevicePath, FifoOptions, Stream};
use libc::mode_t;

use super::copies;
use super::create::created_two;
use crate::errno::{Called, Failure, guarded, returned};
use crate::next::next;
use crate::restart::restarting;
use crate::table::Mode;
use crate::{known, memory, own, stale, startup, table};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_char, c_int, mode_t, next};

    next! {
        open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        __open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        __open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        __open_2(path: *const c_char, flags: c_int) -> c_int;
        __open64_2(path: *const c_char, flags: c_int) -> c_int;
        __openat_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int;
        __openat64_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int;
        creat(path: *const c_char, mode: mode_t) -> c_int;
        creat64(path: *const c_char, mode: mode_t) -> c_int;
        pipe(fds: *mut c_int) -> c_int;
        pipe2(fds: *mut c_int, flags: c_int) -> c_int;
    }
}

/// The beginnings of all paths of devices ([`DevicePath`]). There are no such files.
const DEVICES: [&[u8]; 4] = [b"/dev/s", b"/dev/udp", b"/dev/tcp", b"/dev/raw"];

macro_rules! opening {
    ($($name:ident = $real:ident($([$directory:ident])? $(($mode:ident))?);)*) => {
        $(
            /// Opens a file. A path of a driver opens a stream; a path of a FIFO does if the environment asks for it.
            ///
            /// # Safety
            /// `path` is a string.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                $($directory: c_int,)?
                path: *const c_char,
                flags: c_int
                $(, $mode: mode_t)?
            ) -> c_int {
                let from = [$($directory,)? libc::AT_FDCWD][0];
                match open_stream(from, path, flags) {
                    Some(opened) => returned(opened),
                    None => {
                        // SAFETY: the caller promises that `path` is a string (open(2)).
                        let opened = unsafe { real::$real($($directory,)? path, flags $(, $mode)?) };
                        attached(opened, flags)
                    }
                }
            }
        )*
    };
}

opening! {
    hw_c_open = open((mode));
    hw_c_open64 = open64((mode));
    hw_c___open = __open((mode));
    hw_c___open64 = __open64((mode));
    hw_c_openat = openat([directory] (mode));
    hw_c_openat64 = openat64([directory] (mode));
    hw_c___open_2 = __open_2();
    hw_c___open64_2 = __open64_2();
    hw_c___openat_2 = __openat_2([directory]);
    hw_c___openat64_2 = __openat64_2([directory]);
}

/// Returns the stream that is attached to a file that was just opened, under the same descriptor. Returns the file if
/// no stream is attached.
#[inline]
fn attached(fd: c_int, flags: c_int) -> c_int {
    stale::created(fd);
    if flags & libc::O_TRUNC != 0 {
        // The file may be mapped, and its pages are gone.
        known::changed();
    }
    if fd < 0 || !startup::settings().attached || flags & libc::O_PATH != 0 {
        return fd;
    }
    // SAFETY: the descriptor was just opened, and the program does not know it yet.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    if !is_attached_file(file) {
        return fd;
    }
    returned(open_attached(fd, file, flags))
}

#[cold]
fn open_attached(fd: c_int, file: BorrowedFd<'_>, flags: c_int) -> Called<c_int> {
    startup::prepare();
    let options = AttachedOptions::new().nonblocking(flags & libc::O_NONBLOCK != 0);
    let opened = guarded(|| restarting(|| Ok(options.open_file(file)?)));
    let done = match opened {
        Ok(Some(stream)) => table::replace(stream, Mode::from_flags(flags), fd, flags & libc::O_CLOEXEC != 0),
        // The stream was detached at this moment.
        Ok(None) => Ok(()),
        Err(failure) => Err(failure),
    };
    done.map(|()| fd).inspect_err(|_| own::close(fd))
}

/// creat(2).
///
/// # Safety
/// `path` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_creat(path: *const c_char, mode: mode_t) -> c_int {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
    match open_stream(libc::AT_FDCWD, path, flags) {
        Some(opened) => returned(opened),
        // SAFETY: the caller promises that `path` is a string (creat(2)).
        None => attached(unsafe { real::creat(path, mode) }, libc::O_WRONLY | libc::O_TRUNC),
    }
}

/// creat64, as [`hw_c_creat`].
///
/// # Safety
/// `path` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_creat64(path: *const c_char, mode: mode_t) -> c_int {
    match open_stream(libc::AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) {
        Some(opened) => returned(opened),
        // SAFETY: the caller promises that `path` is a string (creat(2)).
        None => attached(unsafe { real::creat64(path, mode) }, libc::O_WRONLY | libc::O_TRUNC),
    }
}

/// Opens the stream that a path names. Returns `None` if the path names no stream.
fn open_stream(directory: c_int, path: *const c_char, flags: c_int) -> Option<Called<c_int>> {
    // A path without a NUL within the limit is refused by the kernel.
    // SAFETY: the program passes `path` as a string to open(2), and no other thread may change it during the call.
    let path = unsafe { memory::text(path, libc::PATH_MAX as usize).ok()? };
    let bytes = path.to_bytes();
    if bytes.starts_with(b"/dev/") && DEVICES.iter().any(|begin| bytes.starts_with(begin)) {
        let path = std::str::from_utf8(bytes).ok().filter(|path| DevicePath::parse(path).is_some());
        if let Some(path) = path {
            return Some(open_device(path, flags));
        }
    }
    if let Some(fd) = named_fd(bytes) {
        // The kernel cannot open the socket under the descriptor again.
        return copies::duplicate(fd, 0, flags & libc::O_CLOEXEC != 0);
    }
    // Calls that can only fail are left to the kernel.
    let fails =
        flags & (libc::O_PATH | libc::O_DIRECTORY) != 0 || flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
    if startup::settings().fifos && !fails && is_fifo(directory, path) {
        return Some(open_fifo(directory, path, flags));
    }
    None
}

/// Returns the descriptor that a path like `/dev/fd/N` stands for.
fn named_fd(path: &[u8]) -> Option<c_int> {
    match path {
        b"/dev/stdin" => return Some(0),
        b"/dev/stdout" => return Some(1),
        b"/dev/stderr" => return Some(2),
        _ => {}
    }
    let fd = path.strip_prefix(b"/dev/fd/").or_else(|| path.strip_prefix(b"/proc/self/fd/"))?;
    std::str::from_utf8(fd).ok()?.parse().ok()
}

pub fn open_device(path: &str, flags: c_int) -> Called<c_int> {
    if flags & libc::O_DIRECTORY != 0 {
        return Err(Failure(libc::ENOTDIR));
    }
    startup::prepare();
    let options = DeviceOptions::new().nonblocking(flags & libc::O_NONBLOCK != 0);
    let stream = guarded(|| restarting(|| Ok(options.open_path(path)?)))?;
    give_fd(stream, flags)
}

/// Returns whether a path is that of a FIFO. The FIFO must be readable and writable by this process: the library needs
/// both.
fn is_fifo(directory: c_int, path: &CStr) -> bool {
    // SAFETY: zeros are a value of stat, `path` is a string, and the call writes only to `status`.
    let (asked, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::syscall(libc::SYS_newfstatat, directory, path.as_ptr(), &raw mut status, 0), status)
    };
    asked == 0 && status.st_mode & libc::S_IFMT == libc::S_IFIFO
}

fn open_fifo(directory: c_int, path: &CStr, flags: c_int) -> Called<c_int> {
    let access = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => Access::Read,
        libc::O_WRONLY => Access::Write,
        libc::O_RDWR => Access::Both,
        _ => return Err(Failure(libc::EINVAL)),
    };
    let bytes = path.to_bytes();
    let relative = directory != libc::AT_FDCWD && !bytes.starts_with(b"/");
    let whole =
        if relative { [format!("/proc/self/fd/{directory}/").as_bytes(), bytes].concat() } else { bytes.to_vec() };
    let path = Path::new(std::ffi::OsStr::from_bytes(&whole));
    startup::prepare();
    let options = FifoOptions::new().nonblocking(flags & libc::O_NONBLOCK != 0);
    if access == Access::Both {
        let (reader, writer) = guarded(|| restarting(|| Ok(options.open_both(path)?)))?;
        return table::open_both(reader, writer, flags & libc::O_CLOEXEC != 0);
    }
    let stream = guarded(|| restarting(|| Ok(options.open(path, access)?)))?;
    give_fd(stream, flags)
}

/// Gives a new descriptor to a stream that was just opened.
fn give_fd(stream: Stream, flags: c_int) -> Called<c_int> {
    table::open(stream, Mode::from_flags(flags), 0, flags & libc::O_CLOEXEC != 0)
}

/// pipe(2). Makes a STREAMS pipe if the program asks for it.
///
/// # Safety
/// `fds` has room for two descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_pipe(fds: *mut c_int) -> c_int {
    if startup::settings().pipes {
        return returned(pipe(fds, 0));
    }
    // SAFETY: the caller promises room for two descriptors at `fds` (pipe(2)).
    created_two(unsafe { real::pipe(fds) }, fds)
}

/// pipe(2), under another name.
///
/// # Safety
/// `fds` has room for two descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___pipe(fds: *mut c_int) -> c_int {
    // SAFETY: the caller promises room for two descriptors at `fds`.
    unsafe { hw_c_pipe(fds) }
}

/// pipe2(2), as [`hw_c_pipe`].
///
/// # Safety
/// `fds` has room for two descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_pipe2(fds: *mut c_int, flags: c_int) -> c_int {
    // Packet mode and notification pipes exist only in the kernel's pipes.
    if startup::settings().pipes && flags & !(libc::O_CLOEXEC | libc::O_NONBLOCK) == 0 {
        return returned(pipe(fds, flags));
    }
    // SAFETY: the caller promises room for two descriptors at `fds` (pipe2(2)).
    created_two(unsafe { real::pipe2(fds, flags) }, fds)
}

fn pipe(fds: *mut c_int, flags: c_int) -> Called<c_int> {
    let place = fds.cast::<[c_int; 2]>();
    memory::check_room(place)?;
    startup::prepare();
    let (near, far) = guarded(|| Ok(headwater_streams::pipe()?))?;
    if flags & libc::O_NONBLOCK != 0 {
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
    }
    let flags = flags | libc::O_RDWR;
    let near = give_fd(near, flags)?;
    let far = give_fd(far, flags).inspect_err(|_| super::close::close(near))?;
    if let Err(failure) = memory::put(place, [near, far]) {
        super::close::close(near);
        super::close::close(far);
        return Err(failure);
    }
    Ok(0)
}
