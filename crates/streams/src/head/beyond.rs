//! Runs beyond a run's own direction: back along the same stream, or along the partner of one that a driver pairs.

use headwater_shm::Limit;

use super::handle::Handle;
use crate::error::Result;
use crate::plumb::driver::DriverInfo;
use crate::process::beyond::PartnerStream;
use crate::sched::action::{Action, by_pointer};
use crate::sched::{Effects, Run};

impl Handle {
    /// Looks at the streams beyond this one that its driver may send to.
    #[cold]
    pub(super) fn look_beyond(&mut self, info: &DriverInfo) -> Result<()> {
        if info.pairs {
            self.meet_partner()?;
        }
        if info.multiplexes { self.look_for_links() } else { Ok(()) }
    }

    /// Makes a run that waits for its locks as `limit` allows; its follow-up does not wait.
    pub(crate) fn run_inside<'m, T>(
        &mut self,
        outward: bool,
        limit: Limit,
        action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>,
    ) -> Result<T> {
        by_pointer(action, |action| self.run_inside_by_pointer(outward, limit, action))
    }

    fn run_inside_by_pointer<'m>(&mut self, outward: bool, limit: Limit, action: &mut Action<'_, 'm>) -> Result<()> {
        self.nested = true;
        self.attach()?;
        self.end.set_limit(limit);
        let ran = self.run_once(outward, action);
        self.end.set_limit(Limit::Now);
        let (done, effects) = ran?;
        let used_other = effects.used_other;
        self.follow_up(outward, effects)?;
        self.serve_owed(outward)?;
        if used_other {
            self.serve_owed(!outward)?;
        }
        done
    }

    /// Called when the stream has got a partner: makes all of its users read everything anew.
    pub(crate) fn announce_all(&mut self) -> Result<()> {
        self.out.announce();
        self.back.announce();
        self.tell_changed(true)
    }

    /// As [`Handle::follow_up`], for the effects of a run along `outward` in the other direction.
    pub(super) fn follow_up_back(&mut self, outward: bool) -> Result<()> {
        let direction = if outward { &mut self.back } else { &mut self.out };
        let mut effects = std::mem::take(&mut direction.inner_effects);
        self.tell(!outward, &effects)?;
        if !effects.replies.is_empty() {
            self.send_replies(!outward, &mut effects)?;
        }
        self.serve_owed(!outward)
    }

    /// Lets senders continue that wait for room here. One that cannot be reached looks again by itself.
    fn serve_peers(&mut self, minors: &[u32]) {
        let endpoint = self.end.endpoint.clone();
        if let Some(opened) = endpoint.opened() {
            minors.iter().for_each(|minor| opened.serve_peer(&endpoint, *minor));
        }
    }

    #[cold]
    pub(super) fn tell_more(&mut self, outward: bool, effects: &Effects) -> Result<()> {
        if effects.changed {
            self.tell_changed(outward)?;
        }
        if effects.room_other {
            self.tell_of_room_in(!outward)?;
        }
        if effects.watches_more || effects.sooner {
            self.tell_to_look(effects.sooner)?;
        }
        if effects.enabled_partner {
            let endpoint = self.end.endpoint.clone();
            endpoint.partner().map_or(Ok(()), PartnerStream::enable)?;
        }
        if effects.used_lower {
            self.serve_lowers()?;
        }
        if !effects.peers.is_empty() {
            self.serve_peers(&effects.peers);
        }
        // Another user that holds the lock does it when it releases it.
        if effects.enabled_other { self.service_if_free(!outward).map(drop) } else { Ok(()) }
    }
}
