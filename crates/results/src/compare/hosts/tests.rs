//! Tests of comparisons over hosts, from runs to verdicts: what counts as a host, which hosts take part, which are named.

use super::gathered::Gathered;
use super::*;
use crate::compare::LeftOutKind;
use crate::compare::factor::{self, Factor};
use crate::origin::hosts::Over;
use crate::schema::{Event, RowOutcome, Run, RunStatus};
use crate::summary::Fold;
use crate::testing::{Random, environment, header, launch};

/// A run on a host: the rate of every row in every block.
fn run(host: &str, kernel: &str, rows: &[&str], blocks: u32, mut rate: impl FnMut(&str, u32) -> f64) -> Run {
    let mut started = header(rows);
    started.environment.host = host.to_owned();
    started.environment.kernel.release = kernel.to_owned();
    let mut events = vec![Event::RunStarted(Box::new(started))];
    for block in 0..blocks {
        events.extend(rows.iter().map(|row| Event::LaunchFinished(Box::new(launch(row, block, &[rate(row, block)])))));
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(environment()) });
    Fold::run_of(events).expect("the events are in order")
}

fn kernels() -> Gathered {
    Gathered::new(factor::find("kernel").expect("a factor").clone(), Over::Machine)
}

fn take(gathered: &mut Gathered, run: &Run) {
    gathered.take(run).expect("it has a host");
}

fn compared(gathered: &Gathered) -> Comparison {
    compare_over_hosts(gathered, [0, 1], Rules::default(), NonZero::<usize>::MIN)
}

/// Gathers runs of rows on hosts h0, h1, ... under kernels 6.1 and 6.6. Hosts differ by a factor of up to three in speed;
/// `change` is the ratio of the kernels.
fn fleet(seed: u64, hosts: usize, launches: u32, change: impl Fn(usize, &str) -> f64) -> Gathered {
    let mut random = Random::new(seed);
    let mut gathered = kernels();
    for host in 0..hosts {
        let speed = (1.1 * random.unit()).exp();
        for (kernel, is_candidate) in [("6.1", false), ("6.6", true)] {
            let run = run(&format!("h{host}"), kernel, &["a", "b"], launches, |row, _| {
                let factor = if is_candidate { change(host, row) } else { 1.0 };
                1e6 * speed * factor * (0.01 * random.normal()).exp()
            });
            take(&mut gathered, &run);
        }
    }
    gathered
}

fn verdicts(comparison: &Comparison) -> Vec<&'static str> {
    comparison.rows.iter().map(|row| row.verdict.name()).collect()
}

#[test]
fn what_hosts_have_in_common_is_found_whatever_their_speeds() {
    for hosts in [5, 24] {
        let found = compared(&fleet(1, hosts, 12, |_, row| if row == "a" { 0.95 } else { 1.0 }));
        assert_eq!(verdicts(&found), ["worse", "equivalent"], "{hosts}: {:?}", found.rows);
        let ratio = found.rows[0].ratio.expect("a ratio");
        assert!((ratio.value - 0.95).abs() < 0.005 && ratio.n as usize == hosts, "{ratio:?}");
        assert_eq!(found.hosts.as_ref().map(|hosts| hosts.names.len()), Some(hosts));
        assert!(found.hosts.is_some_and(|found| found.odd.is_empty()));
    }
}

#[test]
fn launches_of_few_hosts_never_pass_for_hosts() {
    // Forty launches on either of two hosts, one of which is 8 % slower: sure of both, and of nothing in common.
    let found = compared(&fleet(2, 2, 40, |host, _| if host == 0 { 0.92 } else { 1.0 }));
    assert_eq!(verdicts(&found), ["inconclusive", "inconclusive"]);
    let ratio = found.rows[0].ratio.expect("a ratio");
    assert!(ratio.n == 2 && ratio.low < 0.8 && ratio.high > 1.1, "{ratio:?}");
    let over = found.rows[0].hosts.as_ref().expect("hosts");
    assert!(over.ratios[0].high < 0.94 && over.ratios[1].low > 0.98 && over.between > 0.05, "{over:?}");
    // One host decides nothing about hosts.
    let alone = compared(&fleet(2, 1, 40, |_, _| 0.5));
    assert_eq!(verdicts(&alone), ["inconclusive", "inconclusive"]);
    assert!(alone.over_hosts().is_none() && alone.rows[0].ratio.is_some_and(|ratio| ratio.p == 1.0));
}

