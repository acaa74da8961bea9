//! The program `traced` without events: the baseline of comparisons.
//!
//! ```text
//! headwater overhead --built 'target/release/examples/traced --count 200000 --work 500' \
//!     -- target/release/examples/untraced --count 200000 --work 500
//! ```

mod shop;

#[derive(Clone, Copy)]
struct Mute;

impl shop::Say for Mute {
    fn begin(self, _request: u64, _thread: u32) {}

    fn end(self, _request: u64, _status: u16, _path: &str) {}
}

fn main() {
    shop::main(Mute);
}
