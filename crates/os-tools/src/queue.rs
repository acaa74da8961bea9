//! Kernel message queues: POSIX ([`posix`], mq_overview(7)) and System V ([`sysv`], sysvipc(7)).
//!
//! Used by the queue transports and by nothing else. Neither waits with a bound, and neither retries: how deep a queue
//! is to be and what a refusal means is the caller's business. [`crate::namespace`] gives queues a place of their own.

pub mod posix;
pub mod sysv;
