//! Linking streams below a multiplexer.

use std::sync::atomic::Ordering;

use super::Stream;
use crate::error::Result;
use crate::head::state::LINKED;
use crate::message::link::MuxId;
use crate::open::link::claim;

impl Stream {
    /// Whether this end is linked below a multiplexer: then its calls fail with `EINVAL`.
    #[doc = include_str!("../../doc/links.md")]
    pub fn is_linked(&self) -> bool {
        let is_noted = self.shared.endpoint.words().state.load(Ordering::Acquire) & LINKED != 0;
        // The process that had the link may have been killed.
        is_noted && self.with(claim::look).is_err()
    }

    /// Whether this stream ends in a multiplexer, below which others can be linked.
    #[doc = include_str!("../../doc/links.md")]
    pub fn is_multiplexer(&self) -> bool {
        let endpoint = &self.shared.endpoint;
        endpoint.side == 0 && endpoint.region.driver.is_some_and(|driver| driver.0.info().multiplexes)
    }

    /// Links a stream below this one, which ends in a multiplexer, and returns by what the multiplexer knows it.
    ///
    /// # Errors
    /// As [`Handle::link`](crate::Handle::link), which says more.
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_LINK")]
    pub fn link(&self, lower: &Stream) -> Result<MuxId> {
        let lower = lower.handle();
        self.call(|handle| handle.link(&lower))
    }

    /// As [`Stream::link`], and keeps this stream open in this process until the link is undone.
    ///
    /// # Errors
    /// As [`Handle::link_persistent`](crate::Handle::link_persistent), which says more.
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_PLINK")]
    pub fn link_persistent(&self, lower: &Stream) -> Result<MuxId> {
        let lower = lower.handle();
        self.call(|handle| handle.link_persistent(&lower))
    }

    /// Undoes a link of [`Stream::link`], or all of them.
    ///
    /// # Errors
    /// As [`Handle::unlink`](crate::Handle::unlink), which says more.
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_UNLINK")]
    pub fn unlink(&self, lower: Option<MuxId>) -> Result<()> {
        self.call(|handle| handle.unlink(lower))
    }

    /// Undoes a link of [`Stream::link_persistent`], or all of them.
    ///
    /// # Errors
    /// As [`Handle::unlink_persistent`](crate::Handle::unlink_persistent), which says more.
    #[doc = include_str!("../../doc/links.md")]
    #[doc(alias = "I_PUNLINK")]
    pub fn unlink_persistent(&self, lower: Option<MuxId>) -> Result<()> {
        self.call(|handle| handle.unlink_persistent(lower))
    }
}
