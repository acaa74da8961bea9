//! Errors of kernel sessions.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a session is not possible, or not as requested.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// tracefs is not mounted, and this process cannot mount it for itself.
    #[error(
        "tracefs is not mounted, and cannot be mounted for this process alone: {why}; as root: mount -t tracefs nodev /sys/kernel/tracing"
    )]
    NotMounted {
        /// The error of the system.
        why: io::Error,
    },
    /// tracefs is mounted, but another file system is mounted over it, as in some containers.
    #[error("{root}: tracefs is mounted there, but something else lies over it; umount {root}", root = root.display())]
    Hidden {
        /// The mount point.
        root: PathBuf,
    },
    /// This user has no access to tracefs.
    #[error(
        "{path}: permission denied; tracing the kernel is for root (sudo), or for a group: mount -o remount,gid=GROUP of tracefs"
    )]
    Permission {
        /// The file that could not be opened.
        path: PathBuf,
    },
    /// Even root has no access to tracefs.
    #[error("{path}: refused to root too; {why}")]
    Refused {
        /// The file that could not be opened.
        path: PathBuf,
        /// Lockdown or another reason.
        why: String,
    },
    /// No event of this kernel matches a pattern.
    #[error("no event of this kernel is meant by {pattern}{}", did_you_mean(.nearest))]
    UnknownEvent {
        /// The pattern.
        pattern: String,
        /// Similar names, the most similar first.
        nearest: Vec<String>,
    },
    /// The kernel does not accept a filter of values, for example because the event has no such field.
    #[error("the kernel refuses the filter of {event}:\n{why}")]
    Filter {
        /// The event.
        event: String,
        /// The filter with a mark and the reason, as the kernel prints them.
        why: String,
    },
    /// The requested clock is not available or not reliable.
    #[error("the clock {clock} cannot be used: {why}")]
    Clock {
        /// Its name in tracefs.
        clock: &'static str,
        /// The reason, as in [`super::Support`].
        why: String,
    },
    /// This PID namespace is not the one whose process ids the kernel's tracer uses.
    #[error(
        "this is a PID namespace of its own, where processes have other numbers than the kernel's tracer knows them by; \
         run it outside, or give the container the machine's (such as --pid=host)"
    )]
    Numbers,
    /// A process to be traced does not exist.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// A file operation failed.
    #[error("{}: cannot {doing}: {source}", path.display())]
    File {
        /// The operation, such as `read`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An event's description or a page has an unknown format.
    #[error("{}: not understood: {what}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Its contents.
        what: String,
    },
    /// A process or thread of the session could not be started.
    #[error("cannot start {what}: {source}")]
    Start {
        /// What could not be started, such as `the guard`.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl Error {
    /// Converts the error of an operation on a file.
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
