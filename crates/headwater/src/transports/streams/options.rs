//! `streams-hold`, `streams-mread`, `streams-fill`: the options of the heads, one at a time, set at both ends. The fourth
//! of the experiment, reads of a full buffer, is the pattern `stream-full`.

use headwater_streams::WriteOptions;

use super::{Info, Kind, PIPE, Recipe, variant};

/// SNDHOLD: a sleeping reader is not woken for little.
#[derive(Debug)]
pub struct Hold;

impl Kind for Hold {
    const RECIPE: Recipe = Recipe {
        info: Info {
            unfit: &[("rtt", "holds each message back for 10 ms: nothing comes after it")],
            ..variant("streams-hold", Some("hold"), "STREAMS pipe whose writes are held back for a sleeper (SNDHOLD)")
        },
        write: WriteOptions::PIPE.hold(true),
        ..PIPE
    };
}

/// SNDMREAD: a reader says how much it waits for, and is not woken for less.
#[derive(Debug)]
pub struct ReadNotification;

impl Kind for ReadNotification {
    const RECIPE: Recipe = Recipe {
        info: variant("streams-mread", Some("mread"), "STREAMS pipe whose reader says what it waits for (SNDMREAD)"),
        write: WriteOptions::PIPE.notify(true),
        ..PIPE
    };
}

/// RFILL: a read waits for its whole count.
#[derive(Debug)]
pub struct ReadFill;

impl Kind for ReadFill {
    const RECIPE: Recipe = Recipe {
        info: Info {
            unfit: &[
                ("stream-full", "would wait until a large buffer is full"),
                ("acknowledged", "would wait for more than the byte that acknowledges"),
            ],
            ..variant("streams-fill", Some("fill"), "STREAMS pipe whose reads wait for their whole count (RFILL)")
        },
        fill: true,
        ..PIPE
    };
}
