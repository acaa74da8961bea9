//! The streams beyond one, to which its driver sends: the partner, and the streams that are linked below. `open` implements them, because
//! it opens them; a run knows them by what it does there. They take messages and no runs, so they stand below the runs.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use headwater_shm::Limit;

use super::driver_files::DriverFiles;
use super::endpoint::Endpoint;
use super::region::Region;
use crate::error::{Error, Result};
use crate::message::Message;
use crate::message::link::MuxId;

/// The streams beyond one that its driver may send to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beyond<'s> {
    /// The other one of two streams that the driver pairs.
    pub partner: Option<&'s dyn PartnerStream>,
    /// The open files of the driver.
    pub files: Option<&'s DriverFiles>,
    /// Those that are linked below. None in a run within another one, and where there were none yet.
    pub lowers: Option<&'s dyn LowerStreams>,
    /// The end by which this process uses the stream. None where the run is along another stream's path.
    pub endpoint: Option<&'s Arc<Endpoint>>,
}

/// The partner's path, on which the driver sends to its head. None: the partner is closed.
pub(crate) trait PartnerStream: Debug + Send + Sync {
    /// Whether a message of that band may be sent.
    fn can_put(&self, limit: Limit, band: u8) -> Option<Result<bool>>;

    /// Sends a message to the partner's head.
    fn put(&self, limit: Limit, message: Message<'_>) -> Option<Result<()>>;

    /// Runs the service procedures of the partner's direction 0, because there is room here.
    fn enable(&self) -> Result<()>;

    /// Of the user's end of a stream: the partner's memory, and the other end of its doorbell.
    fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]>;
}

/// The streams that are linked below an upper one, as a handle of the upper one knows them.
pub(crate) trait LowerStreams: Debug + Send + Sync {
    /// Looks whether any process has changed anything, and then learns what is new.
    fn look(&mut self, upper: &Endpoint) -> Result<()>;

    /// The stream of an id; None: other processes can use it, and this one cannot, or does not know it yet.
    ///
    /// Errors: `ENXIO` if there is none.
    fn find(&self, upper: &Region, id: MuxId) -> Result<Option<Arc<dyn LowerStream>>>;

    /// Calls `action` with each stream whose link was not undone, until it breaks off.
    fn each(&self, upper: &Region, action: &mut dyn FnMut(&dyn LowerStream) -> ControlFlow<()>);

    /// Has the thread of this process that serves the links look at them again.
    fn wake_server(&self);
}

/// A stream that is linked below another one. What fails there is not fatal for the upper stream.
pub(crate) trait LowerStream: Debug + Send + Sync {
    /// By which the driver of the upper stream knows it.
    fn id(&self) -> MuxId;

    /// The number of its entry in the upper stream's memory.
    fn slot(&self) -> usize;

    /// Whether a message of that band may be sent down it.
    fn can_put(&self, limit: Limit, band: u8) -> Result<bool>;

    /// The same after it could not, for a sender that waits: asks for a notification of room. True also behind a hang-up, where nothing
    /// makes room.
    fn ask_for_room(&self, limit: Limit, band: u8) -> Result<bool>;

    /// Notes that the sender waits for room. Returns whether this is new: then the server is to look.
    fn note_wait_for_room(&self) -> bool;

    /// Sends a message down it.
    fn put(&self, limit: Limit, message: Message<'_>) -> Result<()>;

    /// Whether the driver is to look at it. A look from without the locks.
    fn has_something(&self, upper: &Region) -> bool;

    /// Offers the message that has come up first, and takes it if it is taken. Waits for no lock.
    fn offer_front(&self, offer: &mut dyn FnMut(Message<'static>) -> Result<bool>) -> Result<Offered>;

    /// Whether nothing comes any more, as far as is known; why, as a message.
    fn end_as_message(&self) -> Result<Option<Message<'static>>>;

    /// What has come up waits for room above no longer. Returns whether it did.
    fn end_wait_for_room_above(&self) -> bool;
}

/// In `LinkWords::flags`: the driver was told that the lower stream has ended.
pub(crate) const ENDED: u32 = 1;

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
