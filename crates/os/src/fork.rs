//! Telling a forked child from its parent by one load: a word in a page that the kernel wipes in every child.
//!
//! What a process caches about memory that it shares (who it is, which lock it holds) is copied by fork and then holds
//! in the parent alone. Whoever caches such a thing keeps the [`epoch`] beside it and compares.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

use crate::clock::now_ns;

/// The word; 0 in a child that has not called [`epoch`] yet, or before the first call.
#[derive(Debug, Clone, Copy)]
pub struct Epoch(&'static AtomicU64);

impl Epoch {
    /// Whether the process is still the one in which [`epoch`] returned `seen`.
    #[inline(always)]
    pub fn is(self, seen: u64) -> bool {
        self.0.load(Ordering::Relaxed) == seen
    }
}

/// The word that changes with every fork; mapped at the first call.
pub fn word() -> Epoch {
    static WORD: OnceLock<Epoch> = OnceLock::new();
    *WORD.get_or_init(|| Epoch(map()))
}

/// This process's number: never 0, the same for all its life, another in every child and after exec.
pub fn epoch() -> u64 {
    let word = word().0;
    match word.load(Ordering::Relaxed) {
        0 => {
            // Relaxed: a number, nothing is published with it. Two threads agree by the exchange.
            let fresh = now_ns() << 22 | u64::from(std::process::id());
            word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|set| set, |_| fresh)
        }
        set => set,
    }
}

/// Has `reset` called in every child of fork(3) from now on, by the one thread that it has. `reset` does what a signal
/// handler may. Children of a bare clone(2) are not told.
///
/// # Errors
/// `OutOfMemory`.
pub fn in_children(reset: extern "C" fn()) -> std::io::Result<()> {
    // SAFETY: `reset` takes nothing, and code of a program is never unloaded before its handlers are.
    match unsafe {
        libc::pthread_atfork(None, None, Some(std::mem::transmute::<extern "C" fn(), unsafe extern "C" fn()>(reset)))
    } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code)),
    }
}

fn map() -> &'static AtomicU64 {
    // SAFETY: a fresh anonymous mapping aliases nothing, is zeroed, aligned to a page, and never unmapped, so a static
    // reference to an atomic in it is good for ever. The advice concerns that page alone.
    unsafe {
        let page = mmap_anonymous(
            ptr::null_mut(),
            size_of::<AtomicU64>(),
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
        .expect("a process without room for one page cannot go on");
        madvise(page, 4096, Advice::LinuxWipeOnFork).expect("Linux wipes private pages on fork since 4.14");
        &*page.cast::<AtomicU64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Child;

    #[test]
    fn a_child_has_an_epoch_of_its_own() {
        let here = epoch();
        assert!(here != 0 && here == epoch() && word().is(here));
        // The body allocates nothing and takes no lock, so other threads of the test do not matter.
        let mut child = Child::fork(|| i32::from(word().is(here) || epoch() == here)).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(word().is(here));
    }
}
