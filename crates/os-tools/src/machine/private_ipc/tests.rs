//! The trial answers, and leaves no trace.

use std::os::unix::process::ExitStatusExt;

use super::*;

#[test]
fn trial_leaves_this_process_in_its_namespace() {
    let namespaces = || {
        let link = |name| std::fs::read_link(format!("/proc/self/ns/{name}")).expect("a process has namespaces");
        (link("ipc"), link("user"))
    };
    let before = namespaces();
    let answer = try_private_ipc();
    assert_eq!(namespaces(), before);
    if let PrivateIpc::Refused(error) = answer {
        assert_ne!(error.raw_os_error(), Some(libc::EINVAL), "the trial itself was wrong");
    }
}

#[test]
fn every_way_to_end_has_its_answer() {
    let of = |raw| outcome(ExitStatus::from_raw(raw));
    assert!(matches!(of(MADE << 8), PrivateIpc::Possible));
    assert!(matches!(of(LIMITS_FIXED << 8), PrivateIpc::LimitsFixed));
    assert!(matches!(of(libc::EPERM << 8), PrivateIpc::Refused(error) if error.raw_os_error() == Some(libc::EPERM)));
    assert!(matches!(of(libc::SIGSYS), PrivateIpc::Refused(error) if error.raw_os_error().is_none()));
}
