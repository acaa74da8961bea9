//! Loops over the words of memory: every word, or every fourth, is loaded or stored by an instruction of its own. A word has
//! 8 bytes, except where files are summed. For the bandwidths of memory and of files.

use headwater_os_tools::mapping::{Integer, Word};

/// Words per turn of a loop, so that its own instructions hardly count.
const TURN: usize = 32;

/// Every word.
pub const EVERY: usize = 1;

/// Every fourth word.
pub const FOURTH: usize = 4;

/// The sum of every `STEP`th word, modulo 2^64: four sums, by turns, so that no addition waits for the one before, and memory is
/// what is measured.
#[inline(never)]
pub fn sum<const STEP: usize>(words: &[Word]) -> u64 {
    let turns = words.chunks_exact(TURN);
    let rest = turns.remainder().iter().step_by(STEP).fold(0, |sum: u64, word| sum.wrapping_add(word.get()));
    let mut sums = [rest, 0, 0, 0];
    for turn in turns {
        let mut index = 0;
        while index < TURN {
            let part = &mut sums[index / STEP % 4];
            *part = part.wrapping_add(turn[index].get());
            index += STEP;
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// The sum of integers of 4 bytes, modulo 2^32: one sum, as LMbench describes it for files, so that each addition waits for
/// the one before.
#[inline(never)]
pub fn sum_of_integers(integers: &[Integer]) -> u32 {
    let turns = integers.chunks_exact(TURN);
    let rest = turns.remainder().iter().fold(0, |sum: u32, integer| sum.wrapping_add(integer.get()));
    turns.fold(rest, |sum, turn| {
        let mut sum = sum;
        for integer in turn {
            sum = sum.wrapping_add(integer.get());
        }
        sum
    })
}

/// Stores `value` into every `STEP`th word.
#[inline(never)]
pub fn fill<const STEP: usize>(words: &mut [Word], value: u64) {
    let mut turns = words.chunks_exact_mut(TURN);
    for turn in &mut turns {
        let mut index = 0;
        while index < TURN {
            turn[index].set(value);
            index += STEP;
        }
    }
    turns.into_remainder().iter_mut().step_by(STEP).for_each(|word| word.set(value));
}

/// The sum of every fourth word as it was, each of which gets `value` then; as [`sum`].
#[inline(never)]
pub fn sum_and_fill(words: &mut [Word], value: u64) -> u64 {
    let mut sums = [0u64; 4];
    let mut turns = words.chunks_exact_mut(TURN);
    for turn in &mut turns {
        let mut index = 0;
        while index < TURN {
            let part = &mut sums[index / FOURTH % 4];
            *part = part.wrapping_add(turn[index].get());
            turn[index].set(value);
            index += FOURTH;
        }
    }
    for word in turns.into_remainder().iter_mut().step_by(FOURTH) {
        sums[0] = sums[0].wrapping_add(word.get());
        word.set(value);
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Copies every `STEP`th word to its place in `to`; both have as many words.
#[inline(never)]
pub fn copy<const STEP: usize>(from: &[Word], to: &mut [Word]) {
    assert_eq!(from.len(), to.len(), "what is copied fits");
    let (sources, mut targets) = (from.chunks_exact(TURN), to.chunks_exact_mut(TURN));
    let rest = sources.remainder();
    for (source, target) in sources.zip(&mut targets) {
        let mut index = 0;
        while index < TURN {
            target[index].set(source[index].get());
            index += STEP;
        }
    }
    let pairs = rest.iter().zip(targets.into_remainder()).step_by(STEP);
    pairs.for_each(|(source, target)| target.set(source.get()));
}

#[cfg(test)]
mod tests {
    use headwater_os_tools::mapping::Memory;

    use super::*;

    /// Two turns and five words.
    const COUNT: usize = 2 * TURN + 5;

    /// Words 1, 2, 3, ...
    fn memory() -> Memory {
        let mut memory = Memory::populated(COUNT * 8).expect("memory");
        memory.words_mut().iter_mut().zip(1..).for_each(|(word, number)| word.set(number));
        memory
    }

    fn values(words: &[Word]) -> Vec<u64> {
        words.iter().map(Word::get).collect()
    }

    /// What every `step`th value of 1, 2, 3, ... makes.
    fn every(step: usize) -> u64 {
        (1..=COUNT as u64).step_by(step).sum()
    }

    #[test]
    fn every_word_counts_once_and_so_does_every_fourth() {
        let memory = memory();
        let words = &memory.words()[..COUNT];
        assert_eq!((sum::<EVERY>(words), sum::<FOURTH>(words)), (every(1), every(4)));
        let integers = &memory.integers()[..2 * COUNT - 1];
        assert_eq!(sum_of_integers(integers), (1..=COUNT as u32).sum::<u32>(), "the upper halves are 0");
    }

    #[test]
    fn what_is_stored_and_copied_is_every_word_or_every_fourth_and_no_other() {
        for fourth in [false, true] {
            let is_touched = |index: usize| !fourth || index.is_multiple_of(4);
            let (source, mut filled, mut copied) = (memory(), memory(), memory());
            filled.words_mut()[COUNT].set(1);
            copied.words_mut().iter_mut().for_each(|word| word.set(0));
            let targets = (&mut filled.words_mut()[..COUNT], &mut copied.words_mut()[..COUNT]);
            if fourth {
                fill::<FOURTH>(targets.0, 7);
                copy::<FOURTH>(&source.words()[..COUNT], targets.1);
            } else {
                fill::<EVERY>(targets.0, 7);
                copy::<EVERY>(&source.words()[..COUNT], targets.1);
            }
            let expected = |touched: fn(u64) -> u64, other: fn(u64) -> u64| -> Vec<u64> {
                let value = |index| if is_touched(index) { touched(index as u64 + 1) } else { other(index as u64 + 1) };
                (0..COUNT).map(value).collect()
            };
            assert_eq!(values(&filled.words()[..COUNT]), expected(|_| 7, |number| number));
            assert_eq!(values(&copied.words()[..COUNT]), expected(|number| number, |_| 0));
            assert_eq!((filled.words()[COUNT].get(), copied.words()[COUNT].get()), (1, 0), "nothing behind the end");
        }
    }

    #[test]
    fn what_is_summed_and_stored_is_every_fourth_word() {
        let mut memory = memory();
        assert_eq!(sum_and_fill(&mut memory.words_mut()[..COUNT], 0), every(4));
        assert_eq!(sum::<EVERY>(&memory.words()[..COUNT]), every(1) - every(4));
    }
}
