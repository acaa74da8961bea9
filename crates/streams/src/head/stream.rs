//! A handle of one end of a stream, and how pipes are made.

use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::doorbell::Doorbell;

use crate::counters::Counters;
use crate::error::{Errno, Error, Result};
use crate::options::Options;
use crate::process::end::End;
use crate::process::region::Region;
use crate::queue::lane::reader::LaneReader;
use crate::queue::lane::writer::LaneWriter;

/// One end of a stream, as one thread of one process uses it.
#[derive(Debug)]
pub struct Stream {
    pub(super) out: LaneWriter,
    pub(super) incoming: LaneReader,
    pub(super) end: End,
    pub(super) nonblocking: bool,
}

/// Makes a pipe: two ends, each of which reads what the other writes.
///
/// # Errors
/// `EMFILE` without three free descriptors, or what the kernel reports for the memory.
pub fn pipe() -> Result<(Stream, Stream)> {
    pipe_with(&Options::default())
}

/// Makes a pipe of other sizes, or of another policy.
///
/// # Errors
/// `EINVAL` for sizes beyond a limit, else as [`pipe`].
pub fn pipe_with(options: &Options) -> Result<(Stream, Stream)> {
    let (near, far) = Doorbell::pair()?;
    let region = Region::create(options, [near.cookie()?, far.cookie()?])?;
    Ok((Stream::over(End::new(region.clone(), 0, near)), Stream::over(End::new(region, 1, far))))
}

impl Stream {
    pub(crate) fn over(end: End) -> Stream {
        let region = &end.region;
        let (out, back) = (end.side, 1 - end.side);
        let lane = |direction: usize| {
            let words = region.fixed.part(|fixed| &fixed.lanes[direction]);
            (words, region.marks(direction), region.window(direction))
        };
        let (words, marks, window) = lane(out);
        let writer = LaneWriter::new(words, marks, window, region.message_max(), region.fence, 3 * out as u32);
        let (words, marks, window) = lane(back);
        let reader = LaneReader::new(words, marks, window, region.fence, 3 * back as u32 + 1);
        Stream { out: writer, incoming: reader, end, nonblocking: false }
    }

    /// Whether calls that would wait fail with `EAGAIN` instead.
    pub fn set_nonblocking(&mut self, nonblocking: bool) {
        self.nonblocking = nonblocking;
    }

    /// What this handle has counted since it was opened.
    pub fn counters(&self) -> Counters {
        Counters { coalesced_bytes: self.out.coalesced(), ..self.end.counters }
    }

    /// Takes this process's place at the end, so that the first call does not have to.
    ///
    /// # Errors
    /// `ENOSR` when the stream has as many handles in use as it can.
    pub fn attach(&mut self) -> Result<()> {
        if let Some(why) = &self.end.dead {
            return Err(Error::new(Errno::Proto, why.clone()));
        }
        if self.end.join()? {
            self.out.token.forget();
            self.out.close();
            self.incoming.token.forget();
            self.incoming.close();
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.end.member().is_some() {
            self.out.token.retire();
            self.incoming.token.retire();
        }
    }
}

impl AsFd for Stream {
    /// The end's descriptor: for poll and epoll, and to be passed on.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.doorbell().as_fd()
    }
}
