//! STREAMS for programs in C: `libheadwater.so`, whose headers are in `include/`. No other crate of this workspace uses it;
//! it is linked or preloaded.
//!
//! Entry points have the prefix `hw_c_` in Rust: `hw_c_read` is the library's `read`. The Makefile links the shared library
//! from the static one and removes the prefix there, so that the library's own calls of the C library never pass through
//! its own entry points.
//!
//! `unsafe` is allowed here, because its arguments are pointers from C: every one is what the standard or the man page
//! says, or the caller has broken the rules of C already. No panic leaves the library: a call that would panic fails.

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
