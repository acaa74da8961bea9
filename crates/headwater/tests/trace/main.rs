//! `headwater trace` as a user meets it: the built command, a small traced program (this test's own executable), and
//! babeltrace2 beside our own reader as the judge of what was written.

mod crash;
mod kernel;
mod kernel_crash;
mod place;
mod program;
mod record;
#[path = "../../../trace-tools/src/export/chrome/sound.rs"]
mod sound;
mod wrong;

/// Not a test: the traced program. Without a part it does nothing.
#[test]
fn the_program() {
    program::play();
}
