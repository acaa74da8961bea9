//! What a flight recorder holds, while it goes on.
//!
//! The kernel gives a buffer's pages away once. So they go where the session's end looks for them, behind those of earlier
//! snapshots, and are converted from there: whatever was read is in the end's trace too, and each count of the kernel's
//! holds for both.

use std::path::Path;

use super::Error;
use super::capture::{Capture, Pages};
use super::drain::{Drain, Pipe};
use super::pages::{self, Description, Store};
use super::stats::Stats;

/// What the session with these pages holds now ([`super::Settings::kept`]), and of what earlier snapshots took so much that
/// it is as much as a buffer holds; None if there is no session with such pages. Recording goes on meanwhile. What is not
/// in it counts as lost: overwritten, or [`super::convert::Loss::older`].
///
/// # Errors
/// [`Error::File`], [`Error::Unreadable`], [`Error::Start`]. What was read is then in the session's pages.
pub fn snapshot(directory: &Path) -> Result<Option<Capture>, Error> {
    if !directory.exists() {
        return Ok(None);
    }
    let _sole = pages::sole_reader(directory)?;
    let Some(description) = Description::read(directory)? else { return Ok(None) };
    let (layout, kinds, clock) = (description.layout()?, description.kinds()?, description.clock);
    let one = |cpu: u32| {
        let path = pages::of_cpu(directory, cpu);
        let store = Store::open(&path)?;
        let mut drain = Drain::open(&description.instance, cpu, &store, Pipe::new()?, layout.page_bytes())?;
        drain.at_most(description.buffer_bytes)?;
        // What came since is the next one's.
        let stats = Stats { unread: 0, ..Stats::of(&description.instance, cpu)? };
        let end = store.file.metadata().map_err(|source| Error::file("look at", &path, source))?.len();
        let page = layout.page_bytes() as u64;
        // A page at the end may be all but empty.
        let start = (end / page * page).saturating_sub(description.buffer_bytes.next_multiple_of(page) + page);
        Ok(Pages { range: start..end, ..Pages::new(cpu, store, Vec::new(), Some(stats), None) })
    };
    let cpus = pages::cpus(directory)?.into_iter().map(one).collect::<Result<_, Error>>()?;
    Ok(Some(Capture { description: None, cpus, layout, kinds, clock }))
}
