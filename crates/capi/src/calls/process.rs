//! exec, posix_spawn and vfork. A new program that gets a descriptor of a stream gets the whole stream.
//!
//! The program's descriptors that exec leaves open are the kernel's affair. The stream's own descriptors stay open too,
//! and an environment variable names them and the program's descriptors that belong to them. The library of the new
//! program opens the stream when the program starts.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use libc::pid_t;

use crate::errno;
use crate::next::next;
use crate::{inherit, table};

mod spawn;
#[cfg(target_arch = "x86_64")]
mod variadic;

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_char, c_int, next};

    /// `argv` or `envp` of exec: an array of strings that ends with a null pointer.
    pub type Strings = *const *const c_char;

    next! {
        execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int;
        execvpe(file: *const c_char, argv: Strings, envp: Strings) -> c_int;
        fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int;
        execveat(
            directory: c_int, path: *const c_char, argv: Strings, envp: Strings, flags: c_int
        ) -> c_int;
        fork() -> libc::pid_t;
    }
}

use real::Strings;

unsafe extern "C" {
    static environ: Strings;
}

/// Calls `exec` with an environment that names the streams which the new program gets. Returns only if `exec` fails.
fn with_streams(envp: Strings, exec: impl FnOnce(Strings) -> c_int) -> c_int {
    if !table::is_any() {
        return exec(envp);
    }
    let passed = inherit::pass(inherit::kept_open());
    // SAFETY: the program passes `envp` to exec: it is null, or an array of strings that ends with a null pointer.
    let envp = unsafe { Environment::with(envp, &passed) };
    let failed = exec(envp.as_ptr());
    let failure = errno::last();
    passed.take_back();
    errno::set(failure.0);
    failed
}

/// A copy of an environment, with the variable that names the streams.
pub struct Environment {
    /// Owned here; an entry of `strings` points to it.
    _variable: Option<CString>,
    strings: Vec<*const c_char>,
}

impl Environment {
    /// Copies an environment, without the variable of an earlier program, and adds the one that names `passed`.
    ///
    /// # Safety
    /// `others` is null, or an array of strings that ends with a null pointer. The strings live longer than the result.
    pub unsafe fn with(others: Strings, passed: &inherit::Passed) -> Environment {
        let variable = passed.variable();
        let mut strings = Vec::new();
        let mut at = others;
        // SAFETY: the caller promises that `others` is null or ends with a null pointer, which is not passed.
        while !at.is_null() && !unsafe { *at }.is_null() {
            // SAFETY: the loop has just read this entry of `others`.
            let string = unsafe { *at };
            // SAFETY: the caller promises that each entry of `others` is a string.
            if !inherit::is_variable(unsafe { std::ffi::CStr::from_ptr(string) }) {
                strings.push(string);
            }
            at = at.wrapping_add(1);
        }
        strings.extend(variable.as_ref().map(|variable| variable.as_ptr()));
        strings.push(ptr::null());
        Environment { _variable: variable, strings }
    }

    pub fn as_ptr(&self) -> Strings {
        self.strings.as_ptr()
    }
}

/// execve(2).
///
/// # Safety
/// `path` is a string; `argv` and `envp` are arrays of strings that end with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: the caller promises that `path` is a string, and that `argv` ends with a null pointer (execve(2)).
    with_streams(envp, |envp| unsafe { real::execve(path, argv, envp) })
}

/// execv(3).
///
/// # Safety
/// `path` is a string; `argv` is an array of strings that ends with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_execv(path: *const c_char, argv: Strings) -> c_int {
    // SAFETY: the caller promises that `path` is a string, and that `argv` ends with a null pointer (execv(3));
    // `environ` is the program's environment.
    unsafe { hw_c_execve(path, argv, environ) }
}

/// execvpe(3).
///
/// # Safety
/// `file` is a string; `argv` and `envp` are arrays of strings that end with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_execvpe(file: *const c_char, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: the caller promises that `file` is a string, and that `argv` ends with a null pointer (execvpe(3)).
    with_streams(envp, |envp| unsafe { real::execvpe(file, argv, envp) })
}

/// execvp(3).
///
/// # Safety
/// `file` is a string; `argv` is an array of strings that ends with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_execvp(file: *const c_char, argv: Strings) -> c_int {
    // SAFETY: the caller promises that `file` is a string, and that `argv` ends with a null pointer (execvp(3));
    // `environ` is the program's environment.
    unsafe { hw_c_execvpe(file, argv, environ) }
}

/// fexecve(3).
///
/// # Safety
/// `argv` and `envp` are arrays of strings that end with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int {
    // SAFETY: the caller promises that `argv` ends with a null pointer (fexecve(3)).
    with_streams(envp, |envp| unsafe { real::fexecve(fd, argv, envp) })
}

/// execveat(2).
///
/// # Safety
/// `path` is a string; `argv` and `envp` are arrays of strings that end with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_execveat(
    directory: c_int,
    path: *const c_char,
    argv: Strings,
    envp: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller promises that `path` is a string, and that `argv` ends with a null pointer (execveat(2)).
    with_streams(envp, |envp| unsafe { real::execveat(directory, path, argv, envp, flags) })
}

/// fork(2), called instead of vfork(2): a child that shares the memory would change the parent's table of streams.
///
/// # Safety
/// In a process with several threads, the child calls only async-signal-safe functions (fork(2)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_vfork_as_fork() -> pid_t {
    // SAFETY: fork takes no pointer; the caller promises that the child calls only async-signal-safe functions.
    unsafe { real::fork() }
}

/// Returns where vfork(2) continues: in the next library's function, or in fork(2) if this process has a stream.
#[unsafe(no_mangle)]
pub extern "C" fn hw_own_vfork_address() -> *const c_void {
    static NEXT: crate::next::Next = crate::next::Next::new(c"vfork");
    let next = NEXT.address();
    if table::is_any() || next.is_null() { hw_own_vfork_as_fork as *const c_void } else { next }
}

// A function that calls vfork(2) must not return before its child has ended or called exec, so this one jumps.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.hw_c_vfork,\"ax\",@progbits",
    ".globl hw_c_vfork",
    ".type hw_c_vfork,@function",
    "hw_c_vfork:",
    "sub rsp, 8",
    "call {address}",
    "add rsp, 8",
    "jmp rax",
    ".size hw_c_vfork, .-hw_c_vfork",
    ".popsection",
    address = sym hw_own_vfork_address,
);
