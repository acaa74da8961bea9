//! The only raw system calls of Headwater and the only code that knows the operating system: memory, futexes,
//! processes, clocks, placement, queues, the facts of the machine.
//!
//! `rustix` carries the calls that it has, `libc` the rest. This crate knows no STREAMS, no transport and no
//! statistics; each module is one noun of the kernel.
//!
//! `unsafe` is allowed here, because a system call is: each block names what it relies on, and every function that is
//! exported is safe to call with any arguments.

pub mod arena;
pub mod attendant;
pub mod chase;
pub mod child;
pub mod claim;
pub mod clock;
pub mod cpu;
pub mod cycles;
pub mod datagrams;
pub mod descriptors;
pub mod doorbell;
pub mod environment;
pub mod fence;
pub mod files;
pub mod fork;
pub mod futex;
pub mod guard;
pub mod handler;
pub mod heap;
pub mod limits;
pub mod local;
pub mod lock;
pub mod machine;
pub mod mapping;
pub mod memory;
pub mod namespace;
pub mod per_thread;
pub mod pidfd;
pub mod protection;
pub mod queue;
pub mod refuse;
pub mod rseq;
pub mod sdt;
pub mod select;
pub mod shared;
pub mod signal;
pub mod spawn;
pub mod static_or_box;
pub mod syscalls;
pub mod thread;
pub mod ticks;
pub mod uring;
pub mod usage;
pub mod userfault;
pub mod vdso;
pub mod watch;
