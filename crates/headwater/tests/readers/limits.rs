//! The limits of a case: how much memory it has at one time, and how long it takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The most memory of a case. Its input has at most 1 MiB.
const MEMORY_MAX: usize = 512 << 20;
/// No case takes as long, also on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The system's allocator, which counts.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is the system's; counting has no effect on it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

/// The case that is running: when it has begun, ms, and what it is.
static BEGUN_MS: AtomicU64 = AtomicU64::new(u64::MAX);
static DOING: Mutex<String> = Mutex::new(String::new());

/// Runs a case. It ends the program if it takes too long, and panics if it takes too much memory.
pub fn limited<T>(doing: impl Fn() -> String, case: impl FnOnce() -> T) -> T {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    static WATCH: std::sync::Once = std::sync::Once::new();
    let now_ms = || START.elapsed().as_millis() as u64;
    WATCH.call_once(|| {
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                if now_ms().saturating_sub(BEGUN_MS.load(Ordering::Relaxed)) > TIME_MAX.as_millis() as u64 {
                    eprintln!("HANG: {}", DOING.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
                    std::process::abort();
                }
            }
        });
    });
    *DOING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = doing();
    BEGUN_MS.store(now_ms(), Ordering::Relaxed);
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let done = case();
    BEGUN_MS.store(u64::MAX, Ordering::Relaxed);
    let most = MOST.load(Ordering::Relaxed).saturating_sub(before);
    assert!(most <= MEMORY_MAX, "{}: {most} bytes of memory", doing());
    done
}
