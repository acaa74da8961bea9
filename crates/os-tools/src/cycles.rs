//! A loop that takes a known number of the processor's cycles: a chain of dependent additions. No known processor does
//! one in less than a cycle, and all do it in one.

/// Additions in a block, enough that the loop around them adds no time.
pub const BLOCK: u64 = 200;

/// Does `blocks` blocks of [`BLOCK`] dependent additions, and returns their sum: `blocks` x [`BLOCK`] x `step`. None
/// for a processor whose addition is not known here.
#[inline]
pub fn add(blocks: u64, step: u64) -> Option<u64> {
    let mut sum: u64 = 0;
    for _ in 0..blocks {
        sum = block(sum, step)?;
    }
    Some(sum)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn block(mut sum: u64, step: u64) -> Option<u64> {
    // Of two registers, because newer processors do an addition of a constant while they rename registers.
    // SAFETY: changes the named register and the flags alone.
    unsafe {
        std::arch::asm!(".rept 200", "add {sum}, {step}", ".endr", sum = inout(reg) sum, step = in(reg) step,
            options(pure, nomem, nostack));
    }
    Some(sum)
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn block(mut sum: u64, step: u64) -> Option<u64> {
    // SAFETY: changes the named register alone.
    unsafe {
        std::arch::asm!(".rept 200", "add {sum}, {sum}, {step}", ".endr", sum = inout(reg) sum, step = in(reg) step,
            options(pure, nomem, nostack));
    }
    Some(sum)
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline(always)]
fn block(_sum: u64, _step: u64) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_as_many_additions_as_it_says() {
        if let Some(sum) = add(3, 7) {
            assert_eq!(sum, 3 * BLOCK * 7);
        }
    }
}
