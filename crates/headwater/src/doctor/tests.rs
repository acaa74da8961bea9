//! Tests of every check on sample machines: no finding on a good one, and one finding after one change.

use std::collections::BTreeSet;

use super::*;

/// Returns a machine on which every check is good.
fn good() -> (Environment, Probes) {
    let mut environment = Environment::default();
    environment.cpu.online = 4;
    environment.cpu.affinity = vec![0, 1, 2, 3];
    environment.cpu.threads_per_core = Some(1);
    environment.cpu.governor = Some("performance".into());
    environment.virtualisation = Some("none".into());
    environment.memory.transparent_huge_pages = Some("madvise".into());
    environment.load.average_1min = 0.05;
    environment.load.pressure_some_avg10.insert("cpu".into(), 0.5);
    environment.load.steal_since_boot = 0.0005;
    let facts = [("current", "tsc"), ("available", "tsc hpet acpi_pm")];
    environment.clock.extend(facts.map(|(name, value)| (name.into(), value.into())));
    environment.cgroup.insert("version".into(), "2".into());
    let facts = [
        ("current_tracer", "nop"),
        ("tracing_on", "1"),
        ("events_enabled", "0"),
        ("tracer_pid", "0"),
        ("seccomp", "0"),
    ];
    environment.tracing.extend(facts.map(|(name, value)| (name.into(), value.into())));
    let settings = [
        ("fs.mqueue.msgsize_max", "65536"),
        ("fs.pipe-max-size", "1048576"),
        ("kernel.msgmax", "65536"),
        ("kernel.msgmnb", "65536"),
        ("kernel.randomize_va_space", "0"),
        ("net.core.rmem_max", "212992"),
        ("net.core.wmem_max", "212992"),
        ("net.unix.max_dgram_qlen", "512"),
    ];
    environment.limits.sysctl.extend(settings.map(|(name, value)| (name.into(), value.into())));
    let scheduling = [("nice", "0"), ("policy", "other"), ("io", "none")];
    environment.scheduling.extend(scheduling.map(|(name, value)| (name.into(), value.into())));
    let limits = [("nofile", "1024"), ("msgqueue", "unlimited"), ("core", "0")];
    environment.limits.resource.extend(limits.map(|(name, value)| (name.into(), value.into())));
    let place = |path: &str| ProbedDirectory { path: path.into(), error: None, free_bytes: 1 << 30 };
    let probes = Probes {
        clock_read_ns: 25.0,
        turbo: Some(Turbo { file: "/sys/devices/system/cpu/cpufreq/boost", present: "0".into(), off: "0" }),
        smt_control: Some("on".into()),
        shared_memory: place("/dev/shm"),
        temporary: place("/tmp"),
        tracer: Some(Tracer { has_sequences: true, session_bytes: 1 << 20, ..Tracer::default() }),
        hard_limits: [("nofile", Some(4096)), ("msgqueue", Some(819_200)), ("core", None)]
            .map(|(name, hard)| (name.to_owned(), hard))
            .into(),
        ..Probes::default()
    };
    (environment, probes)
}

type Change = fn(&mut Environment, &mut Probes);

/// The finding of check `topic` after `change`: its status, its line, and the command and undo of its remedy.
type Case = (&'static str, Change, Status, &'static str, Option<(&'static str, &'static str)>);

fn sysctl(environment: &mut Environment, name: &str, value: &str) {
    environment.limits.sysctl.insert(name.to_owned(), value.to_owned());
}

fn limit(environment: &mut Environment, name: &str, value: &str) {
    environment.limits.resource.insert(name.to_owned(), value.to_owned());
}

use Status::{Good, Note, Warning};

