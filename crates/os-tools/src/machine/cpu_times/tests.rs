//! The first line of `/proc/stat` as several kernels write it.

use super::*;

#[test]
fn line_of_a_current_kernel_is_split() {
    let text = "cpu  3780 20 1457 161942 1284 3 96 1824 50 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
    let times = CpuTimes::parse(text, 100.0).expect("well formed");
    assert_eq!(times, CpuTimes { busy_s: 53.56, idle_s: 1632.26, steal_s: 18.24 });
}

#[test]
fn line_without_steal_has_none() {
    let times = CpuTimes::parse("cpu 100 0 100 700 100 0 0\n", 100.0).expect("well formed");
    assert_eq!(times, CpuTimes { busy_s: 2.0, idle_s: 8.0, steal_s: 0.0 });
}

#[test]
fn other_text_is_refused() {
    for text in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu a b c d e f g"] {
        assert_eq!(CpuTimes::parse(text, 100.0), None, "{text:?}");
    }
}

#[test]
fn shares_add_up_and_an_empty_interval_has_none() {
    let shares = CpuTimes { busy_s: 1.0, idle_s: 2.0, steal_s: 1.0 }.shares();
    assert_eq!(shares, CpuShares { busy: 0.25, idle: 0.5, steal: 0.25 });
    assert_eq!(CpuTimes::default().shares(), CpuShares::default());
}

#[test]
fn difference_never_runs_backwards() {
    let earlier = CpuTimes { busy_s: 1.0, idle_s: 5.0, steal_s: 0.5 };
    let later = CpuTimes { busy_s: 3.0, idle_s: 4.9, steal_s: 0.75 };
    assert_eq!(later - earlier, CpuTimes { busy_s: 2.0, idle_s: 0.0, steal_s: 0.25 });
}

#[test]
fn this_machine_has_been_running() {
    let times = CpuTimes::read().expect("/proc/stat is readable");
    assert!(times.total_s() > 0.0, "{times:?}");
}
