//! Loops over memory that load or store every element, or every fourth, by an instruction of its own. Memory bandwidths
//! use integers of 4 bytes, sums of files words of 8 bytes.

use headwater_os_tools::mapping::{Element, Integer, TURN};

/// Step for every element.
pub const EVERY: usize = 1;

/// Step for every fourth element.
pub const FOURTH: usize = 4;

/// Returns the sum of all elements, modulo its range.
#[inline(never)]
pub fn sum<T: Element>(elements: &[T]) -> T::Sum {
    let (turns, rest) = elements.as_chunks();
    let mut sums = Default::default();
    turns.iter().for_each(|turn| T::add_all(turn, &mut sums));
    T::total(sums, rest)
}

/// Returns the sum of every fourth integer, modulo its range. The length must be a multiple of the loop's turn.
#[inline(never)]
pub fn sum_of_fourth(integers: &[Integer]) -> u32 {
    let (turns, rest) = integers.as_chunks();
    assert!(rest.is_empty(), "whole turns");
    let mut sums = Default::default();
    turns.iter().for_each(|turn| Integer::add_fourth(turn, &mut sums));
    Integer::total(sums, rest)
}

/// Integers that [`fill`] stores from the last to the first.
pub const BACKWARDS: usize = 128;

/// Stores `value` into every integer. The stores go forwards through the memory by turns of 512 B, and backwards within a turn,
/// as those of the original do (docs/lmbench.md). Processors that merge only ascending stores are much slower then.
#[inline(never)]
pub fn fill(integers: &mut [Integer], value: u32) {
    for turn in integers.chunks_mut(BACKWARDS) {
        turn.iter_mut().rev().for_each(|integer| integer.set(value));
    }
}

/// Stores `value` into every fourth integer, forwards.
#[inline(never)]
pub fn fill_fourth(integers: &mut [Integer], value: u32) {
    let mut turns = integers.chunks_exact_mut(TURN);
    for turn in &mut turns {
        let mut index = 0;
        while index < TURN {
            turn[index].set(value);
            index += FOURTH;
        }
    }
    turns.into_remainder().iter_mut().step_by(FOURTH).for_each(|integer| integer.set(value));
}

/// Loads every fourth integer and replaces it by `value`. Returns the sum of what it loaded; two sums alternate.
#[inline(never)]
pub fn sum_and_fill(integers: &mut [Integer], value: u32) -> u32 {
    let mut sums = [0u32; 2];
    let mut turns = integers.chunks_exact_mut(TURN);
    for turn in &mut turns {
        let mut index = 0;
        while index < TURN {
            let part = &mut sums[index / FOURTH % 2];
            *part = part.wrapping_add(turn[index].get());
            turn[index].set(value);
            index += FOURTH;
        }
    }
    for integer in turns.into_remainder().iter_mut().step_by(FOURTH) {
        sums[0] = sums[0].wrapping_add(integer.get());
        integer.set(value);
    }
    Integer::total(sums, &[])
}

/// Copies every `STEP`th integer to the same index of `to`, which has the same length.
#[inline(never)]
pub fn copy<const STEP: usize>(from: &[Integer], to: &mut [Integer]) {
    assert_eq!(from.len(), to.len(), "source and destination have the same length");
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

    /// Two turns and five integers.
    const COUNT: usize = 2 * TURN + 5;

    /// Returns the integers 1, 2, 3, ...
    fn memory() -> Memory {
        let mut memory = Memory::populated(COUNT * 4).expect("memory");
        memory.integers_mut().iter_mut().zip(1..).for_each(|(integer, number)| integer.set(number));
        memory
    }

    fn values(integers: &[Integer]) -> Vec<u32> {
        integers.iter().map(Integer::get).collect()
    }

    /// Returns the sum of every `step`th value of 1, 2, 3, ...
    fn every(step: usize) -> u32 {
        (1..=COUNT as u32).step_by(step).sum()
    }

    #[test]
    fn every_integer_counts_once_and_so_does_every_fourth() {
        let memory = memory();
        let integers = &memory.integers()[..2 * TURN];
        assert_eq!(sum(&memory.integers()[..COUNT]), every(1));
        assert_eq!(sum_of_fourth(integers), (1..=2 * TURN as u32).step_by(4).sum::<u32>());
    }

    #[test]
    fn every_word_counts_once_with_its_upper_half() {
        let mut memory = Memory::populated(COUNT * 8).expect("memory");
        memory.words_mut().iter_mut().zip(1..).for_each(|(word, number)| word.set(number << 33));
        assert_eq!(sum(&memory.words()[..COUNT]), u64::from(every(1)) << 33);
    }

    #[test]
    fn what_is_stored_and_copied_is_every_integer_or_every_fourth_and_no_other() {
        for fourth in [false, true] {
            let is_touched = |index: usize| !fourth || index.is_multiple_of(4);
            let (source, mut filled, mut copied) = (memory(), memory(), memory());
            filled.integers_mut()[COUNT].set(1);
            copied.integers_mut().iter_mut().for_each(|integer| integer.set(0));
            let targets = (&mut filled.integers_mut()[..COUNT], &mut copied.integers_mut()[..COUNT]);
            if fourth {
                fill_fourth(targets.0, 7);
                copy::<FOURTH>(&source.integers()[..COUNT], targets.1);
            } else {
                fill(targets.0, 7);
                copy::<EVERY>(&source.integers()[..COUNT], targets.1);
            }
            let expected = |touched: fn(u32) -> u32, other: fn(u32) -> u32| -> Vec<u32> {
                let value = |index| if is_touched(index) { touched(index as u32 + 1) } else { other(index as u32 + 1) };
                (0..COUNT).map(value).collect()
            };
            assert_eq!(values(&filled.integers()[..COUNT]), expected(|_| 7, |number| number));
            assert_eq!(values(&copied.integers()[..COUNT]), expected(|number| number, |_| 0));
            assert_eq!(
                (filled.integers()[COUNT].get(), copied.integers()[COUNT].get()),
                (1, 0),
                "nothing after the end"
            );
        }
    }

    #[test]
    fn what_is_summed_and_stored_is_every_fourth_integer() {
        let mut memory = memory();
        assert_eq!(sum_and_fill(&mut memory.integers_mut()[..COUNT], 0), every(4));
        assert_eq!(sum(&memory.integers()[..COUNT]), every(1) - every(4));
    }
}
