//! Takes over the pages of a session that has not converted them: its tool was killed, or had no room for its trace.

use std::fs;
use std::path::Path;

use super::capture::{Capture, Pages};
use super::drain::{Drain, Pipe};
use super::instance::{is_stale, removed};
use super::pages::{self, Description, Store};
use super::stats::Stats;
use super::{Error, tracefs};

/// What a session has left in `directory`, as at its end; None if there is nothing, or nothing that was not converted. Waits
/// until the session's guard has saved what the buffers held. If the guard was killed too and the instance is there still, it
/// is stopped, and what it holds is taken; if it is gone, by a restart for instance, nobody knows what the buffers
/// held ([`Capture::is_counted`]).
///
/// # Errors
/// [`Error::File`], with `WouldBlock` if the session lives; [`Error::Unreadable`] if the files are not of this version. Then
/// all files are there still.
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
    // One of that name whose process lives is another's.
    let instance = Some(&*description.instance).filter(|path| path.exists() && is_stale(path));
    if let Some(instance) = instance {
        tracefs::write(&instance.join("tracing_on"), "0")?;
    }
    let mut cpus = Vec::new();
    for (cpu, store, path) in &stores {
        if let Some(instance) = instance {
            let error = Drain::open(instance, *cpu, store, Pipe::new()?, layout.page_bytes())?.rest().err();
            let (stats, unwritten) = pages::note_stats(instance, *cpu, Some(path))?;
            cpus.push((Some(stats), error.or(unwritten)));
            continue;
        }
        let stats = fs::read_to_string(pages::stats_beside(path)).ok().and_then(|text| Stats::parse(&text));
        cpus.push((stats, None));
    }
    if let Some(instance) = instance {
        removed(instance);
    }
    // Nothing can fail any more: from here on the files go with the capture.
    let description = Some(Description::store(directory)?);
    let cpus = stores
        .into_iter()
        .zip(cpus)
        .map(|((cpu, store, path), (stats, error))| Pages::new(cpu, store.going_with(path), Vec::new(), stats, error));
    Ok(Some(Capture { description, cpus: cpus.collect(), layout, kinds, clock }))
}
