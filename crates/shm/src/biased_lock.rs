//! A biased, robust lock in shared memory: it stays with its last user, and survives the death of any member.
//!
//! As long as one member alone uses a side, it enters and leaves by a plain store and a plain load: the lock is *biased*
//! to it. Another member that wants the lock first takes the bias away: it announces itself in the lock word, makes all
//! others see that by membarrier(2), and waits until the biased one is not busy. That costs some microseconds, once; a
//! lock that changes hands again and again is an ordinary lock, and becomes biased again when one member has used it
//! alone for a while.
//!
//! Members that wait for a lock detect that its holder has died, and take the lock over. The data that the lock
//! protects must therefore be sound after every single store; [`Hold::Stale`] tells the new holder to read it anew, and
//! to repair what is repaired after a death. A holder that is not known to be dead keeps its lock, however long: a
//! process may be stopped, frozen, or in another PID namespace. How long a member waits for it is the member's
//! [`Limit`](crate::Limit).
//!
//! A sleeper sets a bit in the lock word; the holder clears the bit when it leaves and wakes one sleeper. A member that
//! has slept sets the bit again, because other members may still sleep. So a sleeper that is killed costs one useless
//! wake-up and no more.
//!
//! The lock word also carries *notices* of up to eight kinds to the holder. Any member may set them; they send the next
//! biased entry down the slow path, where they are read. See Dice, Moir, Scherer: "Quickly Reacquirable Locks" (2003).

use std::time::Duration;

use crate::error::{Error, LOCK_STATE};
use crate::limit::Patience;
use crate::member::Membership;
use crate::probe;
use crate::shareable;
use crate::sync::{
    AtomicU32, AtomicU64, Ordering, Placed, compiler_fence, futex_wait, futex_wait_low, futex_wake_low, now_ns,
    spin_loop, yield_now,
};

/// Bits of the lock word. The lower half is the futex on which members sleep: the holder's number, the state, the notices.
/// The number has room for more members than a kernel has processes in practice: a million.
pub(crate) const HOLDER: u64 = (1 << 20) - 1;
/// The holder may enter by its busy word alone.
pub(crate) const BIASED: u64 = 1 << 20;
/// The holder is inside.
pub(crate) const HELD: u64 = 1 << 21;
/// The holder waits until the victim is not busy, and will then be inside.
pub(crate) const SEIZING: u64 = 1 << 22;
/// A member may sleep on the word.
pub(crate) const WAITERS: u64 = 1 << 23;
/// The notices, whose meaning is the user's.
const NOTICE_SHIFT: u32 = 24;
const NOTICES: u64 = 0xff << NOTICE_SHIFT;
/// While the bias is taken away: the number of the member that had it.
const VICTIM_SHIFT: u32 = 32;
/// Tells apart the members that have had the holder's slot, so that a dead member's word is not taken for its
/// successor's.
const TAG_SHIFT: u32 = 52;
const TAG: u64 = 0x3f << TAG_SHIFT;
/// The tag of the victim, this far above its own place.
const VICTIM_TAG_SHIFT: u32 = 6;

/// The value that names a member in the words of the locks that it holds.
pub(crate) fn mark(number: u32, tag: u32) -> u64 {
    u64::from(number) | u64::from(tag) << TAG_SHIFT & TAG
}

/// The mark of a member, where a word names the victim.
fn as_victim(mark: u64) -> u64 {
    (mark & HOLDER) << VICTIM_SHIFT | (mark & TAG) << VICTIM_TAG_SHIFT
}

/// The mark of the victim that a word names.
fn victim_of(lock: u64) -> u64 {
    lock >> VICTIM_SHIFT & HOLDER | lock >> VICTIM_TAG_SHIFT & TAG
}

/// The number of the holder that a word names.
fn holder_of(lock: u64) -> u32 {
    (lock & HOLDER) as u32
}

/// The yields of one wait.
#[derive(Debug, Default)]
struct Yields {
    /// The time of the first one.
    since_ns: Option<u64>,
}

impl Yields {
    /// Whether there is time for another one.
    fn may_yield(&mut self, patience: &mut Patience<'_>) -> bool {
        let now_ns = now_ns();
        now_ns - *self.since_ns.get_or_insert(now_ns) < YIELDING_NS && !patience.next().is_zero()
    }
}

