//! Who may open a FIFO: users and privileges. All of it needs a root to become somebody else, and is left out without.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use headwater_os::child::Child;
use headwater_streams::{Access, Errno, Result};

mod common;

use common::{alone, child, joined, open};

const NOBODY: u32 = 65534;

/// Whether this process can become somebody else.
fn is_root() -> bool {
    let root = headwater_os::files::own_user() == 0;
    if !root {
        eprintln!("left out: not root");
    }
    root
}

/// Becomes somebody else, for good.
fn become_user(user: u32) {
    // SAFETY: the calls touch no memory of ours but the null list, which is empty.
    let done = unsafe { libc::setgroups(0, std::ptr::null()) | libc::setgid(user) | libc::setuid(user) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// Stays root and gives up what root may do beyond others.
fn become_powerless() {
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: version 3 of capset(2) reads a header of two words and two times three words.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// A FIFO with these permissions in a directory that everybody may search.
fn fifo(permissions: u32) -> (tempfile::TempDir, PathBuf) {
    let (directory, path) = common::fifo();
    for (path, permissions) in [(directory.path(), 0o755), (&path, permissions)] {
        std::fs::set_permissions(path, Permissions::from_mode(permissions)).expect("chmod");
    }
    (directory, path)
}

/// Opening fails for want of permission.
fn is_refused(path: &Path, access: Access) -> Result<()> {
    let error = open(path, access).expect_err("no permission");
    assert_eq!(error.errno(), Errno::Acces, "{error}");
    Ok(())
}

/// A process that has something until it is killed.
struct Helper(#[expect(dead_code, reason = "it is killed when it is dropped")] Child);

impl Helper {
    fn start<T>(make: impl FnOnce() -> Result<T>) -> Helper {
        let (ready, is_ready) = UnixStream::pair().expect("pair");
        let helper = child(|| {
            let _made = make()?;
            std::io::Write::write_all(&mut &ready, b"x")?;
            std::thread::sleep(std::time::Duration::from_secs(60));
            Ok(())
        });
        drop(ready);
        std::io::Read::read_exact(&mut &is_ready, &mut [0]).expect("it says so");
        Helper(helper)
    }
}

#[test]
fn who_may_not_both_read_and_write_is_refused() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    // All who use a FIFO have its memory in common: one permission alone would give the other as well.
    for permissions in [0o600, 0o644, 0o622, 0o000] {
        let (_directory, path) = fifo(permissions);
        let _reader = open(&path, Access::Read).expect("root may");
        for access in [Access::Read, Access::Write] {
            joined(child(|| {
                become_user(NOBODY);
                is_refused(&path, access)
            }));
        }
    }
}

#[test]
fn a_holder_who_cannot_be_seen_is_not_passed_by() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o600);
    let holder = Helper::start(|| open(&path, Access::Read));
    // Without a word it would wait at a stream of its own.
    joined(child(|| {
        become_powerless();
        is_refused(&path, Access::Write)
    }));
    drop(holder);
    joined(child(|| {
        become_powerless();
        open(&path, Access::Read).map(drop)
    }));
}

#[test]
fn nobody_is_lured_by_a_name() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o600);
    let node = headwater_os::files::open_fifo(&path).and_then(headwater_os::files::status).expect("fstat");
    let _lure = Helper::start(|| {
        become_user(NOBODY);
        // Of two users, whom root both sees: who may not open the node has memory of that name.
        let name = format!("headwater-fifo-{}-{}", node.device, node.number);
        Ok(headwater_os::memory::SharedMemory::create(&name, 1 << 20)?)
    });
    let mut reader = open(&path, Access::Read).expect("it does not look at that memory");
    open(&path, Access::Write).expect("somebody reads").write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
}
