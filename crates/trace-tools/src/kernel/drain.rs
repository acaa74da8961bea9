//! Copies the pages of one CPU's buffer to a file without interpreting them: with splice(2) through a pipe while pages
//! are full, with read(2) for the last one. A draining session has a thread with a drain for each CPU; a flight
//! recorder uses drains at its end.

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
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::Error;
use super::pages::Store;
use super::parts::{CutLine, Place};
use super::stats::Stats;

/// The requested size of the pipe in bytes, and so the most bytes of one splice: the largest size that needs no
/// privilege by default.
const PIPE_BYTES: usize = 1 << 20;

/// The most bytes that are discarded by one call.
const DISCARDED_BYTES: usize = 16 << 10;

/// Period at which full pages are copied and losses are read while the buffer does not fill, in ms.
const PERIOD_MS: i64 = 500;

/// Pause after the buffer was reported ready but had no full page.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// The most marks of one CPU; each takes 16 bytes. After that a new mark replaces the last one, so that losses are
/// still counted, but reported later.
const MARKS_MAX: usize = 1 << 16;

/// The pipe between a buffer and its file: its reading and its writing end. The guard has it open too.
///
/// It must be empty when the instance is removed: splice(2) moves pages of the instance's buffer into it, and if such a
/// page is freed after its buffer, the kernel (seen with Linux 6.18) uses freed memory and crashes.
#[derive(Debug)]
pub(super) struct Pipe {
    pub read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    pub fn new() -> Result<Pipe, Error> {
        let start = |source: Errno| Error::Start { what: "a pipe", source: source.into() };
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(start)?;
        // If the limit is lower, the pipe stays smaller and each splice copies less.
        let _ = fcntl_setpipe_size(&write, PIPE_BYTES);
        Ok(Pipe { read, write })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let mut discarded = [0; DISCARDED_BYTES];
        // No other process reads it while this one lives, so a read of what is there does not wait.
        while ioctl_fionread(&self.read).is_ok_and(|left| left > 0) {
            match rustix::io::read(&self.read, &mut discarded) {
                Ok(1..) | Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }
}

/// The number of losses without a page's flag (`lost`) when `bytes` bytes had been copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LossMark {
    pub bytes: u64,
    pub lost: u64,
}

/// The copying of one CPU's pages.
#[derive(Debug)]
pub(super) struct Drain {
    instance: std::path::PathBuf,
    cpu: u32,
    // Dropped before the source, which keeps the instance from being removed.
    pipe: Pipe,
    source: File,
    sink: File,
    page_bytes: usize,
    /// Written only by this drain; other threads read it.
    carried: Arc<AtomicU64>,
    marks: Vec<LossMark>,
    /// Where the session asks for the end of a part.
    line: Arc<CutLine>,
}

impl Drain {
    /// Opens the buffer of `cpu` of the instance at `instance`. Pages go through `pipe` to the end of the file.
    pub fn open(instance: &Path, cpu: u32, store: &Store, pipe: Pipe, page_bytes: usize) -> Result<Drain, Error> {
        let path = instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let source = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&path);
        let source = source.map_err(|error| Error::file("open", &path, error))?;
        let sink = at_end(&store.file, page_bytes as u64);
        let sink = sink.map_err(|source| Error::Start { what: "a reader", source })?;
        let (instance, carried, marks, line) = (instance.to_owned(), Arc::default(), Vec::new(), Arc::default());
        Ok(Drain { instance, cpu, source, pipe, sink, page_bytes, carried, marks, line })
    }

    /// Returns the counter of bytes that were copied to the file.
    pub fn carried(&self) -> Arc<AtomicU64> {
        self.carried.clone()
    }

    /// Makes the drain answer on this line where parts end.
    pub fn answer_on(&mut self, line: Arc<CutLine>) {
        self.line = line;
    }

