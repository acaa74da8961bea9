//! Starts the library before the program's main function: reads the settings and opens inherited streams. In a program
//! that uses no stream, this makes no system call.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use headwater_os::{environment, fork, own_numbers};

use crate::ddi::load;
use crate::{inherit, linked, stale, table, threads};

/// The settings that the program's environment asks for.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Whether pipe(2) makes a STREAMS pipe.
    pub pipes: bool,
    /// Whether an open of a FIFO's path opens a STREAMS FIFO.
    pub fifos: bool,
    /// Whether an open of a file to which a stream is attached opens the stream.
    pub attached: bool,
}

/// A setting whose default is on in a program that is linked with this library, and off where the library is only
/// preloaded. Which of the two holds is found out at the first use, because finding it out would cost the start of
/// every program.
#[derive(Debug)]
struct IfLinked(AtomicU8);

/// In an [`IfLinked`]: whether the program is linked is not known yet.
const UNKNOWN: u8 = 2;

impl IfLinked {
    fn set(&self, is_on: Option<bool>) {
        self.0.store(is_on.map_or(UNKNOWN, u8::from), Ordering::Relaxed);
    }

    #[inline]
    fn is_on(&self) -> bool {
        match self.0.load(Ordering::Relaxed) {
            UNKNOWN => self.find_out(),
            is_on => is_on != 0,
        }
    }

    #[cold]
    #[inline(never)]
    fn find_out(&self) -> bool {
        let is_on = linked::is_needed();
        self.set(Some(is_on));
        is_on
    }
}

static PIPES: IfLinked = IfLinked(AtomicU8::new(UNKNOWN));
static ATTACHED: IfLinked = IfLinked(AtomicU8::new(UNKNOWN));
static FIFOS: AtomicBool = AtomicBool::new(false);

/// Returns what the program's environment asked for when the program started.
#[inline]
pub fn settings() -> Settings {
    Settings { pipes: PIPES.is_on(), fifos: FIFOS.load(Ordering::Relaxed), attached: ATTACHED.is_on() }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

unsafe extern "C" {
    static environ: *const *const u8;
}

/// Reads the settings when the program starts. A program that asks for nothing touches no page of the library's code
/// but this one: each page that is touched for the first time costs the start of every program some microseconds.
#[unsafe(link_section = ".text.startup")]
extern "C" fn start() {
    let (mut is_asked, mut is_preloaded) = (false, false);
    // SAFETY: the program has one thread yet. `environ` is null or an array of strings that ends with a null pointer.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            is_asked |= !after(*next, b"HEADWATER_").is_null();
            is_preloaded |= has_name(after(*next, b"LD_PRELOAD="));
            next = next.add(1);
        }
    }
    if is_asked {
        return start_as_asked();
    }
    // SAFETY: getauxval takes no pointer, and reads what the kernel has told this process at its start.
    let is_linked = !is_preloaded || unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    PIPES.set(is_linked.then_some(true));
    ATTACHED.set(is_linked.then_some(true));
}

/// Returns what follows `beginning` in a string; null if the string does not begin so.
///
/// # Safety
/// `text` is a string with a NUL.
#[inline(always)]
unsafe fn after(text: *const u8, beginning: &[u8]) -> *const u8 {
    for (at, byte) in beginning.iter().enumerate() {
        // SAFETY: the caller promises a string in `text`, and no byte before this one was its NUL.
        if unsafe { *text.add(at) } != *byte {
            return std::ptr::null();
        }
    }
    // SAFETY: the loop has found `beginning.len()` bytes without a NUL in `text`.
    unsafe { text.add(beginning.len()) }
}

/// Returns whether a string contains the library's name. False if it is null.
///
/// # Safety
/// `text` is null or a string with a NUL.
#[inline(always)]
unsafe fn has_name(mut text: *const u8) -> bool {
    // SAFETY: the caller promises null or a string in `text`, and the loop ends at its NUL.
    unsafe {
        while !text.is_null() && *text != 0 {
            if !after(text, LIBRARY.as_bytes()).is_null() {
                return true;
            }
            text = text.add(1);
        }
    }
    false
}

const LIBRARY: &str = "libheadwater.so";

#[cold]
#[inline(never)]
fn start_as_asked() {
    let asked = |name: &str| environment::trusted(name).map(|value| value != OsStr::new("0"));
    let is_linked = (!is_preloaded()).then_some(true);
    PIPES.set(asked("HEADWATER_PIPE").or(is_linked));
    ATTACHED.set(asked("HEADWATER_ATTACH").or(is_linked));
    FIFOS.store(asked("HEADWATER_FIFO").unwrap_or(false), Ordering::Relaxed);
    inherit::take_up();
}

/// Prepares what the first stream of a process needs. Called before the stream is opened.
#[inline]
pub fn prepare() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Acquire) {
        // Threads that open the first streams at the same time come one after the other, and no thread forks meanwhile.
        fork::held_off(|| {
            static DOING: Mutex<()> = Mutex::new(());
            let _doing = DOING.lock().unwrap_or_else(PoisonError::into_inner);
            if !DONE.load(Ordering::Acquire) {
                threads::prepare();
                load::install();
                // It fails if a module in C has one of the names: then that one is used.
                let _ = headwater_terminals::register();
                headwater_streams::set_sleep_check(stale::check);
                own_numbers::set_floor(floor(), table::mark_own);
                DONE.store(true, Ordering::Release);
            }
        });
    }
}

/// Returns whether the library is preloaded into a program that may not know it. A program that is linked with the
/// library asks for STREAMS pipes by being linked.
fn is_preloaded() -> bool {
    let names = environment::trusted("LD_PRELOAD").unwrap_or_default();
    names.to_string_lossy().contains(LIBRARY)
}

/// Returns the lowest descriptor that the library takes for itself. The program gets the lowest free descriptors, as
/// POSIX says.
fn floor() -> i32 {
    const LEAST: u64 = 64;
    const MOST: u64 = table::FDS_MAX as u64 / 4;
    // SAFETY: zeros are a value of rlimit, and getrlimit writes only to `limit`.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 { limit.rlim_cur } else { 0 }
    };
    // If the limit is small, half of it is left to the program.
    (limit / 4).clamp(LEAST, MOST).min(limit / 2) as i32
}
