//! Streams that are linked below a multiplexer.

use std::sync::atomic::Ordering;

use super::Stream;
use crate::error::Result;
use crate::head::claim;
use crate::head::state::LINKED;
use crate::message::link::MuxId;

impl Stream {
    /// The streams that are linked below this one, which ends in a multiplexer.
    #[doc = include_str!("../../doc/links.md")]
    pub fn links(&self) -> Links<'_> {
        Links(self)
    }
}

/// The streams that are linked below a multiplexer; see [`Stream::links`].
#[derive(Debug, Clone, Copy)]
pub struct Links<'s>(&'s Stream);

impl Links<'_> {
    /// Whether this end is linked below a multiplexer: then its calls fail with `EINVAL`.
    #[doc = include_str!("../../doc/links.md")]
    pub fn is_linked(&self) -> bool {
        let is_noted = self.0.shared.endpoint.words().state.load(Ordering::Acquire) & LINKED != 0;
        // The process that had the link may have been killed.
        is_noted && self.0.with(claim::look).is_err()
    }

    /// Whether this stream ends in a multiplexer, below which others can be linked.
    #[doc = include_str!("../../doc/links.md")]
    pub fn is_multiplexer(&self) -> bool {
        let endpoint = &self.0.shared.endpoint;
        endpoint.side == 0 && endpoint.region.driver.is_some_and(|driver| driver.info().multiplexes)
    }

    /// Links a stream below this one, which ends in a multiplexer (I_LINK), and returns by what the multiplexer knows it. What is
    /// written to this stream the multiplexer sends down that one, and takes what comes up there. Calls on the lower stream's end fail
    /// with `EINVAL` from now on, in all processes; it may be dropped, and stays open below.
    ///
    /// The link lasts until [`Links::unlink`], or until the last process that has this stream open has closed it or ended. Processes
    /// that this one forks from now on serve it too, and those that open the stream by its name. Of other processes that have this stream
    /// open, what they send to that lower stream waits until one of the former sends it, within a second.
    ///
    /// # Errors
    /// `EINVAL` if this stream's driver is no multiplexer; if the other one is linked already, is this one, has it below, or is
    /// an end of a FIFO; `ENXIO` after a hang-up of this stream; `ENOSR` when [`LINKS`](crate::limits::LINKS) are linked below; `ETIME` if the driver
    /// does not answer; what it answers with; `EMFILE` without six free descriptors.
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_LINK")]
    pub fn link(&self, lower: &Stream) -> Result<MuxId> {
        let lower = lower.new_handle();
        self.0.call(|handle| handle.link(&lower))
    }

    /// As [`Links::link`], and keeps this stream open in this process, whether or not it has clones, until the link is undone
    /// by [`Links::unlink_persistent`] or the process ends (I_PLINK). There is no process that could keep it longer.
    ///
    /// # Errors
    /// As [`Links::link`].
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_PLINK")]
    pub fn link_persistent(&self, lower: &Stream) -> Result<MuxId> {
        let lower = lower.new_handle();
        self.0.call(|handle| handle.link_persistent(&lower))
    }

    /// Undoes a link of [`Links::link`], or all of them (I_UNLINK; None is MUXID_ALL). The lower stream is its users' again, or is
    /// closed if there are none.
    ///
    /// # Errors
    /// `EINVAL` for an id of no such link of this stream; else as [`Links::link`].
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_UNLINK")]
    #[doc(alias = "MUXID_ALL")]
    pub fn unlink(&self, lower: Option<MuxId>) -> Result<()> {
        self.0.call(|handle| handle.unlink(lower))
    }

    /// Undoes a link of [`Links::link_persistent`], or all of them (I_PUNLINK).
    ///
    /// # Errors
    /// As [`Links::unlink`].
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_PUNLINK")]
    pub fn unlink_persistent(&self, lower: Option<MuxId>) -> Result<()> {
        self.0.call(|handle| handle.unlink_persistent(lower))
    }
}
