//! What is done within a run, behind a pointer: so that the code around it exists once, and not in a copy for each of its callers.
//!
//! Called wherever a run is begun, but on the path of plain messages, where a copy saves a call.

use super::Run;
use crate::error::{Result, corrupt};

/// An action of a run, which is called at most once.
pub(crate) type Action<'a, 'm> = dyn FnMut(&mut Run<'_, 'm>) -> Result<()> + 'a;

/// Has `begin` begin a run and call a pointer to `action` within it. Returns what `action` has returned, or the error of `begin`.
#[inline]
pub(crate) fn by_pointer<'m, T>(
    action: impl FnOnce(&mut Run<'_, 'm>) -> Result<T>,
    begin: impl FnOnce(&mut Action<'_, 'm>) -> Result<()>,
) -> Result<T> {
    let mut action = Some(action);
    let mut done = None;
    begin(&mut |run| {
        if let Some(action) = action.take() {
            done = Some(action(run)?);
        }
        Ok(())
    })?;
    done.ok_or_else(|| corrupt!("a run without its action"))
}
