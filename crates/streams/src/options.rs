//! The options of a new stream.

use crate::error::{Errno, Error, Result};
use crate::limits;
use crate::policy::Policy;

pub mod events;
pub mod head;

/// The options of a new stream: its sizes, in bytes, and its policy.
///
/// ```
/// use headwater_streams::Options;
///
/// let (near, _far) = Options::new().hiwat(4096).lowat(1024).pipe()?;
/// assert_eq!(near.settings().water_marks(), (4096, 1024));
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// High-water mark of each head's read queue: a writer waits while more than this is unread.
    pub hiwat: u32,
    /// Low-water mark: a writer that met a full queue continues below it.
    pub lowat: u32,
    /// Largest data part that one message takes; write cuts what is longer.
    pub maxpsz: u32,
    /// Largest data part of any message.
    pub strmsgsz: u32,
    /// Largest control part of any message.
    pub strctlsz: u32,
    /// Modules that an end may have.
    pub nstrpush: u32,
    /// The mechanisms that the stream uses.
    pub policy: Policy,
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// The sizes of [`limits`] and all mechanisms.
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn new() -> Options {
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

    /// Sets the high-water mark of each head's read queue: a writer waits while more than this is unread.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn hiwat(self, hiwat: u32) -> Options {
        Options { hiwat, ..self }
    }

    /// Sets the low-water mark: a writer that met a full queue continues below it.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn lowat(self, lowat: u32) -> Options {
        Options { lowat, ..self }
    }

    /// Sets the largest data part that one message takes; write cuts what is longer.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn maxpsz(self, maxpsz: u32) -> Options {
        Options { maxpsz, ..self }
    }

    /// Sets the largest data part of any message.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn strmsgsz(self, strmsgsz: u32) -> Options {
        Options { strmsgsz, ..self }
    }

    /// Sets the largest control part of any message.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn strctlsz(self, strctlsz: u32) -> Options {
        Options { strctlsz, ..self }
    }

    /// Sets how many modules an end may have.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn nstrpush(self, nstrpush: u32) -> Options {
        Options { nstrpush, ..self }
    }

    /// Sets which mechanisms the stream uses.
    #[must_use]
    #[doc = include_str!("../doc/pipe_options.md")]
    pub const fn policy(self, policy: Policy) -> Options {
        Options { policy, ..self }
    }

    /// Whether a stream can have these sizes.
    ///
    /// # Errors
    /// `EINVAL`, naming the limit.
    #[doc = include_str!("../doc/pipe_options.md")]
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
