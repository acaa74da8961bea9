//! A program with its own events, to try `headwater trace` with, and to show how a program declares them:
//!
//! ```text
//! headwater trace record -o trace -- target/debug/examples/traced --rate 100000 --seconds 2 --threads 2
//! ```
//!
//! Each thread answers imaginary requests. At the end it says how many events it has emitted; without a session that records
//! them they cost next to nothing.

mod shop;

headwater_trace::events! {
    /// A request has arrived.
    asked_begin("shop:ask_begin") { request: u64, thread: u32 }
    /// It has been answered.
    asked_end("shop:ask_end") { request: u64, status: u16, path: &str }
}

#[derive(Clone, Copy)]
struct Aloud;

impl shop::Say for Aloud {
    fn begin(self, request: u64, thread: u32) {
        asked_begin(request, thread);
    }

    fn end(self, request: u64, status: u16, path: &str) {
        asked_end(request, status, path);
    }
}

fn main() {
    shop::main(Aloud);
}
