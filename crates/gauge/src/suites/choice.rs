//! `choice`: what a newcomer asks, in about 90 s: which mechanism to use for a stream of messages, for request and answer,
//! between event loops and to a sleeping reader, and what STREAMS brings in each. It has few rows, so that each has enough
//! launches for an answer. `overview` has every transport and primitive.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "choice",
    summary: "which mechanism to use here: for a stream, for request and answer, between event loops, to a sleeping reader",
    // Sixteen launches are four more than a verdict takes. The budget ends a run on a busy machine with fewer of them.
    defaults: Defaults {
        launches: 16,
        time_s: 0.07,
        warm_up_s: 0.015,
        budget_s: Some(88.0),
        placements: &[Placement::TwoCpus],
    },
    rows,
};

/// The patterns with their message sizes and transports. FIFOs are pipes with a name, and the two kinds of UNIX sockets are
/// equally fast: one of each is enough here. Transports with large buffers have few one-way rows, because each launch moves
/// many times what the buffers hold.
const ROWS: [(&str, u64, &[&str]); 5] = [
    ("stream", 64, &["pipe", "unix-stream", "tcp", "posix-mq", "streams-pipe", "null"]),
    ("stream", 65_536, &["pipe", "unix-stream", "tcp", "streams-pipe"]),
    ("rtt", 64, &["pipe", "unix-stream", "tcp", "posix-mq", "streams-pipe", "null"]),
    ("epoll-level", 64, &["pipe", "unix-stream", "tcp", "streams-pipe"]),
    ("wake", 64, &["pipe", "unix-stream", "tcp", "posix-mq", "streams-pipe"]),
];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let of_pattern = |(pattern, size, names): (&str, u64, &[&str])| {
        axes.messaging(pattern, &axes.sizes_or(&[size]), |transport| names.contains(&transport.name))
    };
    ROWS.into_iter().flat_map(of_pattern).collect()
}
