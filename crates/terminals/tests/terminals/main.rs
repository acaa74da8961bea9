//! Pseudo-terminals and the modules of a terminal, in one process and in several.

#[path = "../../../streams/tests/common/mod.rs"]
mod common;
mod pseudo_terminals;
mod terminal_model;
mod unregistered;
