use super::*;

fn check(cases: &[(String, &str)]) {
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn rates_have_three_digits_and_a_prefix() {
    check(&[
        (rate(0.0), "0 /s"),
        (rate(0.5), "0.50 /s"),
        (rate(437.0), "437 /s"),
        (rate(1_234_567.0), "1.23 M/s"),
        (rate(12_345.0), "12.3 k/s"),
        (bytes_per_second(950e6), "950 MB/s"),
        (bytes_per_second(6.1e9), "6.10 GB/s"),
        (prefixed(12.0), "12.0"),
        (prefixed(-2_500.0), "-2.50 k"),
    ]);
}

#[test]
fn rounding_up_takes_the_next_unit() {
    check(&[
        (rate(999.4), "999 /s"),
        (rate(999.6), "1.00 k/s"),
        (rate(999_600.0), "1.00 M/s"),
        (rate(9.996), "10.0 /s"),
        (rate(99.96), "100 /s"),
        (duration_ns(999.6), "1.00 us"),
    ]);
}

#[test]
fn durations_choose_their_unit() {
    check(&[
        (duration_ns(0.0), "0 ns"),
        (duration_ns(0.254), "0.25 ns"),
        (duration_ns(812.4), "812 ns"),
        (duration_ns(5_123.0), "5.12 us"),
        (duration_ns(1_300_000.0), "1.30 ms"),
        (duration_ns(90e9), "90.0 s"),
        (duration_ns(5_000e9), "5000 s"),
    ]);
}

#[test]
fn sizes_are_powers_of_1024() {
    check(&[
        (size(1), "1"),
        (size(64), "64"),
        (size(1500), "1500"),
        (size(4096), "4k"),
        (size(65_536), "64k"),
        (size(1 << 20), "1m"),
        (size(1 << 40), "1024g"),
        (size(0), "0"),
        (size_in_words(64), "64 B"),
        (size_in_words(4096), "4 KiB"),
    ]);
}

#[test]
fn shares_and_ratios_read_as_words() {
    check(&[
        (percent(0.0), "0 %"),
        (percent(0.00001), "< 0.01 %"),
        (percent(0.003_14), "0.31 %"),
        (percent(0.0239), "2.4 %"),
        (percent(0.374), "37 %"),
        (times(1.26), "1.3 times"),
        (times(9.97), "10 times"),
        (times(1500.0), "1,500 times"),
    ]);
}

#[test]
fn thousands_are_separated() {
    check(&[
        (grouped(0.0), "0"),
        (grouped(-0.2), "0"),
        (grouped(999.0), "999"),
        (grouped(1000.0), "1,000"),
        (grouped(-1_234_567.4), "-1,234,567"),
    ]);
}

#[test]
fn a_quantity_follows_the_unit_of_its_metric() {
    check(&[
        (quantity(1.5e6, "messages/s"), "1.50 M/s"),
        (quantity(12.0, "us"), "12.0 us"),
        (quantity(0.02, "ratio"), "2.0 %"),
        (quantity(5000.0, "faults"), "5.00 k faults"),
        (quantity(3120.4, "MB/s"), "3,120 MB/s"),
    ]);
}
