//! What has come up the streams that are linked below a multiplexer: who looks at it, and how it is taken from there.
//!
//! It waits at the lower stream's head, whose queue is the multiplexer's lower read queue. The service procedure of the read side of
//! the upper stream offers it to the driver ([`Queue::take_from_lowers`]); that is run by a process that has used a lower stream, by a
//! reader that has made room above, and otherwise by the thread of `open::link::server`.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use headwater_os::clock::now_ns;
use headwater_shm::Limit;

use super::claim;
use super::get::Taken;
use super::handle::Handle;
use super::state::{HUNG_UP, READ_ERROR};
use crate::error::Result;
use crate::layout::DRIVER;
use crate::layout::queue_of;
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::queue::lower::error_message;
use crate::process::beyond::Offered;
use crate::process::end::Role;
use crate::sched::answer::tell;

/// How often one call looks at the lower streams again because it has used them meanwhile.
const ROUNDS_MAX: usize = 1000;

/// How long the server waits for another user of the upper stream.
const FOR_THE_DEAD_NS: u64 = 30_000_000;

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
        let endpoint = &self.end.endpoint;
        let Some(opened) = endpoint.opened() else { return Ok(()) };
        self.end.lowers.get_or_insert_with(|| opened.lowers()).look(endpoint)
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
        let Some(lowers) = &self.end.lowers else { return Ok(()) };
        let mut is_any = false;
        lowers.each(region, &mut |lower| {
            is_any = lower.has_something(region);
            if is_any { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if !is_any {
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
            self.end.lowers.iter().for_each(|lowers| lowers.wake_server());
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
            Ok(match offer(Message::from_parts(item.header, control, data)) {
                Ok(true) => (Offered::Taken, Some(taken)),
                Ok(false) => (Offered::Left, None),
                Err(error) if error.is_held() => (Offered::Failed(error), None),
                Err(error) => (Offered::Failed(error), Some(taken)),
            })
        })?;
        Ok(offered.unwrap_or(Offered::Nothing))
    }

    /// Whether nothing comes any more, as far as is known; why, as a message.
    pub(crate) fn end_as_message(&mut self) -> Result<Option<Message<'static>>> {
        self.end.look_for_peer()?;
        let state = self.end.words().state.load(Ordering::Acquire);
        if state & READ_ERROR != 0 {
            let number = self.end.words().read_error.load(Ordering::Relaxed) as u8;
            return Ok(Some(error_message(number)));
        }
        let has_ended = state & HUNG_UP != 0 || self.is_at_end();
        Ok(has_ended.then(|| Message::from_parts(MessageHeader::of(Kind::Hangup), None, None)))
    }
}
