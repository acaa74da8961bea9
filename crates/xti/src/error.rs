//! Errors of calls: t_errno, and errno for TSYSERR.

use std::fmt;

use headwater_streams::Errno;
use headwater_streams::tpi::TransportError;

/// The result of a call.
pub type Result<T> = std::result::Result<T, XtiError>;

/// The error of a call (`t_errno`, and `errno` for TSYSERR).
///
/// ```
/// use headwater_xti::{TransportError, XtiError};
///
/// let error = XtiError::from(TransportError::Look);
/// assert_eq!((error.t_errno, error.errno), (TransportError::Look, None));
/// assert_eq!(error.to_string(), "an event requires attention");
/// ```
///
/// Source: XNS 5.2, t_errno and t_strerror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_errno")]
pub struct XtiError {
    /// The error of the transport interface.
    pub t_errno: TransportError,
    /// The system error, if `t_errno` is [`TransportError::System`].
    pub errno: Option<Errno>,
}

impl XtiError {
    /// Makes a system error (TSYSERR).
    #[doc(alias = "TSYSERR")]
    pub const fn system(errno: Errno) -> XtiError {
        XtiError { t_errno: TransportError::System, errno: Some(errno) }
    }

    /// Returns the text of an error (t_strerror). An unknown number has a text too.
    ///
    /// ```
    /// assert_eq!(headwater_xti::XtiError::text(9), "an event requires attention");
    /// assert_eq!(headwater_xti::XtiError::text(1000), "unknown error");
    /// ```
    #[doc(alias = "t_strerror")]
    pub const fn text(number: u32) -> &'static str {
        use TransportError as E;
        let Some(error) = E::of(number) else {
            return if number == 0 { "no error" } else { "unknown error" };
        };
        match error {
            E::BadAddress => "the address is incorrect",
            E::BadOptions => "the options are incorrect",
            E::Access => "no permission for the address or the options",
            E::BadFile => "the descriptor is no transport endpoint",
            E::NoAddress => "the provider could not choose an address",
            E::OutOfState => "the state of the endpoint does not allow the call",
            E::BadSequence => "no connection of that sequence number waits",
            E::System => "system error",
            E::Look => "an event requires attention",
            E::BadData => "the amount of data is not allowed",
            E::BufferOverflow => "a buffer is too short",
            E::Flow => "flow control",
            E::NoData => "no data",
            E::NoDisconnect => "no disconnection",
            E::NoDatagramError => "no error of a datagram",
            E::BadFlag => "the flags are incorrect",
            E::NoRelease => "no orderly release",
            E::NotSupported => "the transport does not support the call",
            E::StateChanging => "the state is changing",
            E::NoStructure => "no such kind of structure",
            E::BadName => "no such transport",
            E::BadQueueLength => "the endpoint does not listen",
            E::AddressBusy => "the address is in use",
            E::IndicationsWait => "other connections wait",
            E::ProviderMismatch => "the endpoints are of two transports",
            E::AcceptorListens => "the endpoint that is to accept listens itself",
            E::AcceptorAddress => "the endpoint that is to accept has another address",
            E::QueueFull => "the queue of waiting connections is full",
            E::Protocol => "the provider has broken the protocol",
            _ => "unknown error",
        }
    }
}

impl From<TransportError> for XtiError {
    fn from(t_errno: TransportError) -> XtiError {
        XtiError { t_errno, errno: None }
    }
}

impl From<headwater_streams::Error> for XtiError {
    /// `EPROTO`, which the head reports for a provider that broke the protocol or has been told that its user did, is TPROTO; all
    /// others are TSYSERR.
    fn from(error: headwater_streams::Error) -> XtiError {
        match error.errno() {
            Errno::Proto => TransportError::Protocol.into(),
            errno => XtiError::system(errno),
        }
    }
}

impl fmt::Display for XtiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(XtiError::text(self.t_errno.number()))?;
        match self.errno {
            Some(errno) => write!(formatter, ": {}", std::io::Error::from_raw_os_error(errno.number())),
            None => Ok(()),
        }
    }
}

impl std::error::Error for XtiError {}

/// Converts an error of the stream. If the call would have to wait, the result is the given error.
pub(crate) fn or_if_it_waits(error: headwater_streams::Error, waits: TransportError) -> XtiError {
    if error.errno() == Errno::Again { waits.into() } else { error.into() }
}
