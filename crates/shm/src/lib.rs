//! Position-independent shared memory: values and windows of bytes placed in it, members of a region and the locks that
//! admit one of them, logs.
//!
//! STREAMS and the tracer lay their structures over it, and so does the gauge's ring. It is a part of them and changes with
//! them. It knows no message and no descriptor. Everything read from shared memory is input: the other processes may be
//! hostile or dying, and the worst they can do is spoil what lies there ([`Error::Corrupt`]).

#![deny(unsafe_code)]

mod biased_lock;
mod cache_padded;
mod error;
mod limit;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "logs are written by code that names places in memory")]
pub mod logs;
#[cfg(loom)]
#[allow(unsafe_code, reason = "loom's cells are raw pointers")]
pub mod loom_model;
mod member;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "references into shared memory")]
mod placed;
#[doc(hidden)]
pub mod probe;
mod shareable;
mod stages;
pub mod sync;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "copies in and out of shared memory")]
mod window;

pub use biased_lock::{BiasedLock, BiasedLockWords, Hold};
pub use cache_padded::CachePadded;
pub use error::{Error, LOCK_HOLDER, LOCK_STATE};
pub use headwater_os::memory::Shareable;
pub use limit::Limit;
#[cfg(loom)]
pub use loom_model::{Placed, Window};
pub use member::{MEMBERS, Member, Members, Membership, is_used_by_another};
#[cfg(not(loom))]
pub use placed::Placed;
pub use stages::{Stage, Stages, spin_for};
#[cfg(not(loom))]
pub use window::Window;

#[cfg(all(test, loom))]
mod loom_tests;
