//! The process that owns the UDP socket at an address, as /proc shows it. For notices only: /proc may hide processes, so nothing
//! else may depend on the result.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use crate::descriptors::{self, Found};

/// An open file of the process that owns a socket.
#[derive(Debug)]
pub struct OwnersFile {
    /// The path.
    pub path: PathBuf,
    /// The device and the inode.
    pub identity: [u64; 2],
}

/// Returns the open files with this name of the process that owns the UDP socket at an address of this machine. Returns none if
/// the kernel does not show the process.
pub fn files_beside_udp(address: SocketAddr, name: &str) -> Vec<OwnersFile> {
    let Some(inode) = udp_inode(address) else { return Vec::new() };
    let socket = format!("socket:[{inode}]");
    let Ok(mut owners) = descriptors::anywhere(move |link| link == socket) else { return Vec::new() };
    let owner = owners.next();
    let files = owner.and_then(|owner| descriptors::of_process(owner.pid).ok()).unwrap_or_default();
    files.into_iter().filter_map(|found| file_of(found, name)).collect()
}

fn file_of(found: Found, name: &str) -> Option<OwnersFile> {
    let path = descriptors::link(found)
        .ok()
        .filter(|path| path.is_absolute() && path.file_name().is_some_and(|file| file == name))?;
    let status = found.pin().ok()?.status().ok()?;
    Some(OwnersFile { path, identity: [status.device, status.number] })
}

/// Returns the inode of the socket that receives datagrams to an address. It is bound to this address, or to the wildcard
/// address.
fn udp_inode(address: SocketAddr) -> Option<u64> {
    let (table, any) = match address.ip() {
        IpAddr::V4(_) => ("/proc/self/net/udp", "0".repeat(8)),
        IpAddr::V6(_) => ("/proc/self/net/udp6", "0".repeat(32)),
    };
    let port = address.port();
    let wanted = [format!("{}:{port:04X}", hex(address.ip())), format!("{any}:{port:04X}")];
    fs::read_to_string(table).ok()?.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let local = words.nth(1)?;
        // Between the two: the other address, the state, the queues, the timer, retransmissions, user and time-out.
        let inode = words.nth(7)?;
        if wanted.iter().any(|wanted| wanted == local) { inode.parse().ok() } else { None }
    })
}

/// Formats an address as the tables of /proc do: 32-bit words in the byte order of the machine.
fn hex(address: IpAddr) -> String {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    bytes.as_chunks().0.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn files_of_the_socket_owner_are_found() {
        for bound in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            // A machine may have no IPv6.
            let Ok(socket) = UdpSocket::bind(bound) else { continue };
            let mut address = socket.local_addr().expect("known");
            if address.ip().is_unspecified() {
                address.set_ip([127, 0, 0, 1].into());
            }
            let inode = descriptors::inode(&socket).expect("fstat");
            assert_eq!(udp_inode(address), Some(inode), "{bound}");
            let path = std::env::temp_dir().join(format!("headwater-owner-{}", address.port()));
            let file = fs::File::create(&path).expect("create");
            let name = path.file_name().and_then(|name| name.to_str()).expect("text");
            let found = files_beside_udp(address, name);
            assert_eq!(found.iter().map(|file| &file.path).collect::<Vec<_>>(), [&path], "{bound}");
            drop(file);
            fs::remove_file(path).expect("it is there");
            drop(socket);
            assert_eq!(udp_inode(address), None, "{bound}");
        }
    }
}
