//! The states of an endpoint as its user knows them, and the table of their transitions.

use headwater_streams::tpi;

#[cfg(test)]
mod tests;

/// The state of an endpoint (t_getstate).
///
/// ```
/// use headwater_xti::{Event, State};
///
/// assert_eq!(State::Idle.after(Event::Connect), Some(State::Connected));
/// assert_eq!(State::Idle.after(Event::Send), None);
/// assert_eq!(State::Connected.number(), 5);
/// ```
///
/// Source: XNS 5.2, XTI states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// The endpoint is not open.
    #[doc(alias = "T_UNINIT")]
    Uninitialized = 0,
    /// The endpoint has no address.
    #[doc(alias = "T_UNBND")]
    Unbound = 1,
    /// The endpoint has an address, but no connection.
    #[doc(alias = "T_IDLE")]
    Idle = 2,
    /// The endpoint has asked for a connection.
    #[doc(alias = "T_OUTCON")]
    Connecting = 3,
    /// Connections are waiting to be accepted.
    #[doc(alias = "T_INCON")]
    Listening = 4,
    /// The endpoint is connected.
    #[doc(alias = "T_DATAXFER")]
    Connected = 5,
    /// The endpoint has ended its own direction by an orderly release.
    #[doc(alias = "T_OUTREL")]
    Releasing = 6,
    /// The other end has ended its direction by an orderly release.
    #[doc(alias = "T_INREL")]
    Released = 7,
}

impl State {
    /// All states, by number.
    pub const ALL: [State; 8] = [
        State::Uninitialized,
        State::Unbound,
        State::Idle,
        State::Connecting,
        State::Listening,
        State::Connected,
        State::Releasing,
        State::Released,
    ];

    /// Returns the number of the state in XNS.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the state with this number.
    pub(crate) fn from_number(number: u8) -> State {
        State::ALL.get(usize::from(number)).copied().unwrap_or(State::Uninitialized)
    }

    /// Converts the state of a provider; `None` while the provider changes it (TSTATECHNG).
    pub(crate) fn from_provider(state: tpi::State) -> Option<State> {
        Some(match state {
            tpi::State::Unbound => State::Unbound,
            tpi::State::Idle => State::Idle,
            tpi::State::AwaitConfirm => State::Connecting,
            tpi::State::AwaitResponse => State::Listening,
            tpi::State::Connected => State::Connected,
            tpi::State::AwaitRelease => State::Releasing,
            tpi::State::Releasing => State::Released,
            _ => return None,
        })
    }
}

/// An event at an endpoint: a call that has succeeded.
///
/// Source: XNS 5.2, outgoing and incoming events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// t_open.
    Open = 0,
    /// t_bind.
    Bind = 1,
    /// t_optmgmt.
    ManageOptions = 2,
    /// t_unbind.
    Unbind = 3,
    /// t_close.
    Close = 4,
    /// t_connect, if it has waited for the answer.
    #[doc(alias = "connect1")]
    Connect = 5,
    /// t_connect, if it has not waited (TNODATA), or was interrupted.
    #[doc(alias = "connect2")]
    ConnectBegun = 6,
    /// t_accept of the only connection that waits, by the endpoint itself.
    #[doc(alias = "accept1")]
    AcceptHere = 7,
    /// t_accept of the only connection that waits, by another endpoint.
    #[doc(alias = "accept2")]
    AcceptElsewhere = 8,
    /// t_accept by another endpoint while more connections wait.
    #[doc(alias = "accept3")]
    AcceptOneOfMany = 9,
    /// t_snd.
    Send = 10,
    /// t_snddis of a connection, or of the only one that waits.
    #[doc(alias = "snddis1")]
    Disconnect = 11,
    /// t_snddis of one of several connections that wait.
    #[doc(alias = "snddis2")]
    RefuseOneOfMany = 12,
    /// t_sndrel.
    Release = 13,
    /// t_sndudata.
    SendDatagram = 14,
    /// t_rcvudata.
    ReceiveDatagram = 15,
    /// t_rcvuderr.
    ReceiveDatagramError = 16,
    /// t_rcvconnect.
    ReceiveConnect = 17,
    /// t_rcv.
    Receive = 18,
    /// t_rcvrel.
    ReceiveRelease = 19,
    /// t_listen.
    Listen = 20,
    /// t_rcvdis of a connection.
    #[doc(alias = "rcvdis1")]
    ReceiveDisconnect = 21,
    /// t_rcvdis of the only connection that waits.
    #[doc(alias = "rcvdis2")]
    CallerGone = 22,
    /// t_rcvdis of one of several connections that wait.
    #[doc(alias = "rcvdis3")]
    OneCallerGone = 23,
    /// Another endpoint's t_accept has handed a connection over.
    #[doc(alias = "pass_conn")]
    TakeConnection = 24,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 25] = [
        Event::Open,
        Event::Bind,
        Event::ManageOptions,
        Event::Unbind,
        Event::Close,
        Event::Connect,
        Event::ConnectBegun,
        Event::AcceptHere,
        Event::AcceptElsewhere,
        Event::AcceptOneOfMany,
        Event::Send,
        Event::Disconnect,
        Event::RefuseOneOfMany,
        Event::Release,
        Event::SendDatagram,
        Event::ReceiveDatagram,
        Event::ReceiveDatagramError,
        Event::ReceiveConnect,
        Event::Receive,
        Event::ReceiveRelease,
        Event::Listen,
        Event::ReceiveDisconnect,
        Event::CallerGone,
        Event::OneCallerGone,
        Event::TakeConnection,
    ];
}

