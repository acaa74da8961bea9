//! Kernel sessions: events of the kernel, recorded into a tracefs instance of their own by plain file operations.
//!
//! A [`Session`] runs from [`Session::start`] to [`Session::stop`], which returns a [`Capture`]. The capture converts
//! the kernel's pages to records in the form of [`crate::record`]. The kernel's top-level buffer is never touched, and
//! an instance does not outlive its session, however the process ends.

mod calls;
pub mod capture;
pub mod convert;
mod drain;
pub mod error;
pub mod events;
#[cfg(test)]
mod fixtures;
pub mod format;
pub mod instance;
mod mount;
pub mod page;
mod pages;
pub mod parts;
pub mod plan;
mod recover;
pub mod session;
mod snapshot;
mod stacks;
pub mod stats;
pub mod support;
mod switch;
pub mod tracefs;

pub use capture::Capture;
pub use convert::{Packet, Totals};
pub use error::Error;
pub use instance::{stale, sweep};
pub use parts::PartsFile;
pub use recover::recover;
pub use session::{Clock, Mode, Session, Settings};
pub use snapshot::snapshot;
pub use support::Support;
pub use switch::switch;
pub use tracefs::Tracefs;
