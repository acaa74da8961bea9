//! Recovers the pages of a session that has not converted them, because its process was killed or had no space for the
//! trace.

use std::path::Path;

use super::capture::{Capture, Pages};
use super::drain::{Drain, Pipe};
use super::instance::{by_name, claim, remove};
use super::pages::{self, Description, Store};
use super::parts::{EndedParts, PartsFile};
use super::stats::Stats;
use super::{Error, tracefs};
use crate::parts_file;

/// Returns the pages that a dead session has left in `directory`; `None` if there are none that are not converted.
/// Waits until the session's guard has saved the buffers. If the guard was killed too, and the instance still exists,
/// it is stopped and its contents are read. If the instance is gone, for example after a restart, the contents of the
/// buffers are lost and uncounted ([`Capture::is_counted`]).
///
/// # Errors
/// [`Error::File`], with `WouldBlock` if the session is alive; [`Error::Unreadable`] if the files are of another
/// version. All files are kept then.
pub fn recover(directory: &Path) -> Result<Option<Capture>, Error> {
    if !directory.exists() {
        return Ok(None);
    }
    let mut stores = Vec::new();
    for cpu in pages::cpus(directory)? {
        let path = pages::of_cpu(directory, cpu);
        stores.push((cpu, Store::open(&path)?, path));
    }
    if let Some((_, first, path)) = stores.first() {
        pages::take_over(first, path)?;
    }
    let Some(description) = Description::read(directory)? else { return Ok(None) };
    let (layout, kinds, clock) = (description.layout()?, description.kinds()?, description.clock);
    let stacks = description.stacks();
    // An instance of that name that is locked belongs to another session.
    // Where tracefs cannot be reached any more, neither can the instance.
    let claimed = by_name(&description.instance).ok().and_then(|path| claim(&path).map(|lock| (path, lock)));
    let instance = claimed.as_ref().map(|(path, _lock)| path.as_path());
    if let Some(instance) = instance {
        tracefs::write(&instance.join("tracing_on"), "0")?;
    }
    let parts = PartsFile::read(directory)?;
    let parts = parts.map(|file| EndedParts { directory: directory.to_owned(), file });
    let mut cpus = Vec::new();
    for (cpu, store, path) in &stores {
        if let Some(instance) = instance {
            let error = Drain::open(instance, *cpu, store, Pipe::new()?, layout.page_bytes())?.copy_rest().err();
            let (stats, unwritten) = pages::note_stats(instance, *cpu, Some(path))?;
            cpus.push((Some(stats), error.or(unwritten)));
            continue;
        }
        let stats = parts_file::read(&pages::stats_beside(path)).ok().flatten().and_then(|text| Stats::parse(&text));
        cpus.push((stats, None));
    }
    if let Some(instance) = instance {
        remove(instance);
    }
    // Nothing below can fail: the files are now removed with the capture.
    let description = Some(Description::store(directory)?);
    let cpus = stores
        .into_iter()
        .zip(cpus)
        .map(|((cpu, store, path), (stats, error))| Pages::new(cpu, store.removing(path), Vec::new(), stats, error));
    Ok(Some(Capture { description, cpus: cpus.collect(), layout, kinds, clock, parts, stacks }))
}
