//! The system calls that the STREAMS runtime and the tracer's events need: shared memory, futexes, fences, descriptors,
//! notification, threads, clocks. The crate `headwater-os-tools` has those that only tools and measurements need.
//!
//! This crate is a part of `headwater-streams` and `headwater-trace`, and has no other users. Its API is exempt from semantic
//! versioning and may change in any version, so the two depend on one exact version. It uses `rustix` where that has the call,
//! and `libc` otherwise. It knows nothing of STREAMS or transports. Each module is about one object of the kernel.
//!
//! `unsafe` is allowed here, because system calls need it. Each block names what it relies on. An exported function that is
//! not `unsafe` may be called with any arguments.

#![deny(missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc)]

pub mod abstract_socket;
pub mod arena;
pub mod attendant;
pub mod background;
pub mod bundle;
pub mod child;
pub mod clock;
pub mod cpu;
pub mod descriptors;
pub mod discard;
pub mod doorbell;
pub mod environment;
pub mod epoll;
pub mod fence;
pub mod file_facts;
pub mod files;
pub mod fork;
pub mod fork_mutex;
pub mod futex;
pub mod hangup;
pub mod inherit;
pub mod internet;
pub mod mailbox;
pub mod mapped_vec;
pub mod memory;
pub mod notice;
pub mod ofd_lock;
pub mod one_word;
pub mod own_numbers;
#[cfg(test)]
#[path = "../../streams/tests/common/own_process.rs"]
mod own_process;
pub mod per_thread;
pub mod plain_file;
mod proc_file;
pub mod random;
pub mod readiness;
pub mod refuse;
pub mod refusing_allocator;
pub mod replaced_file;
pub mod rseq;
pub mod scratch;
pub mod sdt;
pub mod sealed_bytes;
pub mod set_once;
pub mod shared_files;
pub mod signal;
pub mod socket_cookies;
pub mod socket_owner;
pub mod stack;
pub mod thread;
mod thread_word;
pub mod ticks;
pub mod watch;
pub mod watcher;
pub mod word_watch;

/// Checks that these types may be shared between threads, or sent to another thread.
const _: () = {
    const fn is_sent<T: Send>() {}
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<abstract_socket::Listener>();
    is_shared::<abstract_socket::Peer>();
    is_shared::<descriptors::Found>();
    is_shared::<descriptors::Pinned>();
    is_shared::<doorbell::Doorbell>();
    is_shared::<fence::Fence>();
    is_shared::<fork::Epoch>();
    is_shared::<memory::SharedMemory>();
    is_shared::<rseq::CpuLog>();
    is_shared::<thread::AtEnd>();
    // Each value belongs to one thread at a time.
    is_shared::<per_thread::PerThread<std::cell::Cell<u8>>>();
    is_sent::<child::Child>();
    is_sent::<thread::Thread>();
};
