//! The primitives: their contents, and their form in a control part (the structures of `<sys/tihdr.h>`, of 32-bit words).

use super::codec::{Fields, Maker, Malformed};
use super::error::TransportError;
use super::number::PrimitiveNumber;
use super::options::ManagementFlags;
use super::state::State;

#[cfg(test)]
mod tests;

/// The kind of service (SERV_type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc = include_str!("../../doc/tpi.md")]
pub enum Service {
    /// With connections.
    #[doc(alias = "T_COTS")]
    Connections = 1,
    /// With connections that can be released in order.
    #[doc(alias = "T_COTS_ORD")]
    OrderlyConnections = 2,
    /// Datagrams.
    #[doc(alias = "T_CLTS")]
    Datagrams = 3,
}

impl Service {
    /// The service of a number; None: there is none.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn of(number: u32) -> Option<Service> {
        match number {
            1 => Some(Service::Connections),
            2 => Some(Service::OrderlyConnections),
            3 => Some(Service::Datagrams),
            _ => None,
        }
    }
}

/// The sizes and the state of a provider (T_info_ack). A size is in bytes; -1 (T_INFINITE): no limit; -2 (T_INVALID): the
/// provider does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the structure of the specification")]
#[doc = include_str!("../../doc/tpi.md")]
pub struct ProviderInfo {
    /// The longest message (TSDU).
    pub tsdu: i32,
    /// The longest expedited message (ETSDU).
    pub etsdu: i32,
    /// The most data with a connect primitive.
    pub connect_data: i32,
    /// The most data with a disconnect primitive.
    pub disconnect_data: i32,
    /// The longest address.
    pub address: i32,
    /// The most options.
    pub options: i32,
    /// The most data of one primitive (TIDU).
    pub tidu: i32,
    /// The kind of service.
    pub service: Service,
    /// The present state.
    pub state: State,
    /// Flags: [`ProviderInfo::SENDZERO`].
    pub flags: u32,
}

impl ProviderInfo {
    /// In `flags`: messages of no bytes are sent.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const SENDZERO: u32 = 1;
    /// A size without a limit (T_INFINITE).
    #[doc = include_str!("../../doc/tpi.md")]
    #[doc(alias = "T_INFINITE")]
    pub const INFINITE: i32 = -1;
    /// The size of what the provider does not have (T_INVALID).
    #[doc = include_str!("../../doc/tpi.md")]
    #[doc(alias = "T_INVALID")]
    pub const INVALID: i32 = -2;
    /// Words of its form, without the number of the primitive.
    const WORDS: usize = 10;

    fn read(fields: Fields<'_>, at: usize) -> Result<ProviderInfo, Malformed> {
        Ok(ProviderInfo {
            tsdu: fields.signed(at)?,
            etsdu: fields.signed(at + 1)?,
            connect_data: fields.signed(at + 2)?,
            disconnect_data: fields.signed(at + 3)?,
            address: fields.signed(at + 4)?,
            options: fields.signed(at + 5)?,
            tidu: fields.signed(at + 6)?,
            service: Service::of(fields.word(at + 7)?).ok_or(Malformed)?,
            state: State::of(fields.word(at + 8)?).ok_or(Malformed)?,
            flags: fields.word(at + 9)?,
        })
    }

    fn write(&self, maker: Maker) -> Maker {
        let sizes = [self.tsdu, self.etsdu, self.connect_data, self.disconnect_data, self.address, self.options];
        let maker = sizes.into_iter().fold(maker, Maker::signed).signed(self.tidu);
        maker.word(self.service as u32).word(self.state.number()).word(self.flags)
    }
}

/// What is asked of a provider in one question, and answered (CAP_bits1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the structure of the specification")]
#[doc = include_str!("../../doc/tpi.md")]
pub struct Capabilities {
    /// The sizes and the state (TC1_INFO).
    pub info: bool,
    /// The number by which the endpoint is named to accept a connection (TC1_ACCEPTOR_ID).
    pub acceptor: bool,
}

impl Capabilities {
    const fn of(bits: u32) -> Capabilities {
        Capabilities { info: bits & 1 != 0, acceptor: bits & 2 != 0 }
    }

    const fn bits(self) -> u32 {
        self.info as u32 | (self.acceptor as u32) << 1
    }
}