/// No lock word looks like this through [`BIAS_BITS`], whatever another process has written.
const NO_BIAS: u64 = u64::MAX;
/// The bits of a lock word that are compared at an entry: all but the last of a victim's tag.
const BIAS_BITS: u64 = u64::MAX >> 1;

/// Looks at the word before the first sleep: about a microsecond, longer than any running holder keeps the lock.
const SPINS: u32 = 200;
/// A holder that shares our CPU continues only if we yield.
const YIELDS: u32 = 20;
/// Looks at a busy word before the first sleep.
const LOOKS: u32 = 1000;
/// For so long a member yields before it sleeps: thousands of yields, unless other processes use the CPU too, which keep it for some
/// milliseconds each time.
const YIELDING_NS: u64 = 2_000_000;
/// The first sleep of a member that waits until a biased member is not busy, and the longest: no member wakes it.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(10);
/// A lock whose bias was taken away becomes biased again after this many uses in a row by one member, twice as many
/// each time. The limit is the number of uses that cost as much as taking the bias away once: so the lock costs at most
/// twice the optimum.
const STREAK: u32 = 8;
const STREAK_DOUBLINGS_MAX: u32 = 4;

shareable! {
    /// A lock's place in shared memory. All zeros is a free lock.
    pub struct BiasedLockWords {
        /// State, holder and notices; changed by exchanges only.
        pub(crate) lock: AtomicU64,
        /// The member that held it last. Written by the holder.
        last: AtomicU32,
        /// How often a bias was taken away. Written by the holder.
        pub(crate) seizures: AtomicU32,
    }
}

impl BiasedLockWords {
    /// Frees the lock from a holder that is dead, because another process now has its number. For
    /// [`Membership::join`].
    pub(crate) fn strike_out(&self, number: u32) {
        loop {
            let lock = self.lock.load(Ordering::Relaxed);
            if holder_of(lock) != number {
                return;
            }
            let state = if lock & SEIZING == 0 { 0 } else { BIASED | victim_of(lock) };
            // AcqRel: passes on what the dead holder did to the next holder.
            if self.lock.compare_exchange(lock, state | lock & NOTICES, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                probe::at();
                if lock & WAITERS != 0 {
                    let _ = futex_wake_low(&self.lock, u32::MAX);
                }
                return;
            }
        }
    }
}

/// One member's view of a lock.
#[derive(Debug)]
pub struct BiasedLock {
    words: Placed<BiasedLockWords>,
    /// Our bit in the busy word of a member.
    bit: u32,
    /// The lock word under which we may enter by the busy word alone; none while the lock is held without a bias.
    bias: u64,
    /// Uses in a row by us. 0: the next hold is [`Hold::Stale`].
    streak: u32,
}

/// What a holder may assume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// No other member has held the lock since this one did.
    Kept,
    /// Another member may have held the lock, and may have died holding it: cached copies of the protected data are out
    /// of date.
    Stale,
}

impl BiasedLock {
    /// The lock at `words`, number `index` (below 32) of its region.
    pub fn new(words: Placed<BiasedLockWords>, index: u32) -> BiasedLock {
        BiasedLock { words, bit: 1 << index, bias: NO_BIAS, streak: 0 }
    }

    /// Enters if the lock is biased to us and no notice or seizure is pending. Then [`BiasedLock::leave`] must follow.
    /// For a member that is inside no other lock by its bias.
    #[inline(always)]
    pub fn enter(&self, me: &Membership) -> bool {
        let busy = &me.own().busy;
        // Relaxed: ordered before the load below by the light fence, which pairs with the heavy one in `seize`: either
        // we see that the bias is being taken away, or its taker sees that we are busy.
        busy.store(self.bit, Ordering::Relaxed);
        probe::at();
        // There is a bias only where the fence is asymmetric, and then its light side is the compiler's.
        compiler_fence(Ordering::SeqCst);
        if self.words.lock.load(Ordering::Relaxed) & BIAS_BITS == self.bias {
            return true;
        }
        busy.store(0, Ordering::Release);
        false
    }

