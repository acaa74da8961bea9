use super::{Case, Claim, Needs, TABLE, Verdict, Wording, fifo, ipc, is_about, ltt, pipes, udp};
use crate::published::find;

fn case<'a>(cases: &'a [Case], of: &str) -> &'a Case {
    cases.iter().find(|case| case.of == of).expect("there is such a case")
}

/// The expected values were computed from the CSV files by another program.
fn check(cases: &[Case], of: &str, expected: (f64, f64, f64), holds: bool) {
    let found = case(cases, of);
    let near = |value: f64, expected: f64| (value - expected).abs() < 0.006 * expected;
    assert!(
        near(found.low, expected.0) && near(found.mean, expected.1) && near(found.high, expected.2),
        "{of}: {found:?}"
    );
    assert_eq!(found.holds, holds, "{found:?}");
}

#[test]
fn every_claim_names_a_table_and_has_cases() {
    for claim in TABLE {
        assert!(find(claim.table).is_some(), "{}", claim.table);
        let cases = claim.cases();
        assert!(!cases.is_empty(), "{}", claim.says);
        for case in cases {
            assert!(case.low > 0.0 && case.low <= case.mean && case.mean <= case.high, "{case:?}");
            assert!(case.high.is_finite());
        }
    }
}

#[test]
fn streams_pipes_lose_on_centos_5_up_to_1_kib() {
    let cases = pipes::ENTIRE_RANGE.cases();
    assert_eq!(cases.len(), 10);
    let centos = case(&cases, "cos5");
    assert!(!centos.holds);
    assert_eq!(centos.remark, "slower than the kernel's at 11 of 13 sizes, 1 to 1024 B");
    assert_eq!(cases.iter().filter(|case| case.holds).count(), 9);
    assert_eq!(pipes::ENTIRE_RANGE.verdict(&cases), Verdict::HoldsInPart);
}

#[test]
fn figures_of_the_pipe_report() {
    let five = pipes::FIVE_TIMES.cases();
    check(&five, "fc6", (1.76, 2.50, 2.99), false);
    check(&five, "u704", (2.49, 4.17, 5.86), true);
    check(&five, "cos5", (0.58, 0.84, 1.64), false);
    let up_to = pipes::UP_TO_FIVE_TIMES.cases();
    let reached: Vec<&str> = up_to.iter().filter(|case| case.holds).map(|case| case.of.as_str()).collect();
    assert_eq!(reached, ["suse", "u704", "cos52", "nb"]);
    assert_eq!(pipes::UP_TO_FIVE_TIMES.verdict(&up_to), Verdict::Holds);
    let lis = pipes::LIS_25.cases();
    assert_eq!(lis.len(), 8, "LiS is missing from two datasets");
    assert_eq!(pipes::LIS_25.verdict(&lis), Verdict::DoesNotHold);
    let lis_at_best = pipes::LIS_UP_TO_25.cases();
    check(&lis_at_best, "suse", (6.54, 12.7, 18.1), false);
    assert_eq!(pipes::LIS_UP_TO_25.verdict(&lis_at_best), Verdict::DoesNotHold);
    assert_eq!(pipes::LIS_SLOW.verdict(&pipes::LIS_SLOW.cases()), Verdict::HoldsInPart);
    assert_eq!(pipes::THREE_TO_SIX.verdict(&pipes::THREE_TO_SIX.cases()), Verdict::HoldsInPart);
}

#[test]
fn figures_of_the_udp_report() {
    let gains = udp::AS_MUCH_AS_30_TO_40.cases();
    assert_eq!(gains.len(), 14, "seven tables, both ways");
    check(&gains, "table 2, received", (1.13, 1.338, 1.40), true);
    check(&gains, "table 1, received", (1.07, 1.241, 1.30), true);
    check(&gains, "table 1, sent", (1.05, 1.213, 1.28), false);
    assert_eq!(udp::AS_MUCH_AS_30_TO_40.verdict(&gains), Verdict::Holds);
    let ubuntu = udp::UBUNTU.cases();
    assert_eq!(ubuntu.len(), 2);
    check(&ubuntu, "table 4, received", (1.04, 1.063, 1.08), true);
    assert_eq!(udp::FORTY_TO_SIXTY.verdict(&udp::FORTY_TO_SIXTY.cases()), Verdict::DoesNotHold);
    assert_eq!(udp::XTIOS.verdict(&udp::XTIOS.cases()), Verdict::DoesNotHold);
}

