//! Waiting in every form: blocking, poll(2), epoll, tasks; the events of the descriptor; the wake-ups.

mod close;
#[path = "../common/mod.rs"]
mod common;
mod descriptor;
mod ends;
mod fifos;
mod files;
mod priority;
mod rare;
mod readiness;
mod room;
mod sharing;
mod strangers;
mod tasks;
