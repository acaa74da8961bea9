//! The families of mechanisms, and the appearance of a subject: a colour for its family, a marker for its place in the
//! family. Both depend only on the subject's name, so that a mechanism looks the same in every chart of every page.
//!
//! Runs and variants of a subject differ in the dash of the line, and in nothing else. Every marker is filled.

/// A family, or the part of one that has a colour of its own: the beginnings of its members' names in the order of their
/// markers. An empty one leaves a marker to another part.
struct Family {
    name: &'static str,
    colour: usize,
    members: &'static [&'static str],
}

/// The families. The longest beginning of a subject's name decides, so that `fifo-socket` is not a FIFO.
static TABLE: &[Family] = &[
    Family { name: "pipes and FIFOs", colour: 0, members: &["pipe", "pipe-1m", "fifo"] },
    Family {
        name: "Unix sockets",
        colour: 2,
        members: &["unix-stream", "unix-dgram", "unix-seqpacket", "fifo-socket", "unix-"],
    },
    Family { name: "TCP", colour: 1, members: &["tcp", "tcp-nagle"] },
    Family { name: "UDP", colour: 4, members: &["udp", "udp-mmsg", "udp-gso", "udp-unconnected"] },
    Family { name: "message queues", colour: 3, members: &["posix-mq", "sysv-mq"] },
    Family { name: "terminals", colour: 10, members: &["pty"] },
    Family {
        name: "streams",
        colour: 6,
        members: &["streams-pipe", "streams-fifo", "streams-pipe-4k", "streams-pipe-1m", "streams-"],
    },
    Family { name: "streams", colour: 10, members: &["", "streams-pty", "streams-pts"] },
    Family {
        name: "streams",
        colour: 8,
        members: &[
            "streams-pipe-null1",
            "streams-pipe-null4",
            "streams-pipe-srv1",
            "streams-hold",
            "streams-mread",
            "streams-fill",
        ],
    },
    Family {
        name: "streams",
        colour: 7,
        members: &[
            "streams-eager",
            "streams-no-lane",
            "streams-no-coalescing",
            "streams-no-wake-once",
            "streams-no-hysteresis",
            "streams-no-stages",
            "streams-no-",
        ],
    },
    Family {
        name: "transport interface",
        colour: 5,
        members: &["xti-udp", "xti-inet-udp", "xti-ticlts", "xti-ticots", "xti-inet-tcp", "xti-"],
    },
    Family {
        name: "rings in shared memory",
        colour: 9,
        members: &["ring-spin", "ring-futex", "ring-futex-1m", "ring"],
    },
    Family { name: "the harness", colour: 11, members: &["null"] },
];

/// The colours of subjects that no family knows: those that mark the fewest transports.
const OTHER_COLOURS: [usize; 6] = [0, 1, 2, 3, 4, 6];

/// The number of markers.
pub(crate) const SHAPES: usize = 7;

/// How a subject is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// The number of the colour class.
    pub colour: usize,
    /// The number of the marker.
    pub shape: usize,
    /// The number of the dash: the place of the run or variant.
    pub dash: usize,
}

/// Returns the name of the subject's family; a subject of no family is its own.
pub(crate) fn name(subject: &str) -> &str {
    of(subject).map_or(subject, |(family, _)| family.name)
}

/// Returns the appearance of a subject in its first run.
pub(crate) fn look(subject: &str) -> Look {
    let hash = hash(subject);
    let Some((family, member)) = of(subject) else {
        return Look { colour: OTHER_COLOURS[hash % OTHER_COLOURS.len()], shape: hash / 7 % SHAPES, dash: 0 };
    };
    // A name that only begins like a member, such as `streams-pipe+4xnullmod`, has a marker of its own.
    let shape = if family.members[member] == subject { member } else { family.members.len() + hash };
    Look { colour: family.colour, shape: shape % SHAPES, dash: 0 }
}

/// Returns the family with the longest beginning of the name, and the place of that member.
fn of(subject: &str) -> Option<(&'static Family, usize)> {
    let members =
        TABLE.iter().flat_map(|family| family.members.iter().enumerate().map(move |(at, name)| (family, at, name)));
    let begins = members.filter(|(_, _, name)| {
        let rest = subject.strip_prefix(**name);
        !name.is_empty()
            && rest.is_some_and(|rest| {
                rest.is_empty() || name.ends_with('-') || !rest.starts_with(|next: char| next.is_alphabetic())
            })
    });
    begins.max_by_key(|(_, _, name)| name.len()).map(|(family, at, _)| (family, at))
}

/// Returns a number that depends on nothing but the name (FNV-1a, 32 bits).
fn hash(name: &str) -> usize {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize
}

#[cfg(test)]
mod tests;
