//! Tests of the names and formats of limits.

use super::*;

#[test]
fn names_are_those_of_sysctl() {
    assert_eq!(sysctl_path("net.core.rmem_max"), "/proc/sys/net/core/rmem_max");
    assert_eq!(one_line("4096\t131072\t6291456"), "4096 131072 6291456");
    assert_eq!(limit_text(None), "unlimited");
    assert_eq!(limit_text(Some(8192)), "8192");
}

#[test]
fn this_process_has_limits() {
    let limits = capture(&Source::machine());
    assert_eq!(limits.resource.len(), 16);
    let nofile = limits::get("nofile").expect("known").soft;
    assert_eq!(limits.resource["nofile"], limit_text(nofile));
    assert!(limits.sysctl.contains_key("fs.pipe-max-size"), "{limits:?}");
}
