//! Atomics, fences, futexes, processes and clocks: the real ones, or loom's. Their users do not know which.
//!
//! No other file of this crate names an atomic, a futex, a fence or a clock. The public items are for algorithms of
//! other crates over this memory that loom also models: STREAMS' lanes, the ring.

/// Words that only this process uses, which no model covers.
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
