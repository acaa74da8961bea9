//! Names and processes of threads, as far as the traces report them.

use std::collections::{BTreeMap, BTreeSet};

use super::roles::Role;
use super::sink::Track;
use crate::ctf::Record;

/// The threads of the traces. If the kernel reuses a thread id, both threads are taken for one.
#[derive(Debug, Default)]
pub struct Threads {
    by_tid: BTreeMap<u32, Thread>,
    cpus: BTreeSet<u32>,
}

#[derive(Debug, Default)]
struct Thread {
    pid: Option<u32>,
    /// The name that it reported itself.
    own_name: Option<String>,
    /// The last name that the kernel reported.
    name: Option<String>,
}

impl Threads {
    /// Records what an event reports about threads.
    pub fn record(&mut self, record: &Record<'_>, role: &Role) {
        let number = |name: &str| {
            let value = record.field(name).and_then(|value| value.as_u64());
            value.and_then(|value| u32::try_from(value).ok())
        };
        let text = |name: &str| record.field(name).and_then(|value| value.as_text());
        let thread = self.by_tid.entry(record.tid).or_default();
        if role.names_itself {
            thread.pid = number("pid").or(thread.pid);
            thread.own_name = text("name").or(thread.own_name.take());
        }
        for (comm, pid) in &role.names {
            if let (Some(name), Some(tid)) = (text(comm), number(pid)) {
                self.by_tid.entry(tid).or_default().name = Some(name);
            }
        }
    }

    pub fn saw_cpu(&mut self, cpu: u32) {
        self.cpus.insert(cpu);
    }

    pub fn track(&self, tid: u32) -> Track {
        Track { pid: self.by_tid.get(&tid).and_then(|thread| thread.pid).unwrap_or(tid), tid }
    }

    pub fn name(&self, tid: u32) -> String {
        let thread = self.by_tid.get(&tid);
        let name = thread.and_then(|thread| thread.own_name.as_ref().or(thread.name.as_ref()));
        name.cloned().unwrap_or_else(|| tid.to_string())
    }

    /// Returns the tracks with the name of their process, which is that of its first thread, and their own name.
    pub fn named(&self) -> Vec<(Track, String, String)> {
        let threads = self.by_tid.keys().map(|tid| {
            let track = self.track(*tid);
            (track, self.name(track.pid), self.name(*tid))
        });
        let cpus = self.cpus.iter().map(|cpu| (Track::of_cpu(*cpu), "CPUs".to_owned(), format!("CPU {cpu}")));
        threads.chain(cpus).collect()
    }
}
