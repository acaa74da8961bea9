//! What an endpoint keeps because of how it was opened, and what this does when the end is used in a new process, closed, or dropped.
//! `open` implements it; an end of a plain pipe has none.

use std::any::Any;
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use headwater_os::doorbell::Doorbell;
use headwater_os::set_once::SetOnce;

use super::beyond::{LowerStreams, PartnerStream};
use super::driver_files::DriverFiles;
use super::endpoint::Endpoint;
use super::instances::MinorLock;
use super::name::Name;
use super::region::Region;
use crate::error::Result;

/// The threads and the other streams of an endpoint.
pub(crate) trait Opened: Any + Debug + Send + Sync {
    /// This process uses the end for the first time. A forked child, which has none of its parent's threads, starts them.
    fn keep_here(&self, endpoint: &Endpoint);

    /// The other one of two streams that the driver pairs, once this process knows it.
    fn partner(&self) -> Option<&dyn PartnerStream>;

    /// The partner has come, and has left in the doorbell its memory, and the other end of its own doorbell: it is the partner from now on.
    ///
    /// Errors: `EPROTO` for another stream than the one that the memory of this one names; `EMFILE`.
    fn meet_partner(&self, endpoint: &Arc<Endpoint>, files: [OwnedFd; 2]) -> Result<()>;

    /// The streams that are linked below, for a handle that has not looked for them yet.
    fn lowers(&self) -> Box<dyn LowerStreams>;

    /// Lets the stream of a minor number of the same driver continue, which waits for room here, if it can be reached.
    fn serve_peer(&self, endpoint: &Endpoint, minor: u32);

    /// The end is closed here while clones of it are left, and the endpoint's own threads have ended: ends the others. A lock
    /// that another thread holds is not waited for.
    fn close(&self);

    /// The endpoint is dropped, and its own threads have ended: ends the others. Its descriptors are still open.
    fn end_threads(&mut self);

    /// Of a device, whose descriptor is closed, and whose other end was told: has the partner closed by the driver if its last process
    /// was killed.
    fn close_dead_partner(&self, endpoint: &Endpoint);

    /// Of the same: has the stream closed by its driver if no other process has it.
    fn close_last(&mut self, remains: Remains<'_>);
}

/// What a process that has closed its descriptor of a device still has of it.
#[derive(Debug)]
pub(crate) struct Remains<'e> {
    pub region: Region,
    /// Its other end was closed here: it is alone if no process has the stream any more.
    pub witness: Doorbell,
    /// The minor number.
    pub lock: Option<&'e MinorLock>,
    pub name: Option<&'e Name>,
    pub files: Option<DriverFiles>,
}

/// What [`at_join`] has set.
static AT_JOIN: SetOnce<fn()> = SetOnce::new();

/// Has `action` called whenever a process uses an end for the first time, as a forked child does. The first action stays.
pub(crate) fn at_join(action: fn()) {
    AT_JOIN.set(action);
}

/// This process has joined the users of an end.
pub(super) fn joined() {
    if let Some(action) = AT_JOIN.get() {
        action();
    }
}
