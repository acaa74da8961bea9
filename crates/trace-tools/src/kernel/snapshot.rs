//! Reads a flight recorder's buffers while it continues.
//!
//! A page of a kernel buffer can be read only once. So the pages are appended to the session's files, where the
//! session's end looks for them, and are converted from there. The final trace contains all of them, and the kernel's
//! counts apply to both.

use std::path::Path;

use super::Error;
use super::capture::{Capture, Pages};
use super::drain::{Drain, Pipe};
use super::instance::by_name;
use super::pages::{self, Description, Store};
use super::stats::Stats;

/// Returns the present contents of the session with these pages ([`super::Settings::kept`]), and as much of what
/// earlier snapshots read as fills a buffer; `None` if there is no such session. Recording continues meanwhile. Other
/// events count as lost: overwritten, or [`super::convert::Loss::older`].
///
/// # Errors
/// [`Error::File`], [`Error::Unreadable`], [`Error::Start`]. Pages that were read are then in the session's files.
pub fn snapshot(directory: &Path) -> Result<Option<Capture>, Error> {
    if !directory.exists() {
        return Ok(None);
    }
    let _sole = pages::sole_reader(directory)?;
    let Some(description) = Description::read(directory)? else { return Ok(None) };
    let (layout, kinds, clock) = (description.layout()?, description.kinds()?, description.clock);
    let stacks = description.stacks();
    let instance = by_name(&description.instance)?;
    let one = |cpu: u32| {
        let path = pages::of_cpu(directory, cpu);
        let store = Store::open(&path)?;
        let mut drain = Drain::open(&instance, cpu, &store, Pipe::new()?, layout.page_bytes())?;
        drain.copy_at_most(description.buffer_bytes)?;
        // Later events belong to the next snapshot.
        let stats = Stats { unread: 0, ..Stats::of(&instance, cpu)? };
        let end = store.file.metadata().map_err(|source| Error::file("look at", &path, source))?.len();
        let page = layout.page_bytes() as u64;
        // The last page may be almost empty.
        let start = (end / page * page).saturating_sub(description.buffer_bytes.next_multiple_of(page) + page);
        Ok(Pages { range: start..end, ..Pages::new(cpu, store, Vec::new(), Some(stats), None) })
    };
    let cpus = pages::cpus(directory)?.into_iter().map(one).collect::<Result<_, Error>>()?;
    Ok(Some(Capture { description: None, cpus, layout, kinds, clock, parts: None, stacks }))
}
