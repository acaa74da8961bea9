//! Tests of the whole capture: of this machine, of a sample machine, and of one without any facts.

use std::fs;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn this_machine_is_described_quickly() {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let environment = capture();
        least = least.min(start.elapsed());
        assert!(!environment.host.is_empty() && !environment.kernel.release.is_empty());
        assert!(!environment.cpu.model.is_empty() && environment.cpu.online > 0);
        assert!(!environment.cpu.affinity.is_empty() && environment.memory.total_bytes > 0);
    }
    assert!(least < Duration::from_millis(20), "{least:?}");
}

#[test]
fn a_machine_without_files_has_absent_facts() {
    let nothing = tempfile::tempdir().expect("a temporary directory");
    let environment = capture_from(&Source::below(nothing.path()));
    assert_eq!(environment.cpu.model, environment.cpu.architecture);
    assert_eq!(environment.cpu.governor, None);
    assert_eq!(environment.memory.transparent_huge_pages, None);
    assert_eq!(environment.kernel.command_line, None);
    assert!(environment.limits.sysctl.is_empty() && environment.tracing.is_empty() && environment.clock.is_empty());
}

#[test]
fn a_sample_machine_is_read_from_its_files() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let files = [
        ("proc/cpuinfo", "model name\t: Made CPU\nmicrocode\t: 0x2a\nflags\t: fpu\n"),
        ("proc/cmdline", "quiet mitigations=off\n"),
        ("proc/meminfo", "MemTotal:  1000 kB\nMemAvailable: 500 kB\n"),
        ("proc/loadavg", "1.50 1.00 0.50 1/100 42\n"),
        ("proc/pressure/cpu", "some avg10=2.50 avg60=0.00 avg300=0.00 total=1\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
    ];
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a directory")).expect("created");
        fs::write(path, text).expect("written");
    }
    let environment = capture_from(&Source::below(root.path()));
    assert_eq!(environment.cpu.model, "Made CPU");
    assert_eq!(environment.cpu.microcode.as_deref(), Some("0x2a"));
    assert_eq!(environment.cpu.threads_per_core, Some(2));
    assert_eq!(environment.cpu.governor.as_deref(), Some("powersave"));
    assert_eq!(environment.cpu.cache_bytes["L1d"], 32_768);
    assert_eq!(environment.cpu.mitigations["meltdown"], "Vulnerable");
    assert_eq!(environment.kernel.command_line.as_deref(), Some("quiet mitigations=off"));
    assert_eq!(environment.memory.total_bytes, 1_024_000);
    assert_eq!(environment.memory.transparent_huge_pages.as_deref(), Some("always"));
    assert_eq!(environment.load.pressure_some_avg10["cpu"], 2.5);
    assert_eq!(environment.limits.sysctl["net.ipv4.tcp_rmem"], "4096 131072 6291456");
    assert_eq!(environment.clock["current"], "hpet");
}

#[test]
fn captures_survive_storage() {
    let environment = capture();
    let text = serde_json::to_string(&environment).expect("plain data");
    let read: Environment = serde_json::from_str(&text).expect("its own form");
    assert_eq!(headwater_results::compare::environment::differences(&environment, &read), []);
}
