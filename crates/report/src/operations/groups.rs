//! Assigns operations to tables, in the order of LMbench's reports. Independent of a run.

use headwater_results::schema::RowResult;

/// The patterns of operations, including the whole workloads of a published report.
pub(crate) const PATTERNS: [&str; 3] = ["lmbench", "kernel", WORKLOAD];

const WORKLOAD: &str = "workload";

/// A table.
#[derive(Debug)]
pub(super) struct Group {
    /// The caption: subject, unit, and direction.
    pub caption: &'static str,
    /// The unit of all its lines; with `None` each figure has its own.
    unit: Option<&'static str>,
    members: Members,
}

/// The rows of a table.
#[derive(Debug)]
enum Members {
    /// Rows of pattern `lmbench` without a size, and round trips, by subject.
    NamedRun(&'static [&'static str]),
    /// Rows of pattern `lmbench` whose subject has this prefix.
    Prefix(&'static str),
    /// Rows of pattern `lmbench` that are in no other table.
    Rest,
    /// Rows of pattern `kernel`.
    Today,
    /// Rows of pattern `workload` of a published report. (Those of `headwater overhead` have a configuration as their
    /// variant.)
    Workloads,
}

/// The tables, from top to bottom.
pub(super) static GROUPS: &[Group] = &[
    Group {
        caption: "Processes: us, lower is better.",
        unit: Some("us"),
        members: Members::NamedRun(&[
            "null-call",
            "null-call-inline",
            "null-io",
            "null-io-inline",
            "stat",
            "fstat",
            "fstat-inline",
            "open-close",
            "signal-install",
            "signal-handle",
            "fork",
            "execve",
            "sh",
        ]),
    },
    Group {
        caption: "Select: us, lower is better.",
        unit: Some("us"),
        members: Members::NamedRun(&[
            "select-10-fd",
            "select-100-fd",
            "select-250-fd",
            "select-500-fd",
            "select-10-tcp",
            "select-100-tcp",
            "select-250-tcp",
            "select-500-tcp",
        ]),
    },
    Group {
        caption: "Context switching, by processes and size of the work of each: us, lower is better.",
        unit: Some("us"),
        members: Members::Prefix("ctxsw-"),
    },
    Group {
        caption: "Local latencies: us, lower is better. Round trips of one byte, UDP of four.",
        unit: Some("us"),
        members: Members::NamedRun(&["pipe", "unix-stream", "udp", "rpc-udp", "tcp", "rpc-tcp", "tcp-connect"]),
    },
    Group {
        caption: "Files and virtual memory: us, lower is better.",
        unit: Some("us"),
        members: Members::NamedRun(&[
            "create-0k",
            "delete-0k",
            "create-1k",
            "delete-1k",
            "create-4k",
            "delete-4k",
            "create-10k",
            "delete-10k",
            "mmap-latency",
            "prot-fault",
            "page-fault",
        ]),
    },
    Group {
        caption: "Local bandwidths: MB/s (1 MB = 10^6 bytes), higher is better.",
        unit: Some("MB/s"),
        members: Members::NamedRun(&[
            "pipe-bandwidth",
            "af-unix-bandwidth",
            "tcp-bandwidth",
            "file-reread",
            "mmap-reread",
            "bcopy-libc",
            "bcopy-hand",
            "memory-read",
            "memory-write",
        ]),
    },
    Group {
        caption: "More bandwidths: MB/s, higher is better.",
        unit: Some("MB/s"),
        members: Members::NamedRun(&[
            "file-open-close",
            "mmap-open-close",
            "aligned-bcopy-libc",
            "partial-bcopy-hand",
            "partial-mmap-read",
            "partial-mmap-write",
            "partial-mmap-read-write",
            "bzero-copy",
            "http",
        ]),
    },
    Group {
        caption: "Memory latencies: ns per load, lower is better; the clock's frequency.",
        unit: None,
        members: Members::NamedRun(&[
            "mhz",
            "l1-cache",
            "l2-cache",
            "main-memory",
            "l1-cache-random",
            "l2-cache-random",
            "main-memory-random",
        ]),
    },
    Group {
        caption: "Other rows of LMbench: of times lower is better, of bandwidths higher.",
        unit: None,
        members: Members::Rest,
    },
    Group { caption: "Today's kernel: time of each, lower is better.", unit: None, members: Members::Today },
    Group { caption: "Whole workloads: time of each, lower is better.", unit: None, members: Members::Workloads },
];

/// Round trips that are rows of LMbench's table: transport and bytes.
const ROUND_TRIPS: [(&str, u64); 4] = [("pipe", 1), ("unix-stream", 1), ("udp", 4), ("tcp", 1)];

impl Group {
    /// Returns the position of the row in this table; rows that the table does not name keep their order.
    pub fn position(&self, result: &RowResult) -> Option<usize> {
        let row = &result.row;
        let is_old = row.pattern == "lmbench";
        let is_round_trip = row.pattern == "rtt"
            && ROUND_TRIPS.iter().any(|&(subject, size)| row.subject == subject && row.size_bytes == Some(size));
        match self.members {
            Members::NamedRun(names) if is_round_trip || is_old && row.size_bytes.is_none() => {
                names.iter().position(|name| *name == row.subject)
            }
            Members::NamedRun(_) => None,
            Members::Prefix(prefix) => (is_old && row.subject.starts_with(prefix)).then_some(0),
            Members::Rest => {
                let is_elsewhere =
                    |group: &Group| !matches!(group.members, Members::Rest) && group.position(result).is_some();
                (is_old && !GROUPS.iter().any(is_elsewhere)).then_some(0)
            }
            Members::Today => (row.pattern == "kernel").then_some(0),
            Members::Workloads => (row.pattern == WORKLOAD && row.variant.is_none()).then_some(0),
        }
    }

    /// Converts a value from `unit` to the table's unit; `None` if the table has none, or they are incompatible.
    pub fn value(&self, value: f64, unit: &str) -> Option<f64> {
        let wanted = self.unit?;
        match (unit, wanted) {
            _ if unit == wanted => Some(value),
            ("ns", "us") => Some(value / 1e3),
            ("ms", "us") => Some(value * 1e3),
            _ => None,
        }
    }
}