    /// Whether the lock is biased to us, and no notice or seizure is pending. A look from without the lock.
    #[inline]
    pub fn is_biased_to_us(&self) -> bool {
        self.bias != NO_BIAS && self.words.lock.load(Ordering::Relaxed) == self.bias
    }

    /// As [`BiasedLock::enter`], for a member that may be inside another lock by its bias. Then
    /// [`BiasedLock::leave_inner`] must follow.
    #[inline]
    pub fn enter_inner(&self, me: &Membership) -> bool {
        let busy = &me.own().busy;
        // Only we write it.
        let outer = busy.load(Ordering::Relaxed);
        // As in `enter`.
        busy.store(outer | self.bit, Ordering::Relaxed);
        probe::at();
        compiler_fence(Ordering::SeqCst);
        if self.words.lock.load(Ordering::Relaxed) & BIAS_BITS == self.bias {
            return true;
        }
        busy.store(outer, Ordering::Release);
        false
    }

    /// Leaves after [`BiasedLock::enter_inner`], or gives back what was taken by [`BiasedLock::hold`].
    #[inline]
    pub fn leave_inner(&mut self, me: &Membership) {
        if self.bias == NO_BIAS {
            return self.release(me);
        }
        let busy = &me.own().busy;
        let outer = busy.load(Ordering::Relaxed) & !self.bit;
        // Release: as in `leave`.
        probe::at();
        busy.store(outer, Ordering::Release);
        probe::at();
    }

    /// Leaves after [`BiasedLock::enter`], or gives back what was taken by [`BiasedLock::hold`].
    #[inline(always)]
    pub fn leave(&mut self, me: &Membership) {
        if self.bias == NO_BIAS { self.release(me) } else { self.leave_quick(me) }
    }

    /// Leaves after [`BiasedLock::enter`].
    #[inline(always)]
    pub fn leave_quick(&self, me: &Membership) {
        // Release pairs with the Acquire load in `seize`: the member that takes the bias away sees all that we did.
        probe::at();
        me.own().busy.store(0, Ordering::Release);
        probe::at();
    }

    /// Takes the lock without a bias, waiting for it if necessary, as long as the member's limit allows. Then
    /// [`BiasedLock::leave`] must follow.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a word that no member writes; [`Error::WouldBlock`], [`Error::TimedOut`] and
    /// [`Error::Interrupted`] as the [limit](Membership::set_limit) says, or [`Error::Cancelled`], when another member does not
    /// give it back;
    /// [`Error::System`] if the kernel refuses a barrier.
    #[cold]
    #[inline(never)]
    pub fn hold(&mut self, me: &Membership) -> Result<Hold, Error> {
        let mark = me.mark();
        let mut patience = Patience::new(me);
        loop {
            // Acquire pairs with the Release in `release`.
            let lock = self.words.lock.load(Ordering::Acquire);
            // A member that has slept does not know whether others still sleep.
            let kept = lock & (NOTICES | WAITERS) | if patience.slept { WAITERS } else { 0 };
            match lock & (BIASED | HELD | SEIZING) {
                0 => {
                    if self.exchange(lock, HELD | mark | kept) {
                        return Ok(self.now_held(me));
                    }
                }
                BIASED if lock & !NOTICES == self.bias => {
                    if self.exchange(lock, HELD | mark | kept) {
                        probe::at();
                        self.bias = NO_BIAS;
                        self.streak = self.streak.saturating_add(1);
                        return Ok(Hold::Kept);
                    }
                }
                BIASED => {
                    if self.exchange(lock, SEIZING | mark | as_victim(lock) | kept) {
                        probe::at();
                        return self.seize(me, lock & (HOLDER | TAG), &mut patience);
                    }
                }
                HELD | SEIZING => {
                    let Some(lock) = self.wait(me, lock, &mut patience)? else { continue };
                    let victim = victim_of(lock);
                    let state = lock & (HELD | SEIZING);
                    let kept = lock & (NOTICES | WAITERS);
                    if self.exchange(lock, state | mark | as_victim(victim) | kept) {
                        probe::at();
                        if state == HELD {
                            return Ok(self.now_held(me));
                        }
                        return self.seize(me, victim, &mut patience);
                    }
                }
                _ => return Err(Error::Corrupt(LOCK_STATE)),
            }
        }
    }

