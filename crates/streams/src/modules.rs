//! The modules that every process knows: one file each, and the table below.

use std::sync::{Arc, LazyLock};

use crate::plumb::module::Module;

pub mod nullmod;
pub mod pipemod;
pub mod srvmod;
pub mod testmod;

/// Every module, by the order of its name.
static TABLE: LazyLock<[Arc<dyn Module>; 4]> = LazyLock::new(|| {
    [
        Arc::new(nullmod::NullModule),
        Arc::new(pipemod::PipeModule),
        Arc::new(srvmod::ServiceModule),
        Arc::new(testmod::TestModule),
    ]
});

/// The module of that name.
pub(crate) fn find(name: &str) -> Option<Arc<dyn Module>> {
    TABLE.iter().find(|module| module.info().name == name).cloned()
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|module| module.info().name)
}
