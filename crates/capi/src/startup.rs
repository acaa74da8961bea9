//! What happens before the program's main function: settings are read, and inherited streams are taken up. A program that uses no
//! stream makes no system call for it.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use headwater_os::{environment, fork, own_numbers};

use crate::{inherit, linked, table, threads};

/// What the program's environment asks for.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// pipe(2) makes a STREAMS pipe.
    pub pipes: bool,
    /// An open of a FIFO's path opens a STREAMS FIFO.
    pub fifos: bool,
    /// An open of a file to which a stream is attached opens the stream.
    pub attached: bool,
}

static PIPES: AtomicBool = AtomicBool::new(false);
static FIFOS: AtomicBool = AtomicBool::new(false);
static ATTACHED: AtomicBool = AtomicBool::new(false);

/// What was read when the program started.
#[inline]
pub fn settings() -> Settings {
    Settings {
        pipes: PIPES.load(Ordering::Relaxed),
        fifos: FIFOS.load(Ordering::Relaxed),
        attached: ATTACHED.load(Ordering::Relaxed),
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let asked = |name: &str| environment::trusted(name).map(|value| value != OsStr::new("0"));
    let is_linked = !is_preloaded() || linked::is_needed();
    PIPES.store(asked("HEADWATER_PIPE").unwrap_or(is_linked), Ordering::Relaxed);
    ATTACHED.store(asked("HEADWATER_ATTACH").unwrap_or(is_linked), Ordering::Relaxed);
    FIFOS.store(asked("HEADWATER_FIFO").unwrap_or(false), Ordering::Relaxed);
    inherit::take_up();
}

/// What the first stream of a process needs; before it is opened.
#[inline]
pub fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Acquire) {
        // Threads that open the first streams at the same time come one after the other, and none forks meanwhile.
        fork::held_off(|| {
            static DOING: Mutex<()> = Mutex::new(());
            let _doing = DOING.lock().unwrap_or_else(PoisonError::into_inner);
            if !DONE.load(Ordering::Acquire) {
                threads::prepare();
                own_numbers::set_floor(floor(), table::mark_own);
                DONE.store(true, Ordering::Release);
            }
        });
    }
}

/// Whether the library was put before a program that may not know it: a program that is linked with it asks for STREAMS pipes by
/// that.
fn is_preloaded() -> bool {
    let names = environment::trusted("LD_PRELOAD").unwrap_or_default();
    names.to_string_lossy().contains("libheadwater.so")
}

/// The lowest number of the library's own descriptors: the program gets the lowest numbers, as POSIX says.
fn floor() -> i32 {
    const LEAST: u64 = 64;
    const MOST: u64 = table::NUMBERS as u64 / 4;
    // SAFETY: zeros are a value of the type, which the call fills in.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 { limit.rlim_cur } else { 0 }
    };
    // With a small limit half of it is left to the program.
    (limit / 4).clamp(LEAST, MOST).min(limit / 2) as i32
}