    /// Releases a lock that is held without a bias; the lock becomes biased to us if we alone have used it lately.
    #[cold]
    #[inline(never)]
    fn release(&mut self, me: &Membership) {
        let doublings = self.words.seizures.load(Ordering::Relaxed).min(STREAK_DOUBLINGS_MAX);
        let enough = if doublings == 0 { 1 } else { STREAK << doublings };
        let alone = self.words.lock.load(Ordering::Relaxed) & WAITERS == 0;
        let biased = me.fence.is_asymmetric() && self.streak >= enough && alone;
        self.bias = if biased { BIASED | me.mark() } else { NO_BIAS };
        let state = if biased { self.bias } else { 0 };
        probe::at();
        // Release pairs with the Acquire loads in `hold`.
        self.pass_on(Ordering::Release, |lock| state | lock & NOTICES);
        probe::at();
    }

    /// Gives up a bias, so that no other member has to take it away from a member that is gone.
    pub fn retire(&mut self) {
        if self.bias != NO_BIAS {
            let bias = std::mem::replace(&mut self.bias, NO_BIAS);
            probe::at();
            // Release: as in `release`. If the word has changed, another member has taken the bias, or is about to.
            self.update(Ordering::Release, |lock| if lock & !NOTICES == bias { lock & NOTICES } else { lock });
        }
    }

    /// Makes our next hold [`Hold::Stale`], because the data that the lock protects was found unsound or could not be
    /// read. For the holder of the lock.
    pub fn doubt(&mut self) {
        self.streak = 0;
    }

    /// Forgets the cached state in a forked child: the parent holds the bias.
    pub fn forget(&mut self) {
        self.bias = NO_BIAS;
        self.streak = 0;
    }

    /// The notices that are set. For the holder.
    pub fn notices(&self) -> u8 {
        // Acquire pairs with the Release in `notify`.
        ((self.words.lock.load(Ordering::Acquire) & NOTICES) >> NOTICE_SHIFT) as u8
    }

    /// Sets notices for the current or next holder of the lock, which sees them at its next entry.
    pub fn notify(&self, notices: u8) {
        // Release pairs with the Acquire in `notices`.
        self.words.lock.fetch_or(u64::from(notices) << NOTICE_SHIFT, Ordering::Release);
        probe::at();
    }

    /// Takes the notices that were set. For the holder, before it looks at what they are about.
    pub fn take_notices(&self) -> u8 {
        let notices = self.notices();
        if notices != 0 {
            // Acquire: what is looked at next is as new as the notice.
            self.words.lock.fetch_and(!(u64::from(notices) << NOTICE_SHIFT), Ordering::Acquire);
            probe::at();
        }
        notices
    }

    /// The lock word names us; waits until the member `victim`, which had the bias, is not inside.
    fn seize(&mut self, me: &Membership, victim: u64, patience: &mut Patience<'_>) -> Result<Hold, Error> {
        if let Err(error) = self.wait_out(me, holder_of(victim), patience) {
            // We did not get the lock, and other members shall not wait for us. The victim keeps its bias.
            self.pass_on(Ordering::Relaxed, |lock| BIASED | victim | lock & NOTICES);
            return Err(error);
        }
        let seizures = self.words.seizures.load(Ordering::Relaxed);
        self.words.seizures.store(seizures.saturating_add(1), Ordering::Relaxed);
        probe::at();
        self.update(Ordering::Acquire, |lock| HELD | me.mark() | lock & (NOTICES | WAITERS));
        Ok(self.now_held(me))
    }

