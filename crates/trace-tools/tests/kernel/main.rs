//! Kernel sessions on the running kernel. If tracefs cannot be used, each test prints the reason and passes.

mod common;
mod exact;
mod gone;
mod loss;
mod others;
mod readable;
