//! The call stack of the calling thread: its return addresses, found by frame pointers, or a copy of the stack, from which they
//! are found later. And the executable mappings that contain the addresses.
//!
//! For the tracer, also in signal handlers: nothing here allocates or takes a lock. A program has frame pointers if it was
//! compiled with them (`-C force-frame-pointers=yes`, `-fno-omit-frame-pointer`). Otherwise the register may have any value, so
//! each address is checked to be in the thread's stack before it is read. On x86-64 only; on other processors there are no frames.

mod identity;
mod maps;

pub use identity::{BUILD_ID_MAX, Identity};
use maps::{Mapping, each_mapping};

/// An executable mapping of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// The address at which the beginning of the file is mapped, or would be.
    pub base: u64,
    /// The first executable address.
    pub start: u64,
    /// The address after the last executable one.
    pub end: u64,
    /// The inode of the file; 0 without a file.
    pub inode: u64,
    /// The path of the file, or a name such as `[vdso]`.
    pub path: &'a [u8],
}

/// Calls `visit` for each executable mapping that has a name. May be called in a signal handler.
pub fn modules(mut visit: impl FnMut(Module<'_>)) {
    // The mapping of a file's beginning comes before its other mappings.
    let (mut base, mut name, mut len, mut end) = (0, [0; 256], 0, 0);
    each_mapping(|mapping| {
        let cut = &mapping.path[..mapping.path.len().min(name.len())];
        let is_next = *cut == name[..len] && mapping.start == end;
        // The code of a small program may be in the first page of the file too. Then a second mapping has the offset 0.
        if *cut != name[..len] || mapping.offset == 0 && !(is_next && mapping.is_executable) {
            base = mapping.start.wrapping_sub(mapping.offset);
            name[..cut.len()].copy_from_slice(cut);
            len = cut.len();
        }
        end = mapping.end;
        if mapping.is_executable && !mapping.path.is_empty() {
            let Mapping { start, end, inode, path, .. } = mapping;
            visit(Module { base, start, end, inode, path });
        }
        true
    });
}

/// The registers of a function from which its callers are found: instruction pointer, stack pointer and frame pointer.
#[derive(Debug, Clone, Copy)]
pub struct Registers(pub [u64; COPY_HEAD]);

/// The number of words that [`copy`] stores before those of the stack: the [`Registers`].
pub const COPY_HEAD: usize = 3;

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use walk::{copy, frames, is_own, registers, registers_of_caller};

/// Returns 0: there are no frames on this processor.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn frames(_into: &mut [u64], _from: u64) -> usize {
    0
}

/// Returns zeros: the registers are not read on this processor.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn registers() -> Registers {
    Registers([0; COPY_HEAD])
}

/// Returns false: the stack is not known on this processor.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn is_own() -> bool {
    false
}

/// Returns `None`: the registers are not read on this processor.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn registers_of_caller(_frame: u64) -> Option<Registers> {
    None
}

