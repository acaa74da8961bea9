//! Mappings of files that another process truncates: an access behind the new end raises SIGBUS, which would end this process.
//! The handler here puts a page of zeros there, so that a reader that checks what it reads finds it damaged. Called by the tracer's
//! commands, whose memory every traced program may truncate.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::mapping::page_bytes;

static HAS_HAPPENED: AtomicBool = AtomicBool::new(false);

/// From now on SIGBUS does not end this process if it comes from the access to a mapping behind the end of its file.
///
/// # Errors
/// What sigaction(2) reports.
pub fn survive() -> io::Result<()> {
    // The handler must not be the first to ask for it.
    page_bytes();
    // SAFETY: all zeros is an action: the default, an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the action is initialised and not kept; the handler takes no lock, allocates nothing and calls only mmap and
    // signal.
    match unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the handler has put zeros in the place of a page.
pub fn has_happened() -> bool {
    HAS_HAPPENED.load(Ordering::Relaxed)
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid structure, which has an address for this signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
    let page = address.map_addr(|address| address & !(page_bytes() - 1));
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the access that has raised the signal was to this page, so it is mapped, and behind the end of its file: no value
    // that the program relies on is replaced. Errors leave the mapping as it is.
    let is_replaced = code == libc::BUS_ADRERR
        && unsafe { libc::mmap(page, page_bytes(), protection, flags, -1, 0) } != libc::MAP_FAILED;
    if is_replaced {
        HAS_HAPPENED.store(true, Ordering::Relaxed);
    } else {
        // SAFETY: the default for SIGBUS; the access is repeated and ends the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use headwater_os::child::Child;
    use headwater_os::memory::SharedMemory;

    use super::*;

    /// Reads and writes every page of a mapping whose file was truncated; returns the sum of the bytes read.
    fn touch_all(path: &std::path::Path) -> u8 {
        const LEN: usize = 1 << 20;
        let memory = SharedMemory::create_file(path, LEN).expect("a file");
        let at = |offset: usize| memory.bytes(offset, 1).expect("inside").as_ptr();
        // SAFETY: inside the mapping.
        unsafe { at(0).write_volatile(1) };
        std::fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0)).expect("truncated");
        let mut sum = 0;
        for offset in (0..LEN).step_by(page_bytes()) {
            // SAFETY: inside the mapping; behind the end of the file, which is what is tested.
            unsafe {
                sum += at(offset).read_volatile();
                at(offset).write_volatile(1);
            }
        }
        sum
    }

    #[test]
    fn a_truncated_mapping_reads_as_zeros_and_is_noticed() {
        let path = std::env::temp_dir().join(format!("headwater-bus-error-{}", std::process::id()));
        let mut child = Child::fork(|| {
            survive().expect("SIGBUS can be handled");
            i32::from(has_happened() || touch_all(&path) != 0 || !has_happened())
        })
        .expect("fork");
        let ended = child.wait().expect("wait");
        std::fs::remove_file(&path).expect("it is there");
        assert!(ended.success(), "{ended}");
        // Without the handler the process is ended.
        let mut child = Child::fork(|| i32::from(touch_all(&path))).expect("fork");
        let ended = child.wait().expect("wait");
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(ended.signal(), Some(libc::SIGBUS));
    }

    #[test]
    fn a_signal_that_another_process_sends_ends_the_process() {
        let mut child = Child::fork(|| {
            survive().expect("SIGBUS can be handled");
            // SAFETY: it signals this process alone.
            unsafe { libc::raise(libc::SIGBUS) };
            // SAFETY: the second one gets the default.
            unsafe { libc::raise(libc::SIGBUS) };
            0
        })
        .expect("fork");
        assert_eq!(child.wait().expect("wait").signal(), Some(libc::SIGBUS));
    }
}
