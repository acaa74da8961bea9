use super::*;

#[test]
fn a_line_is_judged_by_the_ratios_within_pairs() {
    let line = |name: &str, ours: &[f64], theirs: &[f64]| Line {
        name: name.to_owned(),
        unit: "us".to_owned(),
        pairs: Pairs { ours: ours.to_vec(), theirs: theirs.to_vec(), missing: None },
        cause: Some("it does less"),
    };
    let mut missing = line("fork", &[], &[]);
    missing.pairs.missing = Some("headwater: no room".to_owned());
    // In the first pair the machine became ten times slower in the middle.
    let same = line("stat", &[1.0, 10.0, 1.02], &[1.0, 10.0, 1.0]);
    let text = table("plain C", &[same, missing, line("fstat", &[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0])]);
    assert!(text.contains("| stat | 1.02 | 1.00 | us | 1.000 | 1.000 .. 1.020"), "{text}");
    assert!(text.contains("| fork | - | - | | - | | 0 | headwater: no room |"), "{text}");
    assert!(!text.lines().any(|line| line.contains("| stat ") && line.contains("it does less")), "{text}");
    assert!(text.contains("| no: it does less |"), "{text}");
    assert!(text.ends_with("1 of 2 medians are within 5 %.\n"), "{text}");
}

#[test]
fn a_pair_has_our_figure_first() {
    let all = alternately((20, 1), 2, |row, block| Ok((row, block)), |row| Ok((row, 99)));
    assert!(all[1].ours.iter().copied().eq((0..20).map(|block| (1, block))), "{all:?}");
    assert_eq!((all[1].theirs.as_slice(), all[1].missing.as_deref()), ([(1, 99); 20].as_slice(), None));
}

#[test]
fn cpus_are_two_numbers() {
    assert_eq!(parse_cpus("0,1").expect("two"), (0, 1));
    assert!(parse_cpus("0").is_err() && parse_cpus("0,b").is_err());
}

#[test]
fn values_have_three_digits() {
    for (value, text) in [(0.0899, "0.0899"), (1.234, "1.23"), (148.2, "148"), (9123.4, "9123"), (0.0, "0.000000")] {
        assert_eq!(three_digits(value), text);
    }
}

#[test]
fn the_figure_of_a_launch_is_its_own_before_the_median_of_its_samples() {
    let mut measured = Measured::default();
    assert!(figure(&measured, "rate").is_err());
    // Batches in which the receiver drains a full buffer are fast: their median is no rate.
    measured.series.insert("rate".to_owned(), vec![1.0, 8.0, 9.0]);
    assert_eq!(figure(&measured, "rate").expect("samples"), 8.0);
    measured.figures.insert("rate".to_owned(), 2.0);
    assert_eq!(figure(&measured, "rate").expect("its own"), 2.0);
}
