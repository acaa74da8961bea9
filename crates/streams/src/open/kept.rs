//! What an endpoint keeps because of how it was opened: the broker of a FIFO, the partner of a stream, the streams that are linked below
//! a multiplexer. See [`Opened`].

use std::any::Any;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::device::close;
use super::device::partner::{self, Partner};
use super::device::peer::Peer;
use super::fifo::broker::Broker;
use super::link::{KnownLinks, Links};
use crate::error::Result;
use crate::process::beyond::{LowerStreams, PartnerStream};
use crate::process::endpoint::Endpoint;
use crate::process::opened::{Opened, Remains};

/// See above.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Of a FIFO that other users may open: the thread that lets them in. A lock that another thread holds when the
    /// process is forked stays locked in the child, so no thread waits for it.
    broker: Mutex<Option<Broker>>,
    /// Of a device whose driver pairs streams: the other one.
    partner: OnceLock<Box<Partner>>,
    /// Of a device whose driver is a multiplexer: the streams that are linked below.
    links: OnceLock<Arc<Links>>,
}

impl Opened for Kept {
    fn keep_here(&self, endpoint: &Endpoint) {
        if let Ok(mut broker) = self.broker.try_lock() {
            *broker = broker.take().and_then(|broker| broker.here(endpoint));
        }
        if self.partner.get().is_some() {
            endpoint.watch_partner();
        }
    }

    fn partner(&self) -> Option<&dyn PartnerStream> {
        self.partner.get().map(|partner| &**partner as &dyn PartnerStream)
    }

    fn meet_partner(&self, endpoint: &Arc<Endpoint>, files: [OwnedFd; 2]) -> Result<()> {
        partner::meet(endpoint, files)
    }

    fn lowers(&self) -> Box<dyn LowerStreams> {
        Box::new(KnownLinks::default())
    }

    fn serve_peer(&self, endpoint: &Endpoint, minor: u32) {
        if let Ok(Some(peer)) = Peer::find(endpoint, minor) {
            let _ = peer.serve();
        }
    }

    fn close(&self) {
        if let Ok(mut broker) = self.broker.try_lock() {
            *broker = None;
        }
        // Its server has descriptors of this end.
        if let Some(links) = self.links.get() {
            links.close();
        }
    }

    fn end_threads(&mut self) {
        // Of a FIFO: a process that is stopped in here must not seem to let others in.
        *self.broker.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        // What is linked below is free when the upper stream is closed, and its server, which may use this stream, is over.
        if let Some(links) = self.links.take() {
            links.close();
        }
    }

    fn close_dead_partner(&self, endpoint: &Endpoint) {
        endpoint.close_dead_partner();
    }

    fn close_last(&mut self, remains: Remains<'_>) {
        close::close_last(remains, self.partner.take());
    }
}

impl Endpoint {
    fn kept(&self) -> Option<&Kept> {
        let opened: &dyn Any = self.opened()?;
        opened.downcast_ref()
    }

    pub(super) fn kept_or_none_yet(&self) -> &Kept {
        let opened: &dyn Any = self.opened_or(|| Box::new(Kept::default()));
        opened.downcast_ref().expect("no other type is kept")
    }

    /// As [`Endpoint::partner`], to look how it is reached.
    pub(super) fn known_partner(&self) -> Option<&Partner> {
        self.kept()?.partner.get().map(|partner| &**partner)
    }

    /// False if it has one already.
    pub(super) fn set_partner(&self, partner: Partner) -> bool {
        self.kept_or_none_yet().partner.set(Box::new(partner)).is_ok()
    }

    /// The streams that are linked below, if any ever were.
    pub(crate) fn links(&self) -> Option<&Arc<Links>> {
        self.kept()?.links.get()
    }

    /// As [`Endpoint::links`], where one is to be added.
    pub(crate) fn links_or_none_yet(&self) -> &Arc<Links> {
        self.kept_or_none_yet().links.get_or_init(Arc::default)
    }

    /// Lets other users of the FIFO in, if the node's permissions allow others. Where that cannot be done they are
    /// refused.
    pub(super) fn keep(&self, node: BorrowedFd<'_>) {
        if let Ok(mut broker) = self.kept_or_none_yet().broker.try_lock() {
            *broker = Broker::start(self, node).ok().flatten();
        }
    }
}
