//! The numbers of the primitives (PRIM_type).

use super::state::Event;

/// Makes the enumeration and its tables.
macro_rules! numbers {
    ($($(#[$about:meta])* $name:ident = $number:literal $symbol:literal,)*) => {
        /// Which primitive it is (PRIM_type). SVR4 gives the numbers up to 23; the ones behind were added later, and systems
        /// differ in them: programs use the names of this system's `sys/tihdr.h`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[doc = include_str!("../../doc/tpi.md")]
        pub enum PrimitiveNumber {
            $($(#[$about])* #[doc(alias = $symbol)] $name = $number,)*
        }

        impl PrimitiveNumber {
            /// All of them, by number.
            #[doc = include_str!("../../doc/tpi.md")]
            pub const ALL: &[PrimitiveNumber] = &[$(PrimitiveNumber::$name,)*];

            /// The primitive of a number; None: there is none.
            #[doc = include_str!("../../doc/tpi.md")]
            pub const fn of(number: u32) -> Option<PrimitiveNumber> {
                match number {
                    $($number => Some(PrimitiveNumber::$name),)*
                    _ => None,
                }
            }
        }
    };
}

numbers! {
    /// Asks for a connection.
    ConnReq = 0 "T_CONN_REQ",
    /// Accepts a connection.
    ConnRes = 1 "T_CONN_RES",
    /// Ends a connection, or refuses one.
    DisconReq = 2 "T_DISCON_REQ",
    /// Sends data.
    DataReq = 3 "T_DATA_REQ",
    /// Sends expedited data.
    ExdataReq = 4 "T_EXDATA_REQ",
    /// Asks for the provider's sizes and state.
    InfoReq = 5 "T_INFO_REQ",
    /// Asks for an address.
    BindReq = 6 "T_BIND_REQ",
    /// Gives the address up.
    UnbindReq = 7 "T_UNBIND_REQ",
    /// Sends a datagram.
    UnitdataReq = 8 "T_UNITDATA_REQ",
    /// Asks for options, or changes them.
    OptmgmtReq = 9 "T_OPTMGMT_REQ",
    /// Ends the own direction of a connection in order.
    OrdrelReq = 10 "T_ORDREL_REQ",
    /// A connection is asked for.
    ConnInd = 11 "T_CONN_IND",
    /// A connection was accepted.
    ConnCon = 12 "T_CONN_CON",
    /// A connection has ended, or was refused.
    DisconInd = 13 "T_DISCON_IND",
    /// Data.
    DataInd = 14 "T_DATA_IND",
    /// Expedited data.
    ExdataInd = 15 "T_EXDATA_IND",
    /// The provider's sizes and state.
    InfoAck = 16 "T_INFO_ACK",
    /// The address.
    BindAck = 17 "T_BIND_ACK",
    /// A primitive failed.
    ErrorAck = 18 "T_ERROR_ACK",
    /// A primitive was done.
    OkAck = 19 "T_OK_ACK",
    /// A datagram.
    UnitdataInd = 20 "T_UNITDATA_IND",
    /// A datagram could not be delivered.
    UderrorInd = 21 "T_UDERROR_IND",
    /// The options.
    OptmgmtAck = 22 "T_OPTMGMT_ACK",
    /// The other direction of a connection has ended in order.
    OrdrelInd = 23 "T_ORDREL_IND",
    /// Asks for the addresses of both ends.
    AddrReq = 24 "T_ADDR_REQ",
    /// The addresses of both ends.
    AddrAck = 25 "T_ADDR_ACK",
    /// Sends data with options.
    OptdataReq = 26 "T_OPTDATA_REQ",
    /// Data with options.
    OptdataInd = 27 "T_OPTDATA_IND",
    /// Asks for several things at once.
    CapabilityReq = 28 "T_CAPABILITY_REQ",
    /// Answers that.
    CapabilityAck = 29 "T_CAPABILITY_ACK",
}

impl PrimitiveNumber {
    /// The number.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn value(self) -> u32 {
        self as u32
    }

    /// Whether its message is an M_PCPROTO: answers, and questions that do not depend on the state. The others are M_PROTO.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn is_high_priority(self) -> bool {
        use PrimitiveNumber::{
            AddrAck, AddrReq, BindAck, CapabilityAck, CapabilityReq, ErrorAck, InfoAck, InfoReq, OkAck, OptmgmtAck,
        };
        matches!(
            self,
            InfoReq
                | InfoAck
                | BindAck
                | ErrorAck
                | OkAck
                | OptmgmtAck
                | AddrReq
                | AddrAck
                | CapabilityReq
                | CapabilityAck
        )
    }

    /// The event that a primitive of a user is. None: the provider's primitives, and those that every state allows without a
    /// change.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn request(self) -> Option<Event> {
        Some(match self {
            PrimitiveNumber::BindReq => Event::BindReq,
            PrimitiveNumber::UnbindReq => Event::UnbindReq,
            PrimitiveNumber::OptmgmtReq => Event::OptmgmtReq,
            PrimitiveNumber::UnitdataReq => Event::UnitdataReq,
            PrimitiveNumber::ConnReq => Event::ConnReq,
            PrimitiveNumber::ConnRes => Event::ConnRes,
            PrimitiveNumber::DisconReq => Event::DisconReq,
            PrimitiveNumber::DataReq | PrimitiveNumber::OptdataReq => Event::DataReq,
            PrimitiveNumber::ExdataReq => Event::ExdataReq,
            PrimitiveNumber::OrdrelReq => Event::OrdrelReq,
            _ => return None,
        })
    }

    /// Whether a user sends it, and not a provider.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn is_request(self) -> bool {
        use PrimitiveNumber::{AddrReq, CapabilityReq, InfoReq};
        self.request().is_some() || matches!(self, InfoReq | AddrReq | CapabilityReq)
    }

    /// Whether a provider that cannot do it, because of the state or an argument, answers with T_ERROR_ACK. Else the error is fatal:
    /// the provider sends M_ERROR with EPROTO.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn is_acknowledged(self) -> bool {
        use PrimitiveNumber::{DataReq, ExdataReq, OptdataReq, OrdrelReq, UnitdataReq};
        self.is_request() && !matches!(self, DataReq | ExdataReq | OptdataReq | OrdrelReq | UnitdataReq)
    }
}
