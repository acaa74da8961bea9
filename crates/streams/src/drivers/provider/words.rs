//! Words in the memory of a transport's endpoint.

use crate::error::{Result, corrupt};
use crate::plumb::queue::Queue;
use crate::tpi::State;

pub(in crate::drivers) fn word(queue: &Queue<'_, '_, '_>, at: usize) -> Result<u32> {
    let mut bytes = [0; 4];
    queue.read_instance(at, &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

pub(in crate::drivers) fn set_word(queue: &mut Queue<'_, '_, '_>, at: usize, word: u32) -> Result<()> {
    queue.write_instance(at, &word.to_ne_bytes())
}

/// The state of the endpoint. Other processes may have written anything there.
pub(in crate::drivers) fn state(queue: &Queue<'_, '_, '_>, at: usize) -> Result<State> {
    State::of(word(queue, at)?).ok_or_else(|| corrupt!("the state of a transport's endpoint"))
}
