//! Names of the file system for streams: an end that is attached to a path is what processes get that open the path (fattach,
//! fdetach).
//!
//! [`Stream::attach_to`](crate::Stream::attach_to) attaches an end, [`Stream::open_attached`](crate::Stream::open_attached) or
//! [`AttachedOptions`] opens what is attached, [`detach`] ends it. The process that has attached the end, and processes that it
//! forks, hold the attachment; docs/guarantees.md says for how long, and what differs from SVR4.

pub use crate::open::attached::{AttachedOptions, detach, is_attached, is_attached_file};
