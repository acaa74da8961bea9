//! Runs for the tests of this crate. Never compiled into the library.
