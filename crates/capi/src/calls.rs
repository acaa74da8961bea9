//! The entry points, one file for each noun. An entry point with a name of the C library looks whether the descriptor
//! is a stream, and passes every other descriptor on untouched.

pub mod aio;
pub mod asynchronous;
pub mod attach;
pub mod close;
pub mod control;
pub mod copies;
pub mod create;
pub mod epoll;
pub mod extent;
pub mod ioctl;
pub mod log;
pub mod message;
pub mod metadata;
pub mod open;
pub mod passing;
pub mod poll;
pub mod positioned;
pub mod process;
pub mod select;
pub mod socket;
pub mod space;
pub mod status;
pub mod syscall;
pub mod terminal;
pub mod transfer;
pub mod xti;
