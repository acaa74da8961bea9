//! What a stream is created with.

use crate::error::{Errno, Error, Result};
use crate::limits;
use crate::policy::Policy;

pub mod head;

/// Sizes and policy of a new stream. All sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// High water mark of each head's read queue: a writer waits while more than this is unread.
    pub hiwat: u32,
    /// Low water mark: a writer that met a full queue goes on below it.
    pub lowat: u32,
    /// Largest data part that one message takes; write cuts what is longer.
    pub maxpsz: u32,
    /// Largest data part of any message.
    pub strmsgsz: u32,
    /// Largest control part of any message.
    pub strctlsz: u32,
    /// Modules that an end may have.
    pub nstrpush: u32,
    /// Which mechanisms it uses.
    pub policy: Policy,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            hiwat: limits::HIWAT,
            lowat: limits::LOWAT,
            maxpsz: limits::MAXPSZ,
            strmsgsz: limits::STRMSGSZ,
            strctlsz: limits::STRCTLSZ,
            nstrpush: limits::NSTRPUSH as u32,
            policy: Policy::DEFAULT,
        }
    }
}

impl Options {
    /// Whether a stream can have these sizes.
    ///
    /// # Errors
    /// `EINVAL`, naming the limit.
    pub fn check(&self) -> Result<()> {
        let at_most = |name: &str, value: u32, least: u32, most: u32| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Error::new(Errno::Inval, format!("{name} is {value}, and must be from {least} to {most}")))
        };
        at_most("hiwat", self.hiwat, 1, limits::HIWAT_MAX)?;
        at_most("lowat", self.lowat, 0, self.hiwat)?;
        at_most("strmsgsz", self.strmsgsz, 1, limits::STRMSGSZ_MAX)?;
        at_most("maxpsz", self.maxpsz, 1, self.strmsgsz)?;
        at_most("strctlsz", self.strctlsz, 1, limits::STRMSGSZ_MAX)?;
        at_most("nstrpush", self.nstrpush, 0, limits::NSTRPUSH as u32)
    }
}
