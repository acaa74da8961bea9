//! Options of the internet's protocols, as T_OPTMGMT_REQ and single datagrams have them. Levels, names and values are those of XNS 5.2
//! (`xti.h`, `xti_inet.h`); docs/guarantees.md lists them.

use std::io;
use std::os::fd::BorrowedFd;

use headwater_os::internet::{self, Fields, IpOptions, Setting};

use crate::error::Errno;
use crate::tpi::{ManagementFlags, OptionStatus, TransportOption, options};

/// The levels: the numbers of the protocols (INET_IP, INET_TCP, INET_UDP).
pub(super) const IP: u32 = 0;
pub(super) const TCP: u32 = 6;
pub(super) const UDP: u32 = 17;

const IP_OPTIONS: u32 = 0x01;
const IP_TOS: u32 = 0x02;
const IP_TTL: u32 = 0x03;

/// How the value of an option stands for a setting of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The same words.
    Same(Setting),
    /// A byte.
    Byte(Setting),
    /// The kernel keeps and tells twice the value.
    Doubled(Setting),
    /// On is off.
    Inverse(Setting),
    /// On or off, and minutes of silence: of T_TCP_KEEPALIVE.
    KeepAlive,
    /// It cannot be changed.
    ReadOnly(Setting),
    /// Bytes: the options of an IPv4 header.
    Header,
}

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub level: u32,
    pub name: u32,
    pub form: Form,
}

/// What is wrong with bytes that are no value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Their number.
    Form,
    /// The option cannot have this value.
    Value,
}

/// The options of IP.
pub(super) const OF_IP: [Known; 6] = [
    Known { level: IP, name: IP_OPTIONS, form: Form::Header },
    Known { level: IP, name: IP_TOS, form: Form::Byte(Setting::TypeOfService) },
    Known { level: IP, name: IP_TTL, form: Form::Byte(Setting::TimeToLive) },
    Known { level: IP, name: 0x04, form: Form::Same(Setting::ReuseAddress) },
    Known { level: IP, name: 0x10, form: Form::Same(Setting::DontRoute) },
    Known { level: IP, name: 0x20, form: Form::Same(Setting::Broadcast) },
];
/// T_UDP_CHECKSUM.
pub(super) const OF_UDP: Known = Known { level: UDP, name: 0x0600, form: Form::Inverse(Setting::NoChecksum) };

/// Seconds of the minutes in which T_TCP_KEEPALIVE counts.
const SECONDS: i32 = 60;

impl Known {
    /// The value in the form in which it is kept and answered: a number may come in a byte, a word of 4 bytes or one of 8.
    pub fn value(&self, given: &[u8]) -> Result<Vec<u8>, Wrong> {
        if self.form == Form::Header {
            return IpOptions::new(given).map(|options| options.bytes().to_vec()).ok_or(Wrong::Form);
        }
        self.bytes(self.numbers(given).ok_or(Wrong::Form)?).ok_or(Wrong::Value)
    }

    /// Whether a request with these bytes for the option is refused as a whole.
    pub fn is_malformed(&self, given: &[u8], flags: ManagementFlags) -> bool {
        let is_asked = flags == ManagementFlags::NEGOTIATE || flags == ManagementFlags::CHECK && !given.is_empty();
        is_asked && self.value(given) == Err(Wrong::Form)
    }

