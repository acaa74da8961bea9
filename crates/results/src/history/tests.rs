//! Tests of the guarantees of a history: what is told apart, what a change says, and how many rows are wrong.

use super::*;
use crate::schema::{Event, Run, RunHeader, RunStatus};
use crate::summary::Fold;
use crate::testing::{Random, environment, header, launch};

/// Returns the run of a day with these rates of its rows; every row has five launches around its rate.
pub(super) fn run(day: usize, rates: &[(&str, f64)], change: impl FnOnce(&mut RunHeader)) -> Run {
    let ids: Vec<&str> = rates.iter().map(|(id, _)| *id).collect();
    let mut header = header(&ids);
    header.started_at = format!("2026-{:02}-{:02}T04:00:00Z", 1 + day / 28, 1 + day % 28);
    header.run_id = format!("day-{day:03}");
    change(&mut header);
    let mut events = vec![Event::RunStarted(Box::new(header))];
    for block in 0..5 {
        for (id, rate) in rates {
            events.push(Event::LaunchFinished(Box::new(launch(
                id,
                block,
                &[rate * (1.0 + 0.001 * f64::from(block)); 3],
            ))));
        }
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(environment()) });
    Fold::run_of(events).expect("the events are in order")
}

pub(super) fn entries(runs: &[Run]) -> Vec<Entry> {
    let of_run = |run: &Run| -> Vec<Entry> {
        let origin = Arc::new(Origin::of(&run.header.run_id, run));
        let entry = |result: &RowResult| Entry {
            origin: Arc::clone(&origin),
            row: Arc::new(result.row.clone()),
            metric: own_figure(result).expect("measured").clone(),
        };
        run.results.iter().map(entry).collect()
    };
    runs.iter().flat_map(of_run).collect()
}

/// Runs of forty days; from day 25 on the row is 6 % slower, under another kernel.
fn slower() -> Vec<Run> {
    let mut random = Random::new(1);
    let day = |day: usize| {
        let level = if day < 25 { 1e6 } else { 0.94e6 };
        let rate = level * (0.01 * random.normal()).exp();
        run(day, &[("a", rate)], |header| {
            header.environment.kernel.release = if day < 25 { "6.9.1" } else { "6.12.0" }.to_owned();
            header.environment.memory.total_bytes = 1000 + day as u64;
        })
    };
    (0..40).map(day).collect()
}

fn one(histories: &Histories) -> &Line {
    assert_eq!((histories.histories.len(), histories.histories[0].lines.len()), (1, 1), "{histories:?}");
    &histories.histories[0].lines[0]
}

#[test]
fn a_change_says_where_how_much_and_what_else_changed() {
    let found = histories(entries(&slower()), &By::Date, Rules::default());
    let line = one(&found);
    let [change] = &line.changes[..] else { panic!("{:?}", line.changes) };
    assert_eq!((change.at, change.after.as_str(), change.verdict), (25, "day-025", Verdict::Worse));
    assert!(change.p <= 0.01 && change.ratio.low < 0.94 && change.ratio.high > 0.94, "{change:?}");
    assert!(change.ratio.high - change.ratio.low < 0.02 && change.more_runs.is_none(), "{change:?}");
    // The kernel is another one for good, the memory is every day: what holds comes first.
    let causes: Vec<(&str, bool)> =
        change.environment.iter().map(|cause| (cause.difference.what.as_str(), cause.holds)).collect();
    assert_eq!(causes, [("kernel release", true), ("memory total_bytes", false)]);
}

#[test]
fn the_order_of_the_runs_given_does_not_matter() {
    let mut runs = slower();
    let found = histories(entries(&runs), &By::Date, Rules::default());
    runs.reverse();
    runs.swap(3, 30);
    assert_eq!(histories(entries(&runs), &By::Date, Rules::default()), found);
    // By the kernel 6.9 is before 6.12.
    assert_eq!(one(&histories(entries(&runs), &By::Kernel, Rules::default())).changes, one(&found).changes);
}

#[test]
fn machines_and_definitions_are_lines_of_their_own() {
    let level = |host: &str, version: u32| if host == "slow" || version == 2 { 0.5e6 } else { 1e6 };
    let day = |day: usize| {
        let (host, version) = (["fast", "slow"][day % 2], if day < 30 { 1 } else { 2 });
        run(day, &[("a", level(host, version))], |header| {
            header.environment.host = host.to_owned();
            header.rows[0].definition_version = version;
        })
    };
    let runs: Vec<Run> = (0..60).map(day).collect();
    let found = histories(entries(&runs), &By::Date, Rules::default());
    let lines: Vec<(&str, u32, usize, usize)> = found.histories[0]
        .lines
        .iter()
        .map(|line| (line.machine.host.as_str(), line.definition_version, line.points.len(), line.changes.len()))
        .collect();
    assert_eq!(lines, [("fast", 1, 15, 0), ("slow", 1, 15, 0), ("fast", 2, 15, 0), ("slow", 2, 15, 0)]);
}

