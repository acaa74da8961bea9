//! Replaces the first instruction of a function by a jump, in a process whose other threads may be running the
//! function.
//!
//! The instruction is at least as long as the jump, and one store within a cache line stores the whole jump. So a
//! thread executes either the old instruction or the jump. A thread that has executed the old instruction continues
//! behind it, where nothing has changed.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::own;

const PAGE: usize = 4096;
/// `jmp rel32`.
const JUMP: usize = 5;
/// `jmp [rip + 0]`; the address follows it.
const FAR_JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// `endbr64`, which stays in front of the jump.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// The size in bytes of one function's stub in the page of stubs.
const STUB: usize = 64;

/// The first instruction of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// `mov eax, imm32`, or `mov eax, fs:imm32`, with its length. It may be moved without a change.
    Anywhere(usize),
    /// `cmp byte ptr [rip + disp32], imm8`. If it is moved, the distance to its operand must be changed.
    Relative,
}

impl First {
    fn len(self) -> usize {
        match self {
            First::Anywhere(len) => len,
            First::Relative => 7,
        }
    }

    /// Recognises the instruction at the start of `code`. Returns `None` for any other than those above.
    fn decode(code: &[u8]) -> Option<First> {
        match code {
            [0xb8, ..] => Some(First::Anywhere(5)),
            [0x64, 0x8b, 0x04, 0x25, ..] => Some(First::Anywhere(8)),
            [0x80, 0x3d, ..] => Some(First::Relative),
            _ => None,
        }
    }
}

/// A function to be replaced.
#[derive(Debug)]
pub struct Plan {
    at: *mut u8,
    first: First,
}

impl Plan {
    /// Checks that the function can be replaced. Returns `None` if its first instruction is not a known one.
    ///
    /// # Safety
    /// `function` is null or the address of a function of the C library.
    pub unsafe fn new(function: *mut c_void) -> Option<Plan> {
        let mut at = function.cast::<u8>();
        if at.is_null() || !at.addr().is_multiple_of(16) {
            return None;
        }
        // SAFETY: the caller promises a function of the C library in `function`, whose text is readable; none is
        // shorter than 16 bytes.
        let code = unsafe { std::slice::from_raw_parts(at, 16) };
        let skipped = if code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
        at = at.wrapping_add(skipped);
        Some(Plan { at, first: First::decode(&code[skipped..])? })
    }
}

