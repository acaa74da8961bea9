//! Asking to be called after a time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_shm::probe;

use super::Queue;

impl Queue<'_, '_, '_> {
    /// Has the timeout procedure of this queue ([`Module::timeout`](crate::Module::timeout)) called once, after that time and
    /// instead of what was asked for before (timeout, qtimeout). No daemon does it: a process that waits at the stream,
    /// or makes a call there outside of the fast path, calls it; if there is none, it is called later. Of a driver that
    /// [has files](crate::DriverInfo::with_files) a thread of the library does it too, in a process that polls the descriptor.
    #[doc(alias = "timeout")]
    #[doc(alias = "qtimeout")]
    #[doc = include_str!("../../../doc/queue_time.md")]
    pub fn enable_after(&mut self, time: Duration) {
        let due_ns = now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).max(1);
        let link = &self.run.chain[self.at];
        let fixed = &self.run.region.fixed;
        link.words(fixed).due_ns[link.side as usize].store(due_ns, Ordering::SeqCst);
        probe::at();
        // After the time itself: see `settle` in head/beside.rs.
        let earlier = |known: u64| (known == 0 || due_ns < known).then_some(due_ns);
        let is_earliest = fixed.due_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, earlier).is_ok();
        self.run.effects.sooner |= is_earliest;
        self.run.act();
    }

    /// Takes back what [`Queue::enable_after`] has asked for (untimeout, quntimeout). Returns how much of the time was left; None
    /// if nothing was asked for.
    #[doc(alias = "untimeout")]
    #[doc = include_str!("../../../doc/queue_time.md")]
    pub fn forget_time(&mut self) -> Option<Duration> {
        let link = &self.run.chain[self.at];
        let word = &link.words(&self.run.region.fixed).due_ns[link.side as usize];
        let due_ns = word.swap(0, Ordering::SeqCst);
        (due_ns != 0).then(|| Duration::from_nanos(due_ns.saturating_sub(now_ns())))
    }
}