#[test]
fn a_renamed_host_is_one_line_and_two_of_one_name_are_two() {
    let lines = |runs: &[Run], over: &Over| -> Vec<(String, usize)> {
        let found = histories_over(entries(runs), &Beside::default(), &By::Date, over, Rules::default());
        found.histories[0].lines.iter().map(|line| (line.machine.host.clone(), line.points.len())).collect()
    };
    let days = |of: fn(usize) -> (&'static str, Option<&'static str>)| -> Vec<Run> {
        let day = |day: usize| {
            run(day, &[("a", 1e6)], |header| {
                let (host, machine) = of(day);
                header.environment.host = host.to_owned();
                header.environment.machine = machine.map(str::to_owned);
                header.labels.insert("node".to_owned(), format!("n{}", day % 3));
            })
        };
        (0..12).map(day).collect()
    };
    let named =
        |lines: &[(&str, usize)]| lines.iter().map(|(name, runs)| ((*name).to_owned(), *runs)).collect::<Vec<_>>();
    // The first runs are from before there were ids.
    let renamed = days(|day| (if day < 7 { "old" } else { "new" }, (day > 4).then_some("1f0a22")));
    assert_eq!(lines(&renamed, &Over::Machine), named(&[("new", 12)]));
    assert_eq!(lines(&renamed, &Over::Name), named(&[("old", 7), ("new", 5)]));
    let of_one_name = days(|day| ("web", Some(["1f0a22", "93bc41"][day % 2])));
    assert_eq!(lines(&of_one_name, &Over::Machine), named(&[("web (1f0a)", 6), ("web (93bc)", 6)]));
    assert_eq!(lines(&of_one_name, &Over::named("node")), named(&[("n0", 4), ("n1", 4), ("n2", 4)]));
    let without =
        histories_over(entries(&of_one_name), &Beside::default(), &By::Date, &Over::named("rack"), Rules::default());
    assert!(without.histories.is_empty() && without.left_out[0].reason.contains("no label rack"), "{without:?}");
}

#[test]
fn a_new_difference_says_how_many_more_runs_it_needs() {
    let rate = |day: usize| if day < 20 { 1e6 + (day * 7 % 11) as f64 * 1e3 } else { 0.9e6 };
    let day = |day: usize| run(day, &[("a", rate(day))], |_| {});
    let runs: Vec<Run> = (0..23).map(day).collect();
    let found = histories(entries(&runs), &By::Date, Rules::default());
    let line = one(&found);
    assert!(line.changes.is_empty(), "{line:?}");
    let more = line.open.as_ref().and_then(|open| open.more_runs);
    let Some(more) = more else { panic!("{:?}", line.open) };
    // And so many are enough, one less is not.
    let changes = |days: usize| {
        let runs: Vec<Run> = (0..days).map(day).collect();
        one(&histories(entries(&runs), &By::Date, Rules::default())).changes.len()
    };
    assert_eq!((changes(23 + more as usize - 1), changes(23 + more as usize)), (0, 1), "{more}");
}

#[test]
fn a_short_history_says_how_many_runs_are_missing() {
    let runs: Vec<Run> = (0..7).map(|day| run(day, &[("a", 1e6 + day as f64)], |_| {})).collect();
    let found = histories(entries(&runs), &By::Date, Rules::default());
    assert_eq!((one(&found).runs_missing, found.tested), (Some(3), 0));
}

#[test]
fn of_many_rows_without_a_change_hardly_ever_one_has_an_alarm() {
    let mut random = Random::new(9);
    let ids: Vec<String> = (0..20).map(|row| format!("row-{row}")).collect();
    let mut alarm = || {
        let day = |day: usize| {
            let rates: Vec<(&str, f64)> =
                ids.iter().map(|id| (id.as_str(), 1e6 * (0.02 * random.normal()).exp())).collect();
            run(day, &rates, |_| {})
        };
        let runs: Vec<Run> = (0..12).map(day).collect();
        histories(entries(&runs), &By::Date, Rules::default()).changed > 0
    };
    // Without the family 19 of 30 would have one.
    let alarms = (0..30).filter(|_| alarm()).count();
    assert!(alarms <= 6, "{alarms} of 30 families of 20 rows have an alarm");
}

#[test]
fn a_run_without_the_label_is_named() {
    let day = |day: usize| {
        run(day, &[("a", 1e6)], |header| {
            if day != 3 {
                header.labels.insert("commit".to_owned(), format!("c{}", 100 - day / 2));
            }
        })
    };
    let runs: Vec<Run> = (0..8).map(day).collect();
    let found = histories(entries(&runs), &By::named("commit"), Rules::default());
    assert_eq!(found.left_out.iter().map(|left| left.run.as_str()).collect::<Vec<_>>(), ["day-003"]);
    let levels: Vec<&str> = one(&found).points.iter().map(|point| point.level.as_str()).collect();
    assert_eq!(levels, ["c100", "c100", "c99", "c98", "c98", "c97", "c97"], "by time, not by name");
}

#[test]
fn what_has_no_figure_has_a_reason() {
    let run = run(0, &[("a", 0.0)], |_| {});
    let reason = own_figure(&run.results[0]).expect_err("no ratio");
    assert!(reason.contains('0'), "{reason}");
}
