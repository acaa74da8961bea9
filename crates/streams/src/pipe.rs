//! Making pipes: the plain call, and with options.

use std::sync::atomic::Ordering;

use headwater_os::doorbell::Doorbell;

use crate::error::Result;
use crate::head::handle::Handle;
use crate::options::Options;
use crate::process::end::Access;
use crate::process::endpoint::Endpoint;
use crate::process::region::Region;
use crate::process::sleep::UNMET;
use crate::stream::Stream;

/// Makes a pipe: two ends, each of which reads what the other writes.
///
/// # Errors
/// `EMFILE` without three free descriptors, or what the kernel reports for the memory.
#[doc(alias = "pipe(2)")]
#[doc = include_str!("../doc/pipe.md")]
pub fn pipe() -> Result<(Stream, Stream)> {
    Options::new().pipe()
}

impl Options {
    /// Makes a pipe with these options: two ends, each of which reads what the other writes.
    ///
    /// # Errors
    /// `EINVAL` for sizes beyond a limit; `EMFILE` without three free descriptors; what the kernel reports for the memory.
    #[doc(alias = "pipe(2)")]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub fn pipe(&self) -> Result<(Stream, Stream)> {
        let (near, far) = self.pair()?;
        Ok((near.into(), far.into()))
    }

    /// Makes a pipe as [`Options::pipe`], and returns a handle of each end.
    pub(crate) fn pair(&self) -> Result<(Handle, Handle)> {
        let (near, far) = Doorbell::pair()?;
        let region = Region::create(self, [near.cookie()?, far.cookie()?])?;
        for lane in &region.fixed.lanes {
            lane.reader.0.sleep.fetch_or(UNMET, Ordering::Relaxed);
        }
        let handle = |region, side, doorbell| Handle::of(Endpoint::new(region, side, doorbell, Access::Both));
        Ok((handle(region.clone(), 0, near), handle(region, 1, far)))
    }
}
