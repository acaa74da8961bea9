//! OpenSlices that have begun and not ended, by thread.

use std::collections::BTreeMap;

/// The most open slices of a thread.
const DEPTH_MAX: usize = 64;

/// A slice that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSlice {
    pub name: String,
    pub stream: String,
    /// Nanoseconds since 1970.
    pub begin: u128,
    /// The fields of its first event, as JSON.
    pub args: String,
}

/// The open slices by thread, the outermost first.
#[derive(Debug, Default)]
pub struct OpenSlices {
    by_thread: BTreeMap<u32, Vec<OpenSlice>>,
}

impl OpenSlices {
    /// Adds a slice. If the thread has too many, removes the outermost one and returns it.
    pub fn begin(&mut self, tid: u32, open: OpenSlice) -> Option<OpenSlice> {
        let all = self.by_thread.entry(tid).or_default();
        all.push(open);
        (all.len() > DEPTH_MAX).then(|| all.remove(0))
    }

    /// Removes the innermost slice of this name. Returns it, and the open slices within it. If there is none of this
    /// name, nothing changes.
    pub fn end(&mut self, tid: u32, name: &str) -> (Option<OpenSlice>, Vec<OpenSlice>) {
        let Some(all) = self.by_thread.get_mut(&tid) else { return (None, vec![]) };
        let Some(at) = all.iter().rposition(|open| open.name == name) else { return (None, vec![]) };
        let inner = all.split_off(at + 1);
        (all.pop(), inner)
    }

    /// Removes and returns all open slices of a stream.
    pub fn break_off(&mut self, stream: &str) -> Vec<(u32, OpenSlice)> {
        let mut broken = Vec::new();
        for (tid, all) in &mut self.by_thread {
            broken.extend(all.extract_if(.., |open| open.stream == stream).map(|open| (*tid, open)));
        }
        broken
    }

    /// Removes and returns all open slices.
    pub fn all(&mut self) -> Vec<(u32, OpenSlice)> {
        let all = std::mem::take(&mut self.by_thread);
        all.into_iter().flat_map(|(tid, all)| all.into_iter().map(move |open| (tid, open))).collect()
    }
}
