//! Becoming other users, for tests that run as root and are skipped otherwise.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::Result;

use super::child;

pub const NOBODY: u32 = 65534;

/// Whether this process can become another user.
pub fn is_root() -> bool {
    let root = headwater_os::files::own_user() == 0;
    if !root {
        eprintln!("left out: not root");
    }
    root
}

/// Becomes another user, for good.
pub fn become_user(user: u32) {
    // SAFETY: the calls touch no memory of ours but the null list, which is empty.
    let done = unsafe { libc::setgroups(0, std::ptr::null()) | libc::setgid(user) | libc::setuid(user) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// Stays root and gives up root's capabilities.
pub fn become_powerless() {
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: version 3 of capset(2) reads a header of two words and two times three words.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// A place for temporary directories that every user may search: that of this process can be its user's alone.
pub fn public_place() -> PathBuf {
    let is_public = |place: &PathBuf| {
        let searched = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 1 == 1);
        std::path::absolute(place).is_ok_and(|place| place.ancestors().all(searched))
    };
    let places = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()];
    places.into_iter().find(is_public).expect("a directory that every user may search")
}

/// A FIFO with these permissions in a directory that every user may search.
pub fn fifo(permissions: u32) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(public_place()).expect("a directory");
    let path = directory.path().join("fifo");
    headwater_streams::Fifo::create(&path, 0o600).expect("mkfifo");
    for (path, permissions) in [(directory.path(), 0o755), (&path, permissions)] {
        std::fs::set_permissions(path, Permissions::from_mode(permissions)).expect("chmod");
    }
    (directory, path)
}

/// Starts a process and waits until it reports that it is ready.
pub fn started(body: impl FnOnce(&dyn Fn()) -> Result<()>) -> Child {
    let (ready, is_ready) = UnixStream::pair().expect("pair");
    let child = child(|| body(&|| std::io::Write::write_all(&mut &ready, b"x").expect("the parent waits")));
    drop(ready);
    std::io::Read::read_exact(&mut &is_ready, &mut [0]).expect("it says so");
    child
}

/// A process that holds a value until the result is dropped.
pub fn holder<T>(make: impl FnOnce() -> Result<T>) -> Child {
    started(|ready| {
        let _made = make()?;
        ready();
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    })
}