/// Makes each function jump to its hook. Before the first jump is stored, `publish` is called for each function with
/// its index and the address by which the hook calls the original code. Returns `None` if the kernel refuses; the
/// functions that were changed before then still work.
///
/// # Safety
/// Each hook has the type of its function, and calls the original by the address that `publish` was told.
pub unsafe fn install(plans: &[(Plan, *const c_void)], publish: impl Fn(usize, *const c_void)) -> Option<()> {
    let stubs = near(plans.first()?.0.at)?;
    for (index, (plan, hook)) in plans.iter().enumerate() {
        let stub = stubs.wrapping_add(index * STUB);
        // SAFETY: the stub lies in our page, which is writable and is not executed yet.
        unsafe { write_stub(stub, plan, *hook)? };
        publish(index, stub.wrapping_add(FAR_JUMP.len() + 8).cast_const().cast());
    }
    // SAFETY: the page is our own mapping.
    if unsafe { own::hw_own_mprotect(stubs.cast(), PAGE, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
        return None;
    }
    for (index, (plan, _)) in plans.iter().enumerate() {
        // SAFETY: `plan` is a function of the C library, and its stub is complete and within reach.
        unsafe { store_jump(plan, stubs.wrapping_add(index * STUB))? };
    }
    Some(())
}

/// Maps a page within reach of a `jmp rel32` from `at`.
fn near(at: *mut u8) -> Option<*mut u8> {
    const STEP: usize = 1 << 20;
    let base = at.addr() & !(PAGE - 1);
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    (1..1024).flat_map(|step| [base.checked_sub(step * STEP), base.checked_add(step * STEP)]).flatten().find_map(
        |place| {
            // SAFETY: MAP_FIXED_NOREPLACE makes a new mapping only where there is none.
            let page = unsafe {
                own::hw_own_mmap(place as *mut c_void, PAGE, libc::PROT_READ | libc::PROT_WRITE, kind, -1, 0)
            };
            (page.addr() == place).then_some(page.cast())
        },
    )
}

/// Writes a stub: the jump to the hook, and behind it the moved first instruction and a jump to the second one.
///
/// # Safety
/// `stub` points at [`STUB`] writable bytes.
unsafe fn write_stub(stub: *mut u8, plan: &Plan, hook: *const c_void) -> Option<()> {
    let len = plan.first.len();
    let mut code = FAR_JUMP.to_vec();
    code.extend((hook.addr() as u64).to_ne_bytes());
    let moved = stub.wrapping_add(code.len());
    // SAFETY: `plan` is a function of the C library, whose first instruction has `len` bytes.
    let first = unsafe { std::slice::from_raw_parts(plan.at, len) };
    match plan.first {
        First::Anywhere(_) => code.extend(first),
        First::Relative => {
            let [a, b, c, d] = [first[2], first[3], first[4], first[5]];
            let operand = plan.at.addr() as i64 + len as i64 + i64::from(i32::from_le_bytes([a, b, c, d]));
            let distance = i32::try_from(operand - (moved.addr() as i64 + len as i64)).ok()?;
            code.extend(&first[..2]);
            code.extend(distance.to_le_bytes());
            code.push(first[6]);
        }
    }
    code.extend(FAR_JUMP);
    code.extend((plan.at.addr() as u64 + len as u64).to_ne_bytes());
    debug_assert!(code.len() <= STUB);
    // SAFETY: the caller promises `STUB` writable bytes at `stub`, and the code is not longer.
    unsafe { ptr::copy_nonoverlapping(code.as_ptr(), stub, code.len()) };
    Some(())
}

/// # Safety
/// The plan's function is one of the C library, and the stub is ready.
unsafe fn store_jump(plan: &Plan, stub: *mut u8) -> Option<()> {
    let distance = i32::try_from(stub.addr() as i64 - (plan.at.addr() as i64 + JUMP as i64)).ok()?;
    let mut code = [0; 8];
    // SAFETY: the caller promises a function of the C library in `plan`; its text is readable.
    code.copy_from_slice(unsafe { std::slice::from_raw_parts(plan.at, 8) });
    code[0] = 0xe9;
    code[1..JUMP].copy_from_slice(&distance.to_le_bytes());
    let page = (plan.at.addr() & !(PAGE - 1)) as *mut c_void;
    // A function's first 12 bytes lie in one page, because functions are aligned to 16.
    // SAFETY: the page stays readable and executable for other threads throughout, and the caller promises that `stub`
    // is ready.
    unsafe {
        if own::hw_own_mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) != 0 {
            return None;
        }
        if plan.at.addr().is_multiple_of(8) {
            AtomicU64::from_ptr(plan.at.cast()).store(u64::from_ne_bytes(code), Ordering::SeqCst);
        } else {
            // The store lies within a cache line, because the function is aligned to 16: x86-64 makes it at once.
            plan.at.cast::<u64>().write_unaligned(u64::from_ne_bytes(code));
        }
        own::hw_own_mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC);
    }
    // Other CPUs must drop what they have fetched of the old text.
    const SYNC_CORE: libc::c_int = 1 << 5;
    const REGISTER: libc::c_int = 1 << 6;
    for command in [REGISTER, SYNC_CORE] {
        // SAFETY: membarrier takes no pointer.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_instructions_are_replaced() {
        assert_eq!(First::decode(&[0xb8, 1, 0, 0, 0]), Some(First::Anywhere(5)));
        assert_eq!(First::decode(&[0x80, 0x3d, 1, 2, 3, 4, 0]), Some(First::Relative));
        assert_eq!(First::decode(&[0x64, 0x8b, 0x04, 0x25, 0x18, 0, 0, 0]), Some(First::Anywhere(8)));
        for other in [&[0x55u8, 0x48, 0x89, 0xe5][..], &[0x31, 0xc0], &[0xe9, 1, 2, 3, 4], &[]] {
            assert_eq!(First::decode(other), None, "{other:x?}");
        }
    }
}
