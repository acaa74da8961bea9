//! Modules and drivers in C. They are built by cc and loaded by their names, by this program and those that it starts
//! and forks.

#![allow(missing_docs, reason = "a test")]

mod blocks;
mod common;
mod drivers;
mod loading;
mod modules;
mod processes;
