//! Where the control groups of this process are, and how long they were throttled.
//!
//! cgroups(7): `/proc/self/cgroup` names the groups, `/proc/self/mountinfo` where their hierarchies are mounted. Only
//! what is mounted is looked at; nothing is ever mounted.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Which generation of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The group of this process in one mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its generation.
    pub hierarchy: Hierarchy,
    /// Controllers of a version 1 hierarchy; empty in version 2, where the files present tell.
    pub controllers: Vec<String>,
    /// Its directory first, then those of its ancestors up to the mount point. A limit of any of them holds.
    pub directories: Vec<PathBuf>,
}

impl Group {
    /// The groups of this process; empty where there are none.
    pub fn own() -> Vec<Group> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::parse(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    /// The groups that `/proc/PID/cgroup` and `/proc/PID/mountinfo` together describe.
    pub fn parse(cgroup: &str, mountinfo: &str) -> Vec<Group> {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
        cgroup.lines().filter_map(|line| Self::of_line(line, &mounts)).collect()
    }

    /// One line `hierarchy-ID:controller-list:cgroup-path`.
    fn of_line(line: &str, mounts: &[Mount]) -> Option<Group> {
        let mut fields = line.splitn(3, ':');
        let (_, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        let controllers: Vec<String> = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let hierarchy = if controllers.is_empty() { Hierarchy::V2 } else { Hierarchy::V1 };
        let mount = mounts.iter().find(|mount| {
            mount.hierarchy == hierarchy && controllers.iter().all(|name| mount.options.iter().any(|have| have == name))
        })?;
        Some(Group { hierarchy, controllers, directories: mount.directories(Path::new(path)) })
    }
}

/// A mounted hierarchy.
struct Mount {
    hierarchy: Hierarchy,
    /// The group that is seen at `point`; not `/` in a container without a namespace of its own.
    root: PathBuf,
    point: PathBuf,
    /// Options of the file system, among them the controllers of version 1.
    options: Vec<String>,
}

impl Mount {
    /// One line of mountinfo, proc_pid_mountinfo(5); absent if it is another file system.
    fn parse(line: &str) -> Option<Mount> {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let hierarchy = match system.next()? {
            "cgroup" => Hierarchy::V1,
            "cgroup2" => Hierarchy::V2,
            _ => return None,
        };
        let options = system.nth(1)?.split(',').map(str::to_owned).collect();
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (unescape(mount.next()?), unescape(mount.next()?));
        Some(Mount { hierarchy, root: root.into(), point: point.into(), options })
    }

    /// The directory of the group `path` and those above it that can be seen here.
    fn directories(&self, path: &Path) -> Vec<PathBuf> {
        let below = path.strip_prefix(&self.root).unwrap_or(Path::new(""));
        // A group outside of the namespace is shown as `/../..`; then only the mount point can be known.
        let outside = below.components().any(|part| part == Component::ParentDir);
        let below = if outside { Path::new("") } else { below };
        below
            .ancestors()
            .map(|part| if part.as_os_str().is_empty() { self.point.clone() } else { self.point.join(part) })
            .collect()
    }
}

/// Undoes the octal escapes (`\040` for a space) of mountinfo.
fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How long the groups of this process had to wait because their CPU quota was used up.
#[derive(Clone, Debug)]
pub struct Throttle {
    /// The `cpu.stat` files that count it: of the own group and of those above.
    files: Vec<PathBuf>,
}

impl Throttle {
    /// The counters; absent where no group has one. Looked up once, because a process seldom changes its group.
    pub fn find() -> Option<Throttle> {
        let groups = Group::own();
        let directories = groups.iter().flat_map(|group| &group.directories);
        let files: Vec<PathBuf> = directories
            .map(|directory| directory.join("cpu.stat"))
            .filter(|file| fs::read_to_string(file).is_ok_and(|text| throttled(&text).is_some()))
            .collect();
        (!files.is_empty()).then_some(Throttle { files })
    }

    /// Time throttled since the groups were made, added up over them.
    ///
    /// # Errors
    /// What reading the files reports, for instance when this process was moved and the group removed.
    pub fn read(&self) -> io::Result<Duration> {
        self.files.iter().map(|file| Ok(throttled(&fs::read_to_string(file)?).unwrap_or_default())).sum()
    }
}

/// The throttled time in a `cpu.stat`: microseconds in version 2, nanoseconds in version 1.
fn throttled(stat: &str) -> Option<Duration> {
    stat.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", value) => value.trim().parse().ok().map(Duration::from_micros),
        ("throttled_time", value) => value.trim().parse().ok().map(Duration::from_nanos),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
