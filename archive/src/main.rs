//! `headwater-archive`: keeps runs in SQLite or PostgreSQL, and finds them again. `headwater archive` becomes this program,
//! and `headwater show archive:QUERY` and its like read its output.
//!
//! A program of its own, so that nothing else of headwater compiles a database.
#![forbid(unsafe_code)]

mod archive;
mod cli;
mod content;
#[cfg(test)]
mod damaged;
mod database;
mod place;
mod query;
mod record;
mod schema;
mod spool;

fn main() -> std::process::ExitCode {
    cli::main()
}
