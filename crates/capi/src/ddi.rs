//! Modules and drivers in C: the DDI/DKI of SVR4, implemented by the modules of `headwater-streams`. See strmod(9) and
//! docs/decisions/0021-modules-in-c.md.
//!
//! A streamtab is registered as a module or driver. Each of its procedures is called with the message as a chain of
//! `mblk_t`. The functions that the procedure calls work on the stream by the procedure's queue. Functions that C calls
//! are in `exports`.

pub mod block;
mod bridge;
mod context;
mod convert;
pub mod exports;
mod flow;
mod instance;
mod ioctl;
pub mod load;
mod queue;
mod services;
mod shape;
pub mod types;
mod worker;
