//! Labels of ticks: round numbers without trailing zeros. Tables use [`crate::units`].

use crate::units;

/// Formats a number with a prefix: `1.5 M`, `20 k`, `0`.
pub(crate) fn prefixed(value: f64) -> String {
    let (digits, prefix) = units::scaled(value);
    format!("{} {prefix}", lean(&digits)).trim_end().to_owned()
}

/// Formats a duration in s: `20 us` for 2e-5, `0` for zero.
pub(crate) fn duration_s(seconds: f64) -> String {
    duration_ns(seconds * 1e9)
}

/// Formats a duration in ns: `20 us` for 20,000, `0` for zero.
pub(crate) fn duration_ns(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_owned();
    }
    let text = units::duration_ns(ns);
    match text.split_once(' ') {
        Some((digits, unit)) => format!("{} {unit}", lean(digits)),
        None => text,
    }
}

/// Formats the size of a tick, which is zero or a power of two: `0`, `64 B`, `16 KiB`.
pub(crate) fn size(bytes: f64) -> String {
    if bytes == 0.0 { "0".to_owned() } else { units::size_in_words(bytes as u64) }
}

/// Formats a ratio as an improvement: `+50 %`, `0 %`, `-20 %`.
pub(crate) fn improvement(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 0.005 {
        return "0 %".to_owned();
    }
    let text = if percent.abs() < 999.5 { units::significant(percent) } else { units::grouped(percent) };
    let sign = if percent > 0.0 { "+" } else { "" };
    format!("{sign}{} %", lean(&text))
}

/// Formats a percentile: `99.9 %`.
pub(crate) fn percentile(percent: f64) -> String {
    format!("{percent} %")
}

/// Formats a ratio: `1.05`, `2`.
pub(crate) fn ratio(value: f64) -> String {
    lean(&format!("{value:.3}"))
}

/// Removes trailing zeros.
fn lean(digits: &str) -> String {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits.to_owned() }
}
