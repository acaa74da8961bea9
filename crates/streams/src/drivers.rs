//! The drivers that every process knows: one file each, and the table below.

use crate::plumb::driver::DriverLink;

pub mod echo;
pub mod log;
pub mod loopback;
pub mod mux;
pub mod nuls;
pub mod pty;

/// Every driver, by the order of its name.
static TABLE: &[DriverLink] = &[
    DriverLink(&echo::Echo),
    DriverLink(&log::Log),
    DriverLink(&loopback::Loop),
    DriverLink(&mux::Mux),
    DriverLink(&nuls::Nuls),
    DriverLink(&pty::Pty),
];

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
