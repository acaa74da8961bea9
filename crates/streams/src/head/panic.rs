//! What is done when a procedure of a module panics: the state is made whole, so that the stream goes on for others. The panic
//! itself goes on to the caller.

use super::handle::Handle;
use crate::sched::Effects;

impl Handle {
    /// Has code of modules of a direction run. The guards that it holds have given their locks back when a panic comes here.
    #[inline(always)]
    pub(super) fn with_modules<T>(&mut self, outward: bool, action: impl FnOnce(&mut Handle) -> T) -> T {
        let mut running = Running { handle: self, outward, has_returned: false };
        let done = action(running.handle);
        running.has_returned = true;
        done
    }
}

struct Running<'h> {
    handle: &'h mut Handle,
    outward: bool,
    has_returned: bool,
}

impl Drop for Running<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.has_returned {
            self.handle.recover(self.outward);
        }
    }
}

impl Handle {
    #[cold]
    fn recover(&mut self, outward: bool) {
        let (way, other) = if outward { (&mut self.out, &mut self.back) } else { (&mut self.back, &mut self.out) };
        let sent_back = std::mem::take(&mut other.inner_effects).delivered;
        way.data.abandon();
        // What a service procedure had got goes back to its queue, unless it had passed it on. On an error the next member
        // that takes the lock does it.
        way.announce();
        let (region, me, _) = self.end.parts();
        drop(way.begin(me, region));
        // What was delivered before is told: nobody knows whether there was any.
        let effects = Effects { delivered: true, urgent: true, room: true, ..Effects::default() };
        let _ = self.tell(outward, &effects);
        if sent_back {
            let _ = self.tell(!outward, &effects);
        }
    }
}
