//! Submitting log messages from code that has no stream open: modules, drivers, programs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::clock::now_ns;
use headwater_os::set_once::SetOnce;

use crate::drivers::log::loggers::{Loggers, open_file};
use crate::drivers::log::{LogControl, LogFlags};
use crate::error::Result;
use crate::open::device::DeviceOptions;

/// How long [`strlog`] waits before it looks for the directory again, ns, if it could not be opened.
const RETRY_NS: u64 = 1_000_000_000;

/// Submits a message to the loggers of the usual directory of devices (see [`DeviceOptions::directory`]). `mid` is the number of
/// the module or driver that calls, `sid` a number within it, and a trace logger may ask for messages up to a `level`. Modules,
/// drivers and other code call it. Returns false if a logger that asks for the message did not get it, or if the directory cannot
/// be used. It never waits for another process.
///
/// Without a logger for these flags it costs one look at shared memory, and `text` is not formatted. With one, the message costs a few
/// system calls for each logger that gets it. Text beyond [`TEXT_MAX`](crate::drivers::log::TEXT_MAX) bytes is cut. The first call
/// opens the directory, and makes it if it is not there.
///
/// It must not be called by a signal handler.
///
/// ```
/// use headwater_streams::drivers::log::LogFlags;
/// use headwater_streams::strlog;
///
/// # let path = std::env::temp_dir().join(format!("headwater-strlog-{}", std::process::id()));
/// # // SAFETY: the only thread.
/// # unsafe { std::env::set_var("HEADWATER_RUNTIME_DIR", &path) };
/// let queued = 17;
/// // No logger asks for it, so every one that does has got it.
/// assert!(strlog(42, 0, 3, LogFlags::TRACE, format_args!("{queued} messages are queued")));
/// # std::fs::remove_dir_all(path).ok();
/// ```
///
/// # Source
/// SVR4 DDI/DKI, strlog; log(7). There the text is a format string, and its arguments follow it.
///
/// [`DeviceOptions::directory`]: crate::DeviceOptions::directory
#[inline]
pub fn strlog(mid: i16, sid: i16, level: i8, flags: LogFlags, text: impl fmt::Display) -> bool {
    static USUAL: SetOnce<LogSubmitter> = SetOnce::new();
    match USUAL.get().or_else(|| find_usual(&USUAL)) {
        Some(submitter) => submitter.submit(mid, sid, level, flags, text),
        None => false,
    }
}

#[cold]
fn find_usual(usual: &SetOnce<LogSubmitter>) -> Option<&'static LogSubmitter> {
    static RETRY_AT_NS: AtomicU64 = AtomicU64::new(0);
    if now_ns() < RETRY_AT_NS.load(Ordering::Relaxed) {
        return None;
    }
    match LogSubmitter::open(&DeviceOptions::new()) {
        Ok(found) => Some(usual.set(found)),
        Err(_) => {
            RETRY_AT_NS.store(now_ns() + RETRY_NS, Ordering::Relaxed);
            None
        }
    }
}

/// Submits log messages in a directory of devices.
///
/// ```
/// use headwater_streams::drivers::log::{ERRLOG, LogControl, LogFlags};
/// use headwater_streams::{DeviceOptions, IoctlTimeout, LogSubmitter};
///
/// # let path = std::env::temp_dir().join(format!("headwater-log-{}", std::process::id()));
/// let options = DeviceOptions::new().directory(&path);
/// let logger = options.open("log")?;
/// logger.ioctl(ERRLOG, &mut Vec::new(), IoctlTimeout::Usual)?;
///
/// let submitter = LogSubmitter::open(&options)?;
/// assert!(submitter.submit(42, 0, 0, LogFlags::ERROR, "the disk is full"));
///
/// let message = logger.receive()?.expect("one was sent");
/// let control = LogControl::of(message.control().expect("an M_PROTO")).expect("a log_ctl");
/// assert_eq!((control.mid(), control.seq_no(), message.data()), (42, 1, Some(&b"the disk is full"[..])));
/// # std::fs::remove_dir_all(path).ok();
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug)]
pub struct LogSubmitter {
    loggers: Loggers,
}

impl LogSubmitter {
    /// For the loggers of the directory that the options name. It takes two descriptors.
    ///
    /// # Errors
    /// `EACCES` for a directory that others than this user may use; `EPROTO` if another version of the library has used it;
    /// what mkdir(2), open(2) and mmap(2) report.
    pub fn open(options: &DeviceOptions) -> Result<LogSubmitter> {
        let directory = options.open_directory()?;
        let file = open_file(&directory)?;
        Ok(LogSubmitter { loggers: Loggers::of(directory, file)? })
    }

    /// As [`strlog`].
    #[doc(alias = "strlog")]
    #[inline]
    pub fn submit(&self, mid: i16, sid: i16, level: i8, flags: LogFlags, text: impl fmt::Display) -> bool {
        if !self.loggers.has_any(flags) {
            return true;
        }
        let control = LogControl::new(level, flags).with_priority(flags.priority()).of_module(mid, sid);
        self.loggers.submit(None, control, format_args!("{text}"))
    }
}
