//! What a driver's procedure does with an endpoint of this process beside its own queue: it has a thread serve the driver's files, or
//! enters the write queue of another stream.

use std::sync::Arc;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_shm::Limit;

use crate::error::{Result, fixed};
use crate::head::beside;
use crate::head::handle::Handle;
use crate::plumb::queue::Queue;
use crate::process::endpoint::Endpoint;

/// Has the library's thread serve the files of a stream from now on.
pub(crate) fn serve_always(endpoint: &Arc<Endpoint>) {
    beside::serve_always(endpoint);
}

/// Calls `action` with the write queue of the driver of another stream. If another user of that stream is in the middle of a call for
/// longer than `patience`, the error [is held](crate::Error::is_held). The caller has the lock of its own stream, so the time must be short.
pub(crate) fn along_write_side<T>(
    endpoint: &Arc<Endpoint>,
    patience: Duration,
    action: impl FnOnce(&mut Queue<'_, '_, '_>) -> Result<T>,
) -> Result<T> {
    let mut handle = Handle::on(endpoint.clone());
    let until_ns = now_ns() + patience.as_nanos() as u64;
    handle.run_inside(true, Limit::Until(until_ns), |run| {
        let at = run.chain.len().checked_sub(1).ok_or_else(|| fixed!(Proto, "the stream has no driver"))?;
        action(&mut Queue { run, at })
    })
}
