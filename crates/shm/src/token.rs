//! The right to use one side of something shared: a lock that stays with its last user and survives the death of any.
//!
//! As long as one member alone uses a side, it enters and leaves by a plain store and a plain load: the token is *biased*
//! to it. Another member that wants the token first takes the bias away: it announces itself in the lock word, makes all
//! others see that by membarrier(2), and waits until the biased one is not busy. That costs some microseconds, once; a
//! token that changes hands again and again is an ordinary lock, and becomes biased again when one member has used it
//! alone for a while.
//!
//! A holder that dies is found out by those who wait for it, and its token is taken over. Whatever the token protects
//! must therefore be sound at every single store; [`Hold::Fresh`] tells the new holder to read it anew, and to repair
//! what is repaired after a death.
//!
//! The lock word also carries *notices* of up to eight kinds to the holder: anybody may set them, and they turn the next
//! entry by bias into the slow way, where they are read. See Dice, Moir, Scherer: "Quickly Reacquirable Locks" (2003).

use std::time::Duration;

use crate::error::Error;
use crate::member::Membership;
use crate::probe;
use crate::shareable;
use crate::sync::{
    AtomicU32, Ordering, Placed, compiler_fence, fence_seq_cst, futex_wait, futex_wake, now_ns, spin_loop, yield_now,
};

/// Bits of the lock word: the holder's number.
const HOLDER: u32 = 0xff;
/// While the bias is taken away: the number of the member that had it.
const VICTIM_SHIFT: u32 = 8;
/// The holder may enter by its busy word alone.
const BIASED: u32 = 1 << 16;
/// The holder is inside.
const HELD: u32 = 1 << 17;
/// The holder waits until the victim is not busy, and will then be inside.
const SEIZING: u32 = 1 << 18;
/// The notices, whose meaning is the user's.
const NOTICE_SHIFT: u32 = 24;
const NOTICES: u32 = 0xff << NOTICE_SHIFT;
/// No lock word looks like this.
const NO_BIAS: u32 = u32::MAX;

/// Looks at the word before the first sleep: about a microsecond, longer than any holder is inside that runs.
const SPINS: u32 = 200;
/// A holder that shares our CPU gets on only if we let it.
const YIELDS: u32 = 20;
/// How long a dead holder may go unnoticed.
const WATCH_EVERY: Duration = Duration::from_millis(10);
/// A living, running process that holds a token this long does not mean to give it back.
const PATIENCE_NS: u64 = 2_000_000_000;
/// However often it changes hands meanwhile, nobody waits longer: a hostile process can change the word for ever.
const PATIENCE_NS_MAX: u64 = 10 * PATIENCE_NS;
/// A token that was taken away becomes biased again after this many uses by one member, twice as many each time; in the end
/// after as many as cost, by the lock, what taking the bias away costs: so it costs at most twice what is best.
const STREAK: u32 = 8;
const STREAK_DOUBLINGS_MAX: u32 = 4;

shareable! {
    /// A token's place in shared memory. All zeros is a free token.
    pub struct TokenWords {
        /// State, holder and notices; changed by exchanges only.
        lock: AtomicU32,
        /// How many members sleep until the word changes. A hint: one that was killed asleep stays counted.
        sleepers: AtomicU32,
        /// Who held it last. Written by the holder.
        last: AtomicU32,
        /// How often a bias was taken away. Written by the holder.
        seizures: AtomicU32,
    }
}

impl TokenWords {
    /// Frees the token from a holder that is no more, because another process now has its number. For
    /// [`Membership::join`].
    pub(crate) fn strike_out(&self, number: u32) {
        loop {
            let lock = self.lock.load(Ordering::Relaxed);
            if lock & HOLDER != number {
                return;
            }
            let victim = (lock >> VICTIM_SHIFT) & HOLDER;
            let state = if lock & SEIZING == 0 { 0 } else { BIASED | victim };
            // AcqRel: passes on what the dead one did to the next holder.
            if self.lock.compare_exchange(lock, state | lock & NOTICES, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                probe::at();
                return;
            }
        }
    }
}

