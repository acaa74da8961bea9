//! The memory files of sessions: their names, and which of them exist.

use headwater_results::sorting::Arrange;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_os::files::own_user;
use headwater_trace::region::Region;

/// The prefix of a file name; user, process and a number follow.
const PREFIX: &str = "headwater-trace-";

/// Returns a name that no other session has.
pub(super) fn fresh_name() -> String {
    // The hasher's keys are random.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish() as u32;
    format!("{PREFIX}{}-{}-{random:08x}", own_user(), std::process::id())
}

/// Removes the memory of a session that is damaged, if its name and owner are those of one: a recording may name any file.
pub(super) fn remove_damaged(path: &Path) {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    if is_named && std::fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.uid() == own_user()) {
        // What stays takes room, and nothing else.
        let _ = std::fs::remove_file(path);
    }
}

/// The memory of a session of this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    /// The file.
    pub path: PathBuf,
    /// The recording into which it is copied, if that is known.
    pub recording: Option<PathBuf>,
    /// Whether a recorder is running for it.
    pub is_live: bool,
    /// Its size.
    pub bytes: u64,
}

/// Returns the memory of all sessions of this user in a directory, by name.
pub fn found(directory: &Path) -> Vec<SessionMemory> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut found: Vec<SessionMemory> = ours.filter_map(|entry| one(entry.path())).collect();
    found.arrange_by(|one, other| one.path.cmp(&other.path));
    found
}

fn one(path: PathBuf) -> Option<SessionMemory> {
    let metadata = std::fs::symlink_metadata(&path).ok()?;
    if metadata.uid() != own_user() {
        return None;
    }
    let region = Region::open(&path).ok()?;
    // The lock is held only for this check. A recorder that starts at this moment tries again.
    let is_live = !region.claim().ok()?;
    Some(SessionMemory { recording: region.home(), is_live, bytes: metadata.len(), path })
}
