//! What can go wrong with a trace's files. Every message names the file.

use std::io;
use std::path::{Path, PathBuf};

use super::walk::Unsound;
use crate::schema::Unfit;

/// Why a trace could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused; a full or read-only one says so here.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the kernel reported.
        source: io::Error,
    },
    /// A new trace needs a directory of its own.
    #[error("{} is not empty: name a directory that does not exist yet, or remove what is in it", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The schema cannot be written.
    #[error("a trace cannot be described so: {0}")]
    Unfit(#[from] Unfit),
    /// The stream, or the id of a new kind of event, does not go with the trace's schema.
    #[error("not in the schema of {}: {message}", path.display())]
    Schema {
        /// The trace's directory.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The records of a packet would make the trace unreadable. Nothing of the packet was written.
    #[error("the packet for {} is not sound: {unsound}", path.display())]
    Unsound {
        /// The file that it was for.
        path: PathBuf,
        /// Where, and what.
        unsound: Unsound,
    },
    /// The metadata is not what this program writes.
    #[error("{}:{line}: {message}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What was expected, what is there.
        message: String,
    },
    /// A file holds what no writer writes.
    #[error("{} is damaged at byte {at}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, bytes.
        at: u64,
        /// What is wrong.
        message: String,
    },
    /// There is no trace.
    #[error("{}: {message}", path.display())]
    NoTrace {
        /// The directory.
        path: PathBuf,
        /// What is missing, or too much.
        message: String,
    },
    /// Traces on different clocks have no common order.
    #[error("{} and {} cannot be merged: {message}", first.display(), second.display())]
    Apart {
        /// One directory.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// What differs.
        message: String,
    },
}

impl Error {
    pub(super) fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
        move |source| Error::Io { path: path.to_owned(), doing, source }
    }
}