/// One member's view of a token.
#[derive(Debug)]
pub struct Token {
    words: Placed<TokenWords>,
    /// Our bit in the busy word of a member.
    bit: u32,
    /// The lock word under which we may enter by the busy word alone.
    bias: u32,
    /// Uses in a row by us.
    streak: u32,
}

/// The tokens that a member is inside of around another one.
#[derive(Debug, Clone, Copy)]
pub struct Outer(u32);

/// What a holder may assume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nobody held the token since we did.
    Kept,
    /// Somebody may have, and may have died inside: what we remember of the protected is out of date.
    Fresh,
}

impl Token {
    /// The token at `words`, number `index` (below 32) of its region.
    pub fn new(words: Placed<TokenWords>, index: u32) -> Token {
        Token { words, bit: 1 << index, bias: NO_BIAS, streak: 0 }
    }

    /// Enters if the token is biased to us and nobody wants anything of us. Then [`Token::leave`] must follow. For one who
    /// is inside no other token by its bias.
    #[inline(always)]
    pub fn enter(&self, me: &Membership) -> bool {
        let busy = &me.own().busy;
        // Relaxed: ordered before the load below by the light fence, which pairs with the heavy one in `seize`: either
        // we see that the bias is being taken away, or its taker sees that we are busy.
        busy.store(self.bit, Ordering::Relaxed);
        probe::at();
        // There is a bias only where the fence is asymmetric, and then its light side is the compiler's.
        compiler_fence(Ordering::SeqCst);
        if self.words.lock.load(Ordering::Relaxed) == self.bias {
            return true;
        }
        busy.store(0, Ordering::Release);
        false
    }

    /// As [`Token::enter`], for one who may be inside another token by its bias. Returns what [`Token::leave_inner`] needs,
    /// or None if the token must be held.
    #[inline]
    pub fn enter_inner(&self, me: &Membership) -> Option<Outer> {
        let busy = &me.own().busy;
        // Only we write it.
        let outer = busy.load(Ordering::Relaxed);
        // As in `enter`.
        busy.store(outer | self.bit, Ordering::Relaxed);
        probe::at();
        compiler_fence(Ordering::SeqCst);
        if self.words.lock.load(Ordering::Relaxed) == self.bias {
            return Some(Outer(outer));
        }
        busy.store(outer, Ordering::Release);
        None
    }

    /// Leaves after [`Token::enter_inner`].
    #[inline]
    pub fn leave_inner(&self, me: &Membership, outer: Outer) {
        // Release: as in `leave`.
        probe::at();
        me.own().busy.store(outer.0, Ordering::Release);
        probe::at();
    }

    /// Leaves after [`Token::enter`].
    #[inline(always)]
    pub fn leave(&self, me: &Membership) {
        // Release pairs with the Acquire load in `seize`: whoever takes the bias away sees all that we did.
        probe::at();
        me.own().busy.store(0, Ordering::Release);
        probe::at();
    }

