//! The kernel's clock source in use and those that it could use.

use headwater_results::schema::Fact;

use super::Source;

/// `current` and `available`, as the kernel names them.
pub fn capture(source: &Source) -> Fact {
    let directory = "/sys/devices/system/clocksource/clocksource0";
    let read = |name: &str| Some((name.to_owned(), source.read(format!("{directory}/{name}_clocksource"))?));
    ["current", "available"].into_iter().filter_map(read).collect()
}
