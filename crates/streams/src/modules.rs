//! The modules that every process knows: one file each, and the table below.

use crate::plumb::module::Module;

pub mod bufmod;
pub mod connld;
pub mod nullmod;
pub mod pipemod;
pub mod sockmod;
pub mod srvmod;
pub mod testmod;
pub mod timod;
pub mod tirdwr;
mod transport_request;

/// Every module, by the order of its name.
static TABLE: &[&dyn Module] = &[
    &bufmod::BufferModule,
    &connld::ConnectionModule,
    &nullmod::NullModule,
    &pipemod::PipeModule,
    &sockmod::SocketModule,
    &srvmod::ServiceModule,
    &testmod::TestModule,
    &timod::TransportModule,
    &tirdwr::ReadWriteModule,
];

/// The module with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Module> {
    TABLE.iter().find(|module| module.info().name == name).copied()
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|module| module.info().name)
}
