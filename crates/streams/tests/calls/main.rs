//! What the calls of one process do. Nothing here forks, or counts what the process has open.

#[path = "../common/mod.rs"]
mod common;
mod head;
mod leaving;
mod limits;
mod module_calls;
mod modules;
mod order;
mod parts;
mod readable;
