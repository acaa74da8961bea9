//! Points at which a test kills a process, to check the state that it leaves behind.
//!
//! There is a call of [`at`] between any two stores that other processes see. It compiles to nothing. With the feature `probes` a
//! test can arm it: then the process kills itself (SIGKILL) at the Nth probe that it reaches. Each process has its own count; a
//! child is armed after the fork.

#[cfg(feature = "probes")]
pub use self::armed::{arm, at, passed};

/// A probe between two stores. Does nothing without the feature `probes`.
#[cfg(not(feature = "probes"))]
#[inline(always)]
pub fn at() {}

#[cfg(feature = "probes")]
mod armed {
    use std::fs::File;
    use std::io::Write;
    use std::panic::Location;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The number of probes that the process passes before it kills itself.
    static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);
    static PASSED: AtomicU64 = AtomicU64::new(0);
    static REPORT: OnceLock<File> = OnceLock::new();

    /// Makes this process kill itself after it has passed this many probes. It then writes the place of the probe to `report`, and
    /// a backtrace to standard error if `HEADWATER_LOUD` is set.
    pub fn arm(places: u64, report: Option<File>) {
        if let Some(report) = report {
            let _ = REPORT.set(report);
        }
        PASSED.store(0, Ordering::Relaxed);
        LEFT.store(places, Ordering::Relaxed);
    }

    /// Returns the number of probes that this process has passed since it was armed.
    pub fn passed() -> u64 {
        PASSED.load(Ordering::Relaxed)
    }

    /// A probe between two stores.
    #[track_caller]
    #[inline]
    pub fn at() {
        if LEFT.load(Ordering::Relaxed) != u64::MAX {
            count(Location::caller());
        }
    }

    #[cold]
    fn count(place: &Location<'_>) {
        PASSED.fetch_add(1, Ordering::Relaxed);
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            if std::env::var_os("HEADWATER_LOUD").is_some() {
                eprintln!("killed at {place}: {}", std::backtrace::Backtrace::force_capture());
            }
            if let Some(mut report) = REPORT.get() {
                let _ = report.write_all(format!("{}:{}\n", place.file(), place.line()).as_bytes());
            }
            headwater_os::child::kill_self();
        }
    }
}
