//! Sizes of pipes and socket buffers.

use crate::doctor::{Facts, Finding, Remedy};

/// The pipe size of the row `pipe-1m` (`F_SETPIPE_SZ`).
const PIPE_BYTES: u64 = 1 << 20;
/// The buffers of the suite `udp` (netperf's, MEASURING.md 4).
const UDP_BUFFER_BYTES: u64 = 131_071;
/// The value that systemd sets; the kernel's default is 10.
const DATAGRAMS: u64 = 512;

/// Checks the maximum size of a pipe.
pub fn pipe_size(facts: &Facts) -> Option<Finding> {
    let name = "fs.pipe-max-size";
    let bytes = facts.sysctl(name)?;
    let what = format!("up to {bytes} bytes ({name})");
    Some(if bytes >= PIPE_BYTES {
        Finding::good(what)
    } else {
        Finding::warning(what, "Rows with a pipe of 1 MiB are skipped.").with(Remedy::sysctl(facts, name, PIPE_BYTES))
    })
}

/// Checks the maximum size of UDP socket buffers.
pub fn udp_buffers(facts: &Facts) -> Option<Finding> {
    let names = ["net.core.rmem_max", "net.core.wmem_max"];
    let (bytes, name) = names.iter().filter_map(|name| Some((facts.sysctl(name)?, *name))).min()?;
    let what = format!("up to {bytes} bytes ({name})");
    Some(if bytes >= UDP_BUFFER_BYTES {
        Finding::good(what)
    } else {
        Finding::warning(
            what,
            format!("The suite udp asks for {UDP_BUFFER_BYTES}: with less, more datagrams are lost."),
        )
        .with(Remedy::sysctl(facts, name, UDP_BUFFER_BYTES))
    })
}

/// Checks how many datagrams a Unix socket can queue.
pub fn unix_datagrams(facts: &Facts) -> Option<Finding> {
    let name = "net.unix.max_dgram_qlen";
    let count = facts.sysctl(name)?;
    let what = format!("{count} may wait ({name})");
    Some(if count >= DATAGRAMS {
        Finding::good(what)
    } else {
        Finding::note(
            what,
            "A sender sleeps when that many wait, whatever their size, so small datagrams cost more wake-ups than \
             on machines where systemd raised it.",
        )
        .with(Remedy::sysctl(facts, name, DATAGRAMS))
    })
}
