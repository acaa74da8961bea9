//! Other users: who may open, attach and detach. The tests need root to become other users, and are skipped otherwise.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use headwater_streams::attach::{AttachedOptions, detach, is_attached};
use headwater_streams::{Errno, Stream, pipe};

use super::{PATIENCE, file_in, is_plain, open, reads};
use crate::common::users::{NOBODY, become_user, holder, is_root, public_place};
use crate::common::{calm, child, in_own_process, joined, within};

const OTHER: u32 = NOBODY - 1;

/// A file of that owner and with these permissions, in a directory that every user may search.
fn file_of(owner: u32, permissions: u32) -> (tempfile::TempDir, PathBuf) {
    let (directory, path) = file_in(&public_place());
    chown(&path, Some(owner), Some(owner)).expect("root");
    for (path, permissions) in [(directory.path(), 0o755), (&path, permissions)] {
        fs::set_permissions(path, fs::Permissions::from_mode(permissions)).expect("root");
    }
    (directory, path)
}

/// Opening fails so for a user.
fn is_refused(path: &Path, user: u32, errno: Errno) {
    joined(child(|| {
        become_user(user);
        let refused = Stream::open_attached(path).expect_err("no permission");
        assert_eq!(refused.errno(), errno, "{refused}");
        Ok(())
    }));
}

#[test]
fn users_who_may_read_and_write_the_file_open_the_stream_and_others_do_not() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "permissions of an attached stream".to_owned());
    for (permissions, opens) in [(0o666, true), (0o644, false), (0o622, false)] {
        let (_directory, path) = file_of(NOBODY, permissions);
        let (near, far) = pipe().expect("pipe");
        far.attach_to(&path).expect("root");
        drop(far);
        if opens {
            joined(child(|| {
                become_user(OTHER);
                open(&path).write(b"from another user").map(drop)
            }));
            assert_eq!(reads(&near), "from another user");
        } else {
            is_refused(&path, OTHER, Errno::Acces);
        }
        detach(&path).expect("root");
    }
    // Without any permission the kernel refuses the path itself, whatever is attached.
    let (_directory, path) = file_of(0, 0o600);
    let (_near, far) = pipe().expect("pipe");
    far.attach_to(&path).expect("root");
    joined(child(|| {
        become_user(OTHER);
        assert!(!is_attached(&path) && Stream::open_attached(&path)?.is_none());
        assert_eq!(detach(&path).expect_err("not its owner").errno(), Errno::Perm);
        Ok(())
    }));
    detach(&path).expect("root");
    calm();
}

#[test]
fn the_owner_and_root_alone_attach_and_detach() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "owners".to_owned());
    let (_directory, path) = file_of(NOBODY, 0o666);
    let attach_as = |user| {
        child(|| {
            become_user(user);
            let (_near, far) = pipe()?;
            let done = far.attach_to(&path);
            assert_eq!(done.is_ok(), user == NOBODY, "{done:?}");
            if let Err(error) = done {
                assert_eq!(error.errno(), Errno::Perm);
            }
            Ok(())
        })
    };
    joined(attach_as(OTHER));
    joined(attach_as(NOBODY));
    assert!(is_plain(&path), "it ended with the process");
    let to = path.clone();
    let _holder = holder(move || {
        become_user(NOBODY);
        let (near, far) = pipe()?;
        far.attach_to(&to)?;
        Ok((near, far))
    });
    joined(child(|| {
        become_user(OTHER);
        assert_eq!(detach(&path).expect_err("not its owner").errno(), Errno::Perm);
        open(&path);
        Ok(())
    }));
    detach(&path).expect("root");
    assert!(is_plain(&path));
    // An owner without the permission to write.
    let (_directory, path) = file_of(NOBODY, 0o444);
    joined(child(|| {
        become_user(NOBODY);
        let (_near, far) = pipe()?;
        assert_eq!(far.attach_to(&path).expect_err("read-only").errno(), Errno::Acces);
        Ok(())
    }));
    calm();
}

#[test]
fn the_server_is_told_which_user_has_opened_the_name() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "users of a server".to_owned());
    let (_directory, path) = file_of(0, 0o666);
    let (server, named) = pipe().expect("pipe");
    named.push("connld").expect("known");
    named.attach_to(&path).expect("root");
    for user in [NOBODY, OTHER] {
        let client = child(|| {
            become_user(user);
            open(&path).write(b"hello").map(drop)
        });
        let received = server.files().receive_from().expect("it opens");
        assert_eq!((received.user, received.group), (Some(user), Some(user)));
        assert_eq!(reads(&received.into_stream().expect("a stream")), "hello");
        joined(client);
    }
    detach(&path).expect("root");
    calm();
}

#[test]
fn a_user_who_is_not_the_owner_pretends_nothing() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a stranger's locks".to_owned());
    let (_directory, path) = file_of(0, 0o666);
    // The places of the locks, as the library has them.
    const ATTACHED: u64 = 1 << 59;
    const TOKENS: u64 = 1 << 60;
    let node = headwater_os::files::find(&path).and_then(headwater_os::files::status).expect("fstat");
    let name = format!("headwater-attached-{:x}-{:x}-{:x}", node.device, node.number, 77);
    let to = path.clone();
    let pretender = holder(move || {
        become_user(NOBODY);
        let listener = headwater_os::abstract_socket::Listener::bind(&name)?;
        let file = fs::OpenOptions::new().read(true).write(true).open(&to)?;
        assert!(headwater_os::ofd_lock::mark(&file, ATTACHED, 1)?);
        assert!(headwater_os::ofd_lock::mark(&file, TOKENS + 77, 1)?);
        Ok((listener, file))
    });
    assert!(is_attached(&path));
    for nonblocking in [false, true] {
        assert!(AttachedOptions::new().nonblocking(nonblocking).open(&path).expect("no error").is_none());
    }
    let (_near, far) = pipe().expect("pipe");
    assert_eq!(far.attach_to(&path).expect_err("in the way").errno(), Errno::Busy);
    drop(pretender);
    far.attach_to(&path).expect("it is free");
    detach(&path).expect("root");
    calm();
}
