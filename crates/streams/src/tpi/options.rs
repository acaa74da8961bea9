//! Options of a transport (t_opthdr), and what is asked about them (MGMT_flags).

use super::codec::Malformed;

/// Bytes of an option's header on 64-bit machines: length, level, name, status, each a 32-bit word. The value follows; the next option
/// begins at the next multiple of 8.
pub const OPTION_HEADER: usize = 16;
const ALIGNMENT: usize = 8;

/// The level of the options that belong to no protocol.
pub const XTI_GENERIC: u32 = 0xffff;
/// Debugging: words.
pub const XTI_DEBUG: u32 = 0x0001;
/// What a close does with data that were not sent: two words, on or off, and seconds.
pub const XTI_LINGER: u32 = 0x0080;
/// Size of the send buffer, bytes.
pub const XTI_SNDBUF: u32 = 0x1001;
/// Size of the receive buffer, bytes.
pub const XTI_RCVBUF: u32 = 0x1002;
/// Low-water mark of the send buffer, bytes.
pub const XTI_SNDLOWAT: u32 = 0x1003;
/// Low-water mark of the receive buffer, bytes.
pub const XTI_RCVLOWAT: u32 = 0x1004;

/// What is asked of the options in T_OPTMGMT_REQ, and how it went in T_OPTMGMT_ACK. One at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc = include_str!("../../doc/transport_options.md")]
pub struct ManagementFlags(u32);

/// How it went with one option (the status field).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc = include_str!("../../doc/transport_options.md")]
pub struct OptionStatus(u32);

/// Makes the constants.
macro_rules! values {
    ($type:ident: $($(#[$about:meta])* $name:ident = $value:literal $symbol:literal,)*) => {
        impl $type {
            $($(#[$about])* #[doc(alias = $symbol)] #[doc = include_str!("../../doc/transport_options.md")]
            pub const $name: $type = $type($value);)*
            /// The one of that value; None: there is none.
            #[doc = include_str!("../../doc/transport_options.md")]
            pub const fn of(bits: u32) -> Option<$type> {
                match bits {
                    $($value => Some($type::$name),)*
                    _ => None,
                }
            }

            /// Its value.
            #[doc = include_str!("../../doc/transport_options.md")]
            pub const fn bits(self) -> u32 {
                self.0
            }
        }
    };
}

values! { ManagementFlags:
    /// Nothing.
    NONE = 0 "T_UNSPEC_FLAGS",
    /// Changes options.
    NEGOTIATE = 0x04 "T_NEGOTIATE",
    /// Asks whether options are there.
    CHECK = 0x08 "T_CHECK",
    /// Asks for the usual values.
    DEFAULT = 0x10 "T_DEFAULT",
    /// It was done.
    SUCCESS = 0x20 "T_SUCCESS",
    /// It was not done.
    FAILURE = 0x40 "T_FAILURE",
    /// Asks for the present values.
    CURRENT = 0x80 "T_CURRENT",
    /// A part of it was done.
    PARTIAL = 0x100 "T_PARTSUCCESS",
    /// The option can be read and not be changed.
    READ_ONLY = 0x200 "T_READONLY",
    /// The provider does not have the option.
    NOT_SUPPORTED = 0x400 "T_NOTSUPPORT",
}

values! { OptionStatus:
    /// Of a request.
    NONE = 0 "T_UNSPEC",
    /// As asked for.
    SUCCESS = 0x20 "T_SUCCESS",
    /// It failed.
    FAILURE = 0x40 "T_FAILURE",
    /// Another value than the one that was asked for.
    PARTIAL = 0x100 "T_PARTSUCCESS",
    /// It can be read and not be changed.
    READ_ONLY = 0x200 "T_READONLY",
    /// The provider does not have it.
    NOT_SUPPORTED = 0x400 "T_NOTSUPPORT",
}

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the structure of the specification")]
#[doc(alias = "t_opthdr")]
#[doc = include_str!("../../doc/transport_options.md")]
pub struct TransportOption<'a> {
    /// The protocol that it belongs to, or [`XTI_GENERIC`].
    pub level: u32,
    /// Which of the protocol's it is.
    pub name: u32,
    /// How it went.
    pub status: OptionStatus,
    /// Its value.
    pub value: &'a [u8],
}

impl TransportOption<'_> {
    /// Appends it to a list of options.
    #[doc = include_str!("../../doc/transport_options.md")]
    pub fn append_to(&self, list: &mut Vec<u8>) {
        list.resize(list.len().next_multiple_of(ALIGNMENT), 0);
        let len = (OPTION_HEADER + self.value.len()) as u32;
        for word in [len, self.level, self.name, self.status.bits()] {
            list.extend_from_slice(&word.to_ne_bytes());
        }
        list.extend_from_slice(self.value);
        list.resize(list.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// The options of a list, in order. After one that is not whole, or whose length is impossible, it ends.
#[doc = include_str!("../../doc/transport_options.md")]
pub fn options(list: &[u8]) -> impl Iterator<Item = Result<TransportOption<'_>, Malformed>> {
    let mut rest = list;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (option, len) = match first(rest) {
            Ok(first) => first,
            Err(error) => {
                rest = &[];
                return Some(Err(error));
            }
        };
        rest = rest.get(len.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some(Ok(option))
    })
}

/// The first option of a list, and its length with the header.
fn first(list: &[u8]) -> Result<(TransportOption<'_>, usize), Malformed> {
    let header = list.first_chunk::<OPTION_HEADER>().ok_or(Malformed)?;
    let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| header[4 * at + byte]));
    let len = word(0) as usize;
    let value = list.get(OPTION_HEADER..len).ok_or(Malformed)?;
    // The user of a transport need not set it (XNS 5.2, t_optmgmt).
    let status = OptionStatus::of(word(3)).unwrap_or(OptionStatus::NONE);
    Ok((TransportOption { level: word(1), name: word(2), status, value }, len))
}
