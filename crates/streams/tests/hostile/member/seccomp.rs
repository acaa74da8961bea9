//! A filter of system calls whose decisions another process takes (seccomp_unotify(2)): a call that is not on the list of the
//! free ones waits until that process has allowed or refused it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::common::polled;

/// Calls of the kernel, as `libc` numbers them.
pub type Number = libc::c_long;

/// The processor's number in the kernel's description of a call (AUDIT_ARCH_...): 64 bits, little-endian, and the machine of ELF.
const PROCESSOR: u32 = 0xc000_0000 | if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// Has every thread of this process, and every later one, ask before each system call but the `free` ones; of fcntl(2), before the
/// `asked` commands alone. Returns the number of the descriptor by which the calls are supervised.
///
/// # Errors
/// What seccomp(2) reports: without the call, and where another process supervises this one already.
pub fn install(free: &[Number], asked: &[libc::c_int]) -> io::Result<RawFd> {
    // SAFETY: prctl touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let program = program(free, asked);
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // All threads; a signal does not interrupt a call that waits for its answer.
    let flags = libc::SECCOMP_FILTER_FLAG_TSYNC
        | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH
        | libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
        | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the program is there for the time of the call, which copies it.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(&program)) };
    if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(descriptor as RawFd) }
}

fn program(free: &[Number], asked: &[libc::c_int]) -> Vec<libc::sock_filter> {
    let load = |at: usize| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at as u32, 0, 0);
    let equals = |value: u32, yes: u8, no: u8| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, yes, no);
    let answer = |action: u32| step(libc::BPF_RET | libc::BPF_K, action, 0, 0);
    let number = std::mem::offset_of!(libc::seccomp_data, nr);
    let second = std::mem::offset_of!(libc::seccomp_data, args) + size_of::<u64>();
    // A call of 32 bits has other numbers.
    let mut program = vec![
        load(std::mem::offset_of!(libc::seccomp_data, arch)),
        equals(PROCESSOR, 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(number),
    ];
    for call in free {
        program.extend([equals(*call as u32, 0, 1), answer(libc::SECCOMP_RET_ALLOW)]);
    }
    program.extend([equals(libc::SYS_fcntl as u32, 0, 2 + 2 * asked.len() as u8), load(second)]);
    for command in asked {
        program.extend([equals(*command as u32, 0, 1), answer(libc::SECCOMP_RET_USER_NOTIF)]);
    }
    program.extend([answer(libc::SECCOMP_RET_ALLOW), answer(libc::SECCOMP_RET_USER_NOTIF)]);
    program
}

fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    id: u64,
    /// The thread.
    pub thread: u32,
    pub number: Number,
    pub arguments: [u64; 6],
}

/// The supervisor's side.
#[derive(Debug)]
pub struct Supervised(File);

impl Supervised {
    /// That of a descriptor of another process, whose parent the caller is.
    ///
    /// # Errors
    /// What pidfd_open(2) and pidfd_getfd(2) report.
    pub fn of(process: u32, number: RawFd) -> io::Result<Supervised> {
        let owned = |number: libc::c_long| {
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the kernel has just made the descriptor.
            Ok(unsafe { OwnedFd::from_raw_fd(number as RawFd) })
        };
        // SAFETY: takes numbers.
        let pidfd = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
        // SAFETY: as above.
        let copy = owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), number, 0) })?;
        Ok(Supervised(copy.into()))
    }

    /// The next call, if one waits within `time`.
    pub fn next(&self, time: Duration) -> Option<Asked> {
        if polled(&self.0, libc::POLLIN, time) & libc::POLLIN == 0 {
            return None;
        }
        // SAFETY: all zeros is a value of the type, and what the kernel demands.
        let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills in the valid structure.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &mut notice) };
        // The thread has ended meanwhile.
        (done == 0).then_some(Asked {
            id: notice.id,
            thread: notice.pid,
            number: notice.data.nr.into(),
            arguments: notice.data.args,
        })
    }

    /// Whether the thread still waits: what was read of its memory and descriptors was its own.
    pub fn waits(&self, asked: &Asked) -> bool {
        // SAFETY: the kernel reads a valid number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) == 0 }
    }

    /// Has the kernel run the call, or has it fail with an errno. A thread that was killed meanwhile gets nothing.
    pub fn answer(&self, asked: &Asked, refusal: Option<libc::c_int>) {
        let flags = if refusal.is_some() { 0 } else { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 };
        let answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: refusal.map_or(0, |errno| -errno), flags };
        // SAFETY: the kernel reads the valid structure.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &answer) };
    }
}
