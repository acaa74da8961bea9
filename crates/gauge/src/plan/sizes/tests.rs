//! Tests of accepted and refused lists of sizes.

use super::{SIZES_MAX, Sizes};

#[test]
fn lists_and_ranges_are_read() {
    for (text, expected) in [
        ("64", vec![64]),
        ("4k,64", vec![64, 4096]),
        ("1..16*2", vec![1, 2, 4, 8, 16]),
        ("1..8", vec![1, 2, 4, 8]),
        ("1..10*3", vec![1, 3, 9]),
        ("1k..4k+1k", vec![1024, 2048, 3072, 4096]),
        ("64,1..64*8", vec![1, 8, 64]),
        ("1M", vec![1 << 20]),
        ("2KiB, 3B", vec![3, 2048]),
    ] {
        assert_eq!(text.parse::<Sizes>().map(|sizes| sizes.0), Ok(expected), "{text}");
    }
}

#[test]
fn an_invalid_size_is_refused_with_a_reason() {
    for (text, reason) in [
        ("", "not a size"),
        ("x", "not a size"),
        ("4q", "not a size"),
        ("-1", "not a size"),
        ("1.5k", "not a size"),
        ("0", "at least one byte"),
        ("8..1", "ends before"),
        ("1..8*1", "never grows"),
        ("1..8*", "not a size"),
        ("64,,1", "not a size"),
        ("99999999999999999999", "not a size"),
        ("18014398509481984k", "not a size"),
        ("2g", "more than a message"),
        ("1..1m+1", "more than 1000 sizes"),
    ] {
        let error = text.parse::<Sizes>().expect_err(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
    assert_eq!(SIZES_MAX, 1000);
}

#[test]
fn the_printed_form_reads_back() {
    let sizes: Sizes = "1..65536*2".parse().expect("a range");
    assert_eq!(sizes.to_string().parse::<Sizes>(), Ok(sizes));
}
