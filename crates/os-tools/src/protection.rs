//! A page that may not be written to, and stores to it: each raises a protection fault, for which a SIGSEGV handler runs.
//!
//! The handler returns to the store, which faults again, until the requested number of faults has occurred; then it
//! lets the store through. It is a plain handler, without SA_SIGINFO, so that the kernel fills in no information for
//! it. It knows no other fault: one that comes while none is asked for gets the system's default, and ends the process.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::mm::MprotectFlags;

use crate::mapping::{Memory, page_bytes};

/// A page of this process that is read-only.
#[derive(Debug)]
pub struct ReadOnlyPage {
    page: Memory,
}

/// The address of the page that the handler knows; 0 for none.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// Faults that must still occur before the store is let through. Written by the thread that stores and by its handler.
static WANTED: AtomicU64 = AtomicU64::new(0);

/// Faults that the handler has handled.
static HANDLED: AtomicU64 = AtomicU64::new(0);

impl ReadOnlyPage {
    /// Makes the page and installs the handler, for the whole process and until it ends. A process has one such page.
    ///
    /// # Errors
    /// What `mmap(2)`, `mprotect(2)` and `sigaction(2)` report.
    pub fn new() -> io::Result<ReadOnlyPage> {
        let mut page = Memory::populated(page_bytes())?;
        page.protect(MprotectFlags::READ)?;
        install()?;
        // Relaxed, as everything here: the handler runs in the thread that stores.
        PAGE.store(page.base().as_ptr().expose_provenance(), Ordering::Relaxed);
        Ok(ReadOnlyPage { page })
    }

    /// Stores to the page, which faults `faults` times, and makes it read-only again.
    ///
    /// # Errors
    /// What `mprotect(2)` reports.
    #[inline]
    pub fn store(&mut self, faults: u64) -> io::Result<()> {
        if faults == 0 {
            return Ok(());
        }
        WANTED.store(faults, Ordering::Relaxed);
        // SAFETY: the page is our own, mapped and borrowed mutably; the handler makes it writable. Volatile: the fault is
        // what the store is for.
        unsafe { self.page.base().as_ptr().write_volatile(1) };
        self.page.protect(MprotectFlags::READ)
    }

    /// The faults that were handled so far in this process.
    pub fn handled(&self) -> u64 {
        HANDLED.load(Ordering::Relaxed)
    }
}

impl Drop for ReadOnlyPage {
    fn drop(&mut self) {
        PAGE.store(0, Ordering::Relaxed);
    }
}

fn install() -> io::Result<()> {
    // SAFETY: all zeros is an action: the default, an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as *const () as libc::sighandler_t;
    // SAFETY: the action is initialised and not kept; the handler is safe in a handler, because it takes no lock, allocates
    // nothing and calls only mprotect and signal.
    match unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn handle(signal: libc::c_int) {
    let (wanted, page) = (WANTED.load(Ordering::Relaxed), PAGE.load(Ordering::Relaxed));
    if wanted == 0 || page == 0 {
        // SAFETY: the default for SIGSEGV; the fault comes again and ends the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    HANDLED.store(HANDLED.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    WANTED.store(wanted - 1, Ordering::Relaxed);
    if wanted == 1 {
        let page: *mut libc::c_void = ptr::with_exposed_provenance_mut(page);
        // SAFETY: the page is that of `ReadOnlyPage`, whose only user is the store that faults. Should the call fail, the
        // store faults once more and ends the process.
        unsafe { libc::mprotect(page, page_bytes(), libc::PROT_READ | libc::PROT_WRITE) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use headwater_os::child::Child;

    #[test]
    fn a_store_faults_as_often_as_is_asked_for_and_is_done() {
        let mut child = Child::fork(|| {
            let mut page = ReadOnlyPage::new().expect("a page");
            let handled = [3, 0, 1].map(|faults| {
                page.store(faults).expect("read-only again");
                page.handled()
            });
            i32::from(handled != [3, 3, 4] || page.page.bytes()[..2] != [1, 0])
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn another_fault_ends_the_process() {
        let mut child = Child::fork(|| {
            let page = ReadOnlyPage::new().expect("a page");
            // SAFETY: the store faults, which is what is tested: no fault was asked for.
            unsafe { page.page.base().as_ptr().write_volatile(1) };
            0
        })
        .expect("fork");
        assert_eq!(child.wait().expect("wait").signal(), Some(libc::SIGSEGV));
    }
}
