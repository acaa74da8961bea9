//! posix_spawn: which numbers the new program has is known beforehand, by the file actions.

use std::ffi::{c_char, c_int, c_void};

use libc::pid_t;

use super::real::Texts;
use super::{Environment, next};
use crate::{inherit, table};

mod real {
    //! The next library's.
    use super::{Actions, Texts, c_char, c_int, c_void, next, pid_t};

    next! {
        posix_spawn(
            pid: *mut pid_t, path: *const c_char, actions: *const Actions, attributes: *const c_void,
            arguments: Texts, environment: Texts
        ) -> c_int;
        posix_spawnp(
            pid: *mut pid_t, file: *const c_char, actions: *const Actions, attributes: *const c_void,
            arguments: Texts, environment: Texts
        ) -> c_int;
    }
}

/// glibc's posix_spawn_file_actions_t (its ABI: programs have it on their stacks).
#[derive(Debug)]
#[repr(C)]
pub struct Actions {
    allocated: c_int,
    used: c_int,
    list: *const Action,
}

/// glibc's struct __spawn_action.
#[derive(Debug)]
#[repr(C)]
struct Action {
    kind: c_int,
    _alignment: c_int,
    /// Of a close, a dup2, an open: the number. Of closefrom: the first.
    number: c_int,
    /// Of a dup2: the new one.
    other: c_int,
    _more: [usize; 2],
}

const CLOSE: c_int = 0;
const DUP2: c_int = 1;
const OPEN: c_int = 2;
const CLOSEFROM: c_int = 5;

/// Calls `spawn` while the streams that the new program gets can be inherited.
fn with_streams(actions: *const Actions, environment: Texts, spawn: impl FnOnce(Texts) -> c_int) -> c_int {
    if !table::is_any() {
        return spawn(environment);
    }
    let mut kept = inherit::open_numbers();
    // SAFETY: null, or what posix_spawn_file_actions_init has made.
    if let Some(actions) = unsafe { actions.as_ref() } {
        let count = usize::try_from(actions.used).unwrap_or(0);
        // SAFETY: the list has so many.
        let list = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(actions.list, count) } };
        for action in list {
            match action.kind {
                CLOSE | OPEN => kept.close(action.number),
                DUP2 => kept.copy(action.number, action.other),
                CLOSEFROM => kept.close_from(action.number),
                _ => {}
            }
        }
    }
    let passed = inherit::pass(kept.kept_by_exec());
    // SAFETY: the program's environment, as posix_spawn reads it.
    let environment = unsafe { Environment::with(environment, &passed) };
    let spawned = spawn(environment.texts());
    passed.take_back();
    spawned
}

/// posix_spawn(3).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const Actions,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    with_streams(actions, environment, |environment| {
        // SAFETY: by the caller.
        unsafe { real::posix_spawn(pid, path, actions, attributes, arguments, environment) }
    })
}

/// posix_spawnp(3).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_posix_spawnp(
    pid: *mut pid_t,
    file: *const c_char,
    actions: *const Actions,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    with_streams(actions, environment, |environment| {
        // SAFETY: by the caller.
        unsafe { real::posix_spawnp(pid, file, actions, attributes, arguments, environment) }
    })
}

const _: () = assert!(size_of::<Action>() == 32);
