//! Addresses of the internet's transports: `sockaddr_in` and `sockaddr_in6`, as Linux lays them out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Bytes of a `sockaddr_in`: family, port, address, eight bytes of zero.
const LEN_V4: usize = 16;
/// Bytes of a `sockaddr_in6`: family, port, flow information, address, scope.
const LEN_V6: usize = 28;
/// AF_INET and AF_INET6 of Linux.
const FAMILY_V4: u16 = 2;
const FAMILY_V6: u16 = 10;

/// An address as its bytes are in a primitive. The family is in the machine's byte order, port and address in the network's.
///
/// ```
/// use headwater_streams::tpi::InternetAddress;
///
/// let address = InternetAddress::from("127.0.0.1:7".parse::<std::net::SocketAddr>()?);
/// assert_eq!(address.bytes()[2..8], [0, 7, 127, 0, 0, 1]);
/// assert_eq!(InternetAddress::decode(address.bytes()), Some("127.0.0.1:7".parse()?));
/// assert_eq!(InternetAddress::decode(b"printer"), None);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "sockaddr_in")]
pub struct InternetAddress {
    bytes: [u8; LEN_V6],
    len: usize,
}

impl InternetAddress {
    /// Bytes of the longest address.
    pub const LEN_MAX: usize = LEN_V6;

    /// Its bytes: 16, or 28 of IPv6.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The address of these bytes. None if they are none: another length or another family.
    pub fn decode(bytes: &[u8]) -> Option<SocketAddr> {
        let family = u16::from_ne_bytes(*bytes.first_chunk()?);
        let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
        match (bytes.len(), family) {
            (LEN_V4, FAMILY_V4) => {
                Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from_octets(*bytes[4..].first_chunk()?)), port))
            }
            (LEN_V6, FAMILY_V6) => {
                let word = |at: usize| Some(*bytes.get(at..)?.first_chunk::<4>()?);
                let address = Ipv6Addr::from_octets(*bytes[8..].first_chunk()?);
                let (flow, scope) = (u32::from_be_bytes(word(4)?), u32::from_ne_bytes(word(24)?));
                Some(SocketAddr::V6(SocketAddrV6::new(address, port, flow, scope)))
            }
            _ => None,
        }
    }
}

impl From<SocketAddrV4> for InternetAddress {
    fn from(address: SocketAddrV4) -> InternetAddress {
        let mut bytes = [0; LEN_V6];
        bytes[..2].copy_from_slice(&FAMILY_V4.to_ne_bytes());
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        bytes[4..8].copy_from_slice(&address.ip().octets());
        InternetAddress { bytes, len: LEN_V4 }
    }
}

impl From<SocketAddrV6> for InternetAddress {
    fn from(address: SocketAddrV6) -> InternetAddress {
        let mut bytes = [0; LEN_V6];
        bytes[..2].copy_from_slice(&FAMILY_V6.to_ne_bytes());
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
        bytes[8..24].copy_from_slice(&address.ip().octets());
        bytes[24..].copy_from_slice(&address.scope_id().to_ne_bytes());
        InternetAddress { bytes, len: LEN_V6 }
    }
}

impl From<SocketAddr> for InternetAddress {
    fn from(address: SocketAddr) -> InternetAddress {
        match address {
            SocketAddr::V4(address) => address.into(),
            SocketAddr::V6(address) => address.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_its_bytes() {
        for text in ["10.1.2.3:65535", "0.0.0.0:0", "[::1]:53", "[fe80::1%3]:9"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(InternetAddress::decode(InternetAddress::from(address).bytes()), Some(address), "{text}");
        }
    }

    #[test]
    fn other_bytes_are_no_address() {
        let good = InternetAddress::from("10.1.2.3:1".parse::<SocketAddr>().unwrap());
        for len in 0..good.bytes().len() {
            assert_eq!(InternetAddress::decode(&good.bytes()[..len]), None, "{len} bytes");
        }
        let mut other = good.bytes().to_vec();
        other[..2].copy_from_slice(&FAMILY_V6.to_ne_bytes());
        assert_eq!(InternetAddress::decode(&other), None);
    }
}
