//! Finds what a run has left on the machine (queues, segments, semaphores, files, processes) by comparing two
//! snapshots.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The objects that exist at one moment. Directories that the machine does not have count as empty.
#[derive(Debug)]
pub struct Snapshot {
    things: BTreeSet<PathBuf>,
}

impl Snapshot {
    /// The environment variable that identifies a run's processes, whichever process started them.
    pub const MARK: &str = "HEADWATER_CI_SAMPLE";

    /// Lists POSIX queues, shared memory, System V objects and the directory for temporary files.
    ///
    /// # Errors
    /// If an existing object cannot be read.
    pub fn take(temporary: &Path) -> Result<Snapshot> {
        let mut things = BTreeSet::new();
        for directory in [Path::new("/dev/mqueue"), Path::new("/dev/shm"), temporary] {
            if let Ok(entries) = fs::read_dir(directory) {
                for entry in entries {
                    things.insert(entry.with_context(|| directory.display().to_string())?.path());
                }
            }
        }
        for kind in ["msg", "sem", "shm"] {
            let list = Path::new("/proc/sysvipc").join(kind);
            let text = fs::read_to_string(&list).unwrap_or_default();
            things.extend(system_v_ids(&text).map(|id| list.join(id)));
        }
        Ok(Snapshot { things })
    }

    /// Returns the objects that were not in `before`, and processes with [`Snapshot::MARK`] set to `mark`.
    ///
    /// # Errors
    /// If the list of processes cannot be read.
    pub fn since(&self, before: &Snapshot, mark: &str) -> Result<Vec<String>> {
        let mut left: Vec<String> =
            self.things.difference(&before.things).map(|path| path.display().to_string()).collect();
        left.extend(marked_processes(&format!("{}={mark}", Self::MARK))?);
        Ok(left)
    }
}

/// Returns the second column of a table of /proc/sysvipc, without its head (proc(5)).
fn system_v_ids(table: &str) -> impl Iterator<Item = &str> {
    table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1))
}

fn marked_processes(variable: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("/proc")? {
        let path = entry?.path();
        // A process may end meanwhile, and those of other users are not readable.
        let Ok(environment) = fs::read(path.join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()) {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
            found.push(format!("process {} ({})", path.display(), name.trim()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn files_and_processes_that_stay_are_found() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let before = Snapshot::take(directory.path()).expect("a snapshot");
        let file = directory.path().join("left");
        fs::write(&file, "").expect("a file");
        let mark = format!("test-{}", std::process::id());
        let mut child = Command::new("sleep").arg("60").env(Snapshot::MARK, &mark).spawn().expect("a child");
        // The process runs before the kernel shows its environment.
        let environment = format!("/proc/{}/environ", child.id());
        while fs::read(&environment).expect("it runs").is_empty() {
            std::thread::yield_now();
        }
        let left = Snapshot::take(directory.path()).and_then(|after| after.since(&before, &mark));
        child.kill().expect("it runs");
        child.wait().expect("it is a child");
        let left = left.expect("a difference");
        assert!(left.contains(&file.display().to_string()), "{left:?}");
        assert!(left.iter().any(|thing| thing.starts_with(&format!("process /proc/{} ", child.id()))), "{left:?}");
    }

    #[test]
    fn system_v_objects_are_known_by_their_ids() {
        let table = "       key      msqid perms\n         0          7   600\n1297110016          8   644\n";
        assert_eq!(system_v_ids(table).collect::<Vec<_>>(), ["7", "8"]);
    }
}
