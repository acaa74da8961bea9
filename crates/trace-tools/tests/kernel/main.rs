//! Kernel sessions on the running kernel. If tracefs cannot be used, each test prints the reason and passes.

mod common;
mod exact;
mod gone;
mod loss;
mod others;
#[path = "../../../streams/tests/common/own_process.rs"]
mod own_process;
mod readable;
