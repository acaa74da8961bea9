//! Formats numbers: three significant digits, a prefix, a unit. Used by every table and sentence, and by the command.
//!
//! Prefixes of rates and durations are powers of 1000 (1 MB = 10^6 bytes); those of message sizes are powers of 1024.

/// Formats messages or operations per second: `1.23 M/s`.
pub fn rate(per_second: f64) -> String {
    let (digits, prefix) = scaled(per_second);
    format!("{digits} {prefix}/s")
}

/// Formats a count with a prefix and without a unit: `1.23 M`. Below 1000 the prefix is empty: `12.0`.
pub fn prefixed(value: f64) -> String {
    let (digits, prefix) = scaled(value);
    format!("{digits} {prefix}").trim_end().to_owned()
}

/// Formats a number of bytes with 1 kB = 1000 bytes: `213 kB`.
pub(crate) fn bytes(bytes: f64) -> String {
    let (digits, prefix) = scaled(bytes);
    format!("{digits} {prefix}B")
}

/// Formats bytes per second with 1 MB = 10^6 bytes: `950 MB/s`.
pub fn bytes_per_second(bytes: f64) -> String {
    let (digits, prefix) = scaled(bytes);
    format!("{digits} {prefix}B/s")
}

/// Formats a duration in ns: `812 ns`, `5.12 us`, `1.30 ms`, `2.50 s`. Below 1 ns it has two decimals.
pub fn duration_ns(ns: f64) -> String {
    let units = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
    let (scale, unit) = largest(&units, ns);
    format!("{} {unit}", significant(ns / scale))
}

/// Formats a message size in the syntax of `--sizes`, with powers of 1024: `64`, `1500`, `4k`, `1m`.
pub fn size(bytes: u64) -> String {
    let (count, unit) = binary(bytes);
    format!("{count}{}", ["", "k", "m", "g"][unit])
}

/// Formats a message size with its unit: `64 B`, `4 KiB`.
pub fn size_in_words(bytes: u64) -> String {
    let (count, unit) = binary(bytes);
    format!("{count} {}", ["B", "KiB", "MiB", "GiB"][unit])
}

/// Formats a share 0..1 in percent with two significant digits: `0.31 %`, `2.4 %`, `37 %`, `0 %`.
pub fn percent(share: f64) -> String {
    let per_cent = share * 100.0;
    let decimals = match per_cent.abs() {
        0.0 => 0,
        small if small < 0.005 => return if per_cent > 0.0 { "< 0.01 %" } else { "> -0.01 %" }.to_owned(),
        small if small < 0.995 => 2,
        middle if middle < 9.95 => 1,
        _ => 0,
    };
    format!("{per_cent:.decimals$} %")
}

/// Formats a ratio for a sentence with two significant digits: `1.3 times`, `12 times`, `1,500 times`.
pub fn times(ratio: f64) -> String {
    if ratio.abs() < 9.95 { format!("{ratio:.1} times") } else { format!("{} times", grouped(ratio)) }
}

/// Formats an integer with thousands separated: `1,000,000`.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let first = (digits.len() - 1) % 3 + 1;
    let mut text = if value < 0.0 && digits != "0" { "-".to_owned() } else { String::new() };
    text.push_str(&digits[..first]);
    for start in (first..digits.len()).step_by(3) {
        text.push(',');
        text.push_str(&digits[start..start + 3]);
    }
    text
}

/// Formats three significant digits, or all digits before the decimal point: `0.41`, `5.12`, `37.0`, `812`. Never with
/// an exponent.
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        units if units < 9.995 => 2,
        tens if tens < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// Formats as [`significant`], with thousands separated: `5.12`, `6,140`.
pub fn significant_grouped(value: f64) -> String {
    if value.abs() < 999.5 { significant(value) } else { grouped(value) }
}

/// Formats a count that is often near zero: `0`, `0.3`, `12`, `1,250`.
pub fn few_or_grouped(value: f64) -> String {
    match value.abs() {
        none if none < 0.05 => "0".to_owned(),
        few if few < 9.95 => format!("{value:.1}"),
        _ => grouped(value),
    }
}

/// Formats a quantity in the unit of its metric.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "messages/s" | "operations/s" | "1/s" => rate(value),
        "bytes/s" => bytes_per_second(value),
        "ns" => duration_ns(value),
        "us" => duration_ns(value * 1e3),
        "ms" => duration_ns(value * 1e6),
        "s" => duration_ns(value * 1e9),
        "ratio" => percent(value),
        // The prefix is in the unit already.
        "MB/s" | "MHz" => format!("{} {unit}", significant_grouped(value)),
        other => format!("{} {other}", prefixed(value)).trim_end().to_owned(),
    }
}

/// Three digits and the prefix: `("1.23", "M")`.
pub(crate) fn scaled(value: f64) -> (String, &'static str) {
    let prefixes = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    let (scale, prefix) = largest(&prefixes, value);
    (significant(value / scale), prefix)
}

/// The largest unit of which `value`, as it will be rounded, has at least one.
fn largest(units: &[(f64, &'static str)], value: f64) -> (f64, &'static str) {
    // 999.5 of a unit would be written as 1000 of it.
    let above = |scale: f64| value.abs() >= scale * 0.9995;
    units.iter().rev().copied().find(|&(scale, _)| above(scale)).unwrap_or(units[0])
}

/// How many of the largest unit that divides `bytes`: 0 for bytes, 1 for 2^10 and so on.
fn binary(bytes: u64) -> (u64, usize) {
    let unit = (bytes.trailing_zeros() / 10).min(3) as usize;
    if bytes == 0 { (0, 0) } else { (bytes >> (10 * unit), unit) }
}

#[cfg(test)]
mod tests;
