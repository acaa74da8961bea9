//! The close time of an end (I_SETCLTIME), and closing with it: waiting until what was written is past the end's own modules.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::thread::holding_signals;
use headwater_shm::Limit;

use super::handle::Handle;
use crate::error::{Errno, Error, Result};
use crate::plumb::chain::Link;
use crate::plumb::direction::CHANGED;

/// How often a close looks whether the queues are empty: a reader empties them, without a notification.
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl Handle {
    pub(crate) fn close_time(&self) -> Duration {
        Duration::from_millis(self.end.words().close_ms.load(Ordering::Relaxed).into())
    }

    pub(crate) fn set_close_time(&mut self, time: Duration) -> Result<()> {
        let ms = u32::try_from(time.as_millis());
        let ms = ms.map_err(|_| Error::new(Errno::Inval, format!("a close time of {time:?} is too long")))?;
        self.end.words().close_ms.store(ms, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn close(mut self) {
        let from_ns = now_ns();
        let until_ns = from_ns.saturating_add(self.close_time().as_nanos() as u64);
        self.call_until_ns = Some(until_ns);
        if self.nonblocking || !self.holds_something(from_ns) {
            return;
        }
        // A signal that comes between two naps ends the next one.
        holding_signals(|held| while now_ns() < until_ns && !held.nap(LOOK_EVERY) && self.holds_something(from_ns) {});
    }

    /// The end was closed in this process: no call takes a fast path any more, and none is in the middle of one.
    pub(crate) fn end_quick_calls(&mut self) {
        self.out.writer.notify(CHANGED);
        self.back.reader.notify(CHANGED);
        let Ok(is_new) = self.end.join() else { return };
        if is_new {
            self.out.forget();
            self.back.forget();
        }
        self.end.set_limit(Limit::Now);
        let me = self.end.me();
        // The holder of the lock knows that no other user is inside. This does not wait for memory that another handle
        // has lent out.
        drop(self.out.writer.hold_apart(me));
        drop(self.back.reader.hold_apart(me));
        let _ = self.serve_owed(true);
        let _ = self.serve_owed_to_reader();
    }

    /// Whether a message waits in the write queues of the end's own modules, and there may still be a reader. The close began at `from_ns`.
    fn holds_something(&mut self, from_ns: u64) -> bool {
        // Reads anew which modules there are.
        let known = self.attach().and_then(|()| self.serve_now()).and_then(|()| self.run(true, |_| Ok(())));
        let known = known.and_then(|()| self.end.ask_for_peer());
        if known.is_err() || self.is_hung_up() {
            return false;
        }
        let side = self.end.side;
        let is_last = self.is_last_of_device();
        let is_waited_for = |link: &Link| if link.is_driver() { is_last } else { link.end == side && link.service };
        let files = self.end.endpoint.files().filter(|_| is_last);
        let waited = Duration::from_nanos(now_ns().saturating_sub(from_ns));
        self.out.chain.iter().any(|link| is_waited_for(link) && !self.out.store.is_empty(link.queue))
            || files.is_some_and(|files| files.is_waited_for(&self.end.region.fixed.device, waited))
    }

    /// Whether no other handle uses the device, as far as is known: a process that has a copy and has not used it is not seen.
    fn is_last_of_device(&self) -> bool {
        // The library's thread has the endpoint only while it serves the driver's files, and is no user.
        let is_one = self.end.endpoint.serving.with(|()| Arc::strong_count(&self.end.endpoint) == 1);
        self.end.region.driver.is_some() && is_one && !self.end.region.is_used_by_another(self.end.side)
    }
}
