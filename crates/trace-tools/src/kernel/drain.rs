//! Carries the pages of one CPU's buffer to a file, without looking at them: splice(2) by way of a pipe while pages are full,
//! read(2) for the last one. A recording session has a thread of these for each CPU; a flight recorder uses the same at its
//! end.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::Error;
use super::pages::Store;
use super::stats::Stats;

/// What the pipe is asked to hold, bytes: the most that a user without privileges may ask for by default. Pages carried by
/// one call.
const PIPE_BYTES: usize = 1 << 20;

/// How often full pages are taken out and losses looked at when the buffer does not fill, ms.
const PERIOD_MS: i64 = 500;

/// Before a buffer is looked at again that was said to be ready and had no full page.
const NAP: Duration = Duration::from_millis(10);

/// Most marks that are kept of one CPU; each is 16 bytes. After that a mark moves the last one, so losses stay counted and
/// are told later.
const MARKS_MAX: usize = 1 << 16;

/// The way of full pages to a file: the end that is read, and the one that is written.
#[derive(Debug)]
pub(super) struct Pipe {
    pub read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    pub fn new() -> Result<Pipe, Error> {
        let start = |source: Errno| Error::Start { what: "a pipe", source: source.into() };
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(start)?;
        // A smaller one, where users may not have more, carries less by each call.
        let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
        Ok(Pipe { read, write })
    }
}

/// How many events had been lost, of which no page tells, when so many bytes had been carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub bytes: u64,
    pub lost: u64,
}

/// The way of the pages of one CPU.
#[derive(Debug)]
pub(super) struct Drain {
    instance: std::path::PathBuf,
    cpu: u32,
    source: File,
    pipe: Pipe,
    sink: File,
    page_bytes: usize,
    /// Written by this alone; anybody may read it.
    carried: Arc<AtomicU64>,
    marks: Vec<Mark>,
}

impl Drain {
    /// Opens the buffer of `cpu` of the instance at `instance`; pages go by the pipe to the end of the file.
    pub fn open(instance: &Path, cpu: u32, store: &Store, pipe: Pipe, page_bytes: usize) -> Result<Drain, Error> {
        let path = instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let source = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&path);
        let source = source.map_err(|error| Error::file("open", &path, error))?;
        let sink = to_the_end(&store.file, page_bytes as u64);
        let sink = sink.map_err(|source| Error::Start { what: "a reader", source })?;
        let (instance, carried, marks) = (instance.to_owned(), Arc::default(), Vec::new());
        Ok(Drain { instance, cpu, source, pipe, sink, page_bytes, carried, marks })
    }

    /// Bytes that have reached the file.
    pub fn carried(&self) -> Arc<AtomicU64> {
        self.carried.clone()
    }

    /// Carries full pages as they come, until something is written to `stop`; then the rest.
    pub fn run(&mut self, stop: impl AsFd) -> Result<(), Error> {
        let period = Timespec { tv_sec: 0, tv_nsec: PERIOD_MS * 1_000_000 };
        loop {
            // The kernel wakes us at the instance's buffer_percent.
            let mut ready =
                [PollFd::new(&self.source, PollFlags::IN), PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)];
            match poll(&mut ready, Some(&period)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(self.error("wait for", error)),
            }
            let (full, stopped) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
            let before = self.carried.load(Ordering::Relaxed);
            self.full_pages(u64::MAX)?;
            self.mark();
            if stopped {
                return self.rest();
            }
            if full && before == self.carried.load(Ordering::Relaxed) {
                // A kernel that wakes at the first event, which is no full page yet.
                std::thread::sleep(NAP);
            }
        }
    }

    /// Carries what is in a buffer that is still written to, at most so many bytes and a page more.
    pub fn at_most(&mut self, bytes: u64) -> Result<(), Error> {
        // What is written meanwhile could go on for ever.
        let most = self.carried.load(Ordering::Relaxed) + bytes;
        self.full_pages(most)?;
        if self.carried.load(Ordering::Relaxed) < most {
            self.page()?;
        }
        Ok(())
    }

    /// Carries all that is left in a buffer that nothing is written to any more.
    pub fn rest(&mut self) -> Result<(), Error> {
        self.full_pages(u64::MAX)?;
        while self.page()? {}
        self.mark();
        Ok(())
    }

    /// Carries the next page, full or not. Whether there was one.
    fn page(&mut self) -> Result<bool, Error> {
        let mut page = vec![0; self.page_bytes];
        loop {
            match rustix::io::read(&self.source, &mut page) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(false),
                Ok(len) => return self.write(&page[..len]).map(|()| true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.error("read", error)),
            }
        }
    }

    /// The marks so far, oldest first.
    pub fn into_marks(self) -> Vec<Mark> {
        self.marks
    }

    /// Carries full pages until there are none, or so many bytes have been carried.
    fn full_pages(&mut self, most: u64) -> Result<(), Error> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        while self.carried.load(Ordering::Relaxed) < most {
            match splice(&self.source, None, &self.pipe.write, None, PIPE_BYTES, flags) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Ok(len) => self.empty_pipe(len)?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.error("splice from", error)),
            }
        }
        Ok(())
    }

    fn empty_pipe(&mut self, mut len: usize) -> Result<(), Error> {
        while len > 0 {
            match splice(&self.pipe.read, None, &self.sink, None, len, SpliceFlags::MOVE) {
                Ok(0) => return Err(self.error("carry pages to a file", Errno::IO)),
                Ok(moved) => {
                    len -= moved;
                    self.count(moved);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.error("carry pages to a file", error)),
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let done = self.sink.write_all(bytes);
        done.map_err(|source| Error::file("carry the last page to a file", &self.path(), source))?;
        self.count(bytes.len());
        Ok(())
    }

    fn count(&self, bytes: usize) {
        // Relaxed: a figure for the eye. What is in the file is read after the thread was joined.
        self.carried.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes losses of which no page will tell, if there are new ones.
    fn mark(&mut self) {
        // At the end the counts are read again, and then an error is said.
        let Ok(stats) = Stats::of(&self.instance, self.cpu) else { return };
        let mark = Mark { bytes: self.carried.load(Ordering::Relaxed), lost: stats.discarded + stats.nested };
        if mark.lost == self.marks.last().map_or(0, |last| last.lost) {
            return;
        }
        if self.marks.len() == MARKS_MAX {
            self.marks.pop();
        }
        self.marks.push(mark);
    }

    fn path(&self) -> std::path::PathBuf {
        self.instance.join(format!("per_cpu/cpu{}/trace_pipe_raw", self.cpu))
    }

    fn error(&self, doing: &'static str, error: Errno) -> Error {
        Error::file(doing, &self.path(), error.into())
    }
}

/// The same file, at its end, which is that of a whole page.
fn to_the_end(file: &File, page_bytes: u64) -> std::io::Result<File> {
    let mut file = file.try_clone()?;
    let len = file.metadata()?.len();
    if len % page_bytes != 0 {
        // By somebody who was killed.
        file.set_len(len - len % page_bytes)?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}
