//! The drivers that every process knows: one file each, and the table below.

use crate::plumb::driver::DriverLink;

pub mod echo;
pub mod inet;
mod internet_options;
pub mod log;
pub mod loopback;
pub mod mux;
pub mod nuls;
mod provider;
pub mod sad;
pub mod transport;
pub mod udp;

/// Every driver, by the order of its name.
static TABLE: &[DriverLink] = &[
    DriverLink(&echo::Echo),
    DriverLink(&inet::RAWIP),
    DriverLink(&inet::TCP),
    DriverLink(&inet::UDP),
    DriverLink(&log::Log),
    DriverLink(&loopback::Loop),
    DriverLink(&mux::Mux),
    DriverLink(&nuls::Nuls),
    DriverLink(&sad::Sad),
    DriverLink(&transport::TICLTS),
    DriverLink(&transport::TICOTS),
    DriverLink(&transport::TICOTSORD),
    DriverLink(&udp::Udp),
];

/// The major number of a driver: a number for programs in C, where Rust has the name. It is the same in every process and version: FNV-1a
/// of the name's bytes, 32 bits, without the highest bit.
///
/// ```
/// assert_eq!(headwater_streams::drivers::major("echo"), 0x549d_d484);
/// ```
#[doc(alias = "getmajor")]
pub const fn major(driver: &str) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < driver.len() {
        hash = (hash ^ driver.as_bytes()[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash & i32::MAX as u32
}

/// The driver of that name.
pub(crate) fn find(name: &str) -> Option<&'static DriverLink> {
    TABLE.iter().find(|driver| {
        let info = driver.0.info();
        info.name == name || info.second_name == Some(name)
    })
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|driver| {
        let info = driver.0.info();
        [Some(info.name), info.second_name].into_iter().flatten()
    })
}
