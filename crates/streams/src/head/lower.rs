//! What has come up the streams that are linked below a multiplexer: who looks at it, and how it is taken from there.
//!
//! It waits at the lower stream's head, whose queue is the multiplexer's lower read queue. The service procedure of the read side of
//! the upper stream offers it to the driver ([`Queue::take_from_lowers`]); that is run by a process that has used a lower stream, by a
//! reader that has made room above, and otherwise by the thread of `open::link::server`.

use std::sync::atomic::Ordering;

use headwater_os::clock::now_ns;
use headwater_shm::{Limit, probe};

use super::get::Taken;
use super::handle::Handle;
use super::state::{self, HUNG_UP, READ_ERROR};
use crate::error::{Error, Result};
use crate::layout::DRIVER;
use crate::layout::queue_of;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::open::link::{ENDED, FOR_ROOM_ABOVE, Link, claim};
use crate::plumb::driver::Driver;
use crate::plumb::queue::Queue;
use crate::process::end::Role;
use crate::process::region::Region;
use crate::sched::SERVICES_MAX;
use crate::sched::answer::tell;

/// How often one call looks at the lower streams again because it has used them meanwhile.
const ROUNDS_MAX: usize = 1000;

/// How long the server waits for another user of the upper stream.
const FOR_THE_DEAD_NS: u64 = 30_000_000;

/// What became of the message at the front.
#[derive(Debug)]
pub(crate) enum Offered {
    /// There is none.
    Nothing,
    Taken,
    /// It stays.
    Left,
    /// It stays, if the error is one of a lock that another holds; else it is gone.
    Failed(Error),
}

impl Handle {
    /// The end has the state of a linked one: whether its users may go on.
    #[cold]
    pub(super) fn look_at_link(&mut self) -> Result<()> {
        if self.end.role == Role::User && !self.end.helps { claim::look(self) } else { Ok(()) }
    }

    /// Has all users of this end look at its state, those that sleep too.
    pub(crate) fn announce_state(&mut self) -> Result<()> {
        self.out.announce();
        self.back.announce();
        tell(self.end.words());
        self.tell_changed(false)
    }

    /// Looks which streams are linked below.
    pub(super) fn look_for_links(&mut self) -> Result<()> {
        if self.end.role == Role::Server {
            // It has read them.
            return Ok(());
        }
        self.end.links.look(&self.end.endpoint)
    }

    /// Takes what has come up the lower streams, as far as there is room above.
    pub(crate) fn serve_lowers(&mut self) -> Result<()> {
        if self.serves_lowers.is_some() {
            self.serves_lowers = Some(true);
            return Ok(());
        }
        let mut done = Ok(());
        for _ in 0..ROUNDS_MAX {
            self.serves_lowers = Some(false);
            done = self.serve_lowers_once();
            if done.is_err() || self.serves_lowers == Some(false) {
                break;
            }
        }
        self.serves_lowers = None;
        done
    }

    fn serve_lowers_once(&mut self) -> Result<()> {
        let region = &self.end.region;
        if !self.end.links.current(region).any(|link| link.has_something(region)) {
            return Ok(());
        }
        self.back.store.enable(queue_of(1, DRIVER));
        if self.end.role == Role::Server {
            // Long enough to find out that who is in the way has died.
            return match self.service_within(Limit::Until(now_ns() + FOR_THE_DEAD_NS), false) {
                Err(error) if error.is_held() => Ok(()),
                done => done,
            };
        }
        if !self.service_if_free(false)? {
            // The holder of the lock may have died there.
            self.end.links.wake_server();
        }
        Ok(())
    }

    /// Has the driver send what waits in the upper stream's write queue for room in lower streams.
    pub(crate) fn serve_uppers(&mut self) -> Result<()> {
        let queue = queue_of(1, DRIVER);
        if self.out.store.is_empty(queue) {
            return Ok(());
        }
        self.out.store.enable(queue);
        self.service_if_free(true).map(drop)
    }

    /// Runs the service procedures of queues of either direction in which messages wait: a user may have been killed before it
    /// has done so. Only the multiplexer reads at a linked end, so no reader finds them.
    pub(crate) fn serve_what_is_left(&mut self) -> Result<()> {
        let out = if self.out.store.holds_for_services() { self.run_waiting(true).map(drop) } else { Ok(()) };
        let room = if self.owes_service() { self.wake_far_writer() } else { Ok(()) };
        let back = if self.back.store.holds_for_services() { self.run_waiting(false).map(drop) } else { Ok(()) };
        out.and(room).and(back)
    }