    /// Copies full pages as they become available, until `stop` is readable; then the rest.
    pub fn run(&mut self, stop: impl AsFd) -> Result<(), Error> {
        let period = Timespec { tv_sec: 0, tv_nsec: PERIOD_MS * 1_000_000 };
        loop {
            // The kernel wakes this thread at the instance's buffer_percent.
            let waits_for = [Some(self.source.as_fd()), Some(stop.as_fd()), self.line.wake()];
            let mut ready: Vec<PollFd<'_>> =
                waits_for.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            match poll(&mut ready, Some(&period)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(self.error("wait for", error)),
            }
            let (full, stopped) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
            if ready.get(2).is_some_and(|asked| !asked.revents().is_empty()) {
                self.line.hear();
            }
            let before = self.carried.load(Ordering::Relaxed);
            self.full_pages(u64::MAX)?;
            self.mark();
            self.end_part();
            if stopped {
                return self.copy_rest();
            }
            if full && before == self.carried.load(Ordering::Relaxed) {
                // Some kernels wake at the first event, when there is no full page yet.
                std::thread::sleep(RETRY_PAUSE);
            }
        }
    }

    /// Copies a buffer that is still being written to: at most `bytes` bytes and one more page.
    pub fn copy_at_most(&mut self, bytes: u64) -> Result<(), Error> {
        // Without a limit, this could continue for ever.
        let most = self.carried.load(Ordering::Relaxed) + bytes;
        self.full_pages(most)?;
        if self.carried.load(Ordering::Relaxed) < most {
            self.page()?;
        }
        Ok(())
    }

    /// Copies all that is left in a buffer that is no longer written to.
    pub fn copy_rest(&mut self) -> Result<(), Error> {
        self.full_pages(u64::MAX)?;
        while self.page()? {}
        self.mark();
        Ok(())
    }

    /// Copies the next page, full or not. Returns false if there was none.
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

    /// Returns the marks, oldest first.
    pub fn into_marks(self) -> Vec<LossMark> {
        self.marks
    }

    /// Copies full pages until there are none, or until the total is `most` bytes.
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
        // Relaxed: only for progress displays. The file is read after the thread was joined.
        self.carried.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records the losses without a page's flag, if there are new ones.
    fn mark(&mut self) {
        // Errors are ignored here: the counts are read again at the end, and an error is reported then.
        let Ok(stats) = Stats::of(&self.instance, self.cpu) else { return };
        let mark = LossMark { bytes: self.carried.load(Ordering::Relaxed), lost: stats.discarded + stats.nested };
        if mark.lost == self.marks.last().map_or(0, |last| last.lost) {
            return;
        }
        if self.marks.len() == MARKS_MAX {
            self.marks.pop();
        }
        self.marks.push(mark);
    }

    /// Begins the next part here if the session asks for it: between two pages, when the pipe is empty.
    fn end_part(&mut self) {
        let Some(part) = self.line.wanted() else { return };
        // After an error the part is longer.
        let Ok(stats) = Stats::of(&self.instance, self.cpu) else { return };
        let bytes = self.carried.load(Ordering::Relaxed);
        self.line.begin(part, Place { bytes, stats: Stats { unread: 0, ..stats } });
        let removed = self.line.removed_bytes();
        self.marks.retain(|mark| mark.bytes >= removed);
    }

    fn path(&self) -> std::path::PathBuf {
        self.instance.join(format!("per_cpu/cpu{}/trace_pipe_raw", self.cpu))
    }

    fn error(&self, doing: &'static str, error: Errno) -> Error {
        Error::file(doing, &self.path(), error.into())
    }
}

/// Returns the same file, positioned at its end, which is cut to a whole page.
fn at_end(file: &File, page_bytes: u64) -> std::io::Result<File> {
    let mut file = file.try_clone()?;
    let len = file.metadata()?.len();
    if len % page_bytes != 0 {
        // A killed process left an incomplete page.
        file.set_len(len - len % page_bytes)?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_pipe_is_empty_though_another_process_has_it_open() {
        let pipe = Pipe::new().expect("a pipe");
        let elsewhere = pipe.read.try_clone().expect("a descriptor");
        let bytes = vec![1; DISCARDED_BYTES * 2 + 1];
        assert_eq!(rustix::io::write(&pipe.write, &bytes), Ok(bytes.len()));
        drop(pipe);
        assert_eq!(ioctl_fionread(&elsewhere), Ok(0));
    }
}
