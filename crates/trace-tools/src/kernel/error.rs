//! What can stand in the way of a kernel session.

use std::io;
use std::path::{Path, PathBuf};

/// Why a session cannot be had, or not as asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No tracefs is mounted.
    #[error("tracefs is not mounted; mount -t tracefs nodev /sys/kernel/tracing")]
    NotMounted,
    /// It is mounted, and something else over it, as in some containers.
    #[error("{root}: tracefs is mounted there, but something else lies over it; umount {root}", root = root.display())]
    Hidden {
        /// Where.
        root: PathBuf,
    },
    /// It is there and closed to this user.
    #[error(
        "{path}: permission denied; tracing the kernel is for root (sudo), or for a group: mount -o remount,gid=GROUP of tracefs"
    )]
    Permission {
        /// What could not be opened.
        path: PathBuf,
    },
    /// It is there and closed to root too.
    #[error("{path}: refused to root too; {why}")]
    Refused {
        /// What could not be opened.
        path: PathBuf,
        /// Lockdown, if it is on.
        why: String,
    },
    /// No event of this kernel matches a pattern.
    #[error("no event of this kernel is meant by {pattern}{}", did_you_mean(.nearest))]
    UnknownEvent {
        /// As it was given.
        pattern: String,
        /// Names that are near, the nearest first.
        nearest: Vec<String>,
    },
    /// The clock that was asked for is not one that this kernel has and trusts.
    #[error("the clock {clock} cannot be used: {why}")]
    Clock {
        /// As tracefs calls it.
        clock: &'static str,
        /// As [`super::Support`] says.
        why: String,
    },
    /// Processes have other numbers here than the kernel's tracer knows them by.
    #[error(
        "this is a PID namespace of its own, where processes have other numbers than the kernel's tracer knows them by; \
         run it outside, or give the container the machine's (such as --pid=host)"
    )]
    Numbers,
    /// A process that is to be traced is not there.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// A file of tracefs, or of ours, answers with an error.
    #[error("{}: cannot {doing}: {source}", path.display())]
    File {
        /// Such as `read`.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// What the kernel reports.
        source: io::Error,
    },
    /// What the kernel says about an event or a page is not understood.
    #[error("{}: not understood: {what}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What stands there.
        what: String,
    },
    /// A process or a thread that the session needs could not be started.
    #[error("cannot start {what}: {source}")]
    Start {
        /// Such as `the guard`.
        what: &'static str,
        /// What the kernel reports.
        source: io::Error,
    },
}

impl Error {
    /// The error of doing something to a file, by its kind.
    pub fn file(doing: &'static str, path: &Path, source: io::Error) -> Error {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied if !headwater_os_tools::machine::is_root() => Error::Permission { path },
            io::ErrorKind::PermissionDenied => {
                let why = match super::support::lockdown() {
                    Some(mode) => format!("lockdown={mode}"),
                    None => "a container may lack the capability for it, or lockdown is on where securityfs does not show it".to_owned(),
                };
                Error::Refused { path, why }
            }
            _ => Error::File { doing, path, source },
        }
    }
}

fn did_you_mean(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}
