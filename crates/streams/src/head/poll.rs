//! poll: the events for which a stream is ready, and waiting for them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::futex::{self, Slept};

use super::handle::Handle;
use super::state::{READ_ERROR, WRITE_ERROR};
use super::wait::Input;
use crate::error::{Errno, Result, fixed};
use crate::process::end::Access;
use crate::queue::store::HEAD;

pub use crate::options::events::Events;

/// After this many looks without success [`Stream::poll`](crate::Stream::poll) looks at this rate only.
const LOOKS: u32 = 10;
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// At this rate a program looks again that polls several files, where actions of the stream's own end may make it ready: no
/// level of the descriptor reports these.
const PREPARED_LOOK: Duration = Duration::from_millis(20);

/// The result of [`Stream::prepare_poll`](crate::Stream::prepare_poll).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// These events are there.
    Ready(Events),
    /// None is there: poll(2) of the descriptor reports when that may have changed.
    Armed {
        /// The program polls for readability.
        reads: bool,
        /// The program polls for room.
        writes: bool,
        /// It must look again after this time.
        look_every: Option<Duration>,
    },
}

impl Handle {
    pub(crate) fn poll(&mut self, wanted: Events, timeout: Option<Duration>) -> Result<Events> {
        if self.knows_input(wanted) {
            return Ok(wanted & (Events::IN | Events::RDNORM));
        }
        let until_ns = timeout.map(|timeout| {
            headwater_os::clock::now_ns().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
        });
        self.polls = true;
        let done = self.attach().and_then(|()| self.poll_until(wanted, timeout, until_ns));
        self.polls = false;
        self.end.set_limit(self.limit());
        done
    }

    pub(crate) fn prepare_poll(&mut self, wanted: Events) -> Result<Prepared> {
        let mut look_every = None;
        for _ in 0..LOOKS {
            let ready = self.poll(wanted, Some(Duration::ZERO))?;
            if !ready.is_empty() {
                return Ok(Prepared::Ready(ready));
            }
            let access = self.end.endpoint.access;
            let reads = access != Access::Write && !self.end.shut_to_read();
            let writes = access != Access::Read && wanted.intersects(Events::OUT | Events::WRNORM);
            let armed = (!reads || self.arm_to_read()?) && (!writes || self.arm_to_write(0)?);
            if armed {
                self.serve_in_background();
                let own = self.end.words().joined.load(Ordering::Relaxed) > 1;
                let has_modules = self.end.region.driver.is_some()
                    || self.end.region.fixed.plumbing[self.end.side].count.load(Ordering::Relaxed) != 0;
                let rare = wanted.intersects(Events::WRBAND);
                if own || has_modules || rare {
                    look_every = Some(PREPARED_LOOK);
                }
                return Ok(Prepared::Armed { reads, writes, look_every });
            }
            // There is a message, but not a wanted one.
            look_every = Some(LOOK_EVERY);
        }
        Ok(Prepared::Armed { reads: false, writes: false, look_every })
    }

    /// Whether only ordinary input is polled for, and a message that was found before is at the front of an end in its usual state: then
    /// there is nothing to look for, and other events wait until it was taken.
    #[inline]
    fn knows_input(&self, wanted: Events) -> bool {
        is_input_alone(wanted)
            && self.end.member().is_some()
            && self.back.reader.has_message()
            && self.back.store.is_empty(HEAD)
            && self.is_usual()
    }

    /// Whether nothing but data is to be expected, as far as is known.
    fn is_usual(&self) -> bool {
        self.end.dead.is_none() && self.end.words().state.load(Ordering::Acquire) == 0 && !self.is_at_end()
    }

    /// Where only ordinary input is polled for: waits for it as a read does, without a look at all else before. None: the look follows.
    fn wait_for_input(&mut self, wanted: Events, until_ns: Option<u64>) -> Result<Option<Events>> {
        if !is_input_alone(wanted) || !self.is_usual() || self.nested || self.end.endpoint.access == Access::Write {
            return Ok(None);
        }
        // The call may wait, whatever reads do.
        self.gather_messages();
        if !self.back.is_readable() {
            match self.wait_to_read(Input::Any, until_ns) {
                Err(error) if error.is_held() && error.errno() != Errno::Intr => {}
                // The look tells whether the time is over.
                Err(error) if error.errno() == Errno::Time => {}
                waited => waited?,
            }
        }
        if !self.back.is_readable() || !self.is_usual() {
            return Ok(None);
        }
        let events = unless_held(self.front_events(), Events::default())? & wanted;
        Ok(Some(events).filter(|events| !events.is_empty()))
    }

