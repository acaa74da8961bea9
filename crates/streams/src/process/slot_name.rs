//! The name of a module or driver, as a slot of the shared memory has it.

use std::ops::Deref;
use std::sync::atomic::Ordering;

use crate::error::{Result, corrupt};
use crate::layout::Slot;
use crate::limits::NAME_MAX;

/// The name of a module or driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotName {
    bytes: [u8; NAME_MAX],
    len: usize,
}

impl Deref for SlotName {
    type Target = str;

    fn deref(&self) -> &str {
        // Checked by `read_name`.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

/// The name in a slot; empty if nothing is there.
pub(crate) fn read_name(slot: &Slot) -> Result<SlotName> {
    let bytes: [u8; NAME_MAX] = std::array::from_fn(|at| slot.name[at].load(Ordering::Relaxed));
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_MAX);
    match std::str::from_utf8(&bytes[..len]) {
        Ok(_) => Ok(SlotName { bytes, len }),
        Err(_) => Err(corrupt!("a module's name")),
    }
}

/// Writes a name into a slot.
pub(crate) fn write_name(slot: &Slot, name: &str) {
    debug_assert!(name.len() <= NAME_MAX);
    for (at, byte) in slot.name.iter().enumerate() {
        byte.store(name.as_bytes().get(at).copied().unwrap_or(0), Ordering::Relaxed);
    }
}
