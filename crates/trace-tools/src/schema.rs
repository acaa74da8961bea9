//! The schema of a trace, and a check whether CTF can express it. The types are those of `headwater-trace`, whose
//! sessions use them too.

mod check;

pub use check::{Check, Unfit};
pub use headwater_trace::schema::{Base, Clock, EventKind, Field, FieldKind, Schema, StreamKind};
