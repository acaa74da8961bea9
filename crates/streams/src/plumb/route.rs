//! Routes: how a message with a control part went to another stream, so that the next one with the same control part goes there
//! without a message in memory, and without the procedures on its path.
//!
//! The driver of a transport notes a route when it has sent a message. The head compares the next message with it, checks that the
//! driver's words at both ends are as they were, and appends the message to the other stream's lane; or sends it by the driver's socket. Whatever is not as it was sends the
//! message through the procedures. A route is a copy in one handle of one process; nothing of it is in shared memory.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use headwater_os::internet;
use headwater_shm::Limit;

use crate::error::Result;
use crate::plumb::queue::peers::Peer;
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

/// What became of a message on its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    Yes,
    /// There is no room for it.
    Full,
    /// Something is not as it was, or in the way.
    No,
}

/// Where messages with one control part go.
#[derive(Debug)]
enum Target {
    /// Into the lane of another stream.
    Peer {
        peer: Arc<Peer>,
        /// What must be so there, under the lock of its direction 1.
        there: Condition,
        /// The control part that the receiver gets.
        indication: Control,
    },
    /// Out by a socket of the driver.
    Socket {
        /// The stream's files have it, and close it.
        file: Weak<OwnedFd>,
        /// The version of these files.
        version: u32,
        to: SocketAddr,
        /// So many more datagrams.
        left: u32,
    },
}

/// Where a message goes whose control part is the same as that of one before.
#[derive(Debug)]
pub(crate) struct Route {
    request: Control,
    own: [Condition; CONDITIONS],
    target: Target,
    data_max: usize,
}

impl Route {
    /// A route into another stream. `own` are conditions at the sender's end, of which one may be given several times. Data are no
    /// longer than `data_max`.
    pub fn to_peer(
        [request, indication]: [Control; 2],
        own: [Condition; CONDITIONS],
        peer: Arc<Peer>,
        there: Condition,
        data_max: usize,
    ) -> Route {
        Route { request, own, target: Target::Peer { peer, there, indication }, data_max }
    }

    /// A route for so many datagrams out by the socket that is at a place of the stream's files in that version.
    pub fn by_socket(
        request: Control,
        own: Condition,
        (file, version): (&Arc<OwnedFd>, u32),
        to: SocketAddr,
        left: u32,
        data_max: usize,
    ) -> Route {
        let target = Target::Socket { file: Arc::downgrade(file), version, to, left };
        Route { request, own: [own; CONDITIONS], target, data_max }
    }

    /// The stream in whose lane it ends.
    pub fn peer(&self) -> Option<&Peer> {
        match &self.target {
            Target::Peer { peer, .. } => Some(peer),
            Target::Socket { .. } => None,
        }
    }

    /// Sends a message, if all is as it was. Under the writer's lock of the sender's direction 0; it waits
    /// for the receiver's lock as `limit` allows.
    #[inline]
    pub fn send(&mut self, region: &Region, limit: Limit, data: Option<&[u8]>) -> Result<Appended> {
        let len = data.map_or(0, <[u8]>::len);
        if len > self.data_max || !self.own.iter().all(|condition| condition.holds(region)) {
            return Ok(Appended::No);
        }
        match &mut self.target {
            Target::Peer { peer, there, indication } => peer.append(limit, there, indication.bytes(), data),
            Target::Socket { file, version, to, left } => {
                // Acquire: as where the driver asks for its files.
                if *left == 0 || region.fixed.device.files_version.load(Ordering::Acquire) != *version {
                    return Ok(Appended::No);
                }
                *left -= 1;
                let Some(file) = file.upgrade() else { return Ok(Appended::No) };
                // Of an error the driver finds out what it is about, and sends again.
                let is_sent = internet::send_to(file.as_fd(), data.unwrap_or_default(), *to).unwrap_or(false);
                Ok(if is_sent { Appended::Yes } else { Appended::No })
            }
        }
    }
}

/// The routes of a handle, the one of the last message first.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<Route>);

impl Routes {
    /// The route of a control part.
    #[inline]
    pub fn find(&mut self, control: &[u8]) -> Option<&mut Route> {
        if self.0.first().is_none_or(|route| route.request.bytes() != control) {
            return self.find_behind(control);
        }
        self.0.first_mut()
    }

    #[cold]
    fn find_behind(&mut self, control: &[u8]) -> Option<&mut Route> {
        let at = self.0.iter().position(|route| route.request.bytes() == control)?;
        self.0.swap(0, at);
        self.0.first_mut()
    }

    /// Notes a route in the place of one for the same control part, or of the oldest.
    pub fn note(&mut self, route: Route) {
        self.0.retain(|other| other.request.bytes() != route.request.bytes());
        self.0.truncate(ROUTES_MAX - 1);
        self.0.insert(0, route);
    }
}
