//! Kernel sessions on the running kernel. Where tracefs cannot be used each test says why and passes.

mod common;
mod exact;
mod gone;
mod loss;
mod others;
mod readable;
