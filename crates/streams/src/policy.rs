//! The mechanisms that make streams fast, each of which can be switched off, so that its share can be measured.

/// The mechanisms that a stream uses. Fixed when it is created; the gauge switches off one at a time (suite `why`).
///
/// ```
/// use headwater_streams::{Options, Policy};
///
/// // Each write stays a message of its own in the queue.
/// let (_near, _far) = Options::new().policy(Policy::DEFAULT.coalescing(false)).pipe()?;
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Policy {
    /// A write is appended to the unread one before it, as long as both are plain data.
    pub coalescing: bool,
    /// A full queue accepts again at its low-water mark only; without, as soon as it is not above hiwat.
    pub hysteresis: bool,
    /// A reader is woken only if it sleeps and has announced that; without, each message makes a wake-up call.
    pub wake_once: bool,
    /// Plain messages go through the lane: no allocation, no lock. Without, each is allocated and queued under one lock.
    pub lane: bool,
    /// A waiting process spins or yields before it sleeps.
    pub stages: bool,
}

impl Policy {
    /// All mechanisms.
    pub const DEFAULT: Policy =
        Policy { coalescing: true, hysteresis: true, wake_once: true, lane: true, stages: true };

    /// None: a wake-up call, an allocation and a lock for each message, as in the older STREAMS for Linux. It shows
    /// the benefit of the mechanisms.
    pub const EAGER: Policy =
        Policy { coalescing: false, hysteresis: false, wake_once: false, lane: false, stages: false };

    /// Whether a write is appended to the unread one before it.
    #[must_use]
    #[doc = include_str!("../doc/policies.md")]
    pub const fn coalescing(self, coalescing: bool) -> Policy {
        Policy { coalescing, ..self }
    }

    /// Whether a full queue accepts again at its low-water mark only.
    #[must_use]
    #[doc = include_str!("../doc/policies.md")]
    pub const fn hysteresis(self, hysteresis: bool) -> Policy {
        Policy { hysteresis, ..self }
    }

    /// Whether a reader is woken only if it sleeps.
    #[must_use]
    #[doc = include_str!("../doc/policies.md")]
    pub const fn wake_once(self, wake_once: bool) -> Policy {
        Policy { wake_once, ..self }
    }

    /// Whether plain messages go through the lane.
    #[must_use]
    #[doc = include_str!("../doc/policies.md")]
    pub const fn lane(self, lane: bool) -> Policy {
        Policy { lane, ..self }
    }

    /// Whether a waiting process spins or yields before it sleeps.
    #[must_use]
    #[doc = include_str!("../doc/policies.md")]
    pub const fn stages(self, stages: bool) -> Policy {
        Policy { stages, ..self }
    }

    /// Its representation in shared memory.
    pub(crate) fn bits(self) -> u32 {
        let Policy { coalescing, hysteresis, wake_once, lane, stages } = self;
        [coalescing, hysteresis, wake_once, lane, stages]
            .into_iter()
            .rev()
            .fold(0, |bits, on| bits << 1 | u32::from(on))
    }

    /// Decodes the bits from shared memory; None for bits that this version does not know.
    pub(crate) fn from_bits(bits: u32) -> Option<Policy> {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let policy = Policy { coalescing: on(0), hysteresis: on(1), wake_once: on(2), lane: on(3), stages: on(4) };
        (policy.bits() == bits).then_some(policy)
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::DEFAULT
    }
}