#[test]
fn figures_of_the_fifo_mail() {
    let cases = fifo::SAVING_30.cases();
    // 100 messages of 4 KiB are 400 KiB, which is not large.
    assert_eq!(cases.len(), 4);
    check(&cases, "1000 messages", (0.759, 0.776, 0.794), true);
    check(&cases, "5000 messages", (0.705, 0.749, 0.798), true);
    check(&cases, "10000 messages", (0.697, 0.753, 0.812), true);
    check(&cases, "100000 messages", (0.633, 0.680, 0.757), true);
    let remarks: Vec<&str> = cases.iter().map(|case| case.remark.as_str()).collect();
    assert_eq!(remarks, ["from 2048 B on", "from 256 B on", "from 128 B on", "from 64 B on"]);
    assert_eq!(fifo::SAVING_30.verdict(&cases), Verdict::Holds);
}

#[test]
fn figures_of_the_tracing_report() {
    let off = ltt::DAEMON_OFF.cases();
    assert_eq!(off.iter().map(|case| case.of.as_str()).collect::<Vec<_>>(), ["up-c", "smp4-c"]);
    check(&off, "smp4-c", (1.00313, 1.00425, 201.0 / 200.0), true);
    assert_eq!(case(&off, "smp4-c").remark, "3 of 3 within 0.5 %; the worst is compress/workload");
    assert_eq!(ltt::DAEMON_OFF.verdict(&off), Verdict::Holds);
    let on = ltt::DAEMON_ON.cases();
    check(&on, "smp4-d", (872.0 / 867.0, 1.01536, 651.0 / 638.0), true);
    check(&on, "up-d", (1.01114, 1.01114, 1.01114), false);
    assert_eq!(ltt::DAEMON_ON.verdict(&on), Verdict::HoldsInPart);
    let rows = ltt::ROWS.cases();
    let daemon = case(&rows, "up-d");
    assert!((daemon.high - 74.45).abs() < 0.01);
    assert_eq!(daemon.remark, "27 of 99 within 2.5 %; the worst is pipe/rtt");
    assert_eq!(ltt::ROWS.verdict(&rows), Verdict::DoesNotHold);
}

#[test]
fn the_pipe_is_never_ahead_on_fedora_20() {
    let cases = ipc::PIPE_AHEAD.cases();
    assert_eq!(cases.len(), 8);
    assert_eq!(case(&cases, "stream of 1024 B").remark, "the best other: tcp");
    assert_eq!(ipc::PIPE_AHEAD.verdict(&cases), Verdict::DoesNotHold);
}

#[test]
fn claims_without_a_quotation_are_marked() {
    let in_sense: Vec<&str> =
        TABLE.iter().filter(|claim| claim.wording == Wording::InSense).map(|claim| claim.says).collect();
    assert_eq!(in_sense, ["On Ubuntu 6.10 the gain is about 5 %"]);
    for words in ["up to a factor of 5", "up to a factor of 25", "as much as 30-40%", "saving 30% of time"] {
        let quotes = |claim: &&Claim| claim.says.contains(&format!("\"{words}\""));
        let claim = TABLE.iter().find(quotes).unwrap_or_else(|| panic!("no claim says {words:?}"));
        assert!(matches!(claim.wording, Wording::Quoted { .. }), "{words}");
    }
}

#[test]
fn a_verdict_needs_every_case_or_one() {
    let made = |holds| Case { of: String::new(), low: 1.0, mean: 1.0, high: 1.0, holds, remark: String::new() };
    let (every, one) = (pipes::FIVE_TIMES, pipes::UP_TO_FIVE_TIMES);
    assert_eq!((every.needs, one.needs), (Needs::Every, Needs::One));
    assert_eq!(every.verdict(&[made(true), made(true)]), Verdict::Holds);
    assert_eq!(every.verdict(&[made(true), made(false)]), Verdict::HoldsInPart);
    assert_eq!(every.verdict(&[made(false)]), Verdict::DoesNotHold);
    assert_eq!(one.verdict(&[made(true), made(false)]), Verdict::Holds);
    assert_eq!(one.verdict(&[made(false)]), Verdict::DoesNotHold);
}

#[test]
fn about_is_half_as_much_again_either_way() {
    assert!(is_about(5.0, 5.0) && is_about(7.5, 5.0) && is_about(3.34, 5.0));
    assert!(!is_about(7.51, 5.0) && !is_about(3.33, 5.0) && !is_about(-0.05, 0.05));
}
