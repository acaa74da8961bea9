//! Tests of the words about hosts, and of hostile names in the three forms of a comparison.

use std::num::NonZero;

use expect_test::expect;
use headwater_results::compare::factor;
use headwater_results::compare::hosts::compare_over_hosts;
use headwater_results::compare::hosts::gathered::Gathered;
use headwater_results::compare::{Comparison, Rules};
use headwater_results::origin::hosts::Over;
use headwater_results::schema::{Placement, RunStatus, Standing};

use crate::comparison::{Compared, comparison, comparison_csv};
use crate::style::Style;
use crate::testing::{TestRun, messaging, placed};

/// Compares two kernels on these hosts, with a ratio for each; `only` has the first kernel only.
pub(crate) fn fleet(hosts: &[(&str, f64)], only: &[&str]) -> Comparison {
    let mut gathered = Gathered::new(factor::find("kernel").expect("a factor").clone(), Over::Machine);
    let mut take = |host: &str, kernel: &str, factor: f64| {
        let mut made = TestRun::new(12);
        for (size, factor) in [(64, factor), (4096, 1.0)] {
            let row = placed(messaging("pipe", Standing::Candidate, "stream", size), Placement::TwoCpus);
            made.measure(&row, &[1e6 * factor], 0.004);
        }
        let mut run = made.run(Some(RunStatus::Complete));
        run.header.environment.host = host.to_owned();
        run.header.environment.kernel.release = kernel.to_owned();
        gathered.take(&run).expect("a host");
    };
    for (host, factor) in hosts {
        take(host, "6.1", 1.0);
        take(host, "6.6", *factor);
    }
    only.iter().for_each(|host| take(host, "6.1", 1.0));
    gathered.expect(&["n1".to_owned(), "drained".to_owned()]);
    compare_over_hosts(&gathered, [0, 1], Rules::default(), NonZero::<usize>::MIN)
}

fn text(comparison_: &Comparison, width: usize) -> String {
    let compared = Compared { comparison: comparison_, environment: &[], noise: "", all_metrics: false };
    comparison(&compared, &Style { colour: false, width, unicode: false })
}

#[test]
fn the_text_says_what_the_hosts_are_to_the_verdicts() {
    let hosts = [("n1", 0.95), ("n2", 0.96), ("n3", 0.94), ("n4", 0.952), ("n5", 0.948), ("n6", 0.70)];
    let found = fleet(&hosts, &["n9"]);
    expect![[r#"
        6.6 against 6.1, the baseline

        row                        baseline  candidate  ratio        interval  hosts  verdict
        ----------------------------------------------------------------------------------------------------
        pipe/stream/64/two-cpus    1.00 M/s    950 k/s  0.903  0.792 .. 1.029      6  inconclusive, +3 hosts
        pipe/stream/4096/two-cpus  1.00 M/s   1.00 M/s  1.000  1.000 .. 1.000      6  equivalent
        geometric mean of 2 rows                        0.950  0.890 .. 1.015         higher is better

        Of 2 rows: 0 better, 0 worse, 1 equivalent, 1 inconclusive. About 3 more hosts would decide them;
        more launches on the same hosts would not. To be found in four of five comparisons, in a row where
        hosts differ as in the middle one of these, a change of 2.0 % takes 312 hosts (378 as the only one
        of 2 rows), 5.0 % takes 54 hosts (65 as the only one of 2 rows) and 10 % takes 16 hosts (19 as the
        only one of 2 rows). Different from the rest: n6 in pipe/stream/64/two-cpus (0.700, all 0.903).
        Missing, without any run: drained. Measured on one side only, and so in no row: n9 (6.1).

        ratio: candidate over baseline on every host, from its launches; over hosts their mean with
        Student's interval and test, of logarithms. +N hosts: about so many more would decide. Different
        from the rest: by the generalised extreme studentized deviate test on the hosts' ratios, with at
        most 5.0 % false rows among those named. The replicates are 6 hosts (by host), each with one ratio,
        whatever the number of its launches; a host is drawn from those that could have been measured.
        Verdicts: Benjamini-Hochberg at 5.0 % over all rows; a change below 2.0 % does not count.
    "#]]
    .assert_eq(&text(&found, 100));
}

#[test]
fn one_host_says_that_it_is_one() {
    let words = super::replicates(&fleet(&[("n1", 0.95)], &[])).expect("a host");
    assert_eq!(words, "The replicates are launches on n1: the verdicts hold for this host.");
}

#[test]
fn hostile_names_of_hosts_are_escaped_in_every_form() {
    const EVIL: &str = "<img src=x onerror=alert(1)>\u{1b}[31m\"\n,=1+1";
    let hosts = [(EVIL, 0.5), ("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", 1.0), ("f", 1.01)];
    let found = fleet(&hosts, &[&format!("one{EVIL}")]);
    assert_eq!(found.hosts.as_ref().map(|hosts| hosts.odd.len()), Some(1), "the name is in the sentences too");
    let text = text(&found, 100);
    assert!(text.contains("<img") && !text.contains('\u{1b}'), "{text}");
    let csv = comparison_csv([&found]);
    assert!(
        !csv.contains('\u{1b}') && csv.contains("\"<img src=x onerror=alert(1)>\\u001b[31m\"\"\\u000a,=1+1\""),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + 2 * (1 + hosts.len()) + 1, "a name does not end a line");
    let compared = Compared { comparison: &found, environment: &[], noise: "", all_metrics: false };
    let page = crate::comparison_page(&[compared], &[format!("{EVIL}: torn")], None);
    assert!(page.contains("&lt;img") && !page.contains("<img") && !page.contains('\u{1b}'));
}
