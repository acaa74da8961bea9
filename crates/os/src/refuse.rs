//! Refusing system calls, for tests: as an older kernel or the system call filter of a container would.
//!
//! A seccomp filter makes the chosen calls fail with an errno, and allows all others.

use std::io;
use std::mem::offset_of;

/// A system call to refuse.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// The number of the call (`libc::SYS_...`).
    pub call: i64,
    /// If set, the call is refused only with this argument: its index, and the low half of its value.
    pub argument: Option<(usize, u32)>,
    /// The error with which the call fails.
    pub errno: i32,
}

/// Like [`refuse`], for all calls with a number of at least `number`, which fail with `ENOSYS`. It imitates an older kernel:
/// from `pidfd_send_signal` (424, Linux 5.1) on, calls are numbered in the order of their appearance, on all architectures.
///
/// # Errors
/// Those of [`refuse`].
pub fn refuse_from(number: u32) -> io::Result<()> {
    install(vec![
        step(LOAD, offset_of!(libc::seccomp_data, nr) as u32),
        libc::sock_filter { code: JUMP_IF_AT_LEAST as u16, jt: 0, jf: 1, k: number },
        step(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        step(RETURN, ALLOW),
    ])
}

/// Makes the kernel refuse calls of the calling thread, and of the processes and programs that it starts. This cannot be undone.
///
/// # Errors
/// The errors of prctl(2), if the kernel has no seccomp.
pub fn refuse(refusals: &[Refusal]) -> io::Result<()> {
    install(refusals.iter().flat_map(program).chain([step(RETURN, ALLOW)]).collect())
}

fn install(filter: Vec<libc::sock_filter>) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the arguments are numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the program and its filter exist during the call, and the kernel copies them.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const JUMP_IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// Returns the steps that refuse a call. If the call or its argument differs, they continue after the refusal.
fn program(refusal: &Refusal) -> Vec<libc::sock_filter> {
    let mut steps = vec![
        step(LOAD, offset_of!(libc::seccomp_data, nr) as u32),
        jump(refusal.call as u32, if refusal.argument.is_some() { 3 } else { 1 }),
    ];
    if let Some((index, value)) = refusal.argument {
        // The low half of a 64-bit word on a little-endian machine.
        steps.push(step(LOAD, (offset_of!(libc::seccomp_data, args) + 8 * index) as u32));
        steps.push(jump(value, 1));
    }
    steps.push(step(RETURN, libc::SECCOMP_RET_ERRNO | refusal.errno as u32));
    steps
}

fn step(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

/// Continues with the next step if the values are equal, otherwise skips `otherwise` steps.
fn jump(value: u32, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: JUMP_IF_EQUAL as u16, jt: 0, jf: otherwise, k: value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Child;

    #[test]
    fn only_the_chosen_calls_are_refused() {
        let mut child = Child::fork(|| {
            let getppid = Refusal { call: libc::SYS_getppid, argument: None, errno: libc::EPERM };
            let advice = Refusal { call: libc::SYS_madvise, argument: Some((2, 18)), errno: libc::EINVAL };
            refuse(&[advice, getppid]).expect("seccomp");
            let call = |number: i64, argument: usize| {
                // SAFETY: these calls touch no memory with these arguments: the range of madvise is empty.
                let done = unsafe { libc::syscall(number, 0, 0, argument) };
                (done == -1).then(|| io::Error::last_os_error().raw_os_error().expect("an errno"))
            };
            assert_eq!(call(libc::SYS_getppid, 0), Some(libc::EPERM));
            assert_eq!(call(libc::SYS_madvise, 18), Some(libc::EINVAL));
            assert_eq!(call(libc::SYS_madvise, 4), None);
            assert_eq!(call(libc::SYS_getpid, 0), None);
            0
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn refuse_from_refuses_later_calls() {
        let mut child = Child::fork(|| {
            refuse_from(434).expect("seccomp");
            // SAFETY: no memory is touched: the numbers name no descriptor and no flag.
            let answer = |call: i64| match unsafe { libc::syscall(call, -1, -1, -1, -1) } {
                -1 => io::Error::last_os_error().raw_os_error().expect("an errno"),
                _ => 0,
            };
            assert_eq!((answer(libc::SYS_pidfd_open), answer(libc::SYS_close_range)), (libc::ENOSYS, libc::ENOSYS));
            assert_ne!(answer(libc::SYS_pidfd_send_signal), libc::ENOSYS);
            0
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
    }
}
