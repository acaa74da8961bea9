//! Tests with lines of `/proc/meminfo`.

use super::*;

#[test]
fn values_are_bytes_and_keys_are_whole() {
    let text = "MemTotal:       24684096 kB\nMemFree:          100 kB\nMemAvailable:   23000000 kB\nHugePages_Total:       4\n";
    assert_eq!(parse_meminfo(text, "MemTotal"), Some(24_684_096 * 1024));
    assert_eq!(parse_meminfo(text, "MemAvailable"), Some(23_000_000 * 1024));
    assert_eq!(parse_meminfo(text, "Mem"), None);
    assert_eq!(parse_meminfo(text, "HugePages_Total"), None);
}