    fn poll_until(&mut self, wanted: Events, timeout: Option<Duration>, until_ns: Option<u64>) -> Result<Events> {
        let mut looks = 0;
        if timeout != Some(Duration::ZERO)
            && let Some(events) = self.wait_for_input(wanted, until_ns)?
        {
            return Ok(events);
        }
        loop {
            self.serve_now()?;
            let seen = self.back.store.arrivals(HEAD);
            let ready = self.ready(wanted)? & (wanted | Events::ERR | Events::HUP);
            if !ready.is_empty() || timeout == Some(Duration::ZERO) {
                return Ok(ready);
            }
            if until_ns.is_some_and(|until| until <= headwater_os::clock::now_ns()) {
                return Ok(ready);
            }
            looks += 1;
            let input = if self.waits_for_front(wanted)? { Input::Before(seen) } else { Input::Any };
            if looks > LOOKS && input == Input::Any {
                // There is a message, but not a wanted one: no bell reports when that changes.
                if futex::nap(LOOK_EVERY)? == Slept::Interrupted {
                    return Err(fixed!(Intr, "a signal handler ran"));
                }
            }
            let at_end = self.end.shut_to_read();
            // Nothing more arrives at the end of the stream, and the descriptor stays readable.
            let reads = wanted.intersects(Events::IN | Events::PRI | Events::RDNORM | Events::RDBAND) && !at_end;
            let writes = wanted.intersects(Events::OUT | Events::WRNORM);
            let waited = match (self.end.endpoint.access, reads, writes) {
                (Access::Read, ..) | (Access::Both, true, false) => self.wait_to_read(input, until_ns),
                (Access::Both, true, true) => self.wait_for_either(until_ns),
                (Access::Write, ..) | (Access::Both, false, _) => self.wait_for_room(0, until_ns),
            };
            match waited {
                // Another user of a side is in the middle of a call: the events behind its lock are not ready, and are
                // checked again.
                Err(error) if error.is_held() && error.errno() != Errno::Intr => {}
                Err(error) if error.errno() == Errno::Time => return Ok(Events::default()),
                waited => waited?,
            }
        }
    }

    /// Whether only messages are polled for that go before those that are there.
    fn waits_for_front(&mut self, wanted: Events) -> Result<bool> {
        let others = Events::IN | Events::RDNORM | Events::OUT | Events::WRNORM;
        let is_for_front = wanted.intersects(Events::PRI | Events::RDBAND) && !wanted.intersects(others);
        if !is_for_front || !self.back.is_readable() || self.end.shut_to_read() {
            return Ok(false);
        }
        // One of high priority that is not polled for must be taken first.
        Ok(!unless_held(self.front_events(), Events::PRI)?.contains(Events::PRI))
    }

    /// The events for which the stream is ready now.
    fn ready(&mut self, wanted: Events) -> Result<Events> {
        let mut events = Events::default();
        self.end.look_for_peer()?;
        self.end.ask_for_peer()?;
        let state = self.end.words().state.load(Ordering::Acquire);
        if state & (READ_ERROR | WRITE_ERROR) != 0 {
            events |= Events::ERR;
        }
        if self.end.endpoint.access != Access::Write && self.back.is_readable() {
            // Data in the lane is seen also while another user is in the middle of a read.
            let plain = self.back.reader.bytes_there() != 0;
            let seen = if plain { Events::IN | Events::RDNORM } else { Events::default() };
            events |= unless_held(self.front_events(), seen)?;
        } else if self.end.shut_to_read() {
            // The end of the data is read without waiting.
            events |= Events::IN | Events::RDNORM;
        }
        if self.is_hung_up() {
            events |= Events::HUP;
        } else if self.end.shut_to_write() {
            events |= Events::ERR;
        } else if state & WRITE_ERROR == 0 && self.end.endpoint.access != Access::Read {
            if wanted.intersects(Events::OUT | Events::WRNORM) && unless_held(self.can_put(0), false)? {
                events |= Events::OUT | Events::WRNORM;
            }
            if wanted.intersects(Events::WRBAND)
                && unless_held(self.run(true, |run| run.can_put_in_some_band()), false)?
            {
                events |= Events::WRBAND;
            }
        }
        Ok(events)
    }

    /// The events of the message at the front: of that one alone, so never both for one of high priority and
    /// for another. Signals at the front are raised.
    fn front_events(&mut self) -> Result<Events> {
        let header = self.take_front(|_, item| Ok((item.header, None)))?;
        Ok(header.map_or(Events::default(), |header| match header.band {
            _ if header.kind.is_high_priority() => Events::PRI,
            0 => Events::IN | Events::RDNORM,
            _ => Events::IN | Events::RDBAND,
        }))
    }
}

fn is_input_alone(wanted: Events) -> bool {
    !wanted.is_empty() && (Events::IN | Events::RDNORM).contains(wanted)
}

/// An event that cannot be checked, because another user of the stream is in the middle of a call, is not ready.
fn unless_held<T>(looked: Result<T>, not_ready: T) -> Result<T> {
    match looked {
        Err(error) if error.is_held() && error.errno() != Errno::Intr => Ok(not_ready),
        looked => looked,
    }
}