/// A primitive: the control part of a message between a transport's user and its provider. Data are in the message's data part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields of the structures of the specification; their names are spelled out")]
#[doc = include_str!("../../doc/tpi.md")]
pub enum Primitive<'a> {
    ConnReq {
        destination: &'a [u8],
        options: &'a [u8],
    },
    ConnRes {
        acceptor: u32,
        options: &'a [u8],
        sequence: u32,
    },
    DisconReq {
        sequence: u32,
    },
    DataReq {
        more: bool,
    },
    ExdataReq {
        more: bool,
    },
    InfoReq,
    /// `waiting`: how many connections may wait (CONIND_number, qlen). An empty address: any.
    BindReq {
        address: &'a [u8],
        waiting: u32,
    },
    UnbindReq,
    UnitdataReq {
        destination: &'a [u8],
        options: &'a [u8],
    },
    OptmgmtReq {
        options: &'a [u8],
        flags: ManagementFlags,
    },
    OrdrelReq,
    ConnInd {
        source: &'a [u8],
        options: &'a [u8],
        sequence: u32,
    },
    ConnCon {
        responder: &'a [u8],
        options: &'a [u8],
    },
    DisconInd {
        reason: u32,
        sequence: u32,
    },
    DataInd {
        more: bool,
    },
    ExdataInd {
        more: bool,
    },
    InfoAck(ProviderInfo),
    BindAck {
        address: &'a [u8],
        waiting: u32,
    },
    ErrorAck {
        of: PrimitiveNumber,
        error: TransportError,
        errno: u32,
    },
    OkAck {
        of: PrimitiveNumber,
    },
    UnitdataInd {
        source: &'a [u8],
        options: &'a [u8],
    },
    UderrorInd {
        destination: &'a [u8],
        options: &'a [u8],
        error: u32,
    },
    OptmgmtAck {
        options: &'a [u8],
        flags: ManagementFlags,
    },
    OrdrelInd,
    AddrReq,
    AddrAck {
        local: &'a [u8],
        remote: &'a [u8],
    },
    OptdataReq {
        more: bool,
        expedited: bool,
        options: &'a [u8],
    },
    OptdataInd {
        more: bool,
        expedited: bool,
        options: &'a [u8],
    },
    CapabilityReq {
        wanted: Capabilities,
    },
    CapabilityAck {
        given: Capabilities,
        info: ProviderInfo,
        acceptor: u32,
    },
}

/// Words of the fixed part of each primitive, by its number.
const WORDS: [usize; 30] = [5, 5, 2, 2, 2, 1, 4, 1, 5, 4, 1, 6, 5, 3, 2, 2, 11, 4, 4, 2, 5, 6, 4, 1, 1, 5, 4, 4, 2, 14];

/// The sequence number that names no waiting connection (BADSEQNUM).
const NO_SEQUENCE: u32 = u32::MAX;

/// In DATA_flag: T_ODF_MORE, T_ODF_EX.
const MORE: u32 = 1;
const EXPEDITED: u32 = 2;

impl<'a> Primitive<'a> {
    /// In T_DISCON_REQ and T_DISCON_IND: no waiting connection (BADSEQNUM).
    #[doc = include_str!("../../doc/tpi.md")]
    #[doc(alias = "BADSEQNUM")]
    pub const NO_SEQUENCE: u32 = NO_SEQUENCE;

    /// The number of the primitive that a control part begins with, also if the rest of it makes no sense.
    ///
    /// # Errors
    /// [`Malformed`] for less than a word, or an unknown number.
    #[doc = include_str!("../../doc/tpi.md")]
    pub fn number_of(control: &[u8]) -> Result<PrimitiveNumber, Malformed> {
        PrimitiveNumber::of(Fields(control).word(0)?).ok_or(Malformed)
    }

