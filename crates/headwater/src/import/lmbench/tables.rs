//! The meaning of lmbench's lines and headings. Used by the reader; parses nothing.

use headwater_results::schema::Better;

/// The row that a figure becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// A round trip over the named transport with messages of that many bytes.
    RoundTrip(&'static str, u64),
    /// The named row of pattern `lmbench`.
    Row(&'a str, Unit),
    /// Two rows: creations and deletions of files.
    Files,
}

/// The unit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Us,
    Ns,
    MegabytesPerSecond,
}

impl Unit {
    /// Returns the name of the unit in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Us => "us",
            Unit::Ns => "ns",
            Unit::MegabytesPerSecond => "MB/s",
        }
    }

    /// Returns which direction is an improvement.
    pub fn better(self) -> Better {
        if self == Unit::MegabytesPerSecond { Better::Higher } else { Better::Lower }
    }

    /// Returns the name of the metric, as in the published table `ltt`.
    pub fn metric(self) -> &'static str {
        if self == Unit::MegabytesPerSecond { "bandwidth" } else { "elapsed" }
    }
}

impl Target<'_> {
    /// Returns the unit in which its figures are printed.
    pub fn unit(&self) -> Unit {
        match self {
            Target::Row(_, unit) => *unit,
            Target::RoundTrip(..) | Target::Files => Unit::Us,
        }
    }
}

/// Returns the factor from a printed unit to a row's, or `None` if they are incompatible.
pub(super) fn scale(printed: &str, unit: Unit) -> Option<f64> {
    match (printed, unit) {
        ("microseconds" | "usecs", Unit::Us) | ("nanoseconds", Unit::Ns) | ("MB/sec", Unit::MegabytesPerSecond) => {
            Some(1.0)
        }
        ("KB/sec", Unit::MegabytesPerSecond) => Some(1e-3),
        _ => None,
    }
}

/// What follows a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Nothing.
    Nothing,
    /// The name of a file.
    File,
    /// The name of a host.
    Host,
}

/// A line with one figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    /// The beginning of the line, up to the name of a file or host, or to the colon.
    pub label: &'static str,
    /// The text between the label and the colon.
    pub names: Names,
    /// The row that the figure becomes.
    pub target: Target<'static>,
}

const fn us(label: &'static str, subject: &'static str) -> Single {
    Single { label, names: Names::Nothing, target: Target::Row(subject, Unit::Us) }
}

const fn bandwidth(label: &'static str, subject: &'static str) -> Single {
    Single { label, names: Names::Nothing, target: Target::Row(subject, Unit::MegabytesPerSecond) }
}

const fn round_trip(label: &'static str, transport: &'static str, size: u64) -> Single {
    Single { label, names: Names::Nothing, target: Target::RoundTrip(transport, size) }
}

const fn over(single: Single) -> Single {
    Single { names: Names::Host, ..single }
}

const fn of_file(single: Single) -> Single {
    Single { names: Names::File, ..single }
}

