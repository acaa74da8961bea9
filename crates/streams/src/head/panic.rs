//! After a panic in a procedure of a module: makes the state consistent, so that other users can continue to use the
//! stream. The panic itself propagates to the caller.

use super::handle::Handle;
use crate::sched::Effects;

impl Handle {
    /// Runs code of modules of a direction. Its guards have released their locks when a panic gets here.
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
        let (direction, other) =
            if outward { (&mut self.out, &mut self.back) } else { (&mut self.back, &mut self.out) };
        let sent_back = std::mem::take(&mut other.inner_effects).delivered;
        direction.data.abandon();
        // A message that a service procedure had taken goes back to its queue, unless the procedure had passed it on.
        // On an error the next member that takes the lock does it.
        direction.announce();
        let (region, me, _) = self.end.parts();
        drop(direction.begin(me, region));
        // Reports earlier deliveries, because it is not known whether there were any.
        let effects = Effects { delivered: true, urgent: true, room: true, ..Effects::default() };
        let _ = self.tell(outward, &effects);
        if sent_back {
            let _ = self.tell(!outward, &effects);
        }
    }
}
