//! Position-independent structures in shared memory: placed values, windows of bytes, the members of a region, locks that admit
//! one member at a time, and logs.
//!
//! STREAMS, the tracer and the gauge's ring use them. This crate is a part of `headwater-streams` and `headwater-trace`, and has no
//! other users. Its API is exempt from semantic versioning and may change in any version, so the two depend on one exact version.
//! It knows nothing of messages or descriptors. All data that is read from shared memory is untrusted input: other processes may be
//! hostile or dying. The worst that they can do is to corrupt the data there ([`Error::Corrupt`]).

#![deny(unsafe_code, missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod biased_lock;
mod cache_padded;
mod error;
#[cfg(not(loom))]
mod inspect;
mod limit;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "logs are written by code that names places in memory")]
pub mod logs;
#[cfg(loom)]
#[allow(unsafe_code, reason = "loom's cells are raw pointers")]
pub mod loom_model;
mod member;
mod members;
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
pub use error::{Error, LOCK_HOLDER, LOCK_STATE, TABLE};
pub use headwater_os::memory::Shareable;
#[cfg(not(loom))]
pub use inspect::{SeenLock, SeenMember};
pub use limit::Limit;
#[cfg(loom)]
pub use loom_model::{Placed, Window};
pub use member::{Member, Membership};
pub use members::{MEMBERS, MEMBERS_MAX, Members};
#[cfg(not(loom))]
pub use placed::Placed;
pub use stages::{Crowd, Look, Slice, Stage, Stages, spin_for};
#[cfg(not(loom))]
pub use window::Window;

/// Checks that these types may be shared between threads. Only loom's threads use loom's model.
#[cfg(not(loom))]
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<BiasedLock>();
    is_shared::<Error>();
    is_shared::<Limit>();
    is_shared::<Members>();
    is_shared::<Membership>();
    is_shared::<Placed<BiasedLockWords>>();
    is_shared::<Stages>();
    is_shared::<Window>();
    is_shared::<logs::Logs>();
    is_shared::<logs::CpuWriter>();
    is_shared::<logs::ThreadWriter>();
};

#[cfg(all(test, loom))]
mod loom_tests;
