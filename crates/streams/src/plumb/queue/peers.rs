//! What the driver of a transport does with other streams of its kind: any number of them send to one, and one to any number.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::Queue;
use crate::error::{Result, fixed};
use crate::message::kind::{Kind, MessageHeader};
pub(crate) use crate::open::device::from_driver::along_write_side;
use crate::open::device::from_driver::serve_always;
pub(crate) use crate::open::device::peer::Peer;
use crate::open::device::peer::watch;
use crate::plumb::route::Route;
pub(crate) use crate::process::address::Addresses;
use crate::process::endpoint::Endpoint;
use crate::process::listeners::SignalEvents;

/// What a thread of a stream does when it is woken: it looks at the driver's state, and returns the peer whose end it waits for, and
/// after what time it looks again.
pub(crate) type Look = fn(&mut Queue<'_, '_, '_>) -> Result<(Option<Arc<Peer>>, Option<Duration>)>;

impl<'m> Queue<'_, '_, 'm> {
    /// The stream of a minor number of this driver; None: no process has it.
    ///
    /// Errors: `ENXIO` for a stream that was not opened by name; `EMFILE`.
    pub(crate) fn find_peer(&self, minor: u32) -> Result<Option<Arc<Peer>>> {
        let own = self.run.beyond.endpoint.ok_or_else(|| fixed!(Nxio, "a run within another one sends no further"))?;
        Peer::find(own, minor)
    }

    /// A copy of a file of a peer's driver; None: it has none at that place, or is gone.
    ///
    /// Errors: as [`Queue::find_peer`].
    pub(crate) fn file_of_peer(&self, peer: &Peer, place: usize) -> Result<Option<OwnedFd>> {
        let own = self.run.beyond.endpoint.ok_or_else(|| fixed!(Nxio, "a run within another one sends no further"))?;
        peer.file(own, place)
    }

    /// Calls `action` with the driver's read queue of a peer. On the write side. The peers' locks are taken one at a time.
    pub(crate) fn along_peer<T>(
        &mut self,
        peer: &Peer,
        action: impl FnOnce(&mut Queue<'_, '_, 'm>) -> Result<T>,
    ) -> Result<T> {
        let done = peer.run(self.run.inner_limit(), |run| action(&mut Queue { run, at: 0 }));
        self.run.note(done)
    }

    /// Calls `action` with the driver's own read queue. On the write side.
    pub(crate) fn along_own<T>(&mut self, action: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<T>) -> Result<T> {
        self.run.back(|run| action(&mut Queue { run, at: 0 }))
    }

    /// Takes back what a process has left that was killed while it changed the driver's memory. On the write side, before it reads there.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if self.run.other.store().open_step() == 0 { Ok(()) } else { self.along_own(|_| Ok(())) }
    }

    /// A message of this stream has arrived at a peer: it is not sent again.
    pub(crate) fn has_sent(&mut self) -> Result<()> {
        self.run.act();
        self.run.note_arrival()
    }

    /// The next message with the same control part may go by this route. Without effect but in the handle of a user of this stream.
    pub(crate) fn note_route(&mut self, route: Route) {
        // The handles of peers are reached by routes themselves.
        if self.run.direction == 0 && self.run.beyond.endpoint.is_some_and(|endpoint| endpoint.side == 0) {
            self.run.side.routes.note(route);
        }
    }

    /// The number by which the kernel knows this stream.
    pub(crate) fn cookie(&self) -> u64 {
        self.run.region.cookie_of(0)
    }

    /// Has a thread of this process serve the files from now on, also while no process waits at the stream: what waits in the write queue
    /// for room in a file is sent without another call.
    pub(crate) fn serve_in_background(&self) {
        if let Some(endpoint) = self.run.beyond.endpoint {
            serve_always(endpoint);
        }
    }

    /// The end by which this process has the stream; None: the procedure runs on behalf of another stream.
    pub(crate) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.run.beyond.endpoint
    }

    /// Runs the write side's service procedures of other streams when the current run is over.
    pub(crate) fn serve_peers(&mut self, minors: impl IntoIterator<Item = u32>) {
        self.run.effects.peers.extend(minors);
    }

    /// Has a thread of this process look at the driver's state, from now on and when a peer has gone.
    pub(crate) fn watch_peers(&self, look: Look) {
        if let Some(endpoint) = self.run.beyond.endpoint {
            watch(endpoint, look);
        }
    }

    /// The same for a peer that this process has open itself.
    pub(crate) fn watch_peers_of(peer: &Peer, look: Look) {
        if let Some(endpoint) = peer.own_end() {
            watch(&endpoint, look);
        }
    }

    /// The addresses of the driver, with the right of this stream to take one.
    ///
    /// Errors: `ENXIO` for a stream that was not opened by name in this process.
    pub(crate) fn addresses(&self) -> Result<Addresses<'_>> {
        let own = self.run.beyond.endpoint.and_then(Addresses::of);
        own.ok_or_else(|| fixed!(Nxio, "the stream was not opened by name in this process"))
    }

    /// Appends a message to the head's queue from the driver's read queue, if nothing is between them and in the way. Returns whether it was
    /// appended; else [`Queue::put_next`] sends it. After [`Queue::can_put_next`].
    pub(crate) fn append_for_head(&mut self, control: &[u8], data: &[u8]) -> Result<bool> {
        let run = &mut *self.run;
        if self.at != 0 || run.direction != 1 || run.has_pending() || !run.side.is_clear_for_proto() {
            return Ok(false);
        }
        let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Proto) };
        run.side.lane.append(header, Some(control), Some(data))?;
        run.effects.delivered = true;
        run.effects.happened |= SignalEvents::of_arrival(header);
        run.act();
        Ok(true)
    }
}
