//! The processor: model, caches, mitigations, governor, threads per core, affinity.

use std::collections::BTreeMap;

use headwater_os::cpu;
use headwater_results::schema::{Cpu, Fact};

use super::Source;

const CPUS: &str = "/sys/devices/system/cpu";

/// How many bytes of `/proc/cpuinfo` are read. Generating all of it takes milliseconds on a large machine, and the
/// first few CPUs suffice.
const CPUINFO_BYTES_MAX: u64 = 64 << 10;

/// Captures the processor. `architecture` is that of `uname -m`.
pub fn capture(source: &Source, architecture: &str) -> Cpu {
    let info = parse_cpuinfo(&source.read_head("/proc/cpuinfo", CPUINFO_BYTES_MAX).unwrap_or_default());
    let siblings = source.read(format!("{CPUS}/cpu0/topology/thread_siblings_list"));
    let siblings = siblings.map(|list| parse_cpu_list(&list).len() as u32).filter(|&count| count > 0);
    Cpu {
        model: info.model.unwrap_or_else(|| architecture.to_owned()),
        architecture: architecture.to_owned(),
        online: cpu::online(),
        affinity: cpu::allowed().unwrap_or_default(),
        threads_per_core: siblings.or(info.threads_per_core),
        microcode: info.microcode,
        governor: source.read(format!("{CPUS}/cpu0/cpufreq/scaling_governor")),
        mitigations: mitigations(source),
        cache_bytes: caches(source),
    }
}

/// The contents of `/proc/cpuinfo` for the first CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Model name. On ARM, the names of the core types, joined by ` + ` if there are several.
    pub model: Option<String>,
    /// Microcode revision (x86).
    pub microcode: Option<String>,
    /// Siblings divided by cores (x86).
    pub threads_per_core: Option<u32>,
    /// Whether the processor reports a hypervisor; `None` if the architecture has no such flag.
    pub hypervisor: Option<bool>,
}

/// Parses the lines `key : value` of `/proc/cpuinfo`, whose keys depend on the architecture.
pub fn parse_cpuinfo(text: &str) -> CpuInfo {
    let lines = || text.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()));
    let first = |wanted: &str| lines().find(|(key, value)| *key == wanted && !value.is_empty()).map(|(_, value)| value);
    // x86 and current ARM, LoongArch, MIPS, POWER, RISC-V.
    let names = ["model name", "Model Name", "cpu model", "cpu", "uarch"];
    let named = names.iter().find_map(|key| first(key)).map(str::to_owned);
    let number = |key| first(key).and_then(|value| value.parse::<u32>().ok());
    let threads_per_core = match (number("siblings"), number("cpu cores")) {
        (Some(siblings), Some(cores)) if cores > 0 => Some((siblings / cores).max(1)),
        _ => None,
    };
    CpuInfo {
        model: named.or_else(|| arm_model(lines())),
        microcode: first("microcode").map(str::to_owned),
        threads_per_core,
        hypervisor: first("flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
    }
}

/// Returns the ARM core types in order of appearance. The kernel reports them as numbers.
fn arm_model<'text>(lines: impl Iterator<Item = (&'text str, &'text str)>) -> Option<String> {
    let mut implementer = "";
    let mut kinds: Vec<String> = Vec::new();
    for (key, value) in lines {
        match key {
            "CPU implementer" => implementer = value,
            "CPU part" => {
                let kind = arm_core(implementer, value).map(str::to_owned);
                let kind = kind.unwrap_or_else(|| format!("implementer {implementer} part {value}"));
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            _ => {}
        }
    }
    (!kinds.is_empty()).then(|| kinds.join(" + "))
}

/// Returns the name of a core of servers and common boards (MIDR_EL1, Arm's technical reference manuals).
fn arm_core(implementer: &str, part: &str) -> Option<&'static str> {
    Some(match (implementer, part) {
        ("0x41", "0xd03") => "Cortex-A53",
        ("0x41", "0xd05") => "Cortex-A55",
        ("0x41", "0xd07") => "Cortex-A57",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd41") => "Cortex-A78",
        ("0x41", "0xd44") => "Cortex-X1",
        ("0x41", "0xd0c") => "Neoverse-N1",
        ("0x41", "0xd40") => "Neoverse-V1",
        ("0x41", "0xd49") => "Neoverse-N2",
        ("0x41", "0xd4f") => "Neoverse-V2",
        ("0xc0", "0xac3") => "Ampere-1",
        _ => return None,
    })
}

/// Returns the mitigation of each vulnerability, as the kernel reports it.
fn mitigations(source: &Source) -> Fact {
    let directory = format!("{CPUS}/vulnerabilities");
    let read = |name: String| source.read(format!("{directory}/{name}")).map(|state| (name, state));
    source.list(&directory).into_iter().filter_map(read).collect()
}

/// Returns the sizes of the first CPU's caches in bytes, by name.
fn caches(source: &Source) -> BTreeMap<String, u64> {
    let directory = format!("{CPUS}/cpu0/cache");
    let indices = source.list(&directory).into_iter().filter(|name| name.starts_with("index"));
    let read = |index: String| {
        let field = |name| source.read(format!("{directory}/{index}/{name}"));
        Some((cache_name(&field("level")?, &field("type")?), parse_size(&field("size")?)?))
    };
    indices.filter_map(read).collect()
}

/// Returns `L1d`, `L1i`, `L2`: with a letter only if the level has two caches.
fn cache_name(level: &str, kind: &str) -> String {
    match kind {
        "Data" => format!("L{level}d"),
        "Instruction" => format!("L{level}i"),
        _ => format!("L{level}"),
    }
}

/// Parses a size such as `48K` (multiples of 1024) or `2M`, in bytes.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => text.strip_suffix('M').map_or((text, 0), |digits| (digits, 20)),
    };
    digits.parse::<u64>().ok()?.checked_shl(shift)
}

/// Parses a list such as `0-3,8`. Anything that is neither a number nor a range is ignored.
pub fn parse_cpu_list(text: &str) -> Vec<u32> {
    // The largest machines have 8192 CPUs; a longer range cannot be a range of CPUs.
    const CPUS_MAX: u32 = 8192;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?.min(CPUS_MAX)))
    };
    text.split(',').filter_map(range).flat_map(|(first, last)| first..=last).collect()
}

#[cfg(test)]
mod tests;
