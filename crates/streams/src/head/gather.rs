//! Letting messages come together, for a reader that keeps up with its writer message by message.
//!
//! Such a reader pays for each message with a transfer of the cache line that says how far the writer is, and so does the
//! writer. Some hundred nanoseconds of patience save most of them. A reader that also writes is waited for by its peer, and
//! has no patience.

use headwater_os::clock::now_ns;

/// After so many reads in a row that found little.
const AFTER: u32 = 16;
/// For so long: some tens of small messages of a writer, and a tenth of what waking somebody costs.
const PATIENCE_NS: u64 = 400;
/// Little is less than so many of the messages that the reader takes, and less than so many bytes.
const MESSAGES: u64 = 16;
const BYTES: u64 = 4096;

/// How a reader has found the queue lately.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// Reads in a row that found little, without a message of ours in between.
    found_little: u32,
    /// What we had sent at the last of them.
    sent: u64,
}

impl Gather {
    /// Notes what lies there before a read of `wanted` bytes, and waits for more if that is little, again and again.
    /// `sent` is anything that changes when this handle writes.
    #[inline]
    pub fn before_read(&mut self, there: u64, wanted: usize, sent: u64) {
        let reads_only = sent == std::mem::replace(&mut self.sent, sent);
        let little = there > 0 && there < BYTES.min(MESSAGES * wanted as u64);
        if !little || !reads_only {
            self.found_little = 0;
        } else if self.found_little < AFTER {
            self.found_little += 1;
        } else {
            let until_ns = now_ns() + PATIENCE_NS;
            while now_ns() < until_ns {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds that a read has had patience.
    fn patience_ns(gather: &mut Gather, there: u64, sent: u64) -> u64 {
        let start_ns = now_ns();
        gather.before_read(there, 1, sent);
        now_ns() - start_ns
    }

    #[test]
    fn only_who_finds_little_again_and_again_and_only_reads_has_patience() {
        let mut gather = Gather::default();
        // The least of some: others may take the CPU at any time.
        let least = |gather: &mut Gather, there: u64, mut sent: u64, step: u64| {
            (0..50)
                .map(|_| {
                    sent += step;
                    patience_ns(gather, there, sent)
                })
                .skip(AFTER as usize)
                .min()
                .expect("some")
        };
        assert!(least(&mut gather, 1, 0, 0) >= PATIENCE_NS);
        assert!(least(&mut gather, BYTES, 0, 0) < PATIENCE_NS, "there is much");
        assert!(least(&mut gather, 1, 0, 1) < PATIENCE_NS, "it writes as well");
    }
}
