//! Batching of reads, for a reader that keeps up with its writer message by message.
//!
//! Such a reader pays for each message with a transfer of the cache line that holds the writer's position, and so does
//! the writer. A short batching delay before the next look saves most of these transfers: the delay grows as long as it
//! collects messages, and ends when it does not. A reader that also writes is awaited by its peer, and has no delay.

use headwater_os::clock::now_ns;

/// The delay begins after this many looks in a row that found little.
const AFTER: u32 = 16;
/// The shortest delay: some tens of small messages of a writer.
const LEAST_NS: u64 = 400;
/// The longest delay: ten transfers of a line, and a tenth of the cost of a wake-up.
const MOST_NS: u64 = 4_000;
/// A look finds little if it finds less than this many messages of the reader's size, and less than this many bytes.
const MESSAGES: u64 = 16;
const BYTES: u64 = 4096;
/// A look finds enough with this many bytes, or half a queue: the delay is then halved, so that a writer does not fill the
/// queue during it.
const ENOUGH: u64 = 16384;

/// How a reader has found the queue lately.
#[derive(Debug, Default)]
pub(crate) struct ReadBatching {
    /// Looks in a row that found little, without a message of ours in between.
    found_little: u32,
    /// The delay before a look; 0: none.
    delay_ns: u64,
    /// The value of `sent` at the last of them.
    sent: u64,
}

impl ReadBatching {
    /// The reader has slept: nothing has arrived for long.
    pub fn forget(&mut self) {
        self.found_little = 0;
        self.delay_ns = 0;
    }

    /// Notes what the last look found, for a reader of `wanted` bytes, and delays the next if that pays. `hiwat`
    /// is the queue's; `sent` is anything that changes when this handle writes.
    #[inline]
    pub fn before_look(&mut self, found: u64, wanted: usize, hiwat: u64, sent: u64) {
        if sent != std::mem::replace(&mut self.sent, sent) {
            self.forget();
        }
        let little = found < BYTES.min(MESSAGES * wanted as u64);
        if self.delay_ns == 0 {
            self.found_little = if little { self.found_little + 1 } else { 0 };
            if self.found_little < AFTER {
                return;
            }
            self.delay_ns = LEAST_NS;
        } else if little || found >= ENOUGH.min(hiwat / 2) {
            self.delay_ns /= 2;
            if self.delay_ns < LEAST_NS {
                self.delay_ns = 0;
                self.found_little = 0;
                return;
            }
        } else {
            self.delay_ns = (self.delay_ns * 2).min(MOST_NS);
        }
        let until_ns = now_ns() + self.delay_ns;
        while now_ns() < until_ns {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIWAT: u64 = 65536;

    /// The delay before the last of `looks` looks that each found `found` bytes.
    fn after(batching: &mut ReadBatching, looks: u32, found: u64, sent: impl Fn(u32) -> u64) -> u64 {
        for look in 0..looks {
            let start_ns = now_ns();
            batching.before_look(found, 64, HIWAT, sent(look));
            assert!(now_ns() - start_ns >= batching.delay_ns, "it has waited");
        }
        batching.delay_ns
    }

    #[test]
    fn who_finds_little_again_and_again_becomes_patient() {
        assert_eq!(after(&mut ReadBatching::default(), AFTER - 1, 64, |_| 0), 0);
        assert_eq!(after(&mut ReadBatching::default(), AFTER, 64, |_| 0), LEAST_NS);
        assert_eq!(after(&mut ReadBatching::default(), AFTER, 1024, |_| 0), 0, "16 messages are not little");
        assert_eq!(after(&mut ReadBatching::default(), AFTER, 64, u64::from), 0, "it writes as well");
    }

    #[test]
    fn patience_grows_while_it_brings_something() {
        let mut batching = ReadBatching::default();
        after(&mut batching, AFTER, 64, |_| 0);
        assert_eq!(after(&mut batching, 1, 1024, |_| 0), 2 * LEAST_NS);
        assert_eq!(after(&mut batching, 10, 1024, |_| 0), MOST_NS);
        assert_eq!(after(&mut batching, 1, ENOUGH, |_| 0), MOST_NS / 2, "a full queue stops the writer");
        assert_eq!(after(&mut batching, 1, 64, |_| 0), MOST_NS / 4, "in vain");
        assert_eq!(after(&mut batching, 2, 64, |_| 0), 0);
        assert_eq!(after(&mut batching, AFTER - 1, 64, |_| 0), 0, "from the beginning");
    }

    #[test]
    fn who_writes_has_no_patience_left() {
        let mut batching = ReadBatching::default();
        after(&mut batching, AFTER + 4, 64, |_| 0);
        after(&mut batching, AFTER, 1024, |_| 0);
        assert_eq!(after(&mut batching, 1, 1024, |_| 1), 0);
    }
}
