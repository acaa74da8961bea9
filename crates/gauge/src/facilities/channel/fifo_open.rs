//! `fifo-open-close`: one process opens an existing FIFO by its path, for reading and for writing, and closes both
//! ends. The reader is opened without waiting for a writer. Creating and removing the node is not timed.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use headwater_streams::{Access, FifoOptions, Stream};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};

use crate::facilities::operation::{self, Figure, Operation, entry};
use crate::facilities::{Entry, Info};
use crate::harness::conduct::Job;
use crate::transports::{Transport, Unavailable, fifo, streams};

/// A kind of FIFO: a channel that is opened by a path.
pub trait FifoKind: 'static {
    /// The transport of the same name.
    type Transport: Transport;
    /// Both ends, opened.
    type Ends;

    /// Creates the node.
    ///
    /// # Errors
    /// What the system reports.
    fn make(path: &Path) -> io::Result<()>;

    /// Opens both ends, the reader first.
    ///
    /// # Errors
    /// What the system reports.
    fn open(path: &Path) -> io::Result<Self::Ends>;
}

/// The kernel's FIFO.
#[derive(Debug)]
pub struct KernelFifo;

impl FifoKind for KernelFifo {
    type Transport = fifo::Fifo;
    type Ends = (OwnedFd, OwnedFd);

    fn make(path: &Path) -> io::Result<()> {
        Ok(mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?)
    }

    fn open(path: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
        let reader = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        Ok((reader, open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?))
    }
}

/// The STREAMS FIFO.
#[derive(Debug)]
pub struct StreamsFifo;

impl FifoKind for StreamsFifo {
    type Transport = streams::fifo::StreamsFifo;
    type Ends = (Stream, Stream);

    fn make(path: &Path) -> io::Result<()> {
        Ok(headwater_streams::Fifo::create(path, 0o600)?)
    }

    fn open(path: &Path) -> io::Result<(Stream, Stream)> {
        let open = |access| FifoOptions::new().nonblocking(true).open(path, access);
        let reader = open(Access::Read)?;
        Ok((reader, open(Access::Write)?))
    }
}

/// Opens and closes a FIFO. The node is removed on drop.
#[derive(Debug)]
pub struct OpenClose<N> {
    path: PathBuf,
    kind: PhantomData<N>,
}

impl<N: FifoKind> Operation for OpenClose<N> {
    const ROWS: &'static [(&'static str, &'static str)] = &[(N::Transport::INFO.name, N::Transport::INFO.summary)];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Self, Unavailable> {
        let path = job.directory.join("opened");
        N::make(&path).map_err(|error| Unavailable::call("mkfifo", error))?;
        Ok(OpenClose { path, kind: PhantomData })
    }

    fn check(&mut self) -> io::Result<()> {
        N::open(&self.path).map(drop)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            N::open(&self.path)?;
        }
        Ok(())
    }
}

impl<N> Drop for OpenClose<N> {
    fn drop(&mut self) {
        // Ignored: the conductor removes the directory, and reports a file that is left in it.
        let _ = fs::remove_file(&self.path);
    }
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "fifo-open-close",
        definition_version: |_| 1,
        summary: "a FIFO opened by its path for reading and for writing, and both ends closed, by one process",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE, subject),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

static TABLE: &[operation::Entry] = &[entry::<OpenClose<KernelFifo>>(), entry::<OpenClose<StreamsFifo>>()];
