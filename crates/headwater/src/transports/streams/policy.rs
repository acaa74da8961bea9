//! `streams-eager`, in which every mechanism is switched off, as the older STREAMS for Linux behaved; and one transport
//! for each mechanism alone that is switched off. Their distance to `streams-pipe` is what the mechanism is worth.

use headwater_streams::Policy;

use super::{Info, Kind, PIPE, Recipe, variant};

/// Each message is allocated and queued under one lock, and makes a wake-up call.
#[derive(Debug)]
pub struct Eager;

impl Kind for Eager {
    const RECIPE: Recipe = Recipe {
        info: Info {
            special: false,
            blocking: "sleeps on a futex, later on a socket",
            ..variant("streams-eager", Some("eager"), "STREAMS pipe without any of its mechanisms")
        },
        policy: Policy::EAGER,
        ..PIPE
    };
}

/// Without coalescing.
#[derive(Debug)]
pub struct NoCoalescing;

impl Kind for NoCoalescing {
    const RECIPE: Recipe = Recipe {
        info: variant(
            "streams-no-coalescing",
            Some("no-coalescing"),
            "STREAMS pipe in which each write stays a message",
        ),
        policy: Policy::DEFAULT.coalescing(false),
        ..PIPE
    };
}

/// Without hysteresis.
#[derive(Debug)]
pub struct NoHysteresis;

impl Kind for NoHysteresis {
    const RECIPE: Recipe = Recipe {
        info: variant(
            "streams-no-hysteresis",
            Some("no-hysteresis"),
            "STREAMS pipe that accepts again right below hiwat",
        ),
        policy: Policy::DEFAULT.hysteresis(false),
        ..PIPE
    };
}

/// Without waking once.
#[derive(Debug)]
pub struct NoWakeOnce;

impl Kind for NoWakeOnce {
    const RECIPE: Recipe = Recipe {
        info: variant(
            "streams-no-wake-once",
            Some("no-wake-once"),
            "STREAMS pipe with a wake-up call for each message",
        ),
        policy: Policy::DEFAULT.wake_once(false),
        ..PIPE
    };
}

/// Without the lane.
#[derive(Debug)]
pub struct NoLane;

impl Kind for NoLane {
    const RECIPE: Recipe = Recipe {
        info: variant("streams-no-lane", Some("no-lane"), "STREAMS pipe that allocates and queues each message"),
        policy: Policy::DEFAULT.lane(false),
        ..PIPE
    };
}

/// Without stages of waiting.
#[derive(Debug)]
pub struct NoStages;

impl Kind for NoStages {
    const RECIPE: Recipe = Recipe {
        info: Info {
            blocking: Eager::RECIPE.info.blocking,
            ..variant("streams-no-stages", Some("no-stages"), "STREAMS pipe whose ends sleep at once")
        },
        policy: Policy::DEFAULT.stages(false),
        ..PIPE
    };
}
