//! `headwater trace` as a user runs it: the built command, a small traced program (this test's own executable), and
//! babeltrace2, which checks the traces independently of our own reader.

mod crash;
mod filter;
mod follow;
mod kernel;
mod kernel_crash;
mod kernel_parts;
mod kernel_stack;
mod parts;
mod program;
mod record;
#[path = "../../../trace-tools/src/export/chrome/sound.rs"]
mod sound;
mod stay;
mod switch;
mod test_dir;
mod wrong;

/// Not a test: the traced program. It does nothing unless the environment gives it instructions.
#[test]
fn the_program() {
    program::run_if_instructed();
}
