//! A page that may not be written to, and stores to it: each raises a protection fault, whose SIGSEGV handler lets the
//! program go on behind the store.
//!
//! The handler knows only such stores: any other fault gets the system's default, and ends the process.

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

/// Where the page is that the handler knows; 0 for none.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// Faults that it has handled.
static HANDLED: AtomicU64 = AtomicU64::new(0);

impl ReadOnlyPage {
    /// Makes the page and installs the handler, for the whole process and until it ends. A process has one such page.
    ///
    /// # Errors
    /// `Unsupported` on a processor whose stores are not known here; what `mmap(2)`, `mprotect(2)` and `sigaction(2)`
    /// report.
    pub fn new() -> io::Result<ReadOnlyPage> {
        if !machine::IS_KNOWN {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no way past a fault is known for this processor"));
        }
        let mut page = Memory::populated(page_bytes())?;
        page.protect(MprotectFlags::READ)?;
        install()?;
        // Relaxed, as everything here: the handler runs in the thread that stores.
        PAGE.store(page.base().addr().get(), Ordering::Relaxed);
        Ok(ReadOnlyPage { page })
    }

    /// Stores to the page, in vain.
    #[inline]
    pub fn store(&mut self) {
        machine::store(self.page.base().as_ptr());
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
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the action is initialised and not kept; the handler is safe in a handler, because it takes no lock, allocates
    // nothing and leaves errno alone where it goes on.
    match unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: SA_SIGINFO promises a valid siginfo; that of SIGSEGV has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    if address != 0 && address == PAGE.load(Ordering::Relaxed) {
        HANDLED.store(HANDLED.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        // SAFETY: SA_SIGINFO promises a valid context; only `machine::store` touches the page, see there.
        unsafe { machine::go_on(context.cast()) };
    } else {
        // SAFETY: the default for SIGSEGV; the fault comes again and ends the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// A store that tells the handler, by a register, where to go on.
#[cfg(target_arch = "x86_64")]
mod machine {
    pub const IS_KNOWN: bool = true;

    #[inline(always)]
    pub fn store(place: *mut u8) {
        // SAFETY: the store faults and is stepped over by the handler, or writes one byte of a page that nobody else uses;
        // R8 is said to be overwritten.
        unsafe {
            std::arch::asm!("lea r8, [rip + 2f]", "mov byte ptr [{place}], 1", "2:", place = in(reg) place, out("r8") _,
                options(nostack));
        }
    }

    /// # Safety
    /// The context of a fault in [`store`].
    pub unsafe fn go_on(context: *mut libc::ucontext_t) {
        // SAFETY: the caller gives a valid context, and `store` put the address of its own end into R8.
        let registers = unsafe { &mut (*context).uc_mcontext.gregs };
        registers[libc::REG_RIP as usize] = registers[libc::REG_R8 as usize];
    }
}

/// As above.
#[cfg(target_arch = "aarch64")]
mod machine {
    pub const IS_KNOWN: bool = true;

    #[inline(always)]
    pub fn store(place: *mut u8) {
        // SAFETY: the store faults and is stepped over by the handler, or writes one byte of a page that nobody else uses;
        // X8 is said to be overwritten.
        unsafe {
            std::arch::asm!("adr x8, 2f", "strb wzr, [{place}]", "2:", place = in(reg) place, out("x8") _,
                options(nostack));
        }
    }

    /// # Safety
    /// The context of a fault in [`store`].
    pub unsafe fn go_on(context: *mut libc::ucontext_t) {
        // SAFETY: the caller gives a valid context, and `store` put the address of its own end into X8.
        let machine = unsafe { &mut (*context).uc_mcontext };
        machine.pc = machine.regs[8];
    }
}

/// No store is known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    pub const IS_KNOWN: bool = false;

    pub fn store(_place: *mut u8) {}

    pub unsafe fn go_on(_context: *mut libc::ucontext_t) {}
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::child::Child;

    #[test]
    fn a_store_faults_and_the_program_goes_on() {
        let mut child = Child::fork(|| {
            let mut page = ReadOnlyPage::new().expect("known here");
            (0..3).for_each(|_| page.store());
            i32::from(page.handled() != 3 || page.page.words()[0].get() != 0)
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn another_fault_ends_the_process() {
        let mut child = Child::fork(|| {
            let page = ReadOnlyPage::new().expect("known here");
            drop(page);
            // Any address that is not the page's.
            machine::store(ptr::without_provenance_mut(8));
            0
        })
        .expect("fork");
        assert_eq!(child.wait().expect("wait").signal(), Some(libc::SIGSEGV));
    }
}
