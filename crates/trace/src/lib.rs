//! The tracer: what programs and the kernel did, when, at a cost that can be said.
//!
//! Records of programs and of the kernel have one form ([`record`]) and are described in one way ([`schema`]), so that what
//! writes, reads, shows and exports a trace knows neither where its records come from.
#![deny(unsafe_code)]

#[cfg(feature = "tools")]
pub mod consumer;
#[cfg(feature = "tools")]
pub mod ctf;
pub mod event;
#[cfg(feature = "tools")]
pub mod export;
#[cfg(feature = "tools")]
pub mod kernel;
pub mod listen;
#[cfg(feature = "tools")]
pub mod names;
pub mod record;
pub mod region;
pub mod schema;
#[doc(hidden)]
pub mod sdt;
pub mod session;
#[cfg(feature = "tools")]
mod shape;
#[cfg(feature = "tools")]
pub mod stat;
#[cfg(all(test, feature = "tools"))]
mod testing;
#[cfg(feature = "tracing")]
pub mod tracing;
#[cfg(feature = "tools")]
mod value;

pub use headwater_shm::logs::WhenFull;
pub use listen::listen;
pub use session::{init, join, leave};
#[cfg(feature = "tools")]
pub use shape::Shape;
#[cfg(feature = "tools")]
pub use value::{Fields, Items, Value};
