//! The tests of the archive as a user has it: the program, with both databases. One program, so that one PostgreSQL is
//! started.

mod adding;
mod comparing;
mod faults;
mod hostile;
mod many;
mod scale;
mod silent;
mod support;
mod tls;
mod with_headwater;
