//! Which streams of a driver have still to be closed by it, for those that come after a kill.
//!
//! The driver's file in the directory of devices has a word for each minor number: the cookie of the stream that was opened under
//! it, from before its open procedure until after its close procedure; else 0. Only a process that holds the lock of the number
//! writes it. So a process that gets the lock and finds a cookie there knows that the stream's last process has ended
//! without a close, however it ended.

use std::os::fd::AsFd;

use headwater_os::files;

use crate::error::Result;
use crate::limits::MINORS;

/// The stream of that cookie is opened under a number.
///
/// Errors: `ENOSPC` on a full disk.
pub(super) fn note(lock: impl AsFd, minor: u32, cookie: u64) -> Result<()> {
    Ok(files::write_words(lock, minor.into(), &[cookie])?)
}

/// The stream under a number has been closed by its driver.
pub(super) fn clear(lock: impl AsFd, minor: u32) {
    // The word is there. If it stays, the next process that opens the number has the driver close an empty stream.
    let _ = files::write_words(lock, minor.into(), &[0]);
}

/// The stream that is still to be closed under a number; 0: none.
pub(super) fn noted(lock: impl AsFd, minor: u32) -> u64 {
    let mut word = [0];
    // There is no caller to report a read error to.
    let _ = files::read_words(lock, minor.into(), &mut word);
    word[0]
}

/// All numbers under which a stream is still to be closed: those that are open, and those of the dead.
pub(super) fn all(lock: impl AsFd) -> Vec<u32> {
    let mut words = vec![0; MINORS as usize];
    let _ = files::read_words(lock, 0, &mut words);
    (0..MINORS).zip(words).filter(|(_, word)| *word != 0).map(|(minor, _)| minor).collect()
}
