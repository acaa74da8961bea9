//! The world a ring lives in: the real one, or loom's. The ring itself does not know which.
//!
//! Nothing else in this crate names an atomic, a futex, a fence or a clock of its own.

#[cfg(not(loom))]
pub(crate) use self::real::*;
#[cfg(loom)]
pub(crate) use crate::twin::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};
    pub(crate) use std::thread::yield_now;

    pub(crate) use headwater_os::clock::now_ns;
    pub(crate) use headwater_os::cpu::current as current_cpu;
    pub(crate) use headwater_os::fence::Fence;
    pub(crate) use headwater_os::futex::{wait as futex_wait, wake as futex_wake};
    pub(crate) use headwater_os::watch::{ProcessId, Watch};

    pub(crate) use crate::placed::Placed;
    pub(crate) use crate::region::Region;

    pub(crate) fn fence_seq_cst() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}
