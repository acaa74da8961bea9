//! The paths under which programs in C know devices. No node of the file system has them: a library that stands in for open(2)
//! recognises them. Pure.

/// What a path of a device stands for.
///
/// | path | what an open of it gives |
/// |---|---|
/// | `/dev/streams/DRIVER`, `/dev/streams/clone/DRIVER` | a stream under a minor number that no process has open |
/// | `/dev/streams/DRIVER/N` | the stream of minor number N, the same one in every process |
/// | `/dev/sad/admin`, `/dev/sad/user` | `/dev/streams/clone/sad` |
/// | `/dev/udp`, `/dev/tcp`, `/dev/rawip` | `/dev/streams/clone/inet-udp`, `inet-tcp`, `inet-rawip` there |
/// | `/dev/udp2` | `/dev/streams/clone/udp` |
/// | `/dev/streams/pipe`, `/dev/streams/fifo`, and below `clone` | `ENXIO`: see [`DevicePath::Pipe`] |
///
/// ```
/// use headwater_streams::DevicePath;
///
/// assert_eq!(DevicePath::parse("/dev/streams/loop/3"), Some(DevicePath::Minor("loop", 3)));
/// assert_eq!(DevicePath::parse("/dev/streams/clone/echo"), Some(DevicePath::Clone("echo")));
/// assert_eq!(DevicePath::parse("/dev/null"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DevicePath<'p> {
    /// A driver, under any free minor number (CLONEOPEN).
    #[doc(alias = "CLONEOPEN")]
    Clone(&'p str),
    /// A driver and a minor number.
    Minor(&'p str, u32),
    /// A pipe, which has no device: both of its ends are made at once ([`pipe`](crate::pipe())). An end that is opened alone, to be
    /// joined with another by I_PIPE, has no memory in common with it; the two would have to be exchanged for the ends
    /// of a new pipe in every process that has inherited them, which no process can do for another.
    Pipe,
    /// A FIFO, which has a path of its own ([`Fifo`](crate::Fifo)).
    Fifo,
}

/// Where all devices are.
const DIRECTORY: [&str; 2] = ["dev", "streams"];
const CLONE: &str = "clone";

/// Other paths, for programs that have them built in.
const ALIASES: [(&[&str], DevicePath<'static>); 6] = [
    (&["dev", "sad", "admin"], DevicePath::Clone("sad")),
    (&["dev", "sad", "user"], DevicePath::Clone("sad")),
    (&["dev", "udp"], DevicePath::Clone("inet-udp")),
    (&["dev", "tcp"], DevicePath::Clone("inet-tcp")),
    (&["dev", "rawip"], DevicePath::Clone("inet-rawip")),
    (&["dev", "udp2"], DevicePath::Clone("udp")),
];

impl DevicePath<'_> {
    /// What a path stands for; None if it is no path of a device, and the kernel's to open. The driver may be unknown. Slashes and `.`
    /// count as in any path; links and `..` are not followed.
    pub fn parse(path: &str) -> Option<DevicePath<'_>> {
        if !path.starts_with('/') || path.ends_with('/') {
            return None;
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if let Some((_, device)) = ALIASES.iter().find(|(alias, _)| *alias == parts) {
            return Some(*device);
        }
        match *parts.strip_prefix(DIRECTORY.as_slice())? {
            [CLONE] => None,
            [CLONE, driver] | [driver] | [driver, _] if !is_name(driver) => None,
            ["pipe"] | [CLONE, "pipe"] => Some(DevicePath::Pipe),
            ["fifo"] | [CLONE, "fifo"] => Some(DevicePath::Fifo),
            [CLONE, CLONE] | ["pipe" | "fifo", _] => None,
            [CLONE, driver] => Some(DevicePath::Clone(driver)),
            [driver] => Some(DevicePath::Clone(driver)),
            [driver, number] => minor(number).map(|minor| DevicePath::Minor(driver, minor)),
            _ => None,
        }
    }
}

/// Whether a driver can have the name.
fn is_name(name: &str) -> bool {
    !name.starts_with('.') && name.len() <= crate::limits::NAME_MAX
}

/// A minor number as it is written in a path: in one way alone.
fn minor(text: &str) -> Option<u32> {
    let minor: u32 = text.parse().ok()?;
    (minor.to_string() == text).then_some(minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_stands_for_one_device_or_none() {
        use DevicePath::{Clone, Fifo, Minor, Pipe};
        for (path, expected) in [
            ("/dev/streams/echo", Some(Clone("echo"))),
            ("/dev/streams/echo/0", Some(Minor("echo", 0))),
            ("/dev/streams/loop/3", Some(Minor("loop", 3))),
            ("/dev/streams/loop/4294967295", Some(Minor("loop", u32::MAX))),
            ("/dev/streams/clone/echo", Some(Clone("echo"))),
            ("//dev///streams/./clone/echo", Some(Clone("echo"))),
            ("/dev/streams/clone/sixteen-letters-", Some(Clone("sixteen-letters-"))),
            ("/dev/streams/pipe", Some(Pipe)),
            ("/dev/streams/clone/pipe", Some(Pipe)),
            ("/dev/streams/fifo", Some(Fifo)),
            ("/dev/streams/clone/fifo", Some(Fifo)),
            ("/dev/sad/admin", Some(Clone("sad"))),
            ("/dev/sad/user", Some(Clone("sad"))),
            ("/dev/udp", Some(Clone("inet-udp"))),
            ("/dev/tcp", Some(Clone("inet-tcp"))),
            ("/dev/rawip", Some(Clone("inet-rawip"))),
            ("/dev/udp2", Some(Clone("udp"))),
            ("", None),
            ("/", None),
            ("/dev", None),
            ("/dev/streams", None),
            ("/dev/streams/", None),
            ("/dev/streams/clone", None),
            ("/dev/streams/clone/", None),
            ("/dev/streams/clone/clone", None),
            ("/dev/streams/clone/echo/", None),
            ("/dev/streams/clone/echo/1", None),
            ("/dev/streams/pipe/1", None),
            ("/dev/streams/loop/3/4", None),
            ("/dev/streams/loop/03", None),
            ("/dev/streams/loop/+3", None),
            ("/dev/streams/loop/-1", None),
            ("/dev/streams/loop/", None),
            ("/dev/streams/loop/4294967296", None),
            ("/dev/streams/loop/x", None),
            ("/dev/streams/../null", None),
            ("/dev/streams/.hidden", None),
            ("/dev/streams/seventeen-letters", None),
            ("dev/streams/echo", None),
            ("/dev/streams2/echo", None),
            ("/dev/null", None),
            ("/dev/udp/1", None),
        ] {
            assert_eq!(DevicePath::parse(path), expected, "{path}");
        }
    }
}