    fn numbers(&self, given: &[u8]) -> Option<[i32; 2]> {
        let word = |bytes: &[u8]| match bytes.len() {
            1 => Some(bytes[0].into()),
            4 => Some(i32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => i64::from_ne_bytes(bytes.try_into().ok()?).try_into().ok(),
            _ => None,
        };
        match (self.words(), given.len()) {
            (1, _) => Some([word(given)?, 0]),
            (_, 8 | 16) => {
                let (first, second) = given.split_at(given.len() / 2);
                Some([word(first)?, word(second)?])
            }
            _ => None,
        }
    }

    /// Words of the setting.
    const fn words(&self) -> usize {
        match self.form {
            Form::KeepAlive => 2,
            Form::Same(setting) | Form::ReadOnly(setting) => setting.words(),
            _ => 1,
        }
    }

    /// These words as a value. None: they are out of its range.
    fn bytes(&self, words: [i32; 2]) -> Option<Vec<u8>> {
        match self.form {
            Form::Byte(setting) => {
                let byte = u8::try_from(words[0]).ok()?;
                // A packet that may pass no router and no host is none.
                (byte > 0 || setting != Setting::TimeToLive).then(|| vec![byte])
            }
            _ => Some(words[..self.words()].iter().flat_map(|word| word.to_ne_bytes()).collect()),
        }
    }

    /// The value that the socket has.
    pub fn get(&self, socket: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
        let words = match self.form {
            Form::Same(setting) | Form::Byte(setting) | Form::ReadOnly(setting) => setting.get(socket)?,
            Form::Doubled(setting) => [setting.get(socket)?[0] / 2, 0],
            Form::Inverse(setting) => [i32::from(setting.get(socket)?[0] == 0), 0],
            Form::KeepAlive => [Setting::KeepAlive.get(socket)?[0], Setting::KeepAliveAfter.get(socket)?[0] / SECONDS],
            // The kernel would keep them of a socket of IPv6, for packets of IPv4 that this one never sends.
            Form::Header if is_v6(socket) => return Err(io::ErrorKind::Unsupported.into()),
            Form::Header => return Ok(IpOptions::get(socket)?.bytes().to_vec()),
        };
        self.bytes(words).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Gives the socket a value ([`Known::value`]).
    pub fn set(&self, socket: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
        let word =
            |at: usize| value.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| i32::from_ne_bytes(*word));
        match self.form {
            Form::ReadOnly(_) => Err(io::ErrorKind::PermissionDenied.into()),
            Form::Same(setting) | Form::Doubled(setting) => setting.set(socket, [word(0), word(4)]),
            Form::Byte(setting) => setting.set(socket, [value.first().copied().unwrap_or(0).into(), 0]),
            Form::Inverse(setting) => setting.set(socket, [i32::from(word(0) == 0), 0]),
            Form::KeepAlive => {
                // T_UNSPEC, a timeout of no meaning: the present one.
                if word(4) > 0 {
                    Setting::KeepAliveAfter.set(socket, [word(4).saturating_mul(SECONDS), 0])?;
                }
                Setting::KeepAlive.set(socket, [word(0), 0])
            }
            Form::Header => IpOptions::new(value).unwrap_or(IpOptions::NONE).set(socket),
        }
    }
}

/// Whether a socket is of IPv6.
pub(super) fn is_v6(socket: BorrowedFd<'_>) -> bool {
    internet::own_address(socket).is_ok_and(|address| address.is_ipv6())
}

/// The fields that the options of a single datagram ask for: IP_TOS, IP_TTL, and IP_OPTIONS of IPv4. An error for all others.
pub(super) fn fields_of(list: &[u8], is_v6: bool) -> Result<Fields, Errno> {
    let mut fields = Fields::USUAL;
    for option in options(list) {
        let Ok(TransportOption { level: IP, name, value, .. }) = option else { return Err(Errno::Inval) };
        let known = OF_IP.iter().find(|known| known.name == name).ok_or(Errno::Inval)?;
        let value = known.value(value).map_err(|_| Errno::Inval)?;
        match name {
            IP_TOS => fields.tos = value.first().copied(),
            IP_TTL => fields.ttl = value.first().copied(),
            IP_OPTIONS if !is_v6 => fields.options = IpOptions::new(&value).ok_or(Errno::Inval)?,
            _ => return Err(Errno::Inval),
        }
    }
    Ok(fields)
}

/// The options with which the receiver of a datagram is told of its fields: IP_TOS and IP_OPTIONS that are not zero.
pub(super) fn options_of(fields: &Fields) -> Vec<u8> {
    let (mut list, status) = (Vec::new(), OptionStatus::SUCCESS);
    if let Some(tos) = fields.tos.filter(|tos| *tos > 0) {
        TransportOption { level: IP, name: IP_TOS, status, value: &[tos] }.append_to(&mut list);
    }
    let value = fields.options.bytes();
    if !value.is_empty() {
        TransportOption { level: IP, name: IP_OPTIONS, status, value }.append_to(&mut list);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(of: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut list = Vec::new();
        for (level, name, value) in of {
            let option = TransportOption { level: *level, name: *name, status: OptionStatus::NONE, value };
            option.append_to(&mut list);
        }
        list
    }

    #[test]
    fn the_fields_of_a_datagram_are_those_of_its_options() {
        let (tos, ttl) = (16_i32.to_ne_bytes(), 7_i64.to_ne_bytes());
        let asked = list(&[(IP, IP_TOS, &tos), (IP, IP_TTL, &ttl), (IP, IP_OPTIONS, &[1, 1, 1, 0])]);
        let options = IpOptions::new(&[1, 1, 1, 0]).unwrap();
        let fields = Fields { tos: Some(16), ttl: Some(7), options };
        assert_eq!(fields_of(&asked, false), Ok(fields));
        // IPv6 has none in its header.
        assert_eq!(fields_of(&asked, true), Err(Errno::Inval));
        assert_eq!(fields_of(&[], true), Ok(Fields::USUAL));
        // What a receiver is told can be sent again; the number of routers is not told.
        assert_eq!(fields_of(&options_of(&fields), false), Ok(Fields { ttl: None, ..fields }));
        assert!(options_of(&Fields { tos: Some(0), ttl: Some(9), ..Fields::USUAL }).is_empty());
    }

    #[test]
    fn other_options_of_a_datagram_are_errors() {
        let word = 1_i32.to_ne_bytes();
        for wrong in [
            list(&[(IP, 0x04, &word)]),
            list(&[(UDP, 0x600, &word)]),
            list(&[(IP, 99, &word)]),
            list(&[(IP, IP_TOS, &256_i32.to_ne_bytes())]),
            list(&[(IP, IP_TTL, &[0])]),
            list(&[(IP, IP_TTL, &[])]),
            list(&[(IP, IP_OPTIONS, &[1; 41])]),
            list(&[(IP, IP_TOS, &[0])])[..12].to_vec(),
        ] {
            assert_eq!(fields_of(&wrong, false), Err(Errno::Inval), "{wrong:?}");
        }
    }
}
