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
fn a_row_s_cause_is_that_of_the_side() {
    let apart = Pairs { ours: vec![2.0, 2.0, 2.0], theirs: vec![1.0, 1.0, 1.0], missing: None };
    let side = Side { name: "plain C", cause: |row| (row.subject == "stat").then_some("it does less") };
    let text = table(&side, &[&row("stat"), &row("fstat")], vec![apart.clone(), apart]);
    assert!(text.starts_with("| row | headwater | plain C | unit |"), "{text}");
    assert!(text.contains("| stat | 2.00 | 1.00 | us | 2.000 |") && text.contains("| no: it does less |"), "{text}");
    assert_eq!(text.matches("it does less").count(), 1, "{text}");
}
