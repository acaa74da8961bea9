//! Limits of pipes, queues and sockets, and resource limits of this process.

use headwater_os_tools::limits;
use headwater_results::schema::{Fact, Limits};

use super::Source;

/// The system settings that affect local communication, by the name that sysctl(8) uses.
const SYSCTLS: [&str; 50] = [
    "fs.file-max",
    "fs.nr_open",
    "fs.pipe-max-size",
    "fs.pipe-user-pages-hard",
    "fs.pipe-user-pages-soft",
    "fs.mqueue.msg_default",
    "fs.mqueue.msg_max",
    "fs.mqueue.msgsize_default",
    "fs.mqueue.msgsize_max",
    "fs.mqueue.queues_max",
    "kernel.apparmor_restrict_unprivileged_userns",
    "kernel.core_pattern",
    "kernel.io_uring_disabled",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.pty.max",
    "kernel.randomize_va_space",
    "kernel.sched_autogroup_enabled",
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.split_lock_mitigate",
    "kernel.threads-max",
    "kernel.timer_migration",
    "kernel.unprivileged_userns_clone",
    "kernel.yama.ptrace_scope",
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "net.unix.max_dgram_qlen",
    "user.max_ipc_namespaces",
    "user.max_user_namespaces",
    "vm.overcommit_memory",
];

/// Captures the present limits.
pub fn capture(source: &Source) -> Limits {
    let read = |name: &str| Some((name.to_owned(), one_line(&source.read(sysctl_path(name))?)));
    let limits = limits::all().map(|limit| (limit.name.to_owned(), limit_text(limit.soft)));
    Limits { sysctl: SYSCTLS.into_iter().filter_map(read).collect(), resource: limits.collect::<Fact>() }
}

/// Formats a limit like prlimit(1).
pub fn limit_text(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |value| value.to_string())
}

/// Returns the file of a system setting. None of the names above contains a dot within a component.
fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Replaces the tabs between several numbers of a setting by one space, which sysctl(8) accepts too.
fn one_line(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
