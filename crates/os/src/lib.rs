//! The system calls that the STREAMS runtime and the tracer's events need: shared memory, futexes, fences, descriptors,
//! notification, threads, clocks. What only tools and measurements need is in `headwater-os-tools`.
//!
//! This crate is a part of `headwater-streams` and `headwater-trace`, and changes with them. It calls `rustix` for the calls
//! that it has and `libc` for the rest. It knows no STREAMS and no transport; each module is one noun of the kernel.
//!
//! `unsafe` is allowed here, because a system call is: each block names what it relies on, and every function that is
//! exported is safe to call with any arguments.

pub mod abstract_socket;
pub mod arena;
pub mod attendant;
pub mod child;
pub mod clock;
pub mod cpu;
pub mod descriptors;
pub mod doorbell;
pub mod environment;
pub mod fence;
pub mod files;
pub mod fork;
pub mod futex;
pub mod memory;
pub mod ofd_lock;
pub mod per_thread;
pub mod readiness;
pub mod refuse;
pub mod rseq;
pub mod sdt;
pub mod signal;
pub mod static_or_box;
pub mod thread;
pub mod ticks;
pub mod watch;