    /// Offers the message at the front, and takes it if it is taken. Under the reader's lock of the lower stream.
    pub(crate) fn offer_front(&mut self, offer: impl FnOnce(Message<'static>) -> Result<bool>) -> Result<Offered> {
        let most = self.end.region.strmsgsz as usize;
        let offered = self.take_front(|front, item| {
            if !matches!(item.header.kind, Kind::Data | Kind::Proto | Kind::PcProto) {
                // An open file: for the head of a program.
                return Ok((Offered::Taken, Some(Taken::ALL)));
            }
            let ([control, data], taken) = front.copy_whole(item, most)?;
            Ok(match offer(Message::of_parts(item.header, control, data)) {
                Ok(true) => (Offered::Taken, Some(taken)),
                Ok(false) => (Offered::Left, None),
                Err(error) if error.is_held() => (Offered::Failed(error), None),
                Err(error) => (Offered::Failed(error), Some(taken)),
            })
        })?;
        Ok(offered.unwrap_or(Offered::Nothing))
    }

    /// Whether nothing comes any more, as far as is known; why, as a message.
    fn end_as_message(&mut self) -> Result<Option<Message<'static>>> {
        self.end.look_for_peer()?;
        let state = self.end.words().state.load(Ordering::Acquire);
        if state & READ_ERROR != 0 {
            let number = self.end.words().read_error.load(Ordering::Relaxed) as u8;
            return Ok(Some(error_message(number)));
        }
        let has_ended = state & HUNG_UP != 0 || self.is_at_end();
        Ok(has_ended.then(|| Message::of_parts(MessageHeader::of(Kind::Hangup), None, None)))
    }
}

impl Link {
    /// Whether the driver was told that the lower stream has ended.
    pub fn has_ended(&self, upper: &Region) -> bool {
        self.words(upper).flags.load(Ordering::Relaxed) & ENDED != 0
    }

    /// Whether the driver is to look at the lower stream. A look from without the locks.
    fn has_something(&self, upper: &Region) -> bool {
        let looked = self.with(Limit::Now, |lower| {
            Ok(lower.back.is_readable() || !self.has_ended(upper) && lower.end_as_message()?.is_some())
        });
        looked.unwrap_or(false)
    }
}

impl Queue<'_, '_, '_> {
    /// Offers what has come up the lower streams to the driver. In the service procedure of the upper stream's read side.
    pub(crate) fn take_from_lowers(&mut self, driver: &dyn Driver) -> Result<()> {
        let Some(known) = self.run.beyond.links else {
            // A run from within one along direction 0, which does it when it is over.
            self.run.effects.used_lower = true;
            return Ok(());
        };
        let region = self.run.region;
        for link in known.current(region) {
            if !self.take_from_lower(driver, &link)? {
                known.wake_server();
            }
            if link.waits.load(Ordering::Relaxed) & FOR_ROOM_ABOVE != 0
                && link.waits.fetch_and(!FOR_ROOM_ABOVE, Ordering::AcqRel) & FOR_ROOM_ABOVE != 0
            {
                // It can sleep at the lower stream again.
                known.wake_server();
            }
        }
        Ok(())
    }

    /// False if another user of the lower stream is in the way.
    fn take_from_lower(&mut self, driver: &dyn Driver, link: &Link) -> Result<bool> {
        for _ in 0..SERVICES_MAX {
            // What waits in the lower stream is served without waiting for a lock.
            let offered =
                link.with(Limit::Now, |lower| lower.offer_front(|message| driver.lower_put(link.id, message, self)));
            match offered {
                Ok(Offered::Taken) => {}
                Ok(Offered::Left) => return Ok(true),
                Ok(Offered::Failed(error)) if error.is_held() || error.is_fatal() => return Err(error),
                Ok(Offered::Failed(_)) => {}
                Err(error) if error.is_held() => return Ok(false),
                Ok(Offered::Nothing) | Err(_) => break,
            }
        }
        self.tell_of_end(driver, link).map(|()| true)
    }

    fn tell_of_end(&mut self, driver: &dyn Driver, link: &Link) -> Result<()> {
        let words = link.words(self.run.region);
        if words.flags.load(Ordering::Relaxed) & ENDED != 0 {
            return Ok(());
        }
        let end = link.with(Limit::Now, Handle::end_as_message);
        let end = end.unwrap_or_else(|error| {
            let number = error.errno().number() as u8;
            (!error.is_held()).then(|| error_message(number))
        });
        let Some(message) = end else { return Ok(()) };
        let told = driver.lower_put(link.id, message, self);
        if told.as_ref().is_err_and(Error::is_held) {
            return told.map(drop);
        }
        probe::at();
        // Told first: after a kill in between it is told twice, but never lost. Under the lock of the service procedures.
        words.flags.fetch_or(ENDED, Ordering::AcqRel);
        told.map(drop)
    }
}

/// M_ERROR with an errno, for the driver.
fn error_message(number: u8) -> Message<'static> {
    Message::of_parts(MessageHeader::of(Kind::Error), None, Some(vec![number]))
}

/// Whether calls on an upper stream may make or undo links.
pub(super) fn check_upper(upper: &Handle) -> Result<()> {
    state::check(upper.end.words(), state::Call::Ioctl)
}