    /// Takes the token as a lock, waiting for it if need be. Then [`Token::release`] must follow.
    ///
    /// Errors: [`Error::Corrupt`] for a word that no member writes, or when a living process keeps it for seconds;
    /// [`Error::System`] if the kernel refuses a barrier or a look at the holder.
    #[cold]
    #[inline(never)]
    pub fn hold(&mut self, me: &Membership) -> Result<Hold, Error> {
        let number = me.number();
        let begin_ns = now_ns();
        // How long we have seen the same word: whoever holds the token has his own time.
        let (mut seen, mut since_ns) = (None, begin_ns);
        loop {
            // Acquire pairs with the Release in `release`.
            let lock = self.words.lock.load(Ordering::Acquire);
            if seen.replace(lock).is_some_and(|seen| seen != lock) {
                since_ns = now_ns();
                if since_ns - begin_ns > PATIENCE_NS_MAX {
                    return Err(Error::Corrupt("a token changes and changes, and is not to be had"));
                }
            }
            let holder = lock & HOLDER;
            let notices = lock & NOTICES;
            match lock & (BIASED | HELD | SEIZING) {
                0 => {
                    if self.exchange(lock, HELD | number | notices) {
                        return Ok(self.now_held(number));
                    }
                }
                BIASED if lock & !NOTICES == self.bias => {
                    if self.exchange(lock, HELD | number | notices) {
                        probe::at();
                        self.streak = self.streak.saturating_add(1);
                        return Ok(Hold::Kept);
                    }
                }
                BIASED => {
                    let seizing = SEIZING | number | holder << VICTIM_SHIFT;
                    if self.exchange(lock, seizing | notices) {
                        probe::at();
                        return self.seize(me, holder, since_ns);
                    }
                }
                HELD | SEIZING if self.ends(me, lock, holder, since_ns)? => {
                    let victim = (lock >> VICTIM_SHIFT) & HOLDER;
                    let state = lock & (HELD | SEIZING);
                    if self.exchange(lock, state | number | victim << VICTIM_SHIFT | notices) {
                        probe::at();
                        if state == HELD {
                            return Ok(self.now_held(number));
                        }
                        return self.seize(me, victim, since_ns);
                    }
                }
                HELD | SEIZING => {}
                _ => return Err(Error::Corrupt("a token's state")),
            }
        }
    }

    /// Gives the token back, biased to us if we alone have used it lately.
    pub fn release(&mut self, me: &Membership) {
        let number = me.number();
        let doublings = self.words.seizures.load(Ordering::Relaxed).min(STREAK_DOUBLINGS_MAX);
        let enough = if doublings == 0 { 0 } else { STREAK << doublings };
        let biased =
            me.fence.is_asymmetric() && self.streak >= enough && self.words.sleepers.load(Ordering::Relaxed) == 0;
        self.bias = if biased { BIASED | number } else { NO_BIAS };
        let state = if biased { self.bias } else { 0 };
        probe::at();
        // Release pairs with the Acquire loads in `hold`.
        self.update(Ordering::Release, |lock| state | lock & NOTICES);
        probe::at();
        // The word before the sleepers, as a sleeper counts itself before it looks at the word.
        fence_seq_cst();
        if self.words.sleepers.load(Ordering::Relaxed) > 0 {
            // A failed wake is no loss: a sleeper looks again by itself.
            let _ = futex_wake(&self.words.lock, 1);
        }
    }

    /// Gives up a bias, so that nobody has to take it away from a member that is gone.
    pub fn retire(&mut self) {
        if self.bias != NO_BIAS {
            let bias = std::mem::replace(&mut self.bias, NO_BIAS);
            probe::at();
            // Release: as in `release`. If the word has changed, another member has taken the bias, or is about to.
            self.update(Ordering::Release, |lock| if lock & !NOTICES == bias { lock & NOTICES } else { lock });
        }
    }

    /// Forgets what we knew, in a forked child: the parent holds it.
    pub fn forget(&mut self) {
        self.bias = NO_BIAS;
        self.streak = 0;
    }

    /// The notices that are set. For the holder.
    pub fn notices(&self) -> u8 {
        // Acquire pairs with the Release in `notify`.
        (self.words.lock.load(Ordering::Acquire) >> NOTICE_SHIFT) as u8
    }

    /// Sets notices for whoever holds the token now or next; it sees them at its next entry.
    pub fn notify(&self, notices: u8) {
        // Release pairs with the Acquire in `notices`.
        self.words.lock.fetch_or(u32::from(notices) << NOTICE_SHIFT, Ordering::Release);
        probe::at();
    }

    /// Clears notices. For the holder, before it looks at what they are about.
    pub fn clear(&self, notices: u8) {
        // Acquire: what is looked at next is as new as the notice.
        self.words.lock.fetch_and(!(u32::from(notices) << NOTICE_SHIFT), Ordering::Acquire);
        probe::at();
    }

