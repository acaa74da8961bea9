//! The numbers and layouts of the headers in `include/`: SVR4's, on an LP64 machine. `tests/headers.rs` compares each with
//! the header.
