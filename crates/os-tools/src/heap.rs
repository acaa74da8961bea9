//! The heap of the C library, as far as its size is of interest: every private page of a process makes its
//! forks dearer.

/// Gives the heap's free pages back to the kernel, as far as the C library can; it does not report how many.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: locks the heap as `malloc` does, and changes nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use std::hint::black_box;

    use rustix::process::getpid;

    /// Bytes of this process's private memory that are resident.
    fn resident() -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", getpid().as_raw_nonzero())).expect("procfs");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line of procfs");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    #[test]
    fn what_was_freed_is_given_back() {
        const PIECES: usize = 1000;
        const BYTES: usize = 16 << 10;
        // Every second piece stays, so that what is freed is no end of the heap, which the library gives back by
        // itself.
        let mut pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| black_box(vec![1; BYTES])).collect();
        let mut number = 0;
        pieces.retain(|_| {
            number += 1;
            number % 2 == 0
        });
        let before = resident();
        super::trim();
        let given = before.saturating_sub(resident());
        assert!(given > (PIECES * BYTES / 4) as u64, "{given} B of {}", PIECES / 2 * BYTES);
        drop(black_box(pieces));
    }
}