    /// The primitive in a control part. Bytes behind it are ignored, as in SVR4.
    ///
    /// # Errors
    /// [`Malformed`] for a number of no primitive, a control part that is too short, a part that does not lie inside, or a value that the
    /// field does not have.
    #[doc = include_str!("../../doc/tpi.md")]
    pub fn decode(control: &'a [u8]) -> Result<Primitive<'a>, Malformed> {
        use Primitive as P;
        let number = Primitive::number_of(control)?;
        let f = Fields::of(control, WORDS[number as usize])?;
        let more = |at| f.word(at).map(|flag| flag & MORE != 0);
        let flags = |at| ManagementFlags::of(f.word(at)?).ok_or(Malformed);
        let primitive = |at| PrimitiveNumber::of(f.word(at)?).ok_or(Malformed);
        Ok(match number {
            PrimitiveNumber::ConnReq => P::ConnReq { destination: f.part(1)?, options: f.part(3)? },
            PrimitiveNumber::ConnRes => P::ConnRes { acceptor: f.word(1)?, options: f.part(2)?, sequence: f.word(4)? },
            PrimitiveNumber::DisconReq => P::DisconReq { sequence: f.word(1)? },
            PrimitiveNumber::DataReq => P::DataReq { more: more(1)? },
            PrimitiveNumber::ExdataReq => P::ExdataReq { more: more(1)? },
            PrimitiveNumber::InfoReq => P::InfoReq,
            PrimitiveNumber::BindReq => P::BindReq { address: f.part(1)?, waiting: f.word(3)? },
            PrimitiveNumber::UnbindReq => P::UnbindReq,
            PrimitiveNumber::UnitdataReq => P::UnitdataReq { destination: f.part(1)?, options: f.part(3)? },
            PrimitiveNumber::OptmgmtReq => P::OptmgmtReq { options: f.part(1)?, flags: flags(3)? },
            PrimitiveNumber::OrdrelReq => P::OrdrelReq,
            PrimitiveNumber::ConnInd => P::ConnInd { source: f.part(1)?, options: f.part(3)?, sequence: f.word(5)? },
            PrimitiveNumber::ConnCon => P::ConnCon { responder: f.part(1)?, options: f.part(3)? },
            PrimitiveNumber::DisconInd => P::DisconInd { reason: f.word(1)?, sequence: f.word(2)? },
            PrimitiveNumber::DataInd => P::DataInd { more: more(1)? },
            PrimitiveNumber::ExdataInd => P::ExdataInd { more: more(1)? },
            PrimitiveNumber::InfoAck => P::InfoAck(ProviderInfo::read(f, 1)?),
            PrimitiveNumber::BindAck => P::BindAck { address: f.part(1)?, waiting: f.word(3)? },
            PrimitiveNumber::ErrorAck => {
                let error = TransportError::of(f.word(2)?).ok_or(Malformed)?;
                P::ErrorAck { of: primitive(1)?, error, errno: f.word(3)? }
            }
            PrimitiveNumber::OkAck => P::OkAck { of: primitive(1)? },
            PrimitiveNumber::UnitdataInd => P::UnitdataInd { source: f.part(1)?, options: f.part(3)? },
            PrimitiveNumber::UderrorInd => {
                P::UderrorInd { destination: f.part(1)?, options: f.part(3)?, error: f.word(5)? }
            }
            PrimitiveNumber::OptmgmtAck => P::OptmgmtAck { options: f.part(1)?, flags: flags(3)? },
            PrimitiveNumber::OrdrelInd => P::OrdrelInd,
            PrimitiveNumber::AddrReq => P::AddrReq,
            PrimitiveNumber::AddrAck => P::AddrAck { local: f.part(1)?, remote: f.part(3)? },
            PrimitiveNumber::OptdataReq => {
                P::OptdataReq { more: more(1)?, expedited: f.word(1)? & EXPEDITED != 0, options: f.part(2)? }
            }
            PrimitiveNumber::OptdataInd => {
                P::OptdataInd { more: more(1)?, expedited: f.word(1)? & EXPEDITED != 0, options: f.part(2)? }
            }
            PrimitiveNumber::CapabilityReq => P::CapabilityReq { wanted: Capabilities::of(f.word(1)?) },
            PrimitiveNumber::CapabilityAck => {
                let (given, info) = (Capabilities::of(f.word(1)?), ProviderInfo::read(f, 3)?);
                P::CapabilityAck { given, info, acceptor: f.word(3 + ProviderInfo::WORDS)? }
            }
        })
    }

    /// The control part of the message.
    #[doc = include_str!("../../doc/tpi.md")]
    pub fn encode(&self) -> Vec<u8> {
        use Primitive as P;
        let number = self.number();
        let m = Maker::new(WORDS[number as usize], self.parts_len()).word(number.value());
        let data_flag =
            |more: bool, expedited: bool| (if more { MORE } else { 0 }) | if expedited { EXPEDITED } else { 0 };
        let made = match *self {
            P::InfoReq | P::UnbindReq | P::OrdrelReq | P::OrdrelInd | P::AddrReq => m,
            P::ConnReq { destination: address, options }
            | P::UnitdataReq { destination: address, options }
            | P::UnitdataInd { source: address, options }
            | P::ConnCon { responder: address, options }
            | P::AddrAck { local: address, remote: options } => m.part(address).part(options),
            P::ConnRes { acceptor, options, sequence } => m.word(acceptor).part(options).word(sequence),
            P::DisconReq { sequence } => m.word(sequence),
            P::DataReq { more } | P::ExdataReq { more } | P::DataInd { more } | P::ExdataInd { more } => {
                m.word(u32::from(more))
            }
            P::BindReq { address, waiting } | P::BindAck { address, waiting } => m.part(address).word(waiting),
            P::OptmgmtReq { options, flags } | P::OptmgmtAck { options, flags } => m.part(options).word(flags.bits()),
            P::ConnInd { source: address, options, sequence: last }
            | P::UderrorInd { destination: address, options, error: last } => m.part(address).part(options).word(last),
            P::DisconInd { reason, sequence } => m.word(reason).word(sequence),
            P::InfoAck(info) => info.write(m),
            P::ErrorAck { of, error, errno } => m.word(of.value()).word(error.number()).word(errno),
            P::OkAck { of } => m.word(of.value()),
            P::OptdataReq { more, expedited, options } | P::OptdataInd { more, expedited, options } => {
                m.word(data_flag(more, expedited)).part(options)
            }
            P::CapabilityReq { wanted } => m.word(wanted.bits()),
            P::CapabilityAck { given, info, acceptor } => {
                // The second is the whole T_info_ack, which begins with a number of its own.
                let m = m.word(given.bits()).word(PrimitiveNumber::InfoAck.value());
                info.write(m).word(acceptor)
            }
        };
        made.bytes()
    }

    /// Which primitive it is.
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn number(&self) -> PrimitiveNumber {
        match self {
            Primitive::ConnReq { .. } => PrimitiveNumber::ConnReq,
            Primitive::ConnRes { .. } => PrimitiveNumber::ConnRes,
            Primitive::DisconReq { .. } => PrimitiveNumber::DisconReq,
            Primitive::DataReq { .. } => PrimitiveNumber::DataReq,
            Primitive::ExdataReq { .. } => PrimitiveNumber::ExdataReq,
            Primitive::InfoReq => PrimitiveNumber::InfoReq,
            Primitive::BindReq { .. } => PrimitiveNumber::BindReq,
            Primitive::UnbindReq => PrimitiveNumber::UnbindReq,
            Primitive::UnitdataReq { .. } => PrimitiveNumber::UnitdataReq,
            Primitive::OptmgmtReq { .. } => PrimitiveNumber::OptmgmtReq,
            Primitive::OrdrelReq => PrimitiveNumber::OrdrelReq,
            Primitive::ConnInd { .. } => PrimitiveNumber::ConnInd,
            Primitive::ConnCon { .. } => PrimitiveNumber::ConnCon,
            Primitive::DisconInd { .. } => PrimitiveNumber::DisconInd,
            Primitive::DataInd { .. } => PrimitiveNumber::DataInd,
            Primitive::ExdataInd { .. } => PrimitiveNumber::ExdataInd,
            Primitive::InfoAck(_) => PrimitiveNumber::InfoAck,
            Primitive::BindAck { .. } => PrimitiveNumber::BindAck,
            Primitive::ErrorAck { .. } => PrimitiveNumber::ErrorAck,
            Primitive::OkAck { .. } => PrimitiveNumber::OkAck,
            Primitive::UnitdataInd { .. } => PrimitiveNumber::UnitdataInd,
            Primitive::UderrorInd { .. } => PrimitiveNumber::UderrorInd,
            Primitive::OptmgmtAck { .. } => PrimitiveNumber::OptmgmtAck,
            Primitive::OrdrelInd => PrimitiveNumber::OrdrelInd,
            Primitive::AddrReq => PrimitiveNumber::AddrReq,
            Primitive::AddrAck { .. } => PrimitiveNumber::AddrAck,
            Primitive::OptdataReq { .. } => PrimitiveNumber::OptdataReq,
            Primitive::OptdataInd { .. } => PrimitiveNumber::OptdataInd,
            Primitive::CapabilityReq { .. } => PrimitiveNumber::CapabilityReq,
            Primitive::CapabilityAck { .. } => PrimitiveNumber::CapabilityAck,
        }
    }

    /// As [`PrimitiveNumber::is_high_priority`].
    #[doc = include_str!("../../doc/tpi.md")]
    pub const fn is_high_priority(&self) -> bool {
        self.number().is_high_priority()
    }

    fn parts_len(&self) -> usize {
        match *self {
            Primitive::ConnReq { destination: one, options: two }
            | Primitive::UnitdataReq { destination: one, options: two }
            | Primitive::UnitdataInd { source: one, options: two }
            | Primitive::ConnCon { responder: one, options: two }
            | Primitive::AddrAck { local: one, remote: two }
            | Primitive::ConnInd { source: one, options: two, .. }
            | Primitive::UderrorInd { destination: one, options: two, .. } => one.len() + two.len(),
            _ => 0,
        }
    }
}
