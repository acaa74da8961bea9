//! The errors of transport calls and of T_ERROR_ACK.

use crate::error::Errno;

/// Makes the enumeration and its table of numbers.
macro_rules! errors {
    ($($(#[$about:meta])* $name:ident = $number:literal $symbol:literal,)*) => {
        /// An error of the transport interface (`TLI_error`, `t_errno`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[doc = include_str!("../../doc/tpi.md")]
        pub enum TransportError {
            $($(#[$about])* #[doc(alias = $symbol)] $name = $number,)*
        }

        impl TransportError {
            /// The error of a number; None: there is none.
            #[doc = include_str!("../../doc/tpi.md")]
            pub const fn of(number: u32) -> Option<TransportError> {
                match number {
                    $($number => Some(TransportError::$name),)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    /// The address is of a wrong format, or no endpoint has it.
    BadAddress = 1 "TBADADDR",
    /// Options of a wrong format.
    BadOptions = 2 "TBADOPT",
    /// No permission for the address or options.
    Access = 3 "TACCES",
    /// The descriptor, or the endpoint that is to accept, is none.
    BadFile = 4 "TBADF",
    /// The provider could not choose an address.
    NoAddress = 5 "TNOADDR",
    /// The endpoint's state does not allow the primitive.
    OutOfState = 6 "TOUTSTATE",
    /// No connection of that sequence number waits.
    BadSequence = 7 "TBADSEQ",
    /// A system error, whose number is beside this one.
    System = 8 "TSYSERR",
    /// An event is to be fetched first.
    Look = 9 "TLOOK",
    /// The amount of data is not allowed.
    BadData = 10 "TBADDATA",
    /// A buffer of the caller is too short.
    BufferOverflow = 11 "TBUFOVFLW",
    /// Flow control.
    Flow = 12 "TFLOW",
    /// No data are there.
    NoData = 13 "TNODATA",
    /// No disconnection is there.
    NoDisconnect = 14 "TNODIS",
    /// No error of a datagram is there.
    NoDatagramError = 15 "TNOUDERR",
    /// The flags are wrong.
    BadFlag = 16 "TBADFLAG",
    /// No orderly release is there.
    NoRelease = 17 "TNOREL",
    /// The provider does not have the primitive.
    NotSupported = 18 "TNOTSUPPORT",
    /// The state is changing.
    StateChanging = 19 "TSTATECHNG",
    /// The structure that was asked for does not exist.
    NoStructure = 20 "TNOSTRUCTYPE",
    /// The provider's name is wrong.
    BadName = 21 "TBADNAME",
    /// The endpoint does not listen.
    BadQueueLength = 22 "TBADQLEN",
    /// The address is in use.
    AddressBusy = 23 "TADDRBUSY",
    /// Other connections wait.
    IndicationsWait = 24 "TINDOUT",
    /// The endpoint that is to accept is another provider's.
    ProviderMismatch = 25 "TPROVMISMATCH",
    /// The endpoint that is to accept listens itself.
    AcceptorListens = 26 "TRESQLEN",
    /// The endpoint that is to accept has another address.
    AcceptorAddress = 27 "TRESADDR",
    /// The queue of waiting connections is full.
    QueueFull = 28 "TQFULL",
    /// The provider has broken the protocol.
    Protocol = 29 "TPROTO",
}

impl TransportError {
    /// Its number, which SVR4 and XNS give it.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The error that a call of sockets has for it; `errno` is that beside [`TransportError::System`].
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn errno_of_sockets(self, errno: u32) -> Errno {
        use TransportError as T;
        match self {
            T::System => Errno::new(errno.cast_signed()),
            T::Access => Errno::Acces,
            // EADDRINUSE, EADDRNOTAVAIL, EISCONN, ECONNABORTED, EOPNOTSUPP.
            T::AddressBusy => Errno::new(98),
            T::BadAddress | T::NoAddress => Errno::new(99),
            T::OutOfState => Errno::new(106),
            T::BadSequence => Errno::new(103),
            T::NotSupported => Errno::new(95),
            T::Protocol => Errno::Proto,
            _ => Errno::Inval,
        }
    }
}
