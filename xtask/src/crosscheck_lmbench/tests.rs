use super::*;

fn row(subject: &str) -> Row {
    let suite = suites::find("lmbench").expect("it is in the table");
    let rows = (suite.rows)(&Axes { sizes: None, placements: &[Placement::Free], externals: &[] });
    rows.into_iter().find(|row| row.subject == subject).expect("it is in the suite")
}

#[test]
fn the_figure_is_that_of_the_row_in_its_unit() {
    let text = "fork 100 us\nfork-bomb 7 us\nfstat 0.25 us\nudp 9000 ns\n";
    assert_eq!(figure_of(text, &row("fstat")).expect("a figure"), 0.25);
    assert_eq!(figure_of(text, &row("udp")).expect("a figure"), 9000.0);
    for (text, subject) in [("fstat 0.25 ns\n", "fstat"), ("fstat fast us\n", "fstat"), (text, "stat")] {
        let error = figure_of(text, &row(subject)).expect_err("no figure");
        assert!(error.to_string().contains(subject), "{error}");
    }
}

#[test]
fn a_row_is_judged_by_the_ratios_within_pairs() {
    // The machine became ten times slower in the middle.
    let figures = Figures { ours: vec![1.0, 10.0, 1.02], theirs: vec![1.0, 10.0, 1.0], missing: None };
    let missing = Figures { missing: Some("headwater: no room".to_owned()), ..Figures::default() };
    let apart = Figures { ours: vec![2.0, 2.0, 2.0], theirs: vec![1.0, 1.0, 1.0], missing: None };
    let side = Side { name: "plain C", cause: |_| Some("it does less") };
    let text = table(&side, &[&row("stat"), &row("fork"), &row("fstat")], &[figures, missing, apart]);
    assert!(text.contains("| stat | 1.02 | 1.00 | us | 1.000 | 1.000 .. 1.020"), "{text}");
    assert!(text.contains("| fork | - | - | | - | | 0 | headwater: no room |"), "{text}");
    assert!(!text.lines().any(|line| line.contains("| stat ") && line.contains("it does less")), "{text}");
    assert!(text.contains("| no: it does less |"), "{text}");
    assert!(text.ends_with("1 of 2 medians are within 5 %.\n"), "{text}");
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
