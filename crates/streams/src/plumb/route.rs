//! Routes: how a message with a control part went to another stream, so that the next one with the same control part goes there
//! without a message in memory, and without the procedures on its path.
//!
//! The driver of a transport notes a route when it has sent a message. The head compares the next message with it, checks that the
//! driver's words at both ends are as they were, and appends the message to the other stream's lane. Whatever is not as it was sends the
//! message through the procedures. A route is a copy in one handle of one process; nothing of it is in shared memory.

use std::sync::Arc;

use crate::process::device::peer::Peer;
use crate::process::region::Region;

/// The longest control part that has a route: a primitive with the longest address.
const CONTROL_MAX: usize = 160;
/// Routes that a handle keeps: a user that sends to more receivers by turns uses the procedures.
const ROUTES_MAX: usize = 8;
/// Conditions at the sender's end.
const CONDITIONS: usize = 3;

/// A control part that is short enough for a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Control {
    bytes: [u8; CONTROL_MAX],
    len: usize,
}

impl Control {
    /// None for one that is too long.
    pub fn of(control: &[u8]) -> Option<Control> {
        let mut bytes = [0; CONTROL_MAX];
        bytes.get_mut(..control.len())?.copy_from_slice(control);
        Some(Control { bytes, len: control.len() })
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Eight bytes of a driver's own memory, and what they must be.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Condition {
    at: usize,
    value: [u8; 8],
}

impl Condition {
    /// That the bytes are these two words. `at` is where the first one lies.
    pub fn words(at: usize, first: u32, second: u32) -> Condition {
        let mut value = [0; 8];
        value[..4].copy_from_slice(&first.to_ne_bytes());
        value[4..].copy_from_slice(&second.to_ne_bytes());
        Condition { at, value }
    }

    /// Whether it is so in a stream's memory.
    #[inline]
    pub fn holds(&self, region: &Region) -> bool {
        let Some(window) = &region.instance else { return false };
        let mut now = [0; 8];
        window.copy_out(self.at as u64, &mut now);
        now == self.value
    }
}

/// Where a message goes whose control part is the same as that of one before.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    request: Control,
    own: [Condition; CONDITIONS],
    pub peer: Arc<Peer>,
    /// What must be so at the receiver, under the lock of its direction 1.
    pub there: Condition,
    /// The control part that the receiver gets.
    indication: Control,
    pub data_max: usize,
}

impl Route {
    /// A route for a control part. `own` are conditions at the sender's end, of which one may be given several times.
    pub fn new(
        request: Control,
        own: [Condition; CONDITIONS],
        peer: Arc<Peer>,
        there: Condition,
        indication: Control,
        data_max: usize,
    ) -> Route {
        Route { request, own, peer, there, indication, data_max }
    }

    /// Whether the sender's end is as it was.
    #[inline]
    pub fn holds(&self, region: &Region) -> bool {
        self.own.iter().all(|condition| condition.holds(region))
    }

    #[inline]
    pub fn indication(&self) -> &[u8] {
        self.indication.bytes()
    }
}

/// The routes of a handle, the one of the last message first.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<Route>);

impl Routes {
    /// The route of a control part.
    #[inline]
    pub fn find(&mut self, control: &[u8]) -> Option<&Route> {
        match self.0.first() {
            Some(route) if route.request.bytes() == control => self.0.first(),
            _ => self.find_behind(control),
        }
    }

    #[cold]
    fn find_behind(&mut self, control: &[u8]) -> Option<&Route> {
        let at = self.0.iter().position(|route| route.request.bytes() == control)?;
        self.0.swap(0, at);
        self.0.first()
    }

    /// Notes a route in the place of one for the same control part, or of the oldest.
    pub fn note(&mut self, route: Route) {
        self.forget(route.request.bytes());
        self.0.truncate(ROUTES_MAX - 1);
        self.0.insert(0, route);
    }

    /// The route of a control part leads nowhere any more.
    pub fn forget(&mut self, control: &[u8]) {
        self.0.retain(|route| route.request.bytes() != control);
    }
}
