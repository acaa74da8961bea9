//! Slices that have begun, thread by thread.

use std::collections::BTreeMap;

/// Most that are open on one thread.
const DEPTH_MAX: usize = 64;

/// A slice that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    pub name: String,
    pub stream: String,
    /// Nanoseconds since 1970.
    pub begin: u128,
    /// What its first event said, as JSON.
    pub args: String,
}

/// What is open, by thread; of each the outermost first.
#[derive(Debug, Default)]
pub struct Slices {
    by_thread: BTreeMap<u32, Vec<Open>>,
}

impl Slices {
    /// Gives back the outermost if there are too many.
    pub fn begin(&mut self, tid: u32, open: Open) -> Option<Open> {
        let all = self.by_thread.entry(tid).or_default();
        all.push(open);
        (all.len() > DEPTH_MAX).then(|| all.remove(0))
    }

    /// The innermost of this name, and what had begun within it and has not ended. Of another name nothing is touched.
    pub fn end(&mut self, tid: u32, name: &str) -> (Option<Open>, Vec<Open>) {
        let Some(all) = self.by_thread.get_mut(&tid) else { return (None, vec![]) };
        let Some(at) = all.iter().rposition(|open| open.name == name) else { return (None, vec![]) };
        let inner = all.split_off(at + 1);
        (all.pop(), inner)
    }

    /// What is open of a stream, which is not any more.
    pub fn break_off(&mut self, stream: &str) -> Vec<(u32, Open)> {
        let mut broken = Vec::new();
        for (tid, all) in &mut self.by_thread {
            broken.extend(all.extract_if(.., |open| open.stream == stream).map(|open| (*tid, open)));
        }
        broken
    }

    /// Everything that is open, which is not any more.
    pub fn all(&mut self) -> Vec<(u32, Open)> {
        let all = std::mem::take(&mut self.by_thread);
        all.into_iter().flat_map(|(tid, all)| all.into_iter().map(move |open| (tid, open))).collect()
    }
}
