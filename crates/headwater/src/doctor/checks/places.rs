//! Directories in which rows create files.

use crate::doctor::{Facts, Finding, ProbedDirectory};

/// More than the rings, queues and counters of a row need.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Checks `/dev/shm`.
pub fn shared_memory(facts: &Facts) -> Option<Finding> {
    Some(judge(&facts.probes.shared_memory, "Rows with named semaphores and named shared memory are skipped."))
}

/// Checks the directory for temporary files.
pub fn temporary(facts: &Facts) -> Option<Finding> {
    Some(judge(&facts.probes.temporary, "Rows with FIFOs and named sockets are skipped; set TMPDIR to another one."))
}

fn judge(place: &ProbedDirectory, consequence: &str) -> Finding {
    let path = place.path.display();
    if let Some(error) = &place.error {
        return Finding::warning(format!("{path} cannot be written: {error}"), consequence);
    }
    let what = format!("{path}, {} MiB free", place.free_bytes >> 20);
    if place.free_bytes < FREE_BYTES_MIN { Finding::warning(what, consequence) } else { Finding::good(what) }
}
