//! The kernel's clock source: the current one and the available ones.

use headwater_results::schema::Fact;

use super::Source;

/// Captures `current` and `available`, with the kernel's names.
pub fn capture(source: &Source) -> Fact {
    let directory = "/sys/devices/system/clocksource/clocksource0";
    let read = |name: &str| Some((name.to_owned(), source.read(format!("{directory}/{name}_clocksource"))?));
    ["current", "available"].into_iter().filter_map(read).collect()
}
