//! Resource limits of this process by name (getrlimit(2)). Called by the command's `environment` and `doctor`, and by
//! transports that probe a limit. It sets none but the process's own number of descriptors, within what it is granted.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// One limit; an absent value means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The name in lower case without `RLIMIT_`, as prlimit(1) takes it: `nofile`.
    pub name: &'static str,
    /// The current limit, in the unit of the resource (bytes, descriptors, processes).
    pub soft: Option<u64>,
    /// How far this process may raise the soft limit.
    pub hard: Option<u64>,
}

/// Every resource that Linux limits.
const RESOURCES: [(&str, Resource); 16] = [
    ("as", Resource::As),
    ("core", Resource::Core),
    ("cpu", Resource::Cpu),
    ("data", Resource::Data),
    ("fsize", Resource::Fsize),
    ("locks", Resource::Locks),
    ("memlock", Resource::Memlock),
    ("msgqueue", Resource::Msgqueue),
    ("nice", Resource::Nice),
    ("nofile", Resource::Nofile),
    ("nproc", Resource::Nproc),
    ("rss", Resource::Rss),
    ("rtprio", Resource::Rtprio),
    ("rttime", Resource::Rttime),
    ("sigpending", Resource::Sigpending),
    ("stack", Resource::Stack),
];

/// All limits, by name ascending.
pub fn all() -> impl Iterator<Item = Limit> {
    RESOURCES.iter().map(|&(name, resource)| read(name, resource))
}

/// The limit called `name`; absent if Linux has none of that name.
pub fn get(name: &str) -> Option<Limit> {
    RESOURCES.iter().find(|(known, _)| *known == name).map(|&(name, resource)| read(name, resource))
}

/// Raises the soft limit of this process's descriptors to `count` where it is lower. The hard limit stays as it is.
///
/// # Errors
/// `InvalidInput`, with both numbers, if the hard limit is lower than `count`.
pub fn allow_descriptors(count: u64) -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= count) {
        return Ok(());
    }
    if maximum.is_some_and(|maximum| maximum < count) {
        let why = format!("{count} descriptors: this process may have {} (ulimit -Hn)", maximum.unwrap_or_default());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(count), maximum })?)
}

fn read(name: &'static str, resource: Resource) -> Limit {
    let limit = getrlimit(resource);
    Limit { name, soft: limit.current, hard: limit.maximum }
}

#[cfg(test)]
mod tests;
