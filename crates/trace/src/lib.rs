//! The tracer, as programs link it: events that cost one load and a branch until somebody records them, and the session
//! to which they are written.
//!
//! [`events!`] declares events. A program joins the session that its environment names at its first event; [`init`] does so
//! at once, [`join`] takes a session by its path, and [`listen()`] lets `headwater trace record --pid` in. Traces are made and
//! read by `headwater-trace-tools`; this crate has no parser and writes no file but the session's shared memory.
//!
//! ```
//! headwater_trace::events! {
//!     /// A request has been answered.
//!     pub answered("shop:answered") { request: u64, status: u16, path: &str }
//! }
//!
//! answered(7, 200, "/cart");
//! ```
#![deny(unsafe_code)]

pub mod event;
pub mod listen;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod region;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod sdt;
pub mod session;
#[cfg(feature = "tracing")]
pub mod tracing;

pub use headwater_shm::logs::WhenFull;
pub use listen::listen;
pub use session::{init, join, leave};
