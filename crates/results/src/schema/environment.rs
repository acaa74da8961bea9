//! The machine and its state during a measurement. An absent value means that the machine does not provide it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Named settings with their values as the machine prints them.
pub type Fact = BTreeMap<String, String>;

/// The machine and its state, before or after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Host name.
    pub host: String,
    /// 64 bits in hexadecimal that follow from the machine's id (machine-id(5)) and do not give it away: the same on every
    /// run of a host, whatever it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Processor.
    pub cpu: Cpu,
    /// Kernel.
    pub kernel: Kernel,
    /// Memory.
    pub memory: Memory,
    /// Limits of pipes, queues, sockets and of this process.
    pub limits: Limits,
    /// Load and pressure at this moment.
    pub load: Load,
    /// Hypervisor as the processor reports it; `none` on bare metal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualisation: Option<String>,
    /// Limits of the control group (`cpu.max`, `memory.max`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cgroup: Fact,
    /// Clock source in use and those available.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clock: Fact,
    /// How the kernel schedules this process and what it starts: `nice`, `policy` (`other`, `batch`, `idle`, `fifo`, `rr`,
    /// `deadline`), `priority` of a real-time policy, and `io`, the class and level of its I/O (`none` follows nice and policy).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduling: Fact,
    /// State of kernel tracing (current tracer, tracing_on, perf_event_paranoid, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tracing: Fact,
}

/// Processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Model name.
    pub model: String,
    /// Architecture as reported by `uname -m`.
    pub architecture: String,
    /// CPUs online.
    pub online: u32,
    /// CPUs this process may use.
    pub affinity: Vec<u32>,
    /// Threads per core, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_per_core: Option<u32>,
    /// Microcode revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// Frequency governor of the first CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Mitigations by vulnerability.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mitigations: Fact,
    /// Sizes of the caches of the first CPU, bytes, by name (`L1d`, `L2`, ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cache_bytes: BTreeMap<String, u64>,
}

/// Kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Kernel command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// Preemption model: `none`, `voluntary`, `full`, `lazy`, `dynamic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Total, bytes.
    pub total_bytes: u64,
    /// Available, bytes.
    pub available_bytes: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transparent_huge_pages: Option<String>,
}

/// Limits by file or resource name, as the machine prints them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// `fs.pipe-max-size`, `fs.mqueue.*`, `kernel.msg*`, `net.core.*mem_*`, `net.unix.max_dgram_qlen`, ...
    pub sysctl: Fact,
    /// Soft limits of this process: `nofile`, `nproc`, `msgqueue`, `memlock`, ... (`unlimited` if there is none).
    pub resource: Fact,
}

impl Environment {
    /// Returns what is unusual about [`Environment::scheduling`], in words: `nice 10, policy batch`. `None` on a run that is scheduled
    /// as programs usually are, and on one that does not say it.
    pub fn priority(&self) -> Option<String> {
        let usual = |name: &str, value: &str| match name {
            "nice" => value == "0",
            "policy" => value == "other",
            "io" => matches!(value, "none" | "best-effort 4"),
            _ => false,
        };
        let unusual = self.scheduling.iter().filter(|(name, value)| !usual(name, value));
        let words: Vec<String> = unusual.map(|(name, value)| format!("{name} {value}")).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl Load {
    /// Returns which other measurements there are, in words; `None` if there is none.
    pub fn others(&self) -> Option<String> {
        let first = self.other_measurements.first()?;
        let more = self.other_measurements.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!("another headwater measures on this machine (process {first}{more})"))
    }
}

/// Load at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Load average over one minute.
    pub average_1min: f64,
    /// `some avg10` of CPU, I/O and memory pressure in percent, if the kernel provides it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure_some_avg10: BTreeMap<String, f64>,
    /// Share of CPU time stolen by the hypervisor since boot, 0..1.
    pub steal_since_boot: f64,
    /// Other processes of this tool that measured at this moment, as far as this process could see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_measurements: Vec<u32>,
}
