//! `streams-eager`, with every mechanism switched off, as the older STREAMS for Linux behaved; and a transport for each
//! mechanism with only that one switched off. The difference to `streams-pipe` is the contribution of the mechanism.

use headwater_streams::Policy;

use super::{Configuration, Info, PIPE, StreamsPipe, variant};

/// No mechanisms: each message is allocated and queued under one lock, and makes a wake-up call.
#[derive(Debug)]
pub struct Eager;

impl StreamsPipe for Eager {
    const CONFIGURATION: Configuration = Configuration {
        info: Info {
            special: false,
            blocking: "sleeps on a futex, later on a socket",
            ..variant("streams-eager", Some("eager"), "STREAMS pipe without any of its mechanisms")
        },
        policy: Policy::EAGER,
        ..PIPE
    };
}

/// Without coalescing of small writes.
#[derive(Debug)]
pub struct NoCoalescing;

impl StreamsPipe for NoCoalescing {
    const CONFIGURATION: Configuration = Configuration {
        info: variant(
            "streams-no-coalescing",
            Some("no-coalescing"),
            "STREAMS pipe in which each write stays a message",
        ),
        policy: Policy::DEFAULT.coalescing(false),
        ..PIPE
    };
}

/// Without hysteresis between the water marks.
#[derive(Debug)]
pub struct NoHysteresis;

impl StreamsPipe for NoHysteresis {
    const CONFIGURATION: Configuration = Configuration {
        info: variant(
            "streams-no-hysteresis",
            Some("no-hysteresis"),
            "STREAMS pipe that accepts again right below hiwat",
        ),
        policy: Policy::DEFAULT.hysteresis(false),
        ..PIPE
    };
}

/// With a wake-up call for each message.
#[derive(Debug)]
pub struct NoWakeOnce;

impl StreamsPipe for NoWakeOnce {
    const CONFIGURATION: Configuration = Configuration {
        info: variant(
            "streams-no-wake-once",
            Some("no-wake-once"),
            "STREAMS pipe with a wake-up call for each message",
        ),
        policy: Policy::DEFAULT.wake_once(false),
        ..PIPE
    };
}

/// Without the lane: each message is allocated and queued.
#[derive(Debug)]
pub struct NoLane;

impl StreamsPipe for NoLane {
    const CONFIGURATION: Configuration = Configuration {
        info: variant("streams-no-lane", Some("no-lane"), "STREAMS pipe that allocates and queues each message"),
        policy: Policy::DEFAULT.lane(false),
        ..PIPE
    };
}

/// Without spinning and yielding before a sleep.
#[derive(Debug)]
pub struct NoStages;

impl StreamsPipe for NoStages {
    const CONFIGURATION: Configuration = Configuration {
        info: Info {
            blocking: Eager::CONFIGURATION.info.blocking,
            ..variant("streams-no-stages", Some("no-stages"), "STREAMS pipe whose ends sleep at once")
        },
        policy: Policy::DEFAULT.stages(false),
        ..PIPE
    };
}
