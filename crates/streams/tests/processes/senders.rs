//! The sender of a file, as the kernel reports it.

use std::os::fd::AsFd;

use crate::common::users::{NOBODY, become_user, is_root};
use crate::common::{child, in_own_process, joined};

#[test]
fn a_received_file_says_who_has_sent_it() {
    in_own_process!();
    let (near, far) = headwater_streams::pipe().expect("pipe");
    far.files().send(std::io::stdin().as_fd()).expect("room");
    let own = (headwater_os::files::own_user(), headwater_os::files::own_group());
    let received = near.files().receive_from().expect("there");
    assert_eq!((received.user, received.group), (Some(own.0), Some(own.1)));
    if !is_root() {
        return;
    }
    // Sent before a receiver asks for the sender, by a process that is gone by then.
    joined(child(|| {
        become_user(NOBODY);
        far.files().send(std::io::stdin().as_fd())
    }));
    let received = near.files().receive_from().expect("there");
    assert_eq!((received.user, received.group), (Some(NOBODY), Some(NOBODY)));
}