const CASES: &[Case] = &[
    ("CPUs", |e, _| e.cpu.affinity = vec![3], Warning, "1 CPU may be used", None),
    ("CPUs", |e, _| e.cpu.affinity = vec![0, 3], Note, "2 CPUs may be used", None),
    (
        "affinity",
        |e, _| e.cpu.affinity = vec![1, 2, 3],
        Note,
        "3 of the 4 CPUs on line may be used",
        Some(("taskset -pc 0-3 $$", "taskset -pc 1,2,3 $$")),
    ),
    (
        "affinity",
        |e, _| {
            e.cpu.affinity = vec![1, 2, 3];
            e.cgroup.insert("cpuset.cpus.effective".into(), "1-3".into());
        },
        Note,
        "3 of the 4 CPUs on line may be used",
        None,
    ),
    (
        "SMT",
        |e, _| e.cpu.threads_per_core = Some(2),
        Note,
        "2 threads per core",
        Some((
            "echo off | sudo tee /sys/devices/system/cpu/smt/control",
            "echo on | sudo tee /sys/devices/system/cpu/smt/control",
        )),
    ),
    (
        "SMT",
        |e, p| {
            e.cpu.threads_per_core = Some(2);
            p.smt_control = Some("notsupported".into());
        },
        Note,
        "2 threads per core",
        None,
    ),
    ("hypervisor", |e, _| e.virtualisation = Some("KVM".into()), Note, "KVM", None),
    ("steal", |e, _| e.load.steal_since_boot = 0.0123, Warning, "1.23 % of CPU time since boot", None),
    ("steal", |e, _| e.load.steal_since_boot = 0.002, Note, "0.20 % of CPU time since boot", None),
    ("load", |e, _| e.load.average_1min = 2.0, Warning, "2.00 over the last minute on 4 CPUs", None),
    ("load", |e, _| e.load.average_1min = 0.5, Note, "0.50 over the last minute on 4 CPUs", None),
    (
        "pressure",
        |e, _| {
            e.load.pressure_some_avg10.insert("io".into(), 12.0);
        },
        Warning,
        "in 12.0 % of the last 10 s something waited for I/O",
        None,
    ),
    (
        "governor",
        |e, _| e.cpu.governor = Some("powersave".into()),
        Warning,
        "powersave, not performance",
        Some((
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            "echo powersave | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        )),
    ),
    (
        "turbo",
        |_, p| p.turbo = Some(Turbo { file: "/sys/no_turbo", present: "0".into(), off: "1" }),
        Note,
        "on",
        Some(("echo 1 | sudo tee /sys/no_turbo", "echo 0 | sudo tee /sys/no_turbo")),
    ),
    (
        "clock source",
        |e, _| {
            e.clock.insert("current".into(), "hpet".into());
        },
        Warning,
        "hpet, which is read by a system call",
        Some((
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
            "echo hpet | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
    ),
    (
        "clock source",
        |e, _| {
            e.clock.insert("current".into(), "hpet".into());
            e.clock.insert("available".into(), "hpet acpi_pm".into());
        },
        Warning,
        "hpet, which is read by a system call",
        None,
    ),
    ("clock read", |_, p| p.clock_read_ns = 600.0, Warning, "600 ns, as slow as a system call", None),
    (
        "CPU quota",
        |e, p| {
            e.cgroup.insert("cpu.max".into(), "150000 100000".into());
            p.cpu_quota = Some(CpuQuota { file: "/cg/cpu.max".into(), present: "150000 100000".into() });
        },
        Warning,
        "1.50 CPUs' worth of time",
        Some(("echo max | sudo tee /cg/cpu.max", "echo '150000 100000' | sudo tee /cg/cpu.max")),
    ),
    (
        "memory limit",
        |e, _| {
            e.cgroup.insert("memory.max".into(), "134217728".into());
        },
        Warning,
        "128 MiB",
        None,
    ),
    (
        "huge pages",
        |e, _| e.memory.transparent_huge_pages = Some("always".into()),
        Note,
        "always",
        Some((
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            "echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )),
    ),
    (
        "ASLR",
        |e, _| sysctl(e, "kernel.randomize_va_space", "2"),
        Note,
        "on (level 2)",
        Some(("setarch -R headwater run", "headwater run")),
    ),
    (
        "private IPC",
        |e, p| {
            p.private_ipc = PrivateIpc::Refused("Operation not permitted".into());
            sysctl(e, "user.max_user_namespaces", "0");
        },
        Note,
        "cannot be made: Operation not permitted",
        Some(("sudo sysctl -w user.max_user_namespaces=10000", "sudo sysctl -w user.max_user_namespaces=0")),
    ),
    (
        "private IPC",
        |_, p| p.private_ipc = PrivateIpc::LimitsFixed,
        Note,
        "can be made, but its limits cannot be raised",
        None,
    ),
    (
        "POSIX queues",
        |e, p| {
            p.private_ipc = PrivateIpc::Refused("no".into());
            p.is_root = true;
            sysctl(e, "fs.mqueue.msgsize_max", "8192");
        },
        Warning,
        "messages of up to 8192 bytes (fs.mqueue.msgsize_max)",
        Some(("sysctl -w fs.mqueue.msgsize_max=65536", "sysctl -w fs.mqueue.msgsize_max=8192")),
    ),
    (
        "POSIX queues",
        |e, _| sysctl(e, "fs.mqueue.msgsize_max", "8192"),
        Good,
        "messages of up to 8192 bytes (fs.mqueue.msgsize_max); larger ones in a private IPC namespace",
        None,
    ),
    (
        "queue bytes",
        |e, _| limit(e, "msgqueue", "819200"),
        Note,
        "819200 for this user's POSIX queues",
        Some(("sudo prlimit --pid $$ --msgqueue=1312640:1312640", "sudo prlimit --pid $$ --msgqueue=819200:819200")),
    ),
    (
        "SysV queues",
        |e, p| {
            p.private_ipc = PrivateIpc::LimitsFixed;
            sysctl(e, "kernel.msgmnb", "16384");
        },
        Warning,
        "messages of up to 16384 bytes (kernel.msgmnb)",
        Some(("sudo sysctl -w kernel.msgmnb=65536", "sudo sysctl -w kernel.msgmnb=16384")),
    ),
    (
        "pipe size",
        |e, _| sysctl(e, "fs.pipe-max-size", "65536"),
        Warning,
        "up to 65536 bytes (fs.pipe-max-size)",
        Some(("sudo sysctl -w fs.pipe-max-size=1048576", "sudo sysctl -w fs.pipe-max-size=65536")),
    ),
    (
        "UDP buffers",
        |e, _| sysctl(e, "net.core.wmem_max", "65536"),
        Warning,
        "up to 65536 bytes (net.core.wmem_max)",
        Some(("sudo sysctl -w net.core.wmem_max=131071", "sudo sysctl -w net.core.wmem_max=65536")),
    ),
    (
        "Unix datagrams",
        |e, _| sysctl(e, "net.unix.max_dgram_qlen", "10"),
        Note,
        "10 may wait (net.unix.max_dgram_qlen)",
        Some(("sudo sysctl -w net.unix.max_dgram_qlen=512", "sudo sysctl -w net.unix.max_dgram_qlen=10")),
    ),
    (
        "descriptors",
        |e, _| limit(e, "nofile", "256"),
        Warning,
        "256 may be open",
        Some(("prlimit --pid $$ --nofile=1024:", "prlimit --pid $$ --nofile=256:")),
    ),
    (
        "other runs",
        |e, _| e.load.other_measurements = vec![41, 42],
        Warning,
        "another headwater measures on this machine (process 41 and 1 more)",
        None,
    ),
    (
        "priority",
        |e, _| {
            e.scheduling.insert("nice".into(), "10".into());
        },
        Note,
        "nice 10",
        Some(("sudo renice -n 0 -p $$", "sudo renice -n 10 -p $$")),
    ),
    (
        "core dumps",
        |e, _| limit(e, "core", "unlimited"),
        Note,
        "on, up to unlimited",
        Some(("prlimit --pid $$ --core=0:", "prlimit --pid $$ --core=unlimited:")),
    ),
    (
        "debugger",
        |e, _| {
            e.tracing.insert("tracer_pid".into(), "4711".into());
        },
        Warning,
        "process 4711 traces this one",
        None,
    ),
    (
        "seccomp",
        |e, _| {
            e.tracing.insert("seccomp".into(), "2".into());
            e.tracing.insert("seccomp_filters".into(), "3".into());
        },
        Note,
        "system calls are filtered (3 filters)",
        None,
    ),
    (
        "shared memory",
        |_, p| p.shared_memory.error = Some("Read-only file system".into()),
        Warning,
        "/dev/shm cannot be written: Read-only file system",
        None,
    ),
    ("temp directory", |_, p| p.temporary.free_bytes = 3 << 20, Warning, "/tmp, 3 MiB free", None),
    (
        "kernel tracing",
        |e, _| {
            e.tracing.insert("events_enabled".into(), "2".into());
        },
        Warning,
        "on: tracer nop, 2 events",
        Some(("echo 0 | sudo tee /sys/kernel/tracing/tracing_on", "echo 1 | sudo tee /sys/kernel/tracing/tracing_on")),
    ),
    (
        "trace clock",
        |_, p| tracer(p, |tracer| tracer.counter_unsound = Some("it stops".into())),
        Note,
        "the processor's counter is none: it stops",
        None,
    ),
    (
        "trace buffers",
        |_, p| tracer(p, |tracer| tracer.has_sequences = false),
        Note,
        "one for each thread: there are no restartable sequences",
        None,
    ),
    (
        "trace memory",
        |_, p| tracer(p, |tracer| tracer.session_bytes = 4 << 30),
        Warning,
        "a session takes 4096 MiB, and /dev/shm has 1024",
        None,
    ),
    (
        "kernel events",
        |_, p| tracer(p, |tracer| tracer.kernel_obstacle = Some("tracefs is not mounted".into())),
        Note,
        "cannot be recorded: tracefs is not mounted",
        None,
    ),
    (
        "trace sessions",
        |_, p| tracer(p, |tracer| tracer.abandoned = vec!["/dev/shm/one".into(), "/dev/shm/other".into()]),
        Warning,
        "2 whose recorder was killed: /dev/shm/one, /dev/shm/other",
        None,
    ),
    (
        "trace sessions",
        |_, p| tracer(p, |tracer| tracer.abandoned = ["1", "2", "3", "4", "5"].map(Into::into).into()),
        Warning,
        "5 whose recorder was killed: 1, 2, 3 and 2 more",
        None,
    ),
    (
        "trace instances",
        |_, p| tracer(p, |tracer| tracer.instances = vec!["/t/instances/headwater-1-0".into()]),
        Warning,
        "1 of the kernel, whose recorder and guard were killed: /t/instances/headwater-1-0",
        None,
    ),
];

fn tracer(probes: &mut Probes, change: impl FnOnce(&mut Tracer)) {
    change(probes.tracer.as_mut().expect("a good machine has tracer facts"));
}

#[test]
fn good_machine_leaves_every_check_quiet() {
    let (environment, probes) = good();
    let findings = check_facts(&Facts { environment: &environment, probes: &probes });
    let restless: Vec<_> = findings.iter().filter(|finding| finding.status != Good).collect();
    assert!(restless.is_empty(), "{restless:#?}");
    let topics: Vec<_> = findings.iter().map(|finding| finding.topic).collect();
    assert_eq!(topics, CHECKS.iter().map(|check| check.topic).collect::<Vec<_>>());
}

#[test]
fn each_change_is_found() {
    for (topic, change, status, what, remedy) in CASES {
        let (mut environment, mut probes) = good();
        change(&mut environment, &mut probes);
        let findings = check_facts(&Facts { environment: &environment, probes: &probes });
        let finding = findings.iter().find(|finding| finding.topic == *topic).expect("every check yields a finding");
        let commands = finding.remedy.as_ref().map(|remedy| (remedy.command.as_str(), remedy.undo.as_str()));
        assert_eq!((finding.status, finding.what.as_str(), commands), (*status, *what, *remedy), "{topic}");
        assert_eq!(finding.consequence.is_empty(), *status == Good, "{topic} states the consequence");
    }
}

#[test]
fn every_check_is_triggered_by_a_case() {
    let triggered: BTreeSet<_> = CASES.iter().filter(|case| case.2 != Good).map(|case| case.0).collect();
    let table: BTreeSet<_> = CHECKS.iter().map(|check| check.topic).collect();
    assert_eq!(triggered, table);
    assert_eq!(table.len(), CHECKS.len(), "topics are unique");
}

#[test]
fn warnings_come_first() {
    let (mut environment, mut probes) = good();
    for (_, change, ..) in CASES {
        change(&mut environment, &mut probes);
    }
    let findings = check_facts(&Facts { environment: &environment, probes: &probes });
    assert!(findings.is_sorted_by_key(|finding| finding.status));
    assert_eq!(findings[0].status, Warning);
}

#[test]
fn a_machine_without_facts_has_no_findings() {
    let findings = check_facts(&Facts { environment: &Environment::default(), probes: &Probes::default() });
    let topics: Vec<_> = findings.iter().map(|finding| finding.topic).collect();
    assert_eq!(topics, ["shared memory", "temp directory", "load", "other runs", "clock read", "private IPC"]);
}

#[test]
fn findings_are_plain_json() {
    let (mut environment, probes) = good();
    sysctl(&mut environment, "net.unix.max_dgram_qlen", "10");
    let findings = check_facts(&Facts { environment: &environment, probes: &probes });
    let json = serde_json::to_value(&findings[0]).expect("plain data");
    assert_eq!(json["topic"], "Unix datagrams");
    assert_eq!(json["status"], "note");
    assert_eq!(json["remedy"]["undo"], "sudo sysctl -w net.unix.max_dgram_qlen=10");
}

#[test]
fn this_machine_is_checked_without_a_change() {
    let before = headwater_gauge::environment::capture();
    let findings = check(&before);
    assert!(findings.iter().any(|finding| finding.topic == "CPUs"), "{findings:#?}");
    let differences =
        headwater_results::compare::environment::differences(&before, &headwater_gauge::environment::capture());
    assert_eq!(differences, []);
}
