//! `nullmod`: passes everything on. Its cost is the cost of a put procedure; also the template for a new module.

use crate::plumb::module::{Module, ModuleInfo};

/// The module.
#[derive(Debug)]
pub struct NullModule;

impl Module for NullModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo { data: true, proto: true, ..ModuleInfo::new("nullmod") }
    }
}