    /// We are the first in the word; waits until the member that had the bias is not inside.
    fn seize(&mut self, me: &Membership, victim: u32, since_ns: u64) -> Result<Hold, Error> {
        let number = me.number();
        if let Err(error) = self.wait_out(me, victim, since_ns) {
            // We have not got it, and others shall not wait for us. The victim keeps what it had.
            self.update(Ordering::Relaxed, |lock| BIASED | victim | lock & NOTICES);
            return Err(error);
        }
        let seizures = self.words.seizures.load(Ordering::Relaxed);
        self.words.seizures.store(seizures.saturating_add(1), Ordering::Relaxed);
        probe::at();
        self.update(Ordering::Acquire, |lock| HELD | number | lock & NOTICES);
        Ok(self.now_held(number))
    }

    /// Waits until a member that has lost its bias is not inside.
    fn wait_out(&self, me: &Membership, victim: u32, since_ns: u64) -> Result<(), Error> {
        if victim == me.number() {
            // A predecessor in our own slot, which is dead; ours is the busy word.
            return Ok(());
        }
        me.fence.heavy()?;
        probe::at();
        // Acquire pairs with the Release in `leave`.
        let busy = &me.other(victim)?.busy;
        let mut looks = 0;
        while busy.load(Ordering::Acquire) & self.bit != 0 && !self.overdue(me, victim, &mut looks, since_ns)? {}
        Ok(())
    }

    /// Waits a little for a holder; returns whether its process has ended.
    fn ends(&self, me: &Membership, lock: u32, holder: u32, since_ns: u64) -> Result<bool, Error> {
        if holder == me.number() {
            // We do not hold it: that was a predecessor in our slot.
            return Ok(true);
        }
        me.other(holder)?;
        let changed = || self.words.lock.load(Ordering::Relaxed) != lock;
        if cfg!(loom) {
            yield_now();
            return Ok(false);
        }
        for _ in 0..SPINS {
            if changed() {
                return Ok(false);
            }
            spin_loop();
        }
        for _ in 0..YIELDS {
            yield_now();
            if changed() {
                return Ok(false);
            }
        }
        self.words.sleepers.fetch_add(1, Ordering::SeqCst);
        probe::at();
        let slept = futex_wait(&self.words.lock, lock, Some(WATCH_EVERY));
        self.words.sleepers.fetch_sub(1, Ordering::Relaxed);
        slept?;
        if changed() {
            return Ok(false);
        }
        self.has_ended(me, holder, since_ns)
    }

    /// Waits a little for a busy member; returns whether its process has ended.
    fn overdue(&self, me: &Membership, victim: u32, looks: &mut u32, since_ns: u64) -> Result<bool, Error> {
        *looks += 1;
        match *looks {
            _ if cfg!(loom) => yield_now(),
            0..=SPINS => spin_loop(),
            _ => yield_now(),
        }
        if !looks.is_multiple_of(1024) {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_micros(100));
        self.has_ended(me, victim, since_ns)
    }

    fn has_ended(&self, me: &Membership, holder: u32, since_ns: u64) -> Result<bool, Error> {
        let ended = me.has_ended(holder)?;
        if !ended && now_ns() - since_ns > probe::patience_ns(PATIENCE_NS) && !me.is_stopped(holder)? {
            return Err(Error::Corrupt("a token is not given back"));
        }
        Ok(ended)
    }

    fn now_held(&mut self, number: u32) -> Hold {
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
        Hold::Fresh
    }

    fn exchange(&self, from: u32, to: u32) -> bool {
        // Acquire pairs with the Release in `release`.
        self.words.lock.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Changes the word that we hold, against notices that come at the same time.
    fn update(&self, order: Ordering, change: impl Fn(u32) -> u32) {
        let mut lock = self.words.lock.load(Ordering::Relaxed);
        while let Err(now) = self.words.lock.compare_exchange(lock, change(lock), order, Ordering::Relaxed) {
            lock = now;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

/// A free token for loom, whose atomics cannot be made of zeros.
#[cfg(loom)]
pub(crate) fn twin_words() -> TokenWords {
    let zero = || AtomicU32::new(0);
    TokenWords { lock: zero(), sleepers: zero(), last: zero(), seizures: zero() }
}
