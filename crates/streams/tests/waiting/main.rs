//! Waiting in every form: blocking, poll(2), epoll, tasks; what the descriptor shows; who is woken by whom.

mod close;
#[path = "../common/mod.rs"]
mod common;
mod descriptor;
mod ends;
mod fifos;
mod files;
mod rare;
mod room;
mod sharing;
mod strangers;
mod tasks;
