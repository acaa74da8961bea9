//! The functions by which glibc itself returns memory to the kernel, in `free` and at the end of a thread. A hook in
//! each makes all threads forget what they know of the program's memory, as after the program's own calls of these
//! functions.

use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::patch::{self, Plan};
use crate::known;

/// The addresses of the functions' own code, in the order of [`HOOKS`].
static ORIGINAL: [AtomicPtr<c_void>; 3] = [const { AtomicPtr::new(ptr::null_mut()) }; 3];

const HOOKS: [(&CStr, *const c_void); 3] =
    [(c"munmap", munmap as *const c_void), (c"mprotect", mprotect as *const c_void), (c"brk", brk as *const c_void)];

/// Installs the hooks of the functions whose first instruction is known. Where one is missing, a freed address is not
/// noticed.
pub fn install() {
    // SAFETY: `function` returns null or a function of glibc.
    let plan = |index: usize| Some((index, unsafe { Plan::new(super::hooks::function(HOOKS[index].0)?)? }));
    let (indices, plans): (Vec<usize>, Vec<Plan>) = (0..HOOKS.len()).filter_map(plan).unzip();
    let plans: Vec<(Plan, *const c_void)> =
        plans.into_iter().zip(&indices).map(|(plan, index)| (plan, HOOKS[*index].1)).collect();
    let publish =
        |at: usize, original: *const c_void| ORIGINAL[indices[at]].store(original.cast_mut(), Ordering::Release);
    // SAFETY: each hook has the type of its function, and calls it by the address in ORIGINAL.
    let _ = unsafe { patch::install(&plans, publish) };
}

/// Returns the address of a function's own code, which is stored before its hook can be called.
fn original(index: usize) -> *mut c_void {
    ORIGINAL[index].load(Ordering::Relaxed)
}

unsafe extern "C" fn munmap(address: *mut c_void, len: usize) -> c_int {
    // SAFETY: `original(0)` is glibc's munmap, of this type; the caller promises that it uses `len` bytes at `address`
    // no more.
    let done = unsafe {
        let function: unsafe extern "C" fn(*mut c_void, usize) -> c_int = mem::transmute(original(0));
        function(address, len)
    };
    known::changed();
    done
}

unsafe extern "C" fn mprotect(address: *mut c_void, len: usize, access: c_int) -> c_int {
    // SAFETY: `original(1)` is glibc's mprotect, of this type; the caller promises that `access` suits its use of
    // `address`.
    let done = unsafe {
        let function: unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int = mem::transmute(original(1));
        function(address, len, access)
    };
    // A call that allows writing takes nothing away; by such calls the heap of a thread grows.
    if access & libc::PROT_WRITE == 0 {
        known::changed();
    }
    done
}

unsafe extern "C" fn brk(end: *mut c_void) -> c_int {
    // The heap grows more often than it shrinks, and only shrinking takes memory away.
    static END: AtomicUsize = AtomicUsize::new(usize::MAX);
    // SAFETY: `original(2)` is glibc's brk, of this type; the caller promises that it uses no memory above `end`.
    let done = unsafe {
        let function: unsafe extern "C" fn(*mut c_void) -> c_int = mem::transmute(original(2));
        function(end)
    };
    if END.swap(end.addr(), Ordering::Relaxed) > end.addr() {
        known::changed();
    }
    done
}
