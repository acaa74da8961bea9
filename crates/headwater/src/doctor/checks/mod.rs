//! The table of checks. A new check is a function in one of the files below and a line in the table.

mod cgroup;
mod clock;
mod cpus;
mod frequency;
mod load;
mod memory;
mod places;
mod process;
mod queues;
mod sockets;
mod tracer;
mod tracing;

use super::{Facts, Finding};

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The topic, in one or two words.
    pub topic: &'static str,
    /// Returns the result; `None` if the machine does not provide the fact.
    pub run: fn(&Facts) -> Option<Finding>,
}

/// All checks. Findings of equal status are shown in this order.
pub const CHECKS: &[Check] = &[
    Check { topic: "CPUs", run: cpus::available },
    Check { topic: "affinity", run: cpus::affinity },
    Check { topic: "SMT", run: cpus::smt },
    Check { topic: "hypervisor", run: cpus::hypervisor },
    Check { topic: "steal", run: load::steal },
    Check { topic: "load", run: load::average },
    Check { topic: "other runs", run: load::other_measurements },
    Check { topic: "pressure", run: load::pressure },
    Check { topic: "governor", run: frequency::governor },
    Check { topic: "turbo", run: frequency::turbo },
    Check { topic: "clock source", run: clock::source },
    Check { topic: "clock read", run: clock::read_cost },
    Check { topic: "CPU quota", run: cgroup::cpu_quota },
    Check { topic: "memory limit", run: cgroup::memory_max },
    Check { topic: "huge pages", run: memory::huge_pages },
    Check { topic: "ASLR", run: memory::address_randomisation },
    Check { topic: "private IPC", run: queues::private_ipc },
    Check { topic: "POSIX queues", run: queues::posix },
    Check { topic: "queue bytes", run: queues::bytes_per_user },
    Check { topic: "SysV queues", run: queues::system_v },
    Check { topic: "pipe size", run: sockets::pipe_size },
    Check { topic: "UDP buffers", run: sockets::udp_buffers },
    Check { topic: "Unix datagrams", run: sockets::unix_datagrams },
    Check { topic: "descriptors", run: process::descriptors },
    Check { topic: "priority", run: process::priority },
    Check { topic: "core dumps", run: process::core_dumps },
    Check { topic: "debugger", run: process::debugger },
    Check { topic: "seccomp", run: process::system_call_filter },
    Check { topic: "shared memory", run: places::shared_memory },
    Check { topic: "temp directory", run: places::temporary },
    Check { topic: "kernel tracing", run: tracing::kernel },
    Check { topic: "trace clock", run: tracer::clock },
    Check { topic: "trace buffers", run: tracer::buffers },
    Check { topic: "trace memory", run: tracer::memory },
    Check { topic: "kernel events", run: tracer::kernel },
    Check { topic: "trace sessions", run: tracer::sessions },
    Check { topic: "trace instances", run: tracer::instances },
];
