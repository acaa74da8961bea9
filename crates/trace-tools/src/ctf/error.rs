//! Errors with a trace's files. Every message names the file.

use std::io;
use std::path::{Path, PathBuf};

use super::walk::Unsound;
use crate::schema::Unfit;

/// The reason why a trace could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operation of the file system failed, for example because the disk is full.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The directory of a new trace is not empty.
    #[error("{} is not empty: name a directory that does not exist yet, or remove what is in it", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// CTF cannot express the schema.
    #[error("a trace cannot be described so: {0}")]
    Unfit(#[from] Unfit),
    /// The stream does not exist, or the id of a new event type is used by another one.
    #[error("not in the schema of {}: {message}", path.display())]
    Schema {
        /// The trace's directory.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// A packet contains invalid records. Nothing of the packet was written.
    #[error("the packet for {} is not sound: {unsound}", path.display())]
    Unsound {
        /// The file of the packet.
        path: PathBuf,
        /// The position and the problem.
        unsound: Unsound,
    },
    /// The metadata was not written by this program.
    #[error("{}:{line}: {message}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// What was expected, and what was found.
        message: String,
    },
    /// A file contains data that no writer writes.
    #[error("{} is damaged at byte {at}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The position in bytes.
        at: u64,
        /// The problem.
        message: String,
    },
    /// There is no trace.
    #[error("{}: {message}", path.display())]
    NoTrace {
        /// The directory.
        path: PathBuf,
        /// What is missing, or unexpected.
        message: String,
    },
    /// Traces with different clocks cannot be ordered.
    #[error("{} and {} cannot be merged: {message}", first.display(), second.display())]
    Apart {
        /// One directory.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The difference.
        message: String,
    },
}

impl Error {
    pub(crate) fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
        move |source| Error::Io { path: path.to_owned(), doing, source }
    }
}
