//! What happens before the program's main function: settings are read, and inherited streams are taken up. Nothing is opened,
//! and nothing is read from a file.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_os::{environment, own_numbers};

use crate::{inherit, table, threads};

/// What the program's environment asks for.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// pipe(2) makes a STREAMS pipe.
    pub pipes: bool,
    /// An open of a FIFO's path opens a STREAMS FIFO.
    pub fifos: bool,
}

static PIPES: AtomicBool = AtomicBool::new(false);
static FIFOS: AtomicBool = AtomicBool::new(false);

/// What was read when the program started.
#[inline]
pub fn settings() -> Settings {
    Settings { pipes: PIPES.load(Ordering::Relaxed), fifos: FIFOS.load(Ordering::Relaxed) }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    threads::prepare();
    own_numbers::set_floor(floor(), table::mark_own);
    let asked = |name: &str| environment::trusted(name).map(|value| value != OsStr::new("0"));
    PIPES.store(asked("HEADWATER_PIPE").unwrap_or_else(|| !is_preloaded()), Ordering::Relaxed);
    FIFOS.store(asked("HEADWATER_FIFO").unwrap_or(false), Ordering::Relaxed);
    inherit::take_up();
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
    (limit / 4).clamp(LEAST, MOST) as i32
}
