//! What a process keeps for an endpoint: the buffer into which it reads the socket.

use std::sync::Mutex;

use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::process::local::LocalState;

/// Bytes of the buffer: as many as any datagram has.
const BUFFER: usize = 64 << 10;

#[derive(Debug, Default)]
struct Local {
    /// No thread waits for it: the holder may be a thread of a process that has forked.
    buffer: Mutex<Vec<u8>>,
}

impl LocalState for Local {}

/// Calls `action` with a buffer.
pub(super) fn with_buffer<'q, 's, 'm, T>(
    queue: &mut Queue<'q, 's, 'm>,
    action: impl FnOnce(&mut Queue<'q, 's, 'm>, &mut Vec<u8>) -> Result<T>,
) -> Result<T> {
    let local = queue.local(|_: &Local| true, Local::default);
    if let Ok(mut buffer) = local.buffer.try_lock() {
        buffer.clear();
        buffer.reserve_exact(BUFFER);
        return action(queue, &mut buffer);
    }
    action(queue, &mut Vec::with_capacity(BUFFER))
}