/// The lines with one figure.
pub(super) static SINGLE: &[Single] = &[
    us("Simple syscall", "null-call"),
    us("Simple read", "read"),
    us("Simple write", "write"),
    us("Simple stat", "stat"),
    us("Simple fstat", "fstat"),
    us("Simple open/close", "open-close"),
    us("Select on 10 fd's", "select-10-fd"),
    us("Select on 100 fd's", "select-100-fd"),
    us("Select on 250 fd's", "select-250-fd"),
    us("Select on 500 fd's", "select-500-fd"),
    us("Select on 10 tcp fd's", "select-10-tcp"),
    us("Select on 100 tcp fd's", "select-100-tcp"),
    us("Select on 250 tcp fd's", "select-250-tcp"),
    us("Select on 500 tcp fd's", "select-500-tcp"),
    us("Signal handler installation", "signal-install"),
    us("Signal handler overhead", "signal-handle"),
    us("Protection fault", "prot-fault"),
    of_file(us("Pagefaults on", "page-fault")),
    us("Process fork+exit", "fork"),
    us("Process fork+execve", "execve"),
    us("Process fork+/bin/sh -c", "sh"),
    us("Semaphore latency", "semaphore"),
    us("Fcntl lock latency", "fcntl-lock"),
    round_trip("Pipe latency", "pipe", 1),
    round_trip("Fifo latency", "fifo", 1),
    round_trip("AF_UNIX sock stream latency", "unix-stream", 1),
    over(round_trip("UDP latency using", "udp", 4)),
    over(round_trip("TCP latency using", "tcp", 1)),
    over(us("RPC/udp latency using", "rpc-udp")),
    over(us("RPC/tcp latency using", "rpc-tcp")),
    over(us("TCP/IP connection cost to", "tcp-connect")),
    over(bandwidth("Socket bandwidth using", "tcp-bandwidth")),
    bandwidth("AF_UNIX sock stream bandwidth", "af-unix-bandwidth"),
    bandwidth("Pipe bandwidth", "pipe-bandwidth"),
    of_file(bandwidth("File ", "file-write")),
];

/// A table below a heading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// The beginning of the heading, without its quotation mark.
    pub heading: &'static str,
    /// The rows that its lines become.
    pub target: Target<'static>,
}

const fn sized(heading: &'static str, subject: &'static str) -> Section {
    Section { heading, target: Target::Row(subject, Unit::MegabytesPerSecond) }
}

/// The tables.
pub(super) static SECTIONS: &[Section] = &[
    Section { heading: "mappings", target: Target::Row("mmap-latency", Unit::Us) },
    Section { heading: "File system latency", target: Target::Files },
    sized("Socket bandwidth using localhost", "tcp-bandwidth"),
    sized("read bandwidth", "file-reread"),
    sized("read open2close bandwidth", "file-open-close"),
    sized("Mmap read bandwidth", "mmap-reread"),
    sized("Mmap read open2close bandwidth", "mmap-open-close"),
    sized("libc bcopy unaligned", "bcopy-libc"),
    sized("libc bcopy aligned", "aligned-bcopy-libc"),
    sized("unrolled bcopy unaligned", "bcopy-hand"),
    sized("unrolled partial bcopy unaligned", "partial-bcopy-hand"),
    sized("Memory bzero bandwidth", "bzero-copy"),
    sized("Memory read bandwidth", "memory-read"),
    sized("Memory write bandwidth", "memory-write"),
    sized("Memory partial read bandwidth", "partial-mmap-read"),
    sized("Memory partial write bandwidth", "partial-mmap-write"),
    sized("Memory partial read/write bandwidth", "partial-mmap-read-write"),
];

/// Returns the row that the largest size of a table becomes; `None` for loads with a stride that no row has.
pub(super) fn without_size(subject: &str) -> Option<&str> {
    match subject {
        "memory-load-stride-128" => Some("main-memory"),
        _ if subject.starts_with("memory-load-") => None,
        _ => Some(subject),
    }
}

/// The beginning of a line of `lat_http`, and the sizes that it prints for the pages of LMbench.
pub(super) const HTTP: &str = "Avg xfer:";
pub(super) const HTTP_PAGES: &str = "3.2KB, 41.8KB in";

/// Returns the reason why a line of text is not imported, or `None` for an unknown line.
pub(super) fn why_not(text: &str) -> Option<&'static str> {
    const TYPES: [&str; 7] = ["integer ", "int64 ", "uint64 ", "float ", "double ", "STREAM ", "STREAM2 "];
    match () {
        () if TYPES.iter().any(|first| text.starts_with(first)) => {
            Some("operations of the processor and STREAM are no rows: their kernel decides nothing")
        }
        () if text.starts_with("tlb:") || text.starts_with('L') && text.contains(" cache: ") => {
            Some("what lmbench guesses of caches is no row")
        }
        () => None,
    }
}