#[test]
fn a_host_that_differs_from_the_rest_is_named_and_the_others_are_not() {
    let change = |host: usize, row: &str| if host == 7 && row == "a" { 0.80 } else { 0.97 };
    let found = compared(&fleet(3, 12, 12, change));
    let hosts = found.hosts.as_ref().expect("hosts");
    assert_eq!(hosts.odd.len(), 1, "{:?}", hosts.odd);
    assert_eq!((hosts.odd[0].host.as_str(), &hosts.odd[0].rows[..]), ("h7", &["a".to_owned()][..]));
    assert!((hosts.odd[0].ratio - 0.8).abs() < 0.01 && hosts.odd[0].rest > 0.94, "{:?}", hosts.odd);
    let marked: Vec<u32> = found.rows[0]
        .hosts
        .iter()
        .flat_map(|over| &over.ratios)
        .filter(|host| host.odd)
        .map(|host| host.host)
        .collect();
    assert_eq!(marked, [7]);
}

#[test]
fn hosts_that_cannot_take_part_are_named() {
    let mut gathered = fleet(4, 3, 6, |_, _| 1.0);
    take(&mut gathered, &run("old", "6.1", &["a", "b"], 6, |_, _| 1e6));
    // A node that died: the row b was never measured under the second kernel.
    take(&mut gathered, &run("torn", "6.1", &["a", "b"], 6, |_, _| 1e6));
    let mut dead = run("torn", "6.6", &["a", "b"], 6, |_, _| 1e6);
    dead.results[1].outcome = RowOutcome::Failed { reason: "the node died".to_owned() };
    dead.results[1].metrics.clear();
    take(&mut gathered, &dead);
    gathered.expect(&["h0", "old", "drained"].map(str::to_owned));
    let found = compared(&gathered);
    let hosts = found.hosts.expect("hosts");
    assert_eq!(hosts.names, ["h0", "h1", "h2", "torn"]);
    assert_eq!(hosts.one_sided, [OneSided { host: "old".to_owned(), side: "6.1".to_owned() }]);
    assert_eq!(hosts.missing, ["drained"]);
    let torn = Lacking { host: "torn".to_owned(), rows: 1, reason: "failed: the node died".to_owned() };
    assert_eq!(hosts.lacking, [torn]);
    let counts: Vec<u32> = found.rows.iter().filter_map(|row| row.ratio).map(|ratio| ratio.n).collect();
    assert_eq!(counts, [4, 3], "a dead node costs its own rows only");
}

#[test]
fn rows_without_a_common_host_are_left_out_with_the_reason() {
    let mut gathered = kernels();
    take(&mut gathered, &run("a", "6.1", &["x"], 6, |_, _| 1e6));
    take(&mut gathered, &run("b", "6.6", &["x"], 6, |_, _| 1e6));
    let found = compared(&gathered);
    assert!(found.rows.is_empty() && found.left_out[0].reason.contains("no host has measured it in both 6.1 and 6.6"));
    let mut other = run("a", "6.6", &["x"], 6, |_, _| 1e6);
    other.results[0].row.definition_version = 2;
    take(&mut gathered, &other);
    let found = compared(&gathered);
    assert!(found.left_out.iter().any(|left| left.kind == LeftOutKind::Incomparable), "{found:?}");
}

/// Gathers runs of these hosts, each given by its name and machine id, and returns the names of hosts and those taken as one.
fn hosts_of(over: Over, runs: &[(&str, Option<&str>)]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut gathered = Gathered::new(factor::find("kernel").expect("a factor").clone(), over);
    for (number, (name, machine)) in runs.iter().enumerate() {
        for kernel in ["6.1", "6.6"] {
            let mut run = run(name, kernel, &["a"], 2, |_, _| 1e6);
            run.header.started_at = format!("2026-01-{number:02}T00:00:00Z");
            run.header.environment.machine = machine.map(str::to_owned);
            run.header.labels.insert("node".to_owned(), format!("n{number}"));
            take(&mut gathered, &run);
        }
    }
    let hosts = compared(&gathered).hosts.expect("hosts");
    (hosts.names, hosts.same)
}

#[test]
fn a_host_is_its_machine_id_whatever_it_is_called() {
    let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let both = [("old", Some("1111aaaa")), ("new", Some("1111aaaa")), ("n2", Some("2222")), ("n10", Some("3333"))];
    assert_eq!(hosts_of(Over::Machine, &both), (text(&["n2", "n10", "new"]), vec![text(&["new", "old"])]));
    // Two of one name; and runs from before there were ids.
    let (names, same) = hosts_of(Over::Machine, &[("web", Some("1111aaaa")), ("web", Some("2222bbbb"))]);
    assert_eq!((names, same.len()), (text(&["web (1111)", "web (2222)"]), 0));
    assert_eq!(hosts_of(Over::Machine, &[("web", None), ("web", Some("1111"))]).0, ["web"]);
    let unknown = hosts_of(Over::Machine, &[("web", None), ("web", Some("1111")), ("web", Some("2222"))]).0;
    assert_eq!(unknown, ["web (no id)", "web (1111)", "web (2222)"]);
    // Containers of one image, which share an id.
    let clones = [("a", Some("1111")), ("b", Some("1111"))];
    assert_eq!(hosts_of(Over::Machine, &clones).0.len(), 1);
    assert_eq!(hosts_of(Over::Name, &clones).0, ["a", "b"]);
    assert_eq!(hosts_of(Over::named("node"), &[("x", Some("1")), ("x", Some("1"))]).0, ["n0", "n1"]);
}

