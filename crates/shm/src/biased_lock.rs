//! A lock in shared memory that is biased and robust: it stays with its last user, and survives the death of any member.
//!
//! While only one member uses the lock, it enters and leaves by a plain store and a plain load: the lock is *biased* to this
//! member. Another member that wants the lock first removes the bias. It announces itself in the lock word, makes all members
//! see that by membarrier(2), and waits until the biased member is not busy. That costs some microseconds once. A lock that
//! changes hands again and again is an ordinary lock. It becomes biased again after one member has used it alone for a while.
//!
//! A member that waits for a lock detects that the holder has died, and takes the lock over. Therefore the data that the lock
//! protects must be sound after every single store. [`Hold::Stale`] tells the new holder to read the data again and to repair it
//! where a death requires that. A holder that is not known to be dead keeps its lock, however long: its process may be stopped,
//! frozen, or in another PID namespace. The [`Limit`](crate::Limit) of the waiting member says how long it waits.
//!
//! A sleeping member sets a bit in the lock word. The holder clears the bit when it leaves, and wakes one sleeper. A member that
//! has slept sets the bit again, because other members may still sleep. So a killed sleeper costs only one useless wake-up.
//!
//! The lock word also has *notices* of up to eight kinds for the holder. Any member may set them. They force the next biased entry
//! to take the slow path, which reads them. See Dice, Moir, Scherer: "Quickly Reacquirable Locks" (2003).

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

// The bits of the lock word. The lower half is the futex on which members sleep: the holder, the state and the notices.

/// The number of the holder. It has room for a million members, more than a kernel has processes in practice.
pub(crate) const HOLDER: u64 = (1 << 20) - 1;
/// The lock is biased: the holder may enter by its busy word alone.
pub(crate) const BIASED: u64 = 1 << 20;
/// The holder is inside.
pub(crate) const HELD: u64 = 1 << 21;
/// The holder is removing the bias: it waits until the victim is not busy, and will then be inside.
pub(crate) const SEIZING: u64 = 1 << 22;
/// A member may be sleeping on the word.
pub(crate) const WAITERS: u64 = 1 << 23;
/// The position of the notices. The user of the lock defines their meaning.
const NOTICE_SHIFT: u32 = 24;
const NOTICES: u64 = 0xff << NOTICE_SHIFT;
/// The position of the victim: the number of the member that loses its bias.
const VICTIM_SHIFT: u32 = 32;
/// The position of the holder's tag. It differs between successive members of a slot, so that the word of a dead member is not
/// taken for that of its successor.
const TAG_SHIFT: u32 = 52;
const TAG: u64 = 0x3f << TAG_SHIFT;
/// The distance from the holder's tag to the victim's tag, in bits.
const VICTIM_TAG_SHIFT: u32 = 6;

/// Returns the value that names a member in the words of the locks that it holds.
pub(crate) fn mark(number: u32, tag: u32) -> u64 {
    u64::from(number) | u64::from(tag) << TAG_SHIFT & TAG
}

/// Moves the mark of a member to the position of the victim.
fn as_victim(mark: u64) -> u64 {
    (mark & HOLDER) << VICTIM_SHIFT | (mark & TAG) << VICTIM_TAG_SHIFT
}

/// Returns the mark of the victim in a lock word.
fn victim_of(lock: u64) -> u64 {
    lock >> VICTIM_SHIFT & HOLDER | lock >> VICTIM_TAG_SHIFT & TAG
}

/// Returns the number of the holder in a lock word.
fn holder_of(lock: u64) -> u32 {
    (lock & HOLDER) as u32
}

/// The time limit for the yields of a wait.
#[derive(Debug, Default)]
struct Yields {
    /// The time of the first yield.
    since_ns: Option<u64>,
}

impl Yields {
    /// Returns whether there is time for another yield.
    fn may_yield(&mut self, patience: &mut Patience<'_>) -> bool {
        let now_ns = now_ns();
        now_ns - *self.since_ns.get_or_insert(now_ns) < YIELDING_NS && !patience.next().is_zero()
    }
}

/// The value of `BiasedLock::bias` without a bias. No lock word, masked by [`BIAS_BITS`], is equal to it, whatever another process
/// has written.
const NO_BIAS: u64 = u64::MAX;
/// The bits of a lock word that an entry compares: all but the last bit of the victim's tag.
const BIAS_BITS: u64 = u64::MAX >> 1;

/// The number of times that a waiter checks the word without yielding. They take about a microsecond, which is longer than any
/// running holder keeps the lock.
const SPINS: u32 = 200;
/// The number of yields before the first sleep. A holder that shares our CPU continues only if we yield.
const YIELDS: u32 = 20;
/// The number of times that a waiter checks a busy word before the first sleep.
const LOOKS: u32 = 1000;
/// The time limit for yields before the first sleep. It is enough for thousands of yields, unless other processes use the CPU too and
/// keep it for some milliseconds at each yield.
const YIELDING_NS: u64 = 2_000_000;
/// The first sleep of a member that waits until a biased member is not busy. No member wakes it.
const NAP_MIN: Duration = Duration::from_micros(50);
/// The longest sleep of such a member.
const NAP_MAX: Duration = Duration::from_millis(10);
/// After its bias was removed, a lock becomes biased again when one member has used it this often in a row. The number doubles with
/// each removal, up to [`STREAK_DOUBLINGS_MAX`] times. The maximum is the number of uses that cost as much as one removal. So the
/// lock costs at most twice the optimum.
const STREAK: u32 = 8;
const STREAK_DOUBLINGS_MAX: u32 = 4;

