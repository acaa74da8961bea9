//! Tests of the rows that a request selects, and of the errors for invalid requests.

use headwater_results::schema::Placement;

use super::{Plan, RunRequest, order};

fn plan(selection: &[&str], change: impl FnOnce(&mut RunRequest)) -> Result<Plan, String> {
    let mut request =
        RunRequest { selection: selection.iter().map(|&word| word.to_owned()).collect(), ..RunRequest::default() };
    change(&mut request);
    Plan::new(&request, 2, || 1).map_err(|error| error.to_string())
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.rows.iter().map(|planned| planned.row.id.as_str()).collect()
}

#[test]
fn without_words_the_suite_is_choice_and_filters_select_from_overview() {
    let all = plan(&[], |_| ()).expect("the default");
    let named = plan(&["choice"], |_| ()).expect("by name");
    assert_eq!(ids(&all), ids(&named));
    assert!(ids(&all).contains(&"pipe/stream/64/two-cpus"));
    let filtered = plan(&["pty"], |_| ()).expect("a transport of the overview");
    assert!(ids(&filtered).contains(&"pty/stream/64/two-cpus"), "{:?}", ids(&filtered));
}

#[test]
fn the_default_run_has_launches_for_an_answer_and_rows_for_every_state_of_the_reader() {
    let plan = plan(&[], |_| ()).expect("the default");
    assert!(plan.settings.launches >= 12);
    // Every launch of a row that is compared with others of its pattern: of the kernel, and of streams.
    for pattern in ["stream", "rtt", "epoll-level", "wake"] {
        for subject in ["pipe", "unix-stream", "tcp", "streams-pipe"] {
            let is_it = |row: &headwater_results::schema::Row| row.pattern == pattern && row.subject == subject;
            assert!(plan.rows.iter().any(|planned| is_it(&planned.row)), "{subject}/{pattern}");
        }
    }
    let estimate_s = plan.estimate_s();
    assert!((60.0..=100.0).contains(&estimate_s), "{estimate_s} s");
}

#[test]
fn version_of_a_row_is_that_of_its_pattern_and_of_its_transports_calls() {
    let rows = ["pipe/stream/64", "pipe/rtt/64", "streams-pipe/stream/64", "posix-mq/stream/64", "ring-spin/rtt/64"];
    let plan = plan(&rows, |request| request.placements = vec![Placement::TwoCpus]).expect("rows");
    let mut versions: Vec<_> =
        plan.rows.iter().map(|planned| (planned.row.id.as_str(), planned.row.definition_version)).collect();
    versions.sort_unstable();
    let expected = [
        ("pipe/rtt/64/two-cpus", 2),
        ("pipe/stream/64/two-cpus", 3),
        ("posix-mq/stream/64/two-cpus", 2),
        ("ring-spin/rtt/64/two-cpus", 1),
        ("streams-pipe/stream/64/two-cpus", 2),
    ];
    assert_eq!(versions, expected);
}

#[test]
fn the_row_ids_of_every_suite_are_unique() {
    for suite in crate::suites::TABLE {
        let plan = plan(&[suite.name], |_| ()).expect(suite.name);
        let mut ids = ids(&plan);
        assert!(!ids.is_empty(), "{}", suite.name);
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}: an id twice", suite.name);
    }
}

#[test]
fn a_filter_of_one_word_names_any_part_and_one_with_slashes_the_parts_from_the_left() {
    let one = plan(&["rtt"], |_| ()).expect("a pattern");
    assert!(one.rows.iter().all(|planned| planned.row.pattern == "rtt"));
    let two = plan(&["pipe/rtt"], |_| ()).expect("a transport and a pattern");
    assert_eq!(ids(&two), ["pipe/rtt/64/two-cpus"]);
    let stars = plan(&["pipe*/stream/4096"], |_| ()).expect("a star");
    assert_eq!(ids(&stars), ["pipe/stream/4096/two-cpus", "pipe-1m/stream/4096/two-cpus"]);
}

#[test]
fn sizes_and_placements_replace_those_of_the_suite() {
    let plan = plan(&["pipe/stream"], |request| {
        request.sizes = Some("1,8".parse().expect("sizes"));
        request.placements = vec![Placement::SameCpu, Placement::Free];
    });
    assert_eq!(
        ids(&plan.expect("a plan")),
        ["pipe/stream/1/same-cpu", "pipe/stream/8/same-cpu", "pipe/stream/1/free", "pipe/stream/8/free"]
    );
}

#[test]
fn an_unknown_name_suggests_similar_ones() {
    let error = plan(&["overviev"], |_| ()).expect_err("no such suite");
    assert!(error.contains("did you mean overview"), "{error}");
    let error = plan(&["pip"], |_| ()).expect_err("no such transport");
    assert!(error.contains("pipe"), "{error}");
    let error = plan(&["pipe/rtx"], |_| ()).expect_err("no such row");
    assert!(error.contains("pipe/rtt/64/two-cpus"), "{error}");
    assert!(!error.contains('\n'), "one line: {error}");
}

