//! Atomics, fences, futexes, processes and clocks: the real ones, or those of the loom model, under the same names.
//!
//! The algorithms of this crate take them from here, so that loom can model them. The public items are for algorithms of other
//! crates that loom models too: the lanes of STREAMS, and the ring.

/// Words that only this process uses. No model covers them.
pub(crate) use std::sync::atomic::{AtomicBool as LocalBool, AtomicU64 as LocalU64};

#[cfg(not(loom))]
pub use self::real::*;
#[cfg(loom)]
pub use crate::loom_model::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
    pub(crate) use std::thread::yield_now;

    pub use headwater_os::clock::now_ns;
    pub use headwater_os::cpu::current as current_cpu;
    pub use headwater_os::fence::Fence;
    pub(crate) use headwater_os::fork::epoch;
    pub(crate) use headwater_os::futex::nap;
    pub use headwater_os::futex::{wait as futex_wait, wake as futex_wake};
    pub(crate) use headwater_os::futex::{wait_low as futex_wait_low, wake_low as futex_wake_low};
    pub use headwater_os::watch::ProcessId;

    pub(crate) use crate::placed::Placed;
}
