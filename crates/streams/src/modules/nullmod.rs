//! `nullmod`: passes everything on. What it costs is what a put procedure costs; also the template to copy.

use crate::plumb::module::{Info, Module};

/// The module.
#[derive(Debug)]
pub struct NullModule;

impl Module for NullModule {
    fn info(&self) -> Info {
        Info { data: true, ..Info::new("nullmod") }
    }
}