shareable! {
    /// The words of a lock in shared memory. All zeros is a free lock.
    pub struct BiasedLockWords {
        /// The lock word: state, holder and notices. Changed only by compare-and-exchange and by setting or clearing notices.
        pub(crate) lock: AtomicU64,
        /// The number of the last holder. Written by the holder.
        last: AtomicU32,
        /// The number of times that a bias was removed. Written by the holder.
        pub(crate) seizures: AtomicU32,
    }
}

impl BiasedLockWords {
    /// Removes a dead holder from the lock word, because a new member now has its number. For [`Membership::join`].
    pub(crate) fn strike_out(&self, number: u32) {
        loop {
            let lock = self.lock.load(Ordering::Relaxed);
            if holder_of(lock) != number {
                return;
            }
            let state = if lock & SEIZING == 0 { 0 } else { BIASED | victim_of(lock) };
            // AcqRel: the next holder sees what the dead holder did.
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

/// A member's view of a lock.
#[derive(Debug)]
pub struct BiasedLock {
    words: Placed<BiasedLockWords>,
    /// The bit of this lock in the busy word of a member.
    bit: u32,
    /// The value of the lock word with which we may enter by the busy word alone; [`NO_BIAS`] if there is none.
    bias: u64,
    /// The number of our uses in a row. 0: the next hold is [`Hold::Stale`].
    streak: u32,
}

/// The result of taking a lock: it says whether cached copies of the protected data are up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// No other member has held the lock since this one did.
    Kept,
    /// Another member may have held the lock, and may have died holding it. Cached copies of the protected data are out of date.
    Stale,
}

impl BiasedLock {
    /// Makes a view of the lock at `words`. `index` is its number in the region, below 32.
    pub fn new(words: Placed<BiasedLockWords>, index: u32) -> BiasedLock {
        BiasedLock { words, bit: 1 << index, bias: NO_BIAS, streak: 0 }
    }

    /// Enters if the lock is biased to us and no notice or removal of the bias is pending. Returns whether it has entered. If so,
    /// [`BiasedLock::leave`] must follow. The member must not be inside another lock by its bias.
    #[inline(always)]
    pub fn enter(&self, me: &Membership) -> bool {
        let busy = &me.own().busy;
        // Relaxed: the light fence orders the store before the load below. It pairs with the heavy fence in `wait_out`: either we
        // see that the bias is being removed, or the member that removes it sees that we are busy.
        busy.store(self.bit, Ordering::Relaxed);
        probe::at();
        // There is a bias only if the fence is asymmetric. Then its light side is a compiler fence.
        compiler_fence(Ordering::SeqCst);
        if self.words.lock.load(Ordering::Relaxed) & BIAS_BITS == self.bias {
            return true;
        }
        busy.store(0, Ordering::Release);
        false
    }

    /// Returns whether the lock is biased to us and no notice or removal of the bias is pending. Does not enter.
    #[inline]
    pub fn is_biased_to_us(&self) -> bool {
        self.bias != NO_BIAS && self.words.lock.load(Ordering::Relaxed) == self.bias
    }

    /// Like [`BiasedLock::enter`], for a member that may be inside another lock by its bias. [`BiasedLock::leave_inner`] must
    /// follow.
    #[inline]
    pub fn enter_inner(&self, me: &Membership) -> bool {
        let busy = &me.own().busy;
        // Relaxed: only we write this word.
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

    /// Leaves after [`BiasedLock::enter_inner`] or [`BiasedLock::hold`].
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

    /// Leaves after [`BiasedLock::enter`] or [`BiasedLock::hold`].
    #[inline(always)]
    pub fn leave(&mut self, me: &Membership) {
        if self.bias == NO_BIAS { self.release(me) } else { self.leave_quick(me) }
    }

    /// Leaves after [`BiasedLock::enter`].
    #[inline(always)]
    pub fn leave_quick(&self, me: &Membership) {
        // Release pairs with the Acquire load in `wait_out`: the member that removes the bias sees all that we did.
        probe::at();
        me.own().busy.store(0, Ordering::Release);
        probe::at();
    }

    /// Takes the lock without using the bias. Waits for it as long as the member's limit allows. [`BiasedLock::leave`] must
    /// follow.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a lock word that no member writes. If another member does not leave the lock: [`Error::WouldBlock`],
    /// [`Error::TimedOut`] or [`Error::Interrupted`], as the [limit](Membership::set_limit) says, or [`Error::Cancelled`].
    /// [`Error::System`] if the kernel refuses a barrier.
    #[cold]
    #[inline(never)]
    pub fn hold(&mut self, me: &Membership) -> Result<Hold, Error> {
        let mark = me.mark();
        let mut patience = Patience::new(me);
        loop {
            // Acquire pairs with the Release in `release`.
            let lock = self.words.lock.load(Ordering::Acquire);
            // After a sleep we do not know whether other members still sleep.
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

    /// Leaves a lock that is held without a bias. The lock becomes biased to us if only we have used it lately.
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

    /// Gives up the bias, so that no other member has to remove it from a member that is gone.
    pub fn retire(&mut self) {
        if self.bias != NO_BIAS {
            let bias = std::mem::replace(&mut self.bias, NO_BIAS);
            probe::at();
            // Release: as in `release`. If the word has changed, another member has removed the bias, or is removing it.
            self.update(Ordering::Release, |lock| if lock & !NOTICES == bias { lock & NOTICES } else { lock });
        }
    }

    /// Makes our next hold [`Hold::Stale`], because the protected data was found unsound or could not be read. For the holder.
    pub fn doubt(&mut self) {
        self.streak = 0;
    }

    /// Resets the cached state in a forked child, because the bias belongs to the parent.
    pub fn forget(&mut self) {
        self.bias = NO_BIAS;
        self.streak = 0;
    }

    /// Returns the notices that are set. For the holder.
    pub fn notices(&self) -> u8 {
        // Acquire pairs with the Release in `notify`.
        ((self.words.lock.load(Ordering::Acquire) & NOTICES) >> NOTICE_SHIFT) as u8
    }

    /// Sets notices for the current or next holder of the lock. It sees them at its next entry.
    pub fn notify(&self, notices: u8) {
        // Release pairs with the Acquire in `notices`.
        self.words.lock.fetch_or(u64::from(notices) << NOTICE_SHIFT, Ordering::Release);
        probe::at();
    }

    /// Clears the notices that are set, and returns them. For the holder, before it reads the data that they concern.
    pub fn take_notices(&self) -> u8 {
        let notices = self.notices();
        if notices != 0 {
            // Acquire: the data that is read next is at least as new as the notice.
            self.words.lock.fetch_and(!(u64::from(notices) << NOTICE_SHIFT), Ordering::Acquire);
            probe::at();
        }
        notices
    }

    /// Completes the removal of a bias: waits until the victim is not inside. The lock word already names us.
    fn seize(&mut self, me: &Membership, victim: u64, patience: &mut Patience<'_>) -> Result<Hold, Error> {
        if let Err(error) = self.wait_out(me, holder_of(victim), patience) {
            // We do not get the lock, and other members must not wait for us. The victim keeps its bias.
            self.pass_on(Ordering::Relaxed, |lock| BIASED | victim | lock & NOTICES);
            return Err(error);
        }
        let seizures = self.words.seizures.load(Ordering::Relaxed);
        self.words.seizures.store(seizures.saturating_add(1), Ordering::Relaxed);
        probe::at();
        self.update(Ordering::Acquire, |lock| HELD | me.mark() | lock & (NOTICES | WAITERS));
        Ok(self.now_held(me))
    }

    /// Waits until the victim, a member that loses its bias, is not inside.
    fn wait_out(&self, me: &Membership, victim: u32, patience: &mut Patience<'_>) -> Result<(), Error> {
        if victim == me.number() {
            // The victim is a dead predecessor in our own slot, and its busy word is ours now.
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
                    // No member wakes us: the victim does not know that it has lost its bias.
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

    /// Waits for the holder for a short time. Returns the lock word if the holder is dead, and `None` if the caller must check the
    /// word again.
    fn wait(&self, me: &Membership, lock: u64, patience: &mut Patience<'_>) -> Result<Option<u64>, Error> {
        let holder = holder_of(lock);
        if holder == me.number() {
            // We do not hold the lock, so the word names a dead predecessor in our slot.
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
        // Load the word before the check: it then names the holder that the check finds dead.
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
        // The number may also be that of a predecessor in our slot. Then `streak` is 0.
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

    /// Changes the word of a lock that we hold, while other members may set notices or begin to sleep. Returns the old word.
    fn update(&self, order: Ordering, change: impl Fn(u64) -> u64) -> u64 {
        let mut lock = self.words.lock.load(Ordering::Relaxed);
        while let Err(now) = self.words.lock.compare_exchange(lock, change(lock), order, Ordering::Relaxed) {
            lock = now;
        }
        lock
    }

    /// Changes the word so that we do not hold the lock any more, and wakes one sleeper.
    fn pass_on(&self, order: Ordering, change: impl Fn(u64) -> u64) {
        if self.update(order, change) & WAITERS != 0 {
            probe::at();
            // If the wake fails, or we die before it, nothing is lost: a sleeper checks the word at intervals.
            let _ = futex_wake_low(&self.words.lock, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(unsafe_code, reason = "signals that stop and interrupt")]
mod tests;

/// Makes a free lock for loom, whose atomics cannot be made of zeros.
#[cfg(loom)]
pub(crate) fn model_words() -> BiasedLockWords {
    let zero = || AtomicU32::new(0);
    BiasedLockWords { lock: AtomicU64::new(0), last: zero(), seizures: zero() }
}
