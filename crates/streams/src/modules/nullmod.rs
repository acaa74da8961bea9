//! `nullmod`: passes everything on. What it costs is what a put procedure costs; also the template to copy.

use crate::plumb::module::{Module, ModuleInfo};

/// The module.
#[derive(Debug)]
pub struct NullModule;

impl Module for NullModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo { data: true, ..ModuleInfo::new("nullmod") }
    }
}
