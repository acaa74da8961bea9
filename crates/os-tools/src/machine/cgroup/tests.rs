//! Groups of a systemd session, of a container, of a mixed machine.

use super::*;

fn check(cgroup: &str, mountinfo: &str, expect: &[(Hierarchy, &str, &[&str])]) {
    let found = Group::parse(cgroup, mountinfo);
    let expect: Vec<Group> = expect
        .iter()
        .map(|(hierarchy, controllers, directories)| Group {
            hierarchy: *hierarchy,
            controllers: controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            directories: directories.iter().map(PathBuf::from).collect(),
        })
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn session_of_systemd_has_its_slices_above() {
    check(
        "0::/user.slice/session-2.scope\n",
        "24 30 0:22 / /proc rw - proc proc rw\n35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
        &[(
            Hierarchy::V2,
            "",
            &["/sys/fs/cgroup/user.slice/session-2.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"],
        )],
    );
}

#[test]
fn controllers_of_version_1_find_their_mounts() {
    check(
        "4:memory:/box/a b\n1:cpu,cpuacct:/\n9:name=systemd:/\n0::/\n",
        "40 39 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
         41 39 0:34 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n",
        &[
            (
                Hierarchy::V1,
                "memory",
                &["/sys/fs/cgroup/my memory/box/a b", "/sys/fs/cgroup/my memory/box", "/sys/fs/cgroup/my memory"],
            ),
            (Hierarchy::V1, "cpu,cpuacct", &["/sys/fs/cgroup/cpu"]),
        ],
    );
}

#[test]
fn container_sees_its_own_group_at_the_mount_point() {
    let mountinfo = "41 39 0:34 /docker/f00 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    check("4:memory:/docker/f00\n", mountinfo, &[(Hierarchy::V1, "memory", &["/sys/fs/cgroup/memory"])]);
}

#[test]
fn group_outside_of_the_namespace_is_not_followed() {
    let mountinfo = "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    check("0::/../../other\n", mountinfo, &[(Hierarchy::V2, "", &["/sys/fs/cgroup"])]);
}

#[test]
fn throttled_time_has_the_unit_of_its_version() {
    let v2 = "usage_usec 10\nnr_periods 5\nnr_throttled 2\nthrottled_usec 1500\n";
    let v1 = "nr_periods 5\nnr_throttled 2\nthrottled_time 1500\n";
    assert_eq!(throttled(v2), Some(Duration::from_micros(1500)));
    assert_eq!(throttled(v1), Some(Duration::from_nanos(1500)));
    assert_eq!(throttled("usage_usec 10\nuser_usec 5\n"), None);
}
