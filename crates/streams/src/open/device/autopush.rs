//! Pushing the modules that are configured for a device, when it is opened.

use crate::error::{Error, Result};
use crate::head::handle::Handle;
use crate::process::autopush;
use crate::process::directory::Directory;

/// Pushes the modules of a device that was not open before, in the order of its entry.
///
/// Errors: those of [`autopush::read`] and of a push: `EINVAL` for a module that this process does not know.
pub(super) fn push_configured(stream: &mut Handle, directory: &Directory, driver: &str, minor: u32) -> Result<()> {
    let table = autopush::read(directory.as_fd()).map_err(|error| directory.told(error))?;
    let Some(entry) = table.find(driver, minor) else { return Ok(()) };
    for module in &entry.modules {
        stream.push(module).map_err(|error| {
            let why = format!("autopush of '{module}' on '{driver}' {minor}, for the entry '{entry}': {error}");
            Error::new(error.errno(), why)
        })?;
    }
    Ok(())
}
