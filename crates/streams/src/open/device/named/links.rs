//! Handing over the streams that are linked below a device that others find by name: at a socket for each, as the device itself is at
//! its own, so that every process that has the upper stream open can serve them.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::abstract_socket::Listener;
use headwater_os::attendant::Attendant;
use headwater_os::own_numbers;
use headwater_os::{file_facts, files};

use crate::error::{Errno, Error, Result};
use crate::head::claim::Claim;
use crate::head::handle::Handle;
use crate::message::link::MuxId;
use crate::open::admission::Admission;
use crate::open::device::DeviceOptions;
use crate::process::endpoint::Endpoint;
use crate::process::name::Name;
use crate::process::region::Region;

/// How long an answer is waited for. Who does not answer is asked again with the next call that misses the link.
const PATIENCE: Duration = Duration::from_millis(200);

/// A stream that is linked below, as it was handed over.
#[derive(Debug)]
pub(crate) struct FetchedLink {
    pub lower: Handle,
    /// Of the lower end, and of the entry.
    pub claims: [Claim; 2],
    pub listener: Listener,
}

impl Name {
    /// Hands a link over to processes that ask, as long as the attendant is kept.
    pub fn hand_over(&self, listener: Listener, lower: &Endpoint, claims: [BorrowedFd<'_>; 2]) -> Result<Attendant> {
        let files = lower.descriptors().chain(claims).map(own_numbers::copy);
        Ok(Attendant::start(listener, files.collect::<std::io::Result<Vec<OwnedFd>>>()?)?)
    }

    /// The link of an entry that others have, if they hand it over.
    ///
    /// Errors: `EPROTO` for something else; `EMFILE`; `EACCES`.
    pub fn fetch_link(&self, id: MuxId, upper: &Region, slot: usize) -> Result<Option<FetchedLink>> {
        let Some((mut files, user)) = self.receive(&self.link_node(id), PATIENCE)? else { return Ok(None) };
        let strange = |why: &str| Error::new(Errno::Proto, format!("the link {}: {why}", id.number()));
        let (Some(listener), Some(entry), Some(claim)) = (files.pop(), files.pop(), files.pop()) else {
            return Err(strange("too few descriptors came"));
        };
        // In a directory for a group another user may have linked the stream of any driver. It is served in that user's processes.
        let lower = match Handle::of_files(files, Admission::by_user(user), &DeviceOptions::new()) {
            Err(error) if error.errno() == Errno::Acces => return Ok(None),
            lower => lower?,
        };
        let stream = upper.fixed.device.links[slot].stream.load(Ordering::Acquire);
        let is_memory = |file: &OwnedFd, region: &Region| -> Result<bool> {
            let [file, memory] = [files::status(file)?, files::status(region)?];
            Ok([file.device, file.number] == [memory.device, memory.number])
        };
        let is_it = lower.end.region.inode == stream
            && is_memory(&claim, &lower.end.region)?
            && is_memory(&entry, upper)?
            && file_facts::is_local_listener(&listener);
        if !is_it {
            return Err(strange("it is another stream"));
        }
        let claims = [Claim::of_end(claim, lower.end.side), Claim::of_entry(entry, slot)];
        Ok(Some(FetchedLink { lower, claims, listener: listener.into() }))
    }
}
