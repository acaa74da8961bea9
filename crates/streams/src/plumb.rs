//! Modules and drivers: their code, the lookup by name, and the chain that they form along a direction.

pub(crate) mod chain;
pub mod data;
pub(crate) mod direction;
pub mod driver;
pub(crate) mod exchange;
pub mod module;
pub(crate) mod queue;
pub mod registry;
pub mod route;
pub(crate) mod stack;
