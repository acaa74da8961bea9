//! posix_spawn. The file actions tell beforehand which descriptors the new program has.

use std::ffi::{c_char, c_int, c_void};

use libc::pid_t;

use super::real::Strings;
use super::{Environment, next};
use crate::{inherit, own, table};

mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{Actions, Strings, c_char, c_int, c_void, next, pid_t};

    next! {
        posix_spawn(
            pid: *mut pid_t, path: *const c_char, actions: *const Actions, attributes: *const c_void,
            argv: Strings, envp: Strings
        ) -> c_int;
        posix_spawnp(
            pid: *mut pid_t, file: *const c_char, actions: *const Actions, attributes: *const c_void,
            argv: Strings, envp: Strings
        ) -> c_int;
    }
}

/// glibc's posix_spawn_file_actions_t. Its layout is part of glibc's ABI: programs have it on their stacks.
#[derive(Debug)]
#[repr(C)]
pub struct Actions {
    allocated: c_int,
    used: c_int,
    list: *const Action,
    _more: [c_int; 16],
}

/// glibc's struct __spawn_action.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Action {
    kind: c_int,
    _alignment: c_int,
    /// The descriptor that a close, a dup2 or an open is about; the first one of a closefrom.
    fd: c_int,
    /// The descriptor that a dup2 makes.
    other: c_int,
    _more: [usize; 2],
}

const CLOSE: c_int = 0;
const DUP2: c_int = 1;
const OPEN: c_int = 2;
const CLOSEFROM: c_int = 5;

/// Calls `spawn` while the new program's streams are inheritable, with the file actions and the environment that the
/// new program needs for them.
fn with_streams(actions: *const Actions, envp: Strings, spawn: impl FnOnce(*const Actions, Strings) -> c_int) -> c_int {
    if !table::is_any() {
        return spawn(actions, envp);
    }
    let mut kept = inherit::open_fds();
    let mut list = &[][..];
    // SAFETY: the program passes `actions` to posix_spawn: it is null, or posix_spawn_file_actions_init has filled it
    // in.
    if let Some(actions) = unsafe { actions.as_ref() } {
        let count = usize::try_from(actions.used).unwrap_or(0);
        if count > 0 {
            // SAFETY: glibc keeps `used` actions at `list`.
            list = unsafe { std::slice::from_raw_parts(actions.list, count) };
        }
        for action in list {
            match action.kind {
                CLOSE | OPEN => kept.close(action.fd),
                DUP2 => kept.copy(action.fd, action.other),
                CLOSEFROM => kept.close_from(action.fd),
                _ => {}
            }
        }
    }
    let passed = inherit::pass(kept.kept_by_exec());
    // SAFETY: the program passes `envp` to posix_spawn: it is null, or an array of strings that ends with a null
    // pointer.
    let envp = unsafe { Environment::with(envp, &passed) };
    let spares_own = passed.is_any() && list.iter().any(|action| action.kind == CLOSEFROM);
    let list = if spares_own { sparing_own(list) } else { Vec::new() };
    let changed =
        Actions { allocated: list.len() as c_int, used: list.len() as c_int, list: list.as_ptr(), _more: [0; 16] };
    let spawned = spawn(if spares_own { &raw const changed } else { actions }, envp.as_ptr());
    passed.take_back();
    spawned
}

/// Returns these actions, except that a closefrom leaves the library's own descriptors open. exec then closes those
/// that belong to no stream of the new program.
fn sparing_own(list: &[Action]) -> Vec<Action> {
    let own = table::own_fds();
    let limit = limit();
    let mut sparing = Vec::new();
    for action in list {
        if action.kind != CLOSEFROM {
            sparing.push(*action);
            continue;
        }
        let mut from = action.fd;
        let mut close_until = |fd| {
            // Descriptors that are not open now are closed too: another thread may open one before the new process has
            // its copies. A descriptor above the limit would be an error.
            let may_be_open = |fd: &c_int| *fd < limit || own::is_open(*fd);
            sparing.extend((from..fd).filter(may_be_open).map(|fd| Action { kind: CLOSE, fd, ..*action }));
            from = from.max(fd + 1);
        };
        own.iter().copied().filter(|fd| *fd >= action.fd).for_each(&mut close_until);
        sparing.push(Action { fd: from, ..*action });
    }
    sparing
}

/// Returns the limit of open files.
fn limit() -> c_int {
    // SAFETY: zeros are a value of rlimit, and getrlimit writes only to `limit`.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        let asked = libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        if asked == 0 { c_int::try_from(limit.rlim_cur).unwrap_or(c_int::MAX) } else { 0 }
    }
}

/// posix_spawn(3).
///
/// # Safety
/// The pointers are as posix_spawn(3) requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const Actions,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    with_streams(actions, envp, |actions, envp| {
        // SAFETY: the caller promises that all pointers are as posix_spawn(3) requires; `actions` and `envp` are the
        // caller's or copies of them.
        unsafe { real::posix_spawn(pid, path, actions, attributes, argv, envp) }
    })
}

/// posix_spawnp(3).
///
/// # Safety
/// The pointers are as posix_spawnp(3) requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_posix_spawnp(
    pid: *mut pid_t,
    file: *const c_char,
    actions: *const Actions,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    with_streams(actions, envp, |actions, envp| {
        // SAFETY: the caller promises that all pointers are as posix_spawnp(3) requires; `actions` and `envp` are the
        // caller's or copies of them.
        unsafe { real::posix_spawnp(pid, file, actions, attributes, argv, envp) }
    })
}

const _: () = assert!(size_of::<Action>() == 32 && size_of::<Actions>() == 80);