/// The entry of the table for an event that cannot happen in a state.
const NO: u8 = 9;
/// The state after each event: the rows are the events, the columns are the states.
#[rustfmt::skip]
const TABLE: [[u8; 8]; 25] = [
    // 0   1   2   3   4   5   6   7
    [  1, NO, NO, NO, NO, NO, NO, NO], // Open
    [ NO,  2, NO, NO, NO, NO, NO, NO], // Bind
    [ NO,  1,  2,  3,  4,  5,  6,  7], // ManageOptions
    [ NO, NO,  1, NO, NO, NO, NO, NO], // Unbind
    [ NO,  0,  0,  0,  0,  0,  0,  0], // Close
    [ NO, NO,  5, NO, NO, NO, NO, NO], // Connect
    [ NO, NO,  3, NO, NO, NO, NO, NO], // ConnectBegun
    [ NO, NO, NO, NO,  5, NO, NO, NO], // AcceptHere
    [ NO, NO, NO, NO,  2, NO, NO, NO], // AcceptElsewhere
    [ NO, NO, NO, NO,  4, NO, NO, NO], // AcceptOneOfMany
    [ NO, NO, NO, NO, NO,  5, NO,  7], // Send
    [ NO, NO, NO,  2,  2,  2,  2,  2], // Disconnect
    [ NO, NO, NO, NO,  4, NO, NO, NO], // RefuseOneOfMany
    [ NO, NO, NO, NO, NO,  6, NO,  2], // Release
    [ NO, NO,  2, NO, NO, NO, NO, NO], // SendDatagram
    [ NO, NO,  2, NO, NO, NO, NO, NO], // ReceiveDatagram
    [ NO, NO,  2, NO, NO, NO, NO, NO], // ReceiveDatagramError
    [ NO, NO, NO,  5, NO, NO, NO, NO], // ReceiveConnect
    [ NO, NO, NO, NO, NO,  5,  6, NO], // Receive
    [ NO, NO, NO, NO, NO,  7,  2, NO], // ReceiveRelease
    [ NO, NO,  4, NO,  4, NO, NO, NO], // Listen
    [ NO, NO, NO,  2, NO,  2,  2,  2], // ReceiveDisconnect
    [ NO, NO, NO, NO,  2, NO, NO, NO], // CallerGone
    [ NO, NO, NO, NO,  4, NO, NO, NO], // OneCallerGone
    [ NO,  5,  5, NO, NO, NO, NO, NO], // TakeConnection
];

impl State {
    /// Returns the state after an event; `None` if the event cannot happen in this state (TOUTSTATE).
    pub fn after(self, event: Event) -> Option<State> {
        let next = TABLE[event as usize][self as usize];
        (next != NO).then(|| State::from_number(next))
    }
}
