//! `streams-hold`, `streams-mread`, `streams-fill`: one option of the heads each, set at both ends. The fourth option
//! of the experiment, reads into a full buffer, is the pattern `stream-full`.

use headwater_streams::WriteOptions;

use super::{Configuration, Info, PIPE, StreamsPipe, variant};

/// SNDHOLD: small writes are held back for up to 10 ms instead of waking a sleeping reader.
#[derive(Debug)]
pub struct HeldWrites;

impl StreamsPipe for HeldWrites {
    const CONFIGURATION: Configuration = Configuration {
        info: Info {
            unfit: &[("rtt", "holds each message back for 10 ms: nothing comes after it")],
            ..variant("streams-hold", Some("hold"), "STREAMS pipe whose writes are held back for a sleeper (SNDHOLD)")
        },
        write: WriteOptions::PIPE.hold(true),
        ..PIPE
    };
}

/// SNDMREAD: a waiting reader announces its byte count, and is not woken for less.
#[derive(Debug)]
pub struct ReadNotification;

impl StreamsPipe for ReadNotification {
    const CONFIGURATION: Configuration = Configuration {
        info: variant("streams-mread", Some("mread"), "STREAMS pipe whose reader says what it waits for (SNDMREAD)"),
        write: WriteOptions::PIPE.notify(true),
        ..PIPE
    };
}

/// RFILL: a read waits until its buffer is full.
#[derive(Debug)]
pub struct ReadFill;

impl StreamsPipe for ReadFill {
    const CONFIGURATION: Configuration = Configuration {
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
