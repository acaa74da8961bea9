//! STREAMS for programs in C: `libheadwater.so`, whose headers are in `include/`. A program is linked with it, or the
//! library is preloaded. No other crate of this workspace uses it.
//!
//! Entry points have the prefix `hw_c_` in Rust: `hw_c_read` is the library's `read`. The Makefile links the shared
//! library from the static one and removes the prefix there. So the library's own calls of the C library never pass
//! through its own entry points.
//!
//! `unsafe` is allowed here, because the arguments of entry points are pointers from C. Each pointer must be as the
//! standard or the man page says; a caller that passes another one has broken the rules of C already. No panic leaves
//! the library: a call that panics fails with `EIO`.

#![allow(missing_docs, reason = "the man pages in man/ document the entry points")]

pub mod abi;
pub mod ddi;

mod calls;
mod errno;
mod inherit;
#[cfg(target_arch = "x86_64")]
mod jump;
mod known;
mod linked;
mod memory;
mod next;
mod own;
mod restart;
mod stale;
mod startup;
mod stdio;
mod table;
mod threads;
