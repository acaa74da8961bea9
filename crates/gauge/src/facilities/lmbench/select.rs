//! `select-N-fd`, `select-N-tcp`: `select(2)` for writing on N file descriptors. All are writable, and all refer to the
//! same file or the same TCP connection: the figure is the time in which the kernel walks through them.

use std::hint::black_box;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os_tools::limits::allow_descriptors;
use headwater_os_tools::select::Writers;
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::fcntl_dupfd_cloexec;

use super::existing_file::ExistingFile;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::{Unavailable, tcp};

/// File descriptors of a worker beside those passed to `select`.
const OTHERS: u64 = 32;

/// The file descriptors, and the objects that must stay open with them.
#[derive(Debug)]
pub struct SelectCall {
    writers: Writers<OwnedFd>,
    file: Option<ExistingFile>,
    connection: Option<(OwnedFd, OwnedFd)>,
}

impl Operation for SelectCall {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("select-10-fd", "select() for writing on 10 descriptors of a file, without waiting"),
        ("select-100-fd", "select() for writing on 100 descriptors of a file, without waiting"),
        ("select-250-fd", "select() for writing on 250 descriptors of a file, without waiting"),
        ("select-500-fd", "select() for writing on 500 descriptors of a file, without waiting"),
        ("select-10-tcp", "select() for writing on 10 descriptors of a TCP connection, without waiting"),
        ("select-100-tcp", "select() for writing on 100 descriptors of a TCP connection, without waiting"),
        ("select-250-tcp", "select() for writing on 250 descriptors of a TCP connection, without waiting"),
        ("select-500-tcp", "select() for writing on 500 descriptors of a TCP connection, without waiting"),
    ];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<SelectCall, Unavailable> {
        let (count, of) = parameters(&job.row.subject)?;
        allow_descriptors(count + OTHERS).map_err(|error| Unavailable::call("setrlimit", error))?;
        let copies = |of: BorrowedFd<'_>| {
            let copies: Result<Vec<OwnedFd>, _> = (0..count).map(|_| fcntl_dupfd_cloexec(of, 0)).collect();
            let copies = copies.map_err(|error| Unavailable::call("dup", error))?;
            Writers::new(copies).map_err(|error| Unavailable::call("select", error))
        };
        if of == "tcp" {
            let connection = tcp::connection()?;
            return Ok(SelectCall { writers: copies(connection.0.as_fd())?, file: None, connection: Some(connection) });
        }
        let file = ExistingFile::make(job)?;
        let opened = open(file.path(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| Unavailable::call("open", error))?;
        Ok(SelectCall { writers: copies(opened.as_fd())?, file: Some(file), connection: None })
    }

    fn check(&mut self) -> io::Result<()> {
        let members = self.writers.members();
        let own = match (&self.connection, &self.file) {
            (Some((near, _)), _) => fstat(near)?,
            (None, Some(file)) => rustix::fs::stat(file.path())?,
            (None, None) => return Err(io::Error::other("neither a file nor a connection")),
        };
        for member in members {
            if fstat(member)?.st_ino != own.st_ino {
                return Err(io::Error::other("a descriptor is of something else"));
            }
        }
        match self.writers.ready()? {
            ready if ready == members.len() => Ok(()),
            ready => Err(io::Error::other(format!("{ready} of {} descriptors are writable", members.len()))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(self.writers.ready()?);
        }
        Ok(())
    }
}

/// Parses the number and the kind of descriptors from the name of the row: `select-250-tcp`.
fn parameters(subject: &str) -> Result<(u64, &str), Unavailable> {
    let parts = subject.strip_prefix("select-").and_then(|rest| rest.split_once('-'));
    parts
        .and_then(|(count, of)| Some((count.parse().ok()?, of)))
        .ok_or_else(|| Unavailable(format!("{subject} is not of the form select-<descriptors>-<kind>")))
}
