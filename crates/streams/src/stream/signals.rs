//! Signals for events at an end (SIGPOLL, SIGURG), and those that modules raise.

use super::Stream;
use crate::error::Result;
use crate::head::SignalEvents;

impl Stream {
    /// The signals that this end sends when an event happens.
    #[doc = include_str!("../../doc/signals.md")]
    pub fn signals(&self) -> Signals<'_> {
        Signals(self)
    }
}

/// The signals of an end; see [`Stream::signals`].
#[derive(Debug, Clone, Copy)]
pub struct Signals<'s>(&'s Stream);

impl Signals<'_> {
    /// Registers this process to be sent SIGPOLL when one of the events happens at this end (I_SETSIG), or SIGURG, instead of
    /// what it was registered for; no events end that, and so do an exec and the drop of the process's last clone. A forked
    /// child is not registered. A signal is sent for each message. Its default is that either signal ends the process,
    /// or does nothing (SIGURG): install a handler first.
    ///
    /// # Errors
    /// `EINVAL` for no events when the process is not registered, and for bits that mean nothing; `EAGAIN` when this process has 32
    /// registrations at the end, or as many threads as it may (SUSv2, ioctl of STREAMS, I_SETSIG).
    #[doc = include_str!("../../doc/signals.md")]
    #[doc(alias = "I_SETSIG")]
    pub fn set(&self, events: SignalEvents) -> Result<()> {
        self.0.call(|handle| handle.set_signals(events))
    }

    /// The events for which this process is registered (I_GETSIG).
    ///
    /// # Errors
    /// `EINVAL` if it is not.
    #[doc = include_str!("../../doc/signals.md")]
    #[doc(alias = "I_GETSIG")]
    pub fn get(&self) -> Result<SignalEvents> {
        self.0.call(|handle| handle.signals())
    }

    /// As [`Signals::set`], for the process of that number, or the process group if it is negative (I_ESETSIG). The calling
    /// process sends the signals, so they end when it closes the end.
    ///
    /// # Errors
    /// `ESRCH` if there is none; `EPERM` if this process may not send signals to it; `EINVAL` for 0 and -1; else as
    /// [`Signals::set`].
    #[doc = include_str!("../../doc/signals.md")]
    #[doc(alias = "I_ESETSIG")]
    pub fn set_for(&self, pid: i32, events: SignalEvents) -> Result<()> {
        self.0.call(|handle| handle.set_signals_of(pid, events))
    }

    /// The events for which a process, or a process group if the number is negative, is registered by the calling process
    /// (I_EGETSIG).
    ///
    /// # Errors
    /// `EINVAL` if it is not; `ESRCH` if there is none.
    #[doc = include_str!("../../doc/signals.md")]
    #[doc(alias = "I_EGETSIG")]
    pub fn get_for(&self, pid: i32) -> Result<SignalEvents> {
        self.0.call(|handle| handle.signals_of(pid))
    }

    /// The signals that modules have raised at this end (M_SIG, M_PCSIG) since the last call: bit N for signal N. An M_SIG is
    /// raised when it has reached the front of the queue.
    #[doc = include_str!("../../doc/raised_signals.md")]
    #[doc(alias = "M_SIG")]
    #[doc(alias = "M_PCSIG")]
    pub fn take_raised(&self) -> u64 {
        self.0.with(|handle| handle.take_signals())
    }
}
