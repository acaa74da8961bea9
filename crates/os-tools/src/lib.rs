//! System calls and primitives that the runtime does without: what the gauge measures (locks, queues, batches of datagrams,
//! io_uring, userfaultfd, mappings, signals), and the needs of tools (facts of the machine, limits, usage, signals as
//! events, a process that cleans up after a killed one).
//!
//! Only the command and the tracer's tools use it, and tests. It knows no transport, no pattern and no statistics; each module
//! is one noun of the kernel.
//!
//! `unsafe` is allowed here, because a system call is: each block names what it relies on, and every function that is
//! exported is safe to call with any arguments.

pub mod bus_error;
pub mod cycles;
pub mod datagrams;
pub mod fingerprint;
pub mod handler;
pub mod heap;
pub mod library_calls;
pub mod limits;
pub mod lock;
pub mod machine;
pub mod mapping;
pub mod namespace;
pub mod own_file;
pub mod pidfd;
pub mod pointer_chase;
pub mod protection;
pub mod queue;
pub mod reaper;
pub mod select;
pub mod shared;
pub mod signal;
pub mod spawn;
pub mod syscalls;
pub mod uring;
pub mod usage;
pub mod userfault;
pub mod vdso;
