//! Position-independent shared memory: values and windows of bytes placed in it, members of a region and the locks that
//! admit one of them, logs.
//!
//! STREAMS and the tracer lay their structures over it, and so does the gauge's ring. It is a part of `headwater-streams` and
//! `headwater-trace`, for no other use: its API is exempt from semantic versioning and may change in any version, so the two
//! depend on exactly one. It knows no message and no descriptor. Everything read from shared memory is input: the other
//! processes may be hostile or dying, and the worst they can do is corrupt the data there ([`Error::Corrupt`]).

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

/// Types that several threads of a process share or send. loom's model of it is used by loom's threads alone.
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
    is_shared::<logs::OfCpu>();
    is_shared::<logs::Alone>();
};

#[cfg(all(test, loom))]
mod loom_tests;
