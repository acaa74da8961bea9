//! The drivers that every process knows: one file each, and the table below.

use crate::plumb::driver::DriverLink;

pub mod echo;
pub mod log;
pub mod loopback;
pub mod mux;
pub mod nuls;

/// Every driver, by the order of its name.
static TABLE: &[DriverLink] = &[
    DriverLink(&echo::Echo),
    DriverLink(&log::Log),
    DriverLink(&loopback::Loop),
    DriverLink(&mux::Mux),
    DriverLink(&nuls::Nuls),
];

/// The driver of that name.
pub(crate) fn find(name: &str) -> Option<&'static DriverLink> {
    TABLE.iter().find(|driver| driver.0.info().name == name)
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|driver| driver.0.info().name)
}
