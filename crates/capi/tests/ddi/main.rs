//! Tests of modules and drivers in C. cc builds them. This program, and those that it starts and forks, load them by
//! their names.

#![allow(missing_docs, reason = "a test")]

mod blocks;
mod common;
mod drivers;
mod loading;
mod modules;
mod processes;
