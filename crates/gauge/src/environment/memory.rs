//! The size of the memory, and transparent huge pages.

use headwater_results::schema::Memory;

use super::Source;
use super::kernel::parse_selected;

/// Captures the memory of the whole machine; a control group may permit less.
pub fn capture(source: &Source) -> Memory {
    let text = source.read("/proc/meminfo").unwrap_or_default();
    Memory {
        total_bytes: parse_meminfo(&text, "MemTotal").unwrap_or(0),
        available_bytes: parse_meminfo(&text, "MemAvailable").unwrap_or(0),
        transparent_huge_pages: source
            .read("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| parse_selected(&text)),
    }
}

/// Parses the line `key:   N kB` of `/proc/meminfo`, in bytes. There, kB means 1024 bytes (proc_meminfo(5)).
pub fn parse_meminfo(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests;