/// Stores zeros and returns 0: the stack is not known on this processor.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub fn copy(into: &mut [u64], _from: &Registers) -> usize {
    into.fill(0);
    0
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod walk {
    use std::arch::asm;
    use std::cell::Cell;
    use std::ops::Range;

    use super::{COPY_HEAD, Registers, each_mapping};

    /// The number of bytes below the top of the main thread's stack in which there is no other mapping. Linux keeps a gap of at
    /// least 128 MiB.
    const MAIN_BYTES: u64 = 64 << 20;

    thread_local! {
        /// The lowest address and the top of this thread's stack; (0, 0) if they are not known yet.
        static STACK: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
        /// The number of failed attempts to find the stack. They fail if the thread runs on a stack that it has made itself.
        static FAILED: Cell<u8> = const { Cell::new(0) };
    }

    /// The number of failed attempts after which a thread has no frames.
    const ATTEMPTS: u8 = 3;

    /// Stores the return addresses of the calling thread, beginning with the newest, and returns their number. It is 0 if the
    /// thread does not run on its own stack, but on that of sigaltstack(2) or of a coroutine. `from` is the frame pointer of the
    /// function to begin with, which may be a caller whose callees have no frame pointers. 0 means this function.
    #[inline(never)]
    pub fn frames(into: &mut [u64], from: u64) -> usize {
        let Registers([_, stack_pointer, own]) = registers();
        let Some(top) = top(stack_pointer, thread()) else { return 0 };
        let mut frame = if from == 0 { own } else { from };
        let (mut lowest, mut count) = (stack_pointer, 0);
        for place in into {
            // SAFETY: `lowest` is the stack pointer or above it, and `top` is the top of the thread's stack.
            let Some([next, address]) = (unsafe { caller(frame, lowest..top) }).filter(|[_, address]| *address >= 4096)
            else {
                break;
            };
            *place = address;
            count += 1;
            // The stack grows downwards, so the frame of a caller is above.
            (lowest, frame) = (frame + 16, next);
        }
        count
    }

    /// Returns the registers of the calling function, into which this one is always inlined.
    #[inline(always)]
    pub fn registers() -> Registers {
        let (address, stack_pointer, frame_pointer): (u64, u64, u64);
        // SAFETY: reads three registers.
        unsafe {
            asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) address, out(reg) stack_pointer,
                out(reg) frame_pointer, options(nostack, nomem, preserves_flags));
        }
        Registers([address, stack_pointer, frame_pointer])
    }

    /// Returns the caller's frame pointer and the return address that a frame contains; `None` if the frame is not `within`.
    ///
    /// # Safety
    /// `within` must be between the stack pointer and the top of the calling thread's stack, which is mapped as long as the thread
    /// runs.
    unsafe fn caller(frame: u64, within: Range<u64>) -> Option<[u64; 2]> {
        let is_in = frame >= within.start && frame <= within.end - 16 && frame.is_multiple_of(8);
        // SAFETY: the frame has 16 bytes within that memory, by the contract.
        is_in.then(|| unsafe { *(frame as *const [u64; 2]) })
    }

    /// Returns whether the thread runs on its own stack, and not on that of sigaltstack(2), which may be small, or of a coroutine.
    pub fn is_own() -> bool {
        let Registers([_, stack_pointer, _]) = registers();
        top(stack_pointer, thread()).is_some()
    }

    /// Returns the registers of the caller of a function that has not returned. `frame` is the function's frame pointer. Returns
    /// `None` if it is not in the thread's own stack; 0 is not.
    pub fn registers_of_caller(frame: u64) -> Option<Registers> {
        let Registers([_, stack_pointer, _]) = registers();
        let top = top(stack_pointer, thread())?;
        // SAFETY: from the stack pointer to the top of the same stack.
        let [next, address] = unsafe { caller(frame, stack_pointer..top) }?;
        Some(Registers([address, frame + 16, next]))
    }

    /// Copies the stack of the calling thread. Stores `from`, the registers of a function that has not returned, and then the
    /// words of the stack from its stack pointer upwards, as many as exist and as have room. The rest of `into` is 0. Returns the
    /// number of words of the stack. If the thread does not run on its own stack, it is 0, and so is all of `into`.
    #[inline(never)]
    pub fn copy(into: &mut [u64], from: &Registers) -> usize {
        into.fill(0);
        let (thread, [_, stack_pointer, _]) = (thread(), from.0);
        let Some((head, words)) = into.split_at_mut_checked(COPY_HEAD) else { return 0 };
        let Some(top) = top(stack_pointer, thread).filter(|_| stack_pointer.is_multiple_of(8)) else { return 0 };
        head.copy_from_slice(&from.0);
        let count = words.len().min(((top - stack_pointer) / 8) as usize);
        // SAFETY: the words are between the stack pointer of a function that has not returned and the top of the thread's stack.
        // `into` is in the frame of a callee of that function, or outside of the stack. The words may have any value, and the
        // compiler does not see the copy.
        unsafe {
            asm!("rep movsq", inout("rcx") count => _, inout("rsi") stack_pointer => _,
                inout("rdi") words.as_mut_ptr() => _, options(nostack, preserves_flags));
        }
        count
    }

    /// Returns the address of the calling thread's thread control block, which the ABI stores at fs:0.
    #[inline(always)]
    fn thread() -> u64 {
        let thread: u64;
        // SAFETY: reads a word that every thread has.
        unsafe { asm!("mov {0}, fs:[0]", out(reg) thread, options(nostack, readonly, preserves_flags)) };
        thread
    }

    /// Returns the top of this thread's stack; `None` if the stack pointer is not in it.
    fn top(stack_pointer: u64, thread: u64) -> Option<u64> {
        let (lowest, top) = STACK.get();
        if (lowest..top).contains(&stack_pointer) {
            return Some(top);
        }
        if top > 0 || FAILED.get() >= ATTEMPTS {
            return None;
        }
        // SAFETY: returns a number: the address of 16 bytes that the kernel has stored above the main thread's frames.
        let above_main = unsafe { libc::getauxval(libc::AT_RANDOM) };
        let mut found = None;
        each_mapping(|mapping| {
            let range = mapping.start..mapping.end;
            if !range.contains(&stack_pointer) {
                return true;
            }
            // The C library places the thread control block above the thread's stack, in the same mapping.
            found = match () {
                () if range.contains(&above_main) => Some((above_main - MAIN_BYTES, above_main)),
                () if range.contains(&thread) && thread > stack_pointer => Some((mapping.start, thread)),
                () => None,
            };
            false
        });
        let Some((lowest, top)) = found.filter(|(_, top)| *top > stack_pointer) else {
            FAILED.set(FAILED.get() + 1);
            return None;
        };
        STACK.set((lowest, top));
        Some(top)
    }
}

#[cfg(test)]
mod tests;
