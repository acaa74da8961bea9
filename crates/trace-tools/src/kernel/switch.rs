//! Switches events of a running session on and off, from any process that can open the directory of its pages.

use std::path::Path;

use super::events::Selection;
use super::instance::{self, by_name};
use super::pages::{self, Description};
use super::{Error, Tracefs, session, tracefs};

/// Switches events of the session with these pages: first those of `off`, then those of `on` (patterns as for
/// [`Selection::choose`]), with the session's filters. Returns the events that are on afterwards, as `system:event`; `None` if there is no such
/// session.
///
/// The description of an event is added to the session's before the event is switched on, so that all of its records can
/// be converted, whichever process does that.
///
/// # Errors
/// [`Error::UnknownEvent`], [`Error::Filter`], [`Error::File`], [`Error::Unreadable`]. Some events may have been switched then.
pub fn switch(directory: &Path, on: &[String], off: &[String]) -> Result<Option<Vec<String>>, Error> {
    if !directory.exists() {
        return Ok(None);
    }
    // Snapshots and other switches wait meanwhile.
    let _sole = pages::sole_reader(directory)?;
    let Some(mut description) = Description::read(directory)? else { return Ok(None) };
    let found = Tracefs::find()?;
    let available = tracefs::read(&found.path("available_events"))?;
    let [on, off] = [on, off].map(|patterns| Selection::choose(&available, patterns));
    let (on, off) = (on?, off?);
    let known = description.formats.len();
    for (system, text) in session::formats(&found, &on, false)? {
        if !description.formats.contains(&(system.clone(), text.clone())) {
            description.formats.push((system, text));
        }
    }
    if description.calls.is_empty() {
        description.calls = session::calls(&found, &on)?;
    }
    if description.formats.len() > known {
        description.replace(directory)?;
    }
    let instance = by_name(&description.instance)?;
    off.switch(&instance, false)?;
    instance::filter(&instance, &on, &description.filters)?;
    on.switch(&instance, true)?;
    let now = tracefs::read(&instance.join("set_event"))?;
    Ok(Some(now.lines().map(str::to_owned).collect()))
}
