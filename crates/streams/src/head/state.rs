//! The calls that an end still allows after a hang-up or an error: the table of the stream head, in one place.

use std::sync::atomic::Ordering;

use super::options::ErrorOptions;
use crate::error::{Errno, Error, Result, Text, fixed};
use crate::layout::EndWords;
pub(crate) use crate::process::end_state::{HUNG_UP, LINKED, READ_ERROR, WRITE_ERROR};

/// What a call on such an end fails with.
#[cold]
pub(crate) fn linked() -> Error {
    fixed!(Inval, "the stream is linked below a multiplexer")
}

/// Groups of calls that behave alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// read, getmsg and their like: available data is read after a hang-up.
    Read,
    /// write, putmsg and their like.
    Write,
    /// I_PUSH, I_POP.
    Plumb,
    /// I_STR, I_FLUSH, I_FLUSHBAND.
    Ioctl,
    /// I_SRDOPT, I_PEEK, I_ATMARK, I_CKBAND.
    Peek,
    /// I_SWROPT, I_CANPUT.
    SetWrite,
    /// I_GETBAND.
    GetBand,
}

/// Checks whether the call may continue.
///
/// Errors: those of the table: `ENXIO` after a hang-up, the error of the M_ERROR after an error, `EIO` for changes of
/// the plumbing then.
pub(crate) fn check(end: &EndWords, call: Call) -> Result<()> {
    let state = end.state.load(Ordering::Acquire);
    if state == 0 { Ok(()) } else { check_slowly(end, state, call) }
}

#[cold]
fn check_slowly(end: &EndWords, state: u32, call: Call) -> Result<()> {
    if state & LINKED != 0 {
        return Err(linked());
    }
    let (reads, writes) = match call {
        Call::Read | Call::Peek | Call::GetBand => (true, false),
        Call::Write | Call::SetWrite => (false, true),
        Call::Ioctl => (true, true),
        Call::Plumb => {
            if state & (READ_ERROR | WRITE_ERROR) != 0 {
                return Err(fixed!(Io, "the stream has an error"));
            }
            (false, false)
        }
    };
    let once = ErrorOptions::from_bits(end.error_options.load(Ordering::Relaxed));
    for (concerns, bit, word, once) in
        [(reads, READ_ERROR, &end.read_error, once.read_once), (writes, WRITE_ERROR, &end.write_error, once.write_once)]
    {
        if concerns && state & bit != 0 {
            if once {
                end.state.fetch_and(!bit, Ordering::AcqRel);
            }
            let number = word.load(Ordering::Relaxed);
            // If it is no number, no user of the library has written it.
            let errno = i32::try_from(number).ok().filter(|number| *number > 0).map_or(Errno::Io, Errno::new);
            return Err(Error::numbered(Text::Raised, errno.number().unsigned_abs().into(), 0));
        }
    }
    match call {
        _ if state & HUNG_UP == 0 => Ok(()),
        Call::Read | Call::Peek => Ok(()),
        Call::GetBand => Err(fixed!(Nodata, "the stream has been hung up")),
        _ => Err(fixed!(Nxio, "the stream has been hung up")),
    }
}
