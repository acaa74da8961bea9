//! What several endpoints have part in takes several steps, and a process may be killed between two. A timer is set before the first step, and taken
//! over by whichever process waits at the stream: it looks whether the other end agrees, and does what is missing.
//!
//! Only the endpoints' memory decides, never the time: the write side is locked, so no process of this stream is between two steps.

use std::time::Duration;

use super::connect::{ABORTED, confirm, disconnected, look, lost};
use super::local::find_other;
use super::memory::{self, Other};
use super::send::reach;
use crate::drivers::provider::answer::message;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{Event, Primitive, State};

/// When a process that waits at the stream looks.
const LOOK: Duration = Duration::from_millis(100);

/// Called before the first step.
pub(super) fn begin(queue: &mut Queue<'_, '_, '_>) {
    queue.enable_after(LOOK);
}

/// What the other end says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Found {
    /// It has the connection too.
    Agrees,
    /// It knows nothing of it.
    #[default]
    Differs,
}

/// The time is over. On the write side.
pub(super) fn verify(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let state = memory::state(queue)?;
    let Some(other) = memory::other(queue)? else {
        if state != State::AwaitConfirm {
            return Ok(());
        }
        // The process that asked was killed before it knew who was to answer. If a listener accepts yet, it finds no caller.
        return queue.along_own(|own| {
            let is_same = memory::state(own)? == State::AwaitConfirm && memory::other(own)?.is_none();
            if !is_same {
                return Ok(());
            }
            memory::set_state(own, State::Idle)?;
            own.put_next(disconnected(ABORTED, Primitive::NO_SEQUENCE))
        });
    };
    if state == State::AwaitConfirm {
        queue.watch_peers(look);
        return Ok(());
    }
    let Some(peer) = find_other(queue, other)?.filter(|peer| !peer.is_gone()) else { return lost(queue, other) };
    let (minor, cookie) = (queue.minor().unwrap_or(0), queue.cookie());
    let (own, local) = (Other { minor, cookie, connection: memory::connection(queue)? }, memory::local(queue)?);
    let has_ended = matches!(state, State::AwaitRelease | State::Idle) && queue.size(0).0 == 0;
    let found = reach(queue, &peer, |there| {
        let is_awaited = state == State::Connected && memory::connection(there)? == other.connection;
        if !memory::is_connected_to(there, minor, other.connection)? {
            // It has been accepted here, and was not told.
            let is_told = is_awaited && confirm(there, None, other, own, &local)?;
            return Ok(if is_told { Found::Agrees } else { Found::Differs });
        }
        let is_open = matches!(memory::state(there)?, State::Connected | State::AwaitRelease);
        if has_ended && is_open {
            // This direction has ended, and was to say so.
            let Some(next) = memory::state(there)?.after(Event::OrdrelInd) else { return Ok(Found::Differs) };
            memory::set_state(there, next)?;
            if next == State::Idle {
                memory::set_other(there, None)?;
            }
            there.put_next(message(Primitive::OrdrelInd))?;
        }
        Ok(Found::Agrees)
    })?;
    if found == Found::Differs {
        return lost(queue, other);
    }
    queue.watch_peers(look);
    Ok(())
}
