//! `headwater trace` as a user meets it: the built command, a small traced program (this test's own executable), and
//! babeltrace2 as the judge of what was written.

mod crash;
mod kernel;
mod place;
mod record;
mod wrong;

use std::process::ExitCode;

/// The tests need a program that emits events: this one, started with `emit` and [`place::Program`]'s words. So it has a
/// `main` of its own.
fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(place::EMIT) {
        return place::emit();
    }
    let tests = [record::TESTS, crash::TESTS, wrong::TESTS, kernel::TESTS].concat();
    place::run(&tests)
}
