use super::*;

fn row(id: &str) -> Row {
    let rows = rows((0, 1), &[]).expect("the suite has rows");
    rows.into_iter().find(|row| row.id.starts_with(id)).expect("it is in the suite")
}

#[test]
fn every_row_of_the_suite_has_its_test() {
    for cpus in [(0, 0), (0, 1)] {
        for row in rows(cpus, &[]).expect("rows") {
            let (test, own) = arguments(&row).unwrap_or_else(|error| panic!("{error}"));
            let size = row.size_bytes.expect("a size").to_string();
            assert!(
                own[1].starts_with(&size) && test.starts_with(&row.subject[..3].to_ascii_uppercase()),
                "{}",
                row.id
            );
        }
    }
    assert!(rows((0, 1), &["udp/rtt/".into()]).expect("some").iter().all(|row| row.id.starts_with("udp/rtt/")));
    rows((0, 1), &["pipe".into()]).expect_err("no such row");
}

const PRINTED: &str = "PROTOCOL=UDP\nDIRECTION=Send\nELAPSED_TIME=2.00\nLOCAL_SEND_SIZE=64\nLOCAL_SEND_CALLS=3000\n\
                       REMOTE_RECV_CALLS=1000\n";

#[test]
fn the_figures_are_those_of_the_same_row() {
    let figures = figures_of(PRINTED.into(), &row("udp-unconnected/flood/64/")).expect("figures");
    assert_eq!(figures, [500.0, 1500.0]);
    let error = figures_of(PRINTED.into(), &row("udp/flood/1024/")).expect_err("another size");
    assert!(error.to_string().contains("udp/flood/1024"), "{error}");
}

#[test]
fn a_row_is_judged_by_the_ratios_within_pairs() {
    // The machine became ten times slower in the middle.
    let figures = Pairs {
        ours: vec![vec![1.0, 2.0], vec![10.0, 20.0], vec![1.02, 3.0]],
        theirs: vec![vec![1.0, 1.0], vec![10.0, 10.0], vec![1.0, 1.0]],
        missing: None,
    };
    let missing = Pairs { missing: Some("netperf: no rate".to_owned()), ..Pairs::default() };
    let text = table(&[row("udp/flood/64/"), row("tcp/rtt/1/")], &[figures, missing]);
    assert!(text.contains("| udp/flood/64: rx_rate | 1.02 | 1.00 | messages/s | 1.000 | 1.000 .. 1.020"), "{text}");
    assert!(text.contains("| udp/flood/64: tx_rate | 3.00 | 1.00 | messages/s | 2.000 |"), "{text}");
    assert!(text.contains("| tcp/rtt/1 | - | - | | - | | 0 | netperf: no rate |"), "{text}");
    assert!(text.ends_with("1 of 2 medians are within 5 %.\n"), "{text}");
}
