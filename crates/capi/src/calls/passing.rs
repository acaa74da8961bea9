//! sendmsg, recvmsg, sendmmsg and recvmmsg. If a stream is among the descriptors that go over a local socket
//! (SCM_RIGHTS), it is replaced by a descriptor that stands for all of its own ([`Stream::to_bundle`]). A received end
//! of a pipe or FIFO becomes a stream at once. A received end of a driver becomes one when the program names the
//! driver: hw_take_stream.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use headwater_streams::limits::NAME_MAX;
use headwater_streams::{Device, Stream};
use libc::{cmsghdr, mmsghdr, msghdr, timespec};

use crate::errno::{Called, Failure, guarded, returned};
use crate::memory;
use crate::next::next;
use crate::own::{self, hw_own_fcntl};
use crate::stale;
use crate::startup;
use crate::table::{self, Mode};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, c_uint, mmsghdr, msghdr, next, timespec};

    next! {
        sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> isize;
        recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> isize;
        sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
        recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, time: *mut timespec) -> c_int;
    }
}

/// sendmsg(2).
///
/// # Safety
/// `message` points at a message as sendmsg(2) requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> isize {
    if let Some(failure) = refused(fd) {
        return returned(Err(failure));
    }
    let replaced = if table::is_any() { guarded(|| Replaced::from_message(message)) } else { Ok(None) };
    match replaced {
        Err(failure) => returned(Err(failure)),
        // SAFETY: the caller promises a message at `message` (sendmsg(2)).
        Ok(None) => unsafe { real::sendmsg(fd, message, flags) },
        Ok(Some(replaced)) => {
            // SAFETY: the message is a copy of the caller's, with a control part that `replaced` owns.
            unsafe { real::sendmsg(fd, &replaced.message, flags) }
        }
    }
}

/// recvmsg(2).
///
/// # Safety
/// `message` points at a writable message as recvmsg(2) requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> isize {
    if let Some(failure) = refused(fd) {
        return returned(Err(failure));
    }
    // SAFETY: the caller promises a writable message at `message` (recvmsg(2)).
    let received = unsafe { real::recvmsg(fd, message, flags) };
    if received >= 0 {
        // SAFETY: recvmsg has succeeded, so the kernel has just filled in the message.
        unsafe { take_up_all(&*message, flags) };
    }
    received
}

/// Makes a received descriptor that stands for a stream of a driver that stream, under the same descriptor.
///
/// # Safety
/// Safe for any `driver`, which is checked, if no other thread writes it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_take_stream(fd: c_int, driver: *const c_char) -> c_int {
    returned(guarded(|| {
        // SAFETY: `memory::text` checks `driver`; the caller promises that no other thread writes it during the call.
        let driver = unsafe { memory::text(driver, NAME_MAX + 1)? };
        let driver = driver.to_str().map_err(|_| Failure(libc::EINVAL))?;
        if table::is_stream(fd) || table::is_own(fd) || !own::is_open(fd) {
            return Err(Failure(if table::is_stream(fd) { libc::ENOSTR } else { libc::EBADF }));
        }
        startup::prepare();
        // SAFETY: the program has just been found to have `fd` open. If another thread closes it during the call, the
        // kernel refuses it.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        let stream = Device::take_bundle(driver, file)?.ok_or(Failure(libc::ENOSTR))?;
        // SAFETY: F_GETFD takes no pointer and changes nothing.
        let flags = unsafe { hw_own_fcntl(fd, libc::F_GETFD, 0) };
        table::replace(stream, Mode::BOTH, fd, flags & libc::FD_CLOEXEC != 0)?;
        Ok(0)
    }))
}

/// sendmmsg(2).
///
/// # Safety
/// `messages` points at `count` writable messages as sendmmsg(2) requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int {
    if let Some(failure) = refused(fd) {
        return returned(Err(failure));
    }
    let message = |at: u32| messages.wrapping_add(at as usize);
    // SAFETY: only the address is taken; what lies there is checked before it is read.
    let header = |at| unsafe { &raw const (*message(at)).msg_hdr };
    let has_streams = |at| !matches!(guarded(|| Replaced::from_message(header(at))), Ok(None));
    if !table::is_any() || !(0..count.min(MESSAGES_MAX)).any(has_streams) {
        // SAFETY: the caller promises `count` messages at `messages` (sendmmsg(2)).
        return unsafe { real::sendmmsg(fd, messages, count, flags) };
    }
    let mut sent = 0;
    while sent < count.min(MESSAGES_MAX) {
        // SAFETY: the caller promises `count` messages at `messages`; the kernel refuses a bad address.
        let len = unsafe { hw_c_sendmsg(fd, header(sent), flags) };
        // SAFETY: only the address is taken; `memory::put` checks it.
        if len < 0 || memory::put(unsafe { &raw mut (*message(sent)).msg_len }, len as c_uint).is_err() {
            break;
        }
        sent += 1;
    }
    if sent == 0 { -1 } else { sent as c_int }
}

