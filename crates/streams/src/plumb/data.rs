//! Plain data on its path through put and service procedures, without a message around it: the counterpart of a run of
//! messages.
//!
//! It is used only while all queues on the path are empty and the head has room. So a queue that takes data holds it
//! only until the put procedures before it have returned; then its service procedure takes it, and finds room.

use crate::error::{Error, Result, corrupt};
use crate::plumb::chain::Link;
use crate::queue::lane::writer::WriterGuard;
use crate::sched::SERVICES_MAX;

/// The rest of the path of plain data, for a put or service procedure of the library's own modules.
#[derive(Debug)]
#[doc(hidden)]
pub struct Next<'a, 'w> {
    run: &'a mut DataRun<'w>,
    at: usize,
}

impl Next<'_, '_> {
    /// Passes data on to the next module, or to the head.
    ///
    /// # Errors
    /// `ERANGE` for more than the stream's largest message; `ENOSR` if modules have made more of the data than the window
    /// has room for.
    #[doc(alias = "putnext")]
    #[inline]
    pub fn put(&mut self, data: &[u8]) -> Result<()> {
        self.run.put(self.at + 1, data)
    }

    /// Queues data and enables the queue: the module's [`service_data`] gets it when the put procedures before it have
    /// returned.
    ///
    /// # Errors
    /// `EPROTO` if service procedures queue the data again and again.
    ///
    /// [`service_data`]: crate::Module::service_data
    #[doc(alias = "putq")]
    #[inline]
    pub fn queue(&mut self, data: &[u8]) -> Result<()> {
        self.run.chain.queue(self.at, data)
    }
}

/// The modules of a direction, and the plain data that their queues hold.
#[derive(Debug, Default)]
pub(crate) struct DataChain {
    /// All modules on the path take plain data.
    pub takes_all: bool,
    /// All modules on the path pass messages with a control part on as they are.
    pub passes_proto: bool,
    /// The longest data part beside a control part, bytes.
    pub data_max: usize,
    /// The address and length of the written data. For comparing only.
    written: (usize, usize),
    /// A queue holds data.
    holds: bool,
    /// The data that one queue holds, by its place and as a range of the written data: from, to.
    held: Option<(usize, usize, usize)>,
    /// Other data that queues hold, because it is not a range of the written data or not the only one; the oldest
    /// first.
    copied: Vec<(usize, Vec<u8>)>,
    /// Service procedures that have run.
    pub services: u64,
}

impl DataChain {
    #[inline]
    fn queue(&mut self, at: usize, data: &[u8]) -> Result<()> {
        let (start, len) = self.written;
        let from = data.as_ptr().addr().wrapping_sub(start);
        if !self.holds && from <= len && data.len() <= len - from {
            self.held = Some((at, from, from + data.len()));
            self.holds = true;
            return Ok(());
        }
        self.queue_copy(at, data)
    }

    /// Forgets the data in queues: a procedure has panicked.
    pub fn abandon(&mut self) {
        self.held = None;
        self.copied.clear();
        self.holds = false;
    }

    #[cold]
    fn queue_copy(&mut self, at: usize, data: &[u8]) -> Result<()> {
        if self.copied.len() >= SERVICES_MAX {
            return Err(endless());
        }
        self.copied.push((at, data.to_vec()));
        self.holds = true;
        Ok(())
    }
}

/// A run of plain data, under the writer's lock.
#[derive(Debug)]
struct DataRun<'w> {
    lane: WriterGuard<'w>,
    links: &'w [Link],
    chain: &'w mut DataChain,
}

impl DataChain {
    /// Sends written data through modules that take plain data, and releases the lane. No queue holds anything, and
    /// there is room in the lane. Also returns whether the reading side must be notified.
    #[inline]
    pub fn send(&mut self, lane: WriterGuard<'_>, links: &[Link], written: &[u8]) -> (Result<()>, bool) {
        self.written = (written.as_ptr().addr(), written.len());
        let mut run = DataRun { lane, links, chain: self };
        let mut done = run.put(0, written);
        if run.chain.holds {
            done = run.serve(written).and(done);
        }
        (done, run.lane.leave_quick())
    }
}

impl DataRun<'_> {
    #[inline]
    fn put(&mut self, at: usize, data: &[u8]) -> Result<()> {
        match self.links.get(at) {
            Some(link) => link.module.put_data(data, Next { run: self, at }),
            None => self.lane.append_plain(data),
        }
    }

    /// Runs the service procedures of the queues that hold data, until none does.
    #[inline]
    fn serve(&mut self, written: &[u8]) -> Result<()> {
        let end = self.chain.services + SERVICES_MAX as u64;
        let mut done = Ok(());
        while self.chain.holds {
            if self.chain.services == end {
                self.chain.abandon();
                return Err(endless());
            }
            let served = match self.chain.held.take() {
                Some((at, from, to)) => {
                    self.chain.holds = !self.chain.copied.is_empty();
                    self.service(at, &written[from..to])
                }
                None => {
                    let (at, data) = self.chain.copied.remove(0);
                    self.chain.holds = !self.chain.copied.is_empty();
                    self.service(at, &data)
                }
            };
            done = done.and(served);
        }
        done
    }

    #[inline]
    fn service(&mut self, at: usize, data: &[u8]) -> Result<()> {
        self.chain.services += 1;
        self.links[at].module.service_data(data, Next { run: self, at })
    }
}

#[cold]
fn endless() -> Error {
    corrupt!("service procedures queue for ever what they get")
}
