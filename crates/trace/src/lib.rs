//! Tracing for programs: events that cost one load and one branch until a session records them.
//!
//! [`events!`] declares events. A program joins the session that its environment names at its first event; [`init`] does so
//! at once, [`join`] takes a session by its path, and [`listen()`] lets `headwater trace attach` in. Traces are made and read
//! by the command `headwater trace`; this crate has no parser and writes no file but the session's shared memory.
//!
//! ```
//! headwater_trace::events! {
//!     /// A request has been answered.
//!     pub answered("shop:answered") { request: u64, status: u16, path: &str }
//! }
//!
//! answered(7, 200, "/cart");
//! ```
//!
//! # What is promised
//!
//! What this documentation shows follows semantic versioning. The macro's expansion and the recorder need more, which is
//! `#[doc(hidden)]`: `record`, `region`, `schema`, `sdt`, and some functions of the other modules. That part may change in any
//! version, and so may the layout of a session's memory, which carries a version number: the program and its recorder must
//! agree in it.
//!
//! # Features
//!
//! - `tracing`: the module `tracing` records the events and spans of the crate `tracing`.
//! - `sdt`: each event is also a USDT probe.
//!
//! A probe is compiled in only by these features and by the events that a program declares. Linux only.
#![deny(unsafe_code, missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

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

#[doc(hidden)]
pub use headwater_shm::logs::WhenFull;
pub use listen::listen;
pub use session::{init, join, leave};

/// Events are in statics, and a session's memory is used by several threads of its recorder.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<event::Event>();
    is_shared::<event::Type>();
    is_shared::<region::Region>();
};
