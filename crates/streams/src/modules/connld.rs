//! `connld`: gives each process that opens an attached name a pipe of its own (a mounted-streams server). Pushed on an end of a pipe, which
//! is then attached to a name; for each open of the name the other end receives an end of a new pipe, and the opener gets the other.
//!
//! The module itself passes every message on: its presence on an attached end is what the process that holds the attachment looks at;
//! see `open/attached/holder.rs`.

use crate::error::{Result, fixed};
use crate::plumb::module::{Module, ModuleInfo};
use crate::plumb::queue::Queue;

/// The name by which it is pushed.
pub(crate) const NAME: &str = "connld";

/// The module.
#[derive(Debug)]
pub struct ConnectionModule;

impl Module for ConnectionModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new(NAME)
    }

    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.minor().is_some() {
            return Err(fixed!(Inval, "connld is pushed on an end of a pipe, and not on a device"));
        }
        Ok(())
    }
}