#[test]
fn placement_on_two_cpus_needs_two_cpus() {
    let request = RunRequest { placements: vec![Placement::TwoCpus], ..RunRequest::default() };
    let error = Plan::new(&request, 1, || 1).expect_err("one CPU").to_string();
    assert!(error.contains("may use 1 CPU only"), "{error}");
    let plan = Plan::new(&RunRequest::default(), 1, || 1).expect("the default adapts");
    assert!(plan.rows.iter().all(|planned| planned.row.placement == Placement::SameCpu));
}

#[test]
fn a_budget_makes_launches_shorter_and_then_fewer() {
    let whole = plan(&["ipc"], |_| ()).expect("ipc");
    let tight = plan(&["ipc"], |request| request.budget_s = Some(whole.estimate_s() / 4.0)).expect("a budget");
    assert!(tight.settings.time_s < whole.settings.time_s);
    assert!(tight.estimate_s() <= whole.estimate_s() / 4.0);
    let tiny = plan(&["ipc"], |request| request.budget_s = Some(0.001)).expect("a tiny budget");
    assert_eq!(tiny.settings.launches, 3);
}

#[test]
fn the_order_is_a_permutation_that_depends_only_on_seed_and_block() {
    assert_eq!(order(50, 7, 3), order(50, 7, 3));
    assert_ne!(order(50, 7, 3), order(50, 7, 4));
    assert_ne!(order(50, 7, 3), order(50, 8, 3));
    let mut sorted = order(50, 7, 3);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..50).collect::<Vec<_>>());
}

#[test]
fn special_transports_are_only_in_the_suites_that_name_them() {
    let subjects = |suite: &str| -> Vec<String> {
        plan(&[suite], |_| ()).expect(suite).rows.into_iter().map(|planned| planned.row.subject).collect()
    };
    let (general, named) = (
        [subjects("overview"), subjects("ipc")].concat(),
        [subjects("pipes"), subjects("why"), subjects("netperf"), subjects("pty"), subjects("udp"), subjects("xti")]
            .concat(),
    );
    for transport in crate::transports::TABLE.iter().map(|entry| entry.info).filter(|info| info.special) {
        let is_in = |rows: &[String]| rows.iter().any(|subject| subject == transport.name);
        assert!(!is_in(&general) && is_in(&named), "{}", transport.name);
    }
}

#[test]
fn the_suites_for_udp_measure_on_one_cpu_like_the_published_tables() {
    let udp = plan(&["udp"], |_| ()).expect("udp");
    let netperf = plan(&["netperf"], |_| ()).expect("netperf");
    for placement in ["two-cpus", "same-cpu"] {
        for id in ["udp/flood/1", "udp/flood/16384", "udp/acknowledged/1024", "udp/acknowledged/32768"] {
            assert!(ids(&udp).contains(&&*format!("{id}/{placement}")), "{id}/{placement}");
        }
        for id in ["udp-unconnected/rtt/1", "tcp-nagle/stream-full/16384", "tcp/stream-full/65536", "tcp/rtt/1"] {
            assert!(ids(&netperf).contains(&&*format!("{id}/{placement}")), "{id}/{placement}");
        }
    }
}

#[test]
fn a_pattern_unfit_for_a_transport_has_no_row() {
    for transport in crate::transports::TABLE.iter().map(|entry| entry.info) {
        for (pattern, reason) in transport.unfit {
            let entry = crate::patterns::find(pattern).expect("a pattern of the table");
            assert_eq!((entry.accepts)(transport, 64), Err(format!("{} {reason}", transport.name)));
        }
    }
    let all = plan(&["pipes"], |_| ()).expect("pipes");
    assert!(ids(&all).contains(&"streams-fill/stream/64/two-cpus"));
    assert!(!ids(&all).contains(&"streams-fill/stream-full/64/two-cpus"));
}

