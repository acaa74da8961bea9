//! `streams-pipe`, and the same with a window of one page and of 1 MiB: the effect of hiwat and lowat. A sender waits
//! while more than hiwat is unread, and continues at half of it.

use super::{Configuration, PIPE, StreamsPipe, variant};

/// The pipe with its default window.
#[derive(Debug)]
pub struct Pipe;

impl StreamsPipe for Pipe {
    const CONFIGURATION: Configuration = PIPE;
}

/// The pipe with a window of 4 KiB.
#[derive(Debug)]
pub struct Pipe4K;

impl StreamsPipe for Pipe4K {
    const CONFIGURATION: Configuration =
        Configuration { info: variant("streams-pipe-4k", None, "STREAMS pipe, hiwat 4 KiB"), hiwat: 4 << 10, ..PIPE };
}

/// The pipe with a window of 1 MiB, as `pipe-1m` and `ring-futex-1m` have.
#[derive(Debug)]
pub struct Pipe1M;

impl StreamsPipe for Pipe1M {
    const CONFIGURATION: Configuration =
        Configuration { info: variant("streams-pipe-1m", None, "STREAMS pipe, hiwat 1 MiB"), hiwat: 1 << 20, ..PIPE };
}
