//! `pipemod`: stands at the middle of a pipe, where the write side of one end becomes the read side of the other, and
//! turns the flags of a flush accordingly. Pushed first, on one end only.

use crate::error::Result;
use crate::message::Message;
use crate::message::kind::{Flush, Kind};
use crate::plumb::module::{Module, ModuleInfo};
use crate::plumb::queue::Queue;

/// The module.
#[derive(Debug)]
pub struct PipeModule;

impl Module for PipeModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("pipemod")
    }

    fn put<'m>(&self, mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if message.header.kind == Kind::Flush {
            let Flush { read, write, band } = Flush::of(&message);
            *message.data_mut() = Flush { read: write, write: read, band }.bytes().to_vec();
        }
        queue.put_next(message)
    }
}
