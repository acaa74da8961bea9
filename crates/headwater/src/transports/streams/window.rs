//! `streams-pipe`, and the same with a window of one page and of 1 MiB: what hiwat and lowat are worth. A sender waits
//! while more than hiwat is unread, and goes on at half of it.

use super::{Kind, PIPE, Recipe, variant};

/// The pipe as it is by default.
#[derive(Debug)]
pub struct Pipe;

impl Kind for Pipe {
    const RECIPE: Recipe = PIPE;
}

/// With a window of 4 KiB.
#[derive(Debug)]
pub struct Pipe4K;

impl Kind for Pipe4K {
    const RECIPE: Recipe =
        Recipe { info: variant("streams-pipe-4k", None, "STREAMS pipe, hiwat 4 KiB"), hiwat: 4 << 10, ..PIPE };
}

/// With a window of 1 MiB, as the `pipe-1m` and `ring-futex-1m` have.
#[derive(Debug)]
pub struct Pipe1M;

impl Kind for Pipe1M {
    const RECIPE: Recipe =
        Recipe { info: variant("streams-pipe-1m", None, "STREAMS pipe, hiwat 1 MiB"), hiwat: 1 << 20, ..PIPE };
}
