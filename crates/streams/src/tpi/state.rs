//! The states of an endpoint, as the provider keeps them, and the table of its transitions: data, and one function that looks up.

#[cfg(test)]
mod tests;

/// Makes an enumeration of numbers.
macro_rules! numbered {
    ($(#[$about:meta])* $type:ident: $($(#[$member:meta])* $name:ident = $number:literal $symbol:literal,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[doc = include_str!("../../doc/tpi.md")]
        pub enum $type {
            $($(#[$member])* #[doc(alias = $symbol)] $name = $number,)*
        }

        impl $type {
            /// All of them, by number.
            #[doc = include_str!("../../doc/tpi.md")]
            pub const ALL: &[$type] = &[$($type::$name,)*];

            /// The one of a number; None: there is none.
            #[doc = include_str!("../../doc/tpi.md")]
            pub const fn of(number: u32) -> Option<$type> {
                match number {
                    $($number => Some($type::$name),)*
                    _ => None,
                }
            }

            /// Its number.
            #[doc = include_str!("../../doc/tpi.md")]
            pub const fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

numbered! {
    /// The state of an endpoint (CURRENT_state). 17 of SVR4, TS_NOSTATES, is no state but their count.
    State:
    /// No address.
    Unbound = 0 "TS_UNBND",
    /// Waits for the answer to T_BIND_REQ.
    AwaitBindAck = 1 "TS_WACK_BREQ",
    /// Waits for the answer to T_UNBIND_REQ.
    AwaitUnbindAck = 2 "TS_WACK_UREQ",
    /// Has an address, and no connection.
    Idle = 3 "TS_IDLE",
    /// Waits for the answer to T_OPTMGMT_REQ.
    AwaitOptionsAck = 4 "TS_WACK_OPTREQ",
    /// Waits for the answer to T_CONN_REQ.
    AwaitConnectAck = 5 "TS_WACK_CREQ",
    /// Waits for the other end to accept.
    AwaitConfirm = 6 "TS_WCON_CREQ",
    /// Connections wait to be accepted.
    AwaitResponse = 7 "TS_WRES_CIND",
    /// Waits for the answer to T_CONN_RES.
    AwaitResponseAck = 8 "TS_WACK_CRES",
    /// Connected.
    Connected = 9 "TS_DATA_XFER",
    /// Has ended its own direction; waits for the other one's end.
    AwaitRelease = 10 "TS_WIND_ORDREL",
    /// The other direction has ended; may still send.
    Releasing = 11 "TS_WREQ_ORDREL",
    /// Waits for the answer to T_DISCON_REQ, from AwaitConfirm.
    AwaitDisconnectAck6 = 12 "TS_WACK_DREQ6",
    /// The same, from AwaitResponse.
    AwaitDisconnectAck7 = 13 "TS_WACK_DREQ7",
    /// The same, from Connected.
    AwaitDisconnectAck9 = 14 "TS_WACK_DREQ9",
    /// The same, from AwaitRelease.
    AwaitDisconnectAck10 = 15 "TS_WACK_DREQ10",
    /// The same, from Releasing.
    AwaitDisconnectAck11 = 16 "TS_WACK_DREQ11",
}

numbered! {
    /// What happens at an endpoint: a request that the provider gets, or an answer or indication that it sends.
    Event:
    /// T_BIND_REQ.
    BindReq = 0 "TE_BIND_REQ",
    /// T_UNBIND_REQ.
    UnbindReq = 1 "TE_UNBIND_REQ",
    /// T_OPTMGMT_REQ.
    OptmgmtReq = 2 "TE_OPTMGMT_REQ",
    /// T_BIND_ACK.
    BindAck = 3 "TE_BIND_ACK",
    /// T_OPTMGMT_ACK.
    OptmgmtAck = 4 "TE_OPTMGMT_ACK",
    /// T_ERROR_ACK.
    ErrorAck = 5 "TE_ERROR_ACK",
    /// T_OK_ACK, and no connection waits to be accepted.
    OkAck1 = 6 "TE_OK_ACK1",
    /// T_OK_ACK, one connection waited, and this endpoint has it now, or has refused it.
    OkAck2 = 7 "TE_OK_ACK2",
    /// T_OK_ACK, one connection waited, and another endpoint has it now.
    OkAck3 = 8 "TE_OK_ACK3",
    /// T_OK_ACK, and more than one connection waited.
    OkAck4 = 9 "TE_OK_ACK4",
    /// T_UNITDATA_REQ.
    UnitdataReq = 10 "TE_UNITDATA_REQ",
    /// T_UNITDATA_IND.
    UnitdataInd = 11 "TE_UNITDATA_IND",
    /// T_UDERROR_IND.
    UderrorInd = 12 "TE_UDERROR_IND",
    /// T_CONN_REQ.
    ConnReq = 13 "TE_CONN_REQ",
    /// T_CONN_RES.
    ConnRes = 14 "TE_CONN_RES",
    /// T_DISCON_REQ.
    DisconReq = 15 "TE_DISCON_REQ",
    /// T_DATA_REQ.
    DataReq = 16 "TE_DATA_REQ",
    /// T_EXDATA_REQ.
    ExdataReq = 17 "TE_EXDATA_REQ",
    /// T_ORDREL_REQ.
    OrdrelReq = 18 "TE_ORDREL_REQ",
    /// T_CONN_IND.
    ConnInd = 19 "TE_CONN_IND",
    /// T_CONN_CON.
    ConnCon = 20 "TE_CONN_CON",
    /// T_DATA_IND.
    DataInd = 21 "TE_DATA_IND",
    /// T_EXDATA_IND.
    ExdataInd = 22 "TE_EXDATA_IND",
    /// T_ORDREL_IND.
    OrdrelInd = 23 "TE_ORDREL_IND",
    /// T_DISCON_IND, and no connection waits to be accepted.
    DisconInd1 = 24 "TE_DISCON_IND1",
    /// T_DISCON_IND of the one connection that waited.
    DisconInd2 = 25 "TE_DISCON_IND2",
    /// T_DISCON_IND of one of several that waited.
    DisconInd3 = 26 "TE_DISCON_IND3",
    /// Another endpoint has handed a connection over.
    PassConn = 27 "TE_PASS_CONN",
}

/// The state after an event: a row for each event, the columns are the states. 99 is no state: the event cannot happen there.
const NO: u8 = 99;
#[rustfmt::skip]
const TABLE: [[u8; 17]; 28] = [
    //  0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16
    [   1, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // BindReq
    [  NO, NO, NO,  2, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // UnbindReq
    [   0, NO, NO,  4, NO, NO,  6,  7, NO,  9, 10, 11, NO, NO, NO, NO, NO], // OptmgmtReq
    [  NO,  3, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // BindAck
    [   0, NO, NO, NO,  3, NO,  6,  7, NO,  9, 10, 11, NO, NO, NO, NO, NO], // OptmgmtAck
    [   0,  0,  3,  3,  3,  3,  6,  7,  7,  9, 10, 11,  6,  7,  9, 10, 11], // ErrorAck
    [  NO, NO,  0, NO, NO,  6, NO, NO, NO, NO, NO, NO,  3, NO,  3,  3,  3], // OkAck1
    [  NO, NO, NO, NO, NO, NO, NO, NO,  9, NO, NO, NO, NO,  3, NO, NO, NO], // OkAck2
    [  NO, NO, NO, NO, NO, NO, NO, NO,  3, NO, NO, NO, NO, NO, NO, NO, NO], // OkAck3
    [  NO, NO, NO, NO, NO, NO, NO, NO,  7, NO, NO, NO, NO,  7, NO, NO, NO], // OkAck4
    [  NO, NO, NO,  3, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // UnitdataReq
    [  NO, NO, NO,  3, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // UnitdataInd
    [  NO, NO, NO,  3, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // UderrorInd
    [  NO, NO, NO,  5, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // ConnReq
    [  NO, NO, NO, NO, NO, NO, NO,  8, NO, NO, NO, NO, NO, NO, NO, NO, NO], // ConnRes
    [  NO, NO, NO, NO, NO, NO, 12, 13, NO, 14, 15, 16, NO, NO, NO, NO, NO], // DisconReq
    [  NO, NO, NO, NO, NO, NO, NO, NO, NO,  9, NO, 11, NO, NO, NO, NO, NO], // DataReq
    [  NO, NO, NO, NO, NO, NO, NO, NO, NO,  9, NO, 11, NO, NO, NO, NO, NO], // ExdataReq
    [  NO, NO, NO, NO, NO, NO, NO, NO, NO, 10, NO,  3, NO, NO, NO, NO, NO], // OrdrelReq
    [  NO, NO, NO,  7, NO, NO, NO,  7, NO, NO, NO, NO, NO, NO, NO, NO, NO], // ConnInd
    [  NO, NO, NO, NO, NO, NO,  9, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // ConnCon
    [  NO, NO, NO, NO, NO, NO, NO, NO, NO,  9, 10, NO, NO, NO, NO, NO, NO], // DataInd
    [  NO, NO, NO, NO, NO, NO, NO, NO, NO,  9, 10, NO, NO, NO, NO, NO, NO], // ExdataInd
    [  NO, NO, NO, NO, NO, NO, NO, NO, NO, 11,  3, NO, NO, NO, NO, NO, NO], // OrdrelInd
    [  NO, NO, NO, NO, NO, NO,  3, NO, NO,  3,  3,  3, NO, NO, NO, NO, NO], // DisconInd1
    [  NO, NO, NO, NO, NO, NO, NO,  3, NO, NO, NO, NO, NO, NO, NO, NO, NO], // DisconInd2
    [  NO, NO, NO, NO, NO, NO, NO,  7, NO, NO, NO, NO, NO, NO, NO, NO, NO], // DisconInd3
    [   9, NO, NO,  9, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO], // PassConn
];

impl State {
    /// The state after an event. None: the event cannot happen in this state. A request is then answered with TOUTSTATE, or is fatal
    /// ([`PrimitiveNumber::is_acknowledged`](super::PrimitiveNumber::is_acknowledged)).
    #[doc = include_str!("../../doc/tpi.md")]
    pub fn after(self, event: Event) -> Option<State> {
        State::of(TABLE[event as usize][self as usize].into())
    }
}