#[test]
fn a_run_without_its_host_or_level_is_refused() {
    let mut gathered = Gathered::new(Factor::label("commit"), Over::named("node"));
    let mut run = run("h", "6.1", &["a"], 2, |_, _| 1e6);
    assert!(gathered.take(&run).is_err_and(|reason| reason.contains("no label node")));
    run.header.labels.insert("node".to_owned(), "n1".to_owned());
    take(&mut gathered, &run);
    let without: Vec<String> = gathered.without_level().map(|(_, reason)| reason).collect();
    assert_eq!(without, ["it has no commit"]);
}

#[test]
fn rows_of_one_run_are_paired_in_its_blocks() {
    // Blocks differ by 30 %, and the two variants of a block do not.
    let mut random = Random::new(6);
    let mut gathered = Gathered::new(factor::find("variant").expect("a factor").clone(), Over::Machine);
    for host in 0..4 {
        let levels: Vec<f64> = (0..12).map(|_| (0.3 * random.normal()).exp()).collect();
        let mut run = run(&format!("h{host}"), "6.1", &["a/old", "a/new"], 12, |row, block| {
            let change = if row == "a/new" { 1.04 } else { 1.0 };
            1e6 * levels[block as usize] * change * (0.005 * random.normal()).exp()
        });
        for result in &mut run.results {
            result.row.variant = result.row.id.strip_prefix("a/").map(str::to_owned);
        }
        take(&mut gathered, &run);
    }
    let found = compared(&gathered);
    assert_eq!((verdicts(&found), found.rows[0].label.as_str()), (vec!["better"], "a"));
    assert!(found.rows[0].hosts.as_ref().is_some_and(|over| over.spread < 0.01), "{found:?}");
}

/// The largest fleet that is promised: two kernels, 1,000 hosts, 2,000 rows, 12 launches of either side.
#[test]
#[ignore = "takes a gigabyte and seconds; cargo test --release -p headwater-results thousand_hosts -- --ignored --nocapture"]
fn a_thousand_hosts_with_two_thousand_rows_are_compared_in_seconds() {
    let ids: Vec<String> = (0..2000).map(|row| format!("row{row}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut template = run("h", "6.1", &ids, 12, |_, _| 1e6);
    let mut random = Random::new(9);
    let mut gathered = kernels();
    for host in 0..1000 {
        for (kernel, change) in [("6.1", 1.0), ("6.6", 0.98)] {
            template.header.environment.host = format!("h{host}");
            template.header.environment.kernel.release = kernel.to_owned();
            for (row, result) in template.results.iter_mut().enumerate() {
                let level = 1e6 * if row % 10 == 0 { change } else { 1.0 } * (0.02 * random.normal()).exp();
                result.metrics[0].launches.fill_with(|| level * (0.01 * random.normal()).exp());
            }
            take(&mut gathered, &template);
        }
    }
    let threads = std::thread::available_parallelism().expect("a number");
    let started = std::time::Instant::now();
    let found = compare_over_hosts(&gathered, [0, 1], Rules::default(), threads);
    let elapsed_s = started.elapsed().as_secs_f64();
    println!("{} rows of 1000 hosts on {threads} threads: {elapsed_s:.2} s", found.rows.len());
    assert!(found.rows.len() == 2000 && found.rows[0].ratio.is_some_and(|ratio| ratio.n == 1000));
    assert!(verdicts(&found).iter().all(|verdict| ["worse", "equivalent", "inconclusive"].contains(verdict)));
}

#[test]
fn the_mean_over_rows_has_hosts_for_replicates() {
    let comparison = compared(&fleet(11, 6, 12, |_, row| if row == "a" { 1.21 } else { 1.0 }));
    let mean = comparison.geometric_mean.expect("two rows");
    assert_eq!((mean.rows, mean.ratio.n, mean.ratio.paired), (2, 6, true));
    assert!(mean.ratio.low < 1.1 && 1.1 < mean.ratio.high && mean.ratio.low > 1.05, "{mean:?}");
}

#[test]
fn a_row_that_no_candidate_run_has_is_missing_and_one_that_only_they_have_is_not() {
    let mut gathered = kernels();
    for host in ["h0", "h1"] {
        take(&mut gathered, &run(host, "6.1", &["a", "b"], 12, |_, _| 1e6));
        take(&mut gathered, &run(host, "6.6", &["a", "c"], 12, |_, _| 1e6));
    }
    let kinds: Vec<(String, LeftOutKind)> =
        compared(&gathered).left_out.into_iter().map(|left| (left.row, left.kind)).collect();
    assert_eq!(kinds, [("b".to_owned(), LeftOutKind::Missing), ("c".to_owned(), LeftOutKind::OneSided)]);
}