/// recvmmsg(2).
///
/// # Safety
/// `messages` points at `count` writable messages; `time` is null or points at a writable timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    time: *mut timespec,
) -> c_int {
    if let Some(failure) = refused(fd) {
        return returned(Err(failure));
    }
    // SAFETY: the caller promises `count` writable messages at `messages`, and that `time` is null or writable
    // (recvmmsg(2)).
    let received = unsafe { real::recvmmsg(fd, messages, count, flags, time) };
    for at in 0..usize::try_from(received).unwrap_or(0) {
        // SAFETY: recvmmsg has succeeded, so the kernel has just filled in `received` messages.
        unsafe { take_up_all(&(*messages.add(at)).msg_hdr, flags) };
    }
    received
}

/// The most messages of one call (the kernel's UIO_MAXIOV).
const MESSAGES_MAX: c_uint = 1024;

/// Returns why no message can go through a descriptor. `None` if the kernel decides.
fn refused(fd: c_int) -> Option<Failure> {
    if table::is_own(fd) {
        return Some(Failure(libc::EBADF));
    }
    table::is_stream(fd).then_some(Failure(libc::ENOTSOCK))
}

/// Handles the descriptors of a received message.
///
/// # Safety
/// The kernel has just filled in `message`.
unsafe fn take_up_all(message: &msghdr, flags: c_int) {
    // With MSG_PEEK the descriptors are further ones of the same files, and are left as they are.
    // SAFETY: the caller promises that the kernel has just filled in `message`, so its control part is there.
    unsafe {
        for_each_file(message, |place| {
            let fd = stale::created(place.read_unaligned());
            if flags & libc::MSG_PEEK == 0 {
                let _ = guarded(|| take_up(fd, flags & libc::MSG_CMSG_CLOEXEC != 0));
            }
        });
    }
}

/// Makes a received descriptor a stream, if it stands for the end of a pipe or FIFO. A descriptor of a driver is left
/// as it is.
fn take_up(fd: c_int, closed_by_exec: bool) -> Called<()> {
    // SAFETY: the kernel has just made the descriptor for the program, which does not know it yet.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    startup::prepare();
    match Stream::from_bundle(file)? {
        Some(stream) => table::replace(stream, Mode::BOTH, fd, closed_by_exec),
        None => Ok(()),
    }
}

/// Calls `action` with the address of each descriptor in the message.
///
/// # Safety
/// The control part of `message` is as long as the message says.
unsafe fn for_each_file(message: &msghdr, mut action: impl FnMut(*mut c_int)) {
    // SAFETY: the caller promises a control part of the length that `message` has; the CMSG macros stay within it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let len = header.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let files = libc::CMSG_DATA(control).cast::<c_int>();
                (0..len / size_of::<c_int>()).for_each(|at| action(files.add(at)));
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
}

/// A message whose streams are replaced by descriptors that stand for them.
struct Replaced {
    message: msghdr,
    /// The control part of `message`. Its type gives the alignment of control headers.
    _control: Vec<u64>,
    /// The descriptors that stand for the streams. They stay open until the message has been sent.
    _files: Vec<OwnedFd>,
}

impl Replaced {
    /// Copies a message. Returns `None` if the message has no stream, or if the kernel is to refuse it.
    fn from_message(message: *const msghdr) -> Called<Option<Replaced>> {
        // SAFETY: `memory::get` checks that `message` is readable, and any bytes are a valid msghdr.
        let Ok(mut message) = (unsafe { memory::get(message) }) else { return Ok(None) };
        if message.msg_control.is_null() || message.msg_controllen < size_of::<cmsghdr>() {
            return Ok(None);
        }
        // SAFETY: `memory::bytes` checks the control part, and the program must not change it during the call.
        let Ok(bytes) = (unsafe { memory::bytes(message.msg_control.cast_const(), message.msg_controllen) }) else {
            return Ok(None);
        };
        let mut control = vec![0u64; bytes.len().div_ceil(8)];
        // SAFETY: `control` has room for `bytes.len()` bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), control.as_mut_ptr().cast(), bytes.len()) };
        message.msg_control = control.as_mut_ptr().cast::<c_void>();
        let (mut files, mut failure) = (Vec::new(), None);
        // SAFETY: the control part is our copy, whose length the message has.
        unsafe {
            for_each_file(&message, |place| {
                let fd = place.read_unaligned();
                match table::with(fd, |open| Ok(open.stream.to_bundle()?)) {
                    Some(Ok(file)) => {
                        place.write_unaligned(file.as_raw_fd());
                        files.push(file);
                    }
                    Some(Err(why)) => failure = Some(why),
                    None if table::is_own(fd) => failure = Some(Failure(libc::EBADF)),
                    None => {}
                }
            });
        }
        match failure {
            Some(failure) => Err(failure),
            None if files.is_empty() => Ok(None),
            None => Ok(Some(Replaced { message, _control: control, _files: files })),
        }
    }
}
