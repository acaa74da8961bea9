//! The processes that a recorded command leaves running, such as a daemon. As the *subreaper* of its descendants
//! (prctl(2)), the recorder becomes the parent of each process whose parent has ended, so that it can see whether any is
//! left.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

/// What distinguishes the command's processes from other children of the recorder.
#[derive(Debug)]
pub struct Descendants {
    /// Children that are not of the command, such as the guard of a kernel session.
    others: BTreeSet<u32>,
}

impl Descendants {
    /// Makes this process the parent of all descendants whose parents end. Must be called before the command is started.
    ///
    /// # Errors
    /// Those of prctl(2); `Unsupported` if the kernel lists no children.
    pub fn adopt() -> io::Result<()> {
        if fs::read_to_string("/proc/thread-self/children").is_err() {
            let why = "this kernel does not list a process's children (CONFIG_PROC_CHILDREN), which --stay needs";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(set_child_subreaper(Some(getpid()))?)
    }

    /// Takes all present children but the command for other processes' business. Must be called before the command has
    /// started anything.
    pub fn of(command: u32) -> Descendants {
        Descendants { others: children().into_iter().filter(|child| *child != command).collect() }
    }

    /// Returns the number of processes whose parent has become this one. Those of them that have ended are waited for, so
    /// the command itself must have been waited for before. The kernel's list may lack a process while another one ends.
    pub fn count(&self) -> usize {
        let orphans = children().into_iter().filter(|child| !self.others.contains(child));
        orphans.filter(|orphan| !has_ended(*orphan)).count()
    }
}

fn has_ended(child: u32) -> bool {
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)))
}

/// Returns the children of all threads of this process; none if the kernel does not list them.
fn children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}