    /// Waits until a member that has lost its bias is not inside.
    fn wait_out(&self, me: &Membership, victim: u32, patience: &mut Patience<'_>) -> Result<(), Error> {
        if victim == me.number() {
            // A predecessor in our own slot, which is dead; ours is the busy word.
            return Ok(());
        }
        me.fence.heavy()?;
        probe::at();
        let word = &me.other(victim)?.busy;
        let (mut looks, mut nap) = (0, NAP_MIN);
        let mut yields = Yields::default();
        loop {
            // Acquire pairs with the Release in `leave`.
            let busy = word.load(Ordering::Acquire);
            if busy & self.bit == 0 {
                return Ok(());
            }
            looks += 1;
            match looks {
                _ if cfg!(loom) => yield_now(),
                0..=SPINS => spin_loop(),
                looks if looks <= LOOKS && yields.may_yield(patience) => yield_now(),
                _ => {
                    // No member wakes us: the biased member does not know that it lost its bias.
                    let longest = nap.min(patience.next());
                    patience.note(futex_wait(word, busy, Some(longest))?);
                    if (nap == NAP_MAX || patience.next().is_zero()) && me.has_ended(victim)? {
                        return Ok(());
                    }
                    nap = (nap * 2).min(NAP_MAX);
                    patience.go_on()?;
                }
            }
        }
    }

    /// Waits briefly for the holder. Returns the word if its holder is dead, None if the word has changed.
    fn wait(&self, me: &Membership, lock: u64, patience: &mut Patience<'_>) -> Result<Option<u64>, Error> {
        let holder = holder_of(lock);
        if holder == me.number() {
            // We do not hold it: the word names a predecessor in our slot.
            return Ok(Some(lock));
        }
        me.other(holder)?;
        if !cfg!(loom) {
            let mut yields = Yields::default();
            for look in 0..SPINS + YIELDS {
                if self.words.lock.load(Ordering::Relaxed) != lock {
                    return patience.look_again().map(|()| None);
                }
                match look {
                    0..SPINS => spin_loop(),
                    _ if yields.may_yield(patience) => yield_now(),
                    _ => break,
                }
            }
        }
        let longest = patience.next();
        let asleep = lock | WAITERS;
        if !longest.is_zero() {
            if lock != asleep && !self.exchange(lock, asleep) {
                return patience.look_again().map(|()| None);
            }
            probe::at();
            patience.slept = true;
            patience.note(futex_wait_low(&self.words.lock, asleep, Some(longest))?);
        }
        // The word that was last seen before the check: it names a dead holder only if the holder was dead by then.
        let now = self.words.lock.load(Ordering::Relaxed);
        if now & !NOTICES & !WAITERS != lock & !NOTICES & !WAITERS {
            return patience.look_again().map(|()| None);
        }
        if me.has_ended(holder)? {
            return Ok(Some(now));
        }
        patience.go_on().map(|()| None)
    }

    fn now_held(&mut self, me: &Membership) -> Hold {
        let number = me.number();
        self.bias = NO_BIAS;
        probe::at();
        let last = self.words.last.load(Ordering::Relaxed);
        // A predecessor in our slot may have been the last one too.
        if last == number && self.streak > 0 {
            self.streak = self.streak.saturating_add(1);
            return Hold::Kept;
        }
        self.streak = 1;
        self.words.last.store(number, Ordering::Relaxed);
        probe::at();
        Hold::Stale
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        // Acquire pairs with the Release in `release`.
        self.words.lock.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Changes the word that we hold, against notices and sleepers that come at the same time. Returns what it was.
    fn update(&self, order: Ordering, change: impl Fn(u64) -> u64) -> u64 {
        let mut lock = self.words.lock.load(Ordering::Relaxed);
        while let Err(now) = self.words.lock.compare_exchange(lock, change(lock), order, Ordering::Relaxed) {
            lock = now;
        }
        lock
    }

    /// Changes the word so that we no longer hold it, and wakes one sleeper.
    fn pass_on(&self, order: Ordering, change: impl Fn(u64) -> u64) {
        if self.update(order, change) & WAITERS != 0 {
            probe::at();
            // A failed wake is no loss, nor is a death before it: a sleeper looks again by itself.
            let _ = futex_wake_low(&self.words.lock, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(unsafe_code, reason = "signals that stop and interrupt")]
mod tests;

/// A free lock for loom, whose atomics cannot be made of zeros.
#[cfg(loom)]
pub(crate) fn model_words() -> BiasedLockWords {
    let zero = || AtomicU32::new(0);
    BiasedLockWords { lock: AtomicU64::new(0), last: zero(), seizures: zero() }
}