#[test]
fn a_word_with_two_readings_is_an_error_that_says_how_to_type_each() {
    let error = plan(&["pipe", "fifo"], |_| ()).expect_err("two readings");
    assert!(error.contains("suite:fifo") && error.contains("transport:fifo"), "{error}");
    let error = plan(&["lmbench", "udp"], |_| ()).expect_err("two readings");
    assert!(error.contains("suite:udp") && error.contains("transport:udp"), "{error}");
    let error = plan(&["sync", "mutex"], |_| ()).expect_err("two readings");
    assert!(error.contains("suite:sync") && error.contains("facility:sync"), "{error}");

    let filtered = plan(&["pipe", "transport:fifo"], |_| ()).expect("two transports of the overview");
    assert!(filtered.rows.iter().all(|planned| ["pipe", "fifo"].contains(&&*planned.row.subject)));
    assert!(filtered.rows.iter().any(|planned| planned.row.subject == "fifo"));
    let one = plan(&["lmbench", "transport:udp"], |_| ()).expect("a transport of the suite");
    assert_eq!(ids(&one), ["udp/rtt/4/free"]);
    let suite = plan(&["pipe", "suite:fifo"], |_| ()).expect("a suite and a filter");
    assert!(suite.rows.iter().all(|planned| planned.row.id.starts_with("pipe/matrix/")));
    assert_eq!(ids(&plan(&["suite:fifo"], |_| ()).expect("it")), ids(&plan(&["fifo"], |_| ()).expect("alone")));
    let error = plan(&["suite:fivo"], |_| ()).expect_err("no such suite");
    assert!(error.contains("did you mean fifo"), "{error}");
}

#[test]
fn a_row_that_is_typed_the_wrong_way_round_or_stands_in_another_suite_is_named() {
    let error = plan(&["sync/named-semaphore"], |_| ()).expect_err("a row begins with its transport");
    assert!(error.contains("type named-semaphore/sync"), "{error}");
    let error = plan(&["streams-no-lane"], |_| ()).expect_err("not in the overview");
    assert!(error.contains("type suite:why streams-no-lane"), "{error}");
}

#[test]
fn a_word_that_selects_nothing_is_answered_with_what_to_type() {
    for (word, answer) in [
        ("", "leave it out"),
        ("pipe,fifo", "separated by spaces; type pipe fifo"),
        ("transport:pip", "no row of overview has that transport; did you mean pipe"),
        ("pattern:strem", "no row of overview has that pattern; did you mean stream"),
        ("transport:sync", "sync is a facility: type facility:sync"),
        ("foo:bar", "is suite, transport, pattern or facility"),
        ("suite:", "no name behind its colon"),
        ("lmbench/pipe", "type lmbench pipe"),
        ("pipe/", "type pipe"),
        ("same-cpu", "measured two-cpus unless you add --placement same-cpu"),
        ("pipe/stream/64/same-cpu", "unless you add --placement same-cpu"),
        ("pipe/stream/65", "did you mean pipe/stream/65536"),
    ] {
        let error = plan(&[word], |_| ()).expect_err(word);
        assert!(error.contains(answer), "{word:?}: {error}");
    }
}

#[test]
fn a_placement_that_one_cpu_does_not_allow_is_named() {
    for word in ["two-cpus", "pipe/stream/64/two-cpus"] {
        let request = RunRequest { selection: vec![word.to_owned()], ..RunRequest::default() };
        let error = Plan::new(&request, 1, || 1).expect_err("one CPU").to_string();
        assert!(error.contains("names a placement on two CPUs, and this process may use 1 CPU only"), "{error}");
        assert!(error.contains("choose same-cpu, or widen its affinity"), "{error}");
    }
}

#[test]
fn a_transport_that_spins_needs_two_cpus_and_says_so() {
    let request = RunRequest { selection: vec!["ring-spin".to_owned()], ..RunRequest::default() };
    let error = Plan::new(&request, 1, || 1).expect_err("one CPU").to_string();
    assert!(error.contains("needs two CPUs") && error.contains("may use 1 CPU only"), "{error}");
    assert!(Plan::new(&request, 2, || 1).is_ok());
}

#[test]
fn the_words_of_a_run_measured_against_another_are_filters_of_its_rows() {
    let rows: Vec<_> = plan(&["pipe", "transport:fifo"], |_| ()).expect("rows").rows;
    let rows: Vec<_> = rows.into_iter().map(|planned| planned.row).collect();
    let of = plan(&["fifo"], |request| request.rows = Some(rows.clone())).expect("a transport, not the suite");
    assert!(!of.rows.is_empty() && of.rows.iter().all(|planned| planned.row.subject == "fifo"));
}

#[test]
fn a_budget_that_does_not_hold_every_column_leaves_out_whole_columns() {
    let all = plan(&["fifo"], |_| ()).expect("fifo");
    let tight = plan(&["fifo"], |request| request.budget_s = Some(25.0)).expect("a budget");
    assert!(!tight.left_out.is_empty() && tight.rows.len() < all.rows.len());
    assert!(tight.estimate_s() <= 25.0, "{}", tight.estimate_s());
    // Of each column either every transport is measured or none.
    let column = |id: &str| id.split_once('/').expect("a row").1.to_owned();
    let count = |plan: &Plan, of: &str| ids(plan).into_iter().filter(|id| column(id) == of).count();
    for id in ids(&all) {
        let kept = count(&tight, &column(id));
        assert!(kept == 0 || kept == count(&all, &column(id)), "{id}: {kept}");
    }
    assert!(all.left_out.is_empty());
}
