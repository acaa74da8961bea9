use expect_test::{Expect, expect};
use headwater_results::flags::Flag;
use headwater_results::schema::{Placement, Row, RunStatus, Standing, WorkerKind};

use super::{answers, verdict};
use crate::testing::{TestRun, messaging, overview, placed, sync};

mod answers;

const CANDIDATE: Standing = Standing::Candidate;

/// Checks the verdict on rows with these figures in 12 launches, varied by 1 %.
fn check(rows: &[(Row, f64)], expected: Expect) {
    check_launches(12, rows, expected);
}

fn check_launches(launches: u32, rows: &[(Row, f64)], expected: Expect) {
    let mut made = TestRun::new(launches);
    for (row, value) in rows {
        made.measure(row, &[*value], 0.01);
    }
    expected.assert_eq(&(verdict(&made.run(Some(RunStatus::Complete))).join("\n") + "\n"));
}

/// Returns a run with streams of 64 B in 12 launches at these rates, each varied by its own share.
fn spread(rows: &[(&str, f64, f64)]) -> TestRun {
    let mut made = TestRun::new(12);
    for (subject, rate, share) in rows {
        made.measure(&messaging(subject, CANDIDATE, "stream", 64), &[*rate], *share);
    }
    made
}

fn stream(subject: &str, size: u64, rate: f64) -> (Row, f64) {
    let policy = subject.strip_prefix("streams-no-").map(|mechanism| format!("no-{mechanism}"));
    (Row { policy, ..messaging(subject, CANDIDATE, "stream", size) }, rate)
}

fn limit(pattern: &str, size: u64, value: f64) -> (Row, f64) {
    (messaging("ring-spin", Standing::Limit, pattern, size), value)
}

#[test]
fn neighbouring_sizes_with_the_same_leader_are_one_range() {
    check(
        &[
            stream("pipe", 64, 2e6),
            stream("unix-stream", 64, 1e6),
            stream("pipe", 256, 1.9e6),
            stream("unix-stream", 256, 1e6),
            stream("pipe", 4096, 5e5),
            stream("unix-stream", 4096, 8e5),
            stream("pipe", 65_536, 5e4),
            stream("unix-stream", 65_536, 9e4),
        ],
        expect![[r#"
            A stream of messages (two CPUs): up to 256 B pipe is fastest (2.00 M messages/s at 64 B); unix-stream is 1.9 to 2.0 times slower. From 4 KiB unix-stream is fastest (5.91 GB/s at 64 KiB); pipe is 1.6 to 1.8 times slower.
        "#]],
    );
}

#[test]
fn rows_are_equally_fast_within_the_bound_and_others_are_behind_by_the_interval_of_their_ratio() {
    check(
        &[stream("pipe", 64, 2e6), stream("fifo", 64, 2.002e6), stream("tcp", 64, 1e6)],
        expect![[r#"
            A stream of messages (two CPUs): at 64 B fifo and pipe are equally fast (within 10 %; 2.01 M messages/s); tcp is 2.0 times slower.
        "#]],
    );
}

#[test]
fn where_the_best_changes_often_the_advice_is_the_one_that_is_never_far_behind() {
    let mut rows = Vec::new();
    for (index, size) in [1, 2, 4, 8, 16, 32].into_iter().enumerate() {
        rows.push(stream("pipe", size, 2e6));
        rows.push(stream("fifo", size, if index % 2 == 0 { 2.002e6 } else { 1e6 }));
    }
    check(
        &rows,
        expect![[r#"
        A stream of messages (two CPUs): at every size (1 B to 32 B) pipe is the fastest, or as fast as the fastest (within 10 %).
    "#]],
    );
    for (index, (row, rate)) in rows.iter_mut().filter(|(row, _)| row.subject == "fifo").enumerate() {
        assert_eq!(row.pattern, "stream");
        *rate = if index % 2 == 0 { 2.6e6 } else { 1e6 };
    }
    check(
        &rows,
        expect![[r#"
            A stream of messages (two CPUs): the fastest mechanism changes with the size (1 B to 32 B); pipe is never more than 1.3 times slower than the fastest.
        "#]],
    );
}

#[test]
fn a_row_that_may_be_as_fast_is_said_to_be_slower_by_up_to_its_interval() {
    let made = spread(&[("pipe", 2e6, 0.02), ("fifo", 1.9e6, 0.5), ("posix-mq", 1.7e6, 0.5), ("tcp", 2e5, 0.6)]);
    expect![[r#"
        A stream of messages (two CPUs): at 64 B pipe seems fastest (1.99 M messages/s; fifo's median is better, but not launch by launch); fifo and posix-mq may be up to 1.4 times slower or 1.3 times faster; tcp is 6.8 to 15 times slower.
    "#]].assert_eq(&(verdict(&made.run(Some(RunStatus::Complete))).join("\n") + "\n"));
}

#[test]
fn one_row_of_a_size_is_not_called_the_fastest() {
    let found = {
        let mut made = TestRun::new(12);
        for (row, rate) in [stream("pipe", 64, 1e6), stream("tcp", 4096, 1e5), stream("pipe", 4096, 2e5)] {
            made.measure(&row, &[rate], 0.01);
        }
        verdict(&made.run(Some(RunStatus::Complete)))[0].clone()
    };
    assert!(found.contains("at 64 B only pipe was measured (1.00 M messages/s). At 4 KiB pipe is fastest"), "{found}");
}

#[test]
fn many_slower_rows_have_one_range_and_the_slowest_is_named() {
    let rates = [
        ("pipe", 3e6),
        ("unix-stream", 1e6),
        ("unix-dgram", 9e5),
        ("posix-mq", 1.3e6),
        ("sysv-mq", 1.1e6),
        ("tcp", 2e5),
    ];
    check(
        &rates.map(|(subject, rate)| stream(subject, 64, rate)),
        expect![[r#"
        A stream of messages (two CPUs): at 64 B pipe is fastest (3.00 M messages/s); the 5 others are 2.3 to 15 times slower, tcp most.
    "#]],
    );
}

#[test]
fn a_row_whose_launches_differ_too_much_is_not_measured_and_no_choice() {
    let mut made = TestRun::new(12);
    for subject in ["pipe", "tcp", "streams-pipe"] {
        made.measure(&messaging(subject, CANDIDATE, "rtt", 64), &[1e4], 0.01);
    }
    let mut run = made.run(Some(RunStatus::Complete));
    for at in [1, 2] {
        let metric = &mut run.results[at].metrics[0];
        metric
            .launches
            .iter_mut()
            .zip(&metric.blocks)
            .for_each(|(value, block)| *value /= if block % 2 == 0 { 60.0 } else { 10.0 });
        metric.estimate = headwater_results::estimate::Estimate::of_launches(&metric.launches).expect("launches");
    }
    expect![[r#"
        Request and answer (two CPUs, the kernel's mechanisms): at 64 B only pipe was measured (10.0 us); tcp is not measured: its launches differ by a factor of 6.
        What STREAMS brings (two CPUs): while both ends run, request and answer is at 64 B not measured (the launches of streams-pipe or pipe differ by a factor of 6). `headwater run` measures how much of this remains in an event loop and with a sleeping reader.
    "#]].assert_eq(&(verdict(&run).join("\n") + "\n"));
}

#[test]
fn what_streams_bring_is_said_for_ends_that_run_for_event_loops_and_for_a_sleeping_reader() {
    let delay = |subject: &str, pattern: &str, ns: f64| {
        let metrics = messaging(subject, CANDIDATE, "rtt", 64).metrics;
        (Row { metrics, ..messaging(subject, CANDIDATE, pattern, 64) }, ns)
    };
    let rows = [
        stream("pipe", 64, 3e6),
        stream("streams-pipe", 64, 2.4e7),
        delay("pipe", "rtt", 45_000.0),
        delay("streams-pipe", "rtt", 500.0),
        delay("pipe", "epoll-level", 50_000.0),
        delay("streams-pipe", "epoll-level", 65_000.0),
        delay("pipe", "wake", 26_000.0),
        delay("streams-pipe", "wake", 26_100.0),
    ];
    check(
        &rows,
        expect![[r#"
        A stream of messages (two CPUs, the kernel's mechanisms): pipe moves 3.00 M messages/s at 64 B.
        Request and answer (two CPUs, the kernel's mechanisms): pipe takes 45.1 us at 64 B.
        Request and answer between event loops (two CPUs, the kernel's mechanisms): pipe takes 50.1 us at 64 B.
        A message to a sleeping reader (two CPUs, the kernel's mechanisms): pipe takes 25.8 us at 64 B.
        What STREAMS brings (two CPUs): while both ends run, a stream of messages is at 64 B 8.0 to 8.1 times as fast over streams-pipe as over pipe; request and answer is at 64 B 90 times as fast over streams-pipe as over pipe. Request and answer between event loops is at 64 B 1.3 times slower over streams-pipe than over pipe; a message to a sleeping reader is at 64 B as fast over streams-pipe as over pipe (within 10 %).
    "#]],
    );
    let same_cpu: Vec<(Row, f64)> =
        rows[..4].iter().map(|(row, value)| (placed(row.clone(), Placement::SameCpu), *value)).collect();
    check(
        &same_cpu,
        expect![[r#"
            A stream of messages (same CPU, the kernel's mechanisms): pipe moves 3.00 M messages/s at 64 B.
            Request and answer (same CPU, the kernel's mechanisms): pipe takes 45.1 us at 64 B.
            What STREAMS brings (same CPU): with both ends on one CPU, a stream of messages is at 64 B 8.0 to 8.1 times as fast over streams-pipe as over pipe; request and answer is at 64 B 90 times as fast over streams-pipe as over pipe. `headwater run` measures how much of this remains in an event loop and with a sleeping reader.
        "#]],
    );
}

#[test]
fn a_single_transport_is_not_compared() {
    check(
        &[stream("pipe", 64, 2e6), stream("pipe", 4096, 1e6)],
        expect![[r#"
            A stream of messages (two CPUs): pipe moves 2.00 M messages/s at 64 B and 4.10 GB/s at 4 KiB.
        "#]],
    );
}

#[test]
fn limits_and_null_are_never_leaders() {
    check(
        &[
            stream("pipe", 64, 2e6),
            stream("tcp", 64, 1e6),
            limit("stream", 64, 2e7),
            (messaging("null", Standing::Null, "stream", 64), 2e8),
        ],
        expect![[r#"
            A stream of messages (two CPUs): at 64 B pipe is fastest (2.00 M messages/s); tcp is 2.0 times slower.
            The fastest mechanism beside the limit, a bare ring in shared memory: a stream of messages is at 64 B 10 times slower over pipe than over ring-spin.
            The measuring loop itself takes at most 1.0 % of the time of the kernel's fastest row (stream).
        "#]],
    );
}

#[test]
fn a_slow_harness_and_a_slow_limit_are_reported() {
    check(
        &[
            stream("pipe", 64, 2e6),
            stream("tcp", 64, 1e6),
            limit("stream", 64, 1e6),
            (messaging("null", Standing::Null, "stream", 64), 4e7),
        ],
        expect![[r#"
            A stream of messages (two CPUs): at 64 B pipe is fastest (2.00 M messages/s); tcp is 2.0 times slower.
            The fastest mechanism beside the limit, a bare ring in shared memory: a stream of messages is at 64 B 2.0 times as fast over pipe as over ring-spin.
            The measuring loop itself takes at most 5.0 % of the time of the kernel's fastest row, which is more than the 2 % that it should (stream).
        "#]],
    );
}

#[test]
fn placements_are_kept_apart() {
    let same_cpu = |(row, value)| (placed(row, Placement::SameCpu), value);
    check(
        &[
            stream("pipe", 64, 2e6),
            stream("tcp", 64, 1e6),
            same_cpu(stream("pipe", 64, 1e6)),
            same_cpu(stream("tcp", 64, 2e6)),
        ],
        expect![[r#"
            A stream of messages (two CPUs): at 64 B pipe is fastest (2.00 M messages/s); tcp is 2.0 times slower.
            A stream of messages (same CPU): at 64 B tcp is fastest (2.01 M messages/s); pipe is 2.0 times slower.
        "#]],
    );
}

#[test]
fn delays_name_their_metric() {
    let delay = |subject: &str, pattern: &str, ns: f64| (messaging(subject, CANDIDATE, pattern, 64), ns);
    check(
        &[
            delay("pipe", "rtt", 12_000.0),
            delay("tcp", "rtt", 30_000.0),
            limit("rtt", 64, 400.0),
            delay("pipe", "wake", 6_000.0),
            delay("posix-mq", "wake", 5_000.0),
        ],
        expect![[r#"
            Request and answer (two CPUs): at 64 B pipe is fastest (12.0 us); tcp is 2.5 times slower.
            A message to a sleeping reader (two CPUs): at 64 B posix-mq is fastest (5.01 us); pipe is 1.2 times slower.
            The fastest mechanism beside the limit, a bare ring in shared memory: request and answer is at 64 B 30 times slower over pipe than over ring-spin.
        "#]],
    );
}

#[test]
fn the_cheapest_primitive_and_the_cheapest_lock_are_named() {
    let total = |subject: &str, workers, us| (sync(subject, workers, WorkerKind::Process), us);
    check(
        &[
            total("none", 1, 1e3),
            total("atomic", 1, 5e3),
            total("mutex", 1, 20e3),
            total("futex-lock", 1, 20.05e3),
            total("atomic", 2, 40e3),
            total("mutex", 2, 180e3),
            total("futex-lock", 2, 150e3),
        ],
        expect![[r#"
            An addition to a shared counter takes one process 5.01 ns by an atomic instruction and 20.0 ns by the fastest locks, mutex and futex-lock (within 10 %). With two processes at once an addition takes 40.1 ns by an atomic instruction and 149 ns by the fastest lock, futex-lock.
        "#]],
    );
}

#[test]
fn losses_are_reported_by_size_or_for_the_worst_size() {
    let mut made = TestRun::new(12);
    let mut flood = |subject: &str, size, loss: f64| {
        let row = messaging(subject, CANDIDATE, "flood", size);
        made.measure(&row, &[5e5 * (1.0 - loss), 5e5, loss], 0.01);
    };
    flood("udp", 64, 0.12);
    flood("udp", 4096, 0.0);
    flood("udp-mmsg", 64, 0.0);
    for (size, loss) in [(64, 0.1), (1024, 0.4), (4096, 0.2)] {
        flood("udp-gso", size, loss);
    }
    let found = verdict(&made.run(Some(RunStatus::Complete))).join("\n");
    let expected = "When the sender does not wait, udp loses 12 % at 64 B and nothing at 4 KiB; udp-mmsg loses nothing; \
                    udp-gso loses up to 40 % at 1 KiB.";
    assert_eq!(found, expected);
}

#[test]
fn a_flood_over_xti_is_compared_with_the_socket_of_one_datagram_per_call() {
    let mut made = TestRun::new(12);
    let mut flood = |subject: &str, size, received: f64| {
        let row = messaging(subject, CANDIDATE, "flood", size);
        made.measure(&row, &[received, received, 0.0], 0.01);
    };
    // Datagrams of one call with segmentation are no base, whatever their rate.
    for (size, rates) in [(64, [4e5, 35e6, 6e6, 3e5]), (16_384, [2e5, 4e5, 4.2e5, 2.002e5])] {
        for (subject, rate) in ["udp", "udp-gso", "xti-udp", "xti-inet-udp"].into_iter().zip(rates) {
            flood(subject, size, rate);
        }
    }
    expect![[r#"
        Messages whose sender never waits arrive (two CPUs) at every size (64 B to 16 KiB) 2.1 to 15 times as fast over xti-udp as over udp; at 64 B 1.3 times slower over xti-inet-udp than over udp and at 16 KiB as fast over xti-inet-udp as over udp (within 10 %).
    "#]]
    .assert_eq(&(verdict(&made.run(Some(RunStatus::Complete)))[0].clone() + "\n"));
}

#[test]
fn one_launch_claims_no_difference() {
    check_launches(
        1,
        &[stream("pipe", 64, 2e6), stream("tcp", 64, 1e6), limit("stream", 64, 2e7)],
        expect![[r#"
            One launch of each row shows what was, not what to choose. Measure 12 or more.
            A stream of messages (two CPUs): at 64 B pipe was fastest (2.00 M messages/s); tcp was 2.0 times slower.
            The fastest mechanism beside the limit, a bare ring in shared memory: a stream of messages is at 64 B in one launch 10 times slower over pipe than over ring-spin.
        "#]],
    );
}

#[test]
fn few_launches_show_what_was_and_choose_nothing() {
    check_launches(
        3,
        &[stream("pipe", 64, 2e6), stream("tcp", 64, 1e6)],
        expect![[r#"
            3 launches show what was, not what to choose: an interval covers only 75 %. Measure 12 or more.
            A stream of messages (two CPUs): at 64 B pipe was fastest (2.01 M messages/s); tcp was 2.0 times slower.
        "#]],
    );
}

#[test]
fn a_busy_machine_is_said_before_the_answers_and_behind_the_short_ones() {
    let mut made = TestRun::new(12);
    for (subject, rate) in [("pipe", 1e6), ("tcp", 2e6), ("fifo", 1e6)] {
        made.measure(&messaging(subject, CANDIDATE, "stream", 64), &[rate], 0.01);
    }
    let mut run = made.run(Some(RunStatus::Complete));
    for result in &mut run.results[..2] {
        result.flags.push(Flag::ForeignLoad { share: 0.2 });
    }
    run.results[2].flags.push(Flag::Stolen { share: 0.2 });
    let words = "The machine was not idle: other programs took CPU time in 2 of 3 rows. \
                 On an idle one another mechanism may be the fastest.";
    assert_eq!(verdict(&run)[0], words);
    let short = [
        "A stream of messages: tcp.",
        "The machine was not idle. On an idle one another mechanism may be the fastest.",
    ];
    assert_eq!(answers(&run), short);
    run.results[0].flags.clear();
    assert!(!verdict(&run).contains(&words.to_owned()), "{:?}", verdict(&run));
    assert_eq!(answers(&run), short[..1]);
}

#[test]
fn a_run_without_figures_is_reported_as_such() {
    let mut made = TestRun::new(12);
    made.skip(&messaging("pipe", CANDIDATE, "stream", 64), "no pipes");
    made.fail(&messaging("pipe", CANDIDATE, "rtt", 64), "stuck").leave(&messaging("pipe", CANDIDATE, "wake", 64));
    let found = verdict(&made.run(None));
    let expected = [
        "Nothing was measured.",
        "3 of 3 rows have no figure (1 skipped, 1 failed and 1 without a turn); the list of rows gives the reasons.",
    ];
    assert_eq!(found, expected);
    assert_eq!(verdict(&TestRun::new(12).run(None)), ["Nothing was measured."]);
}

#[test]
fn an_overview_fits_into_a_few_sentences() {
    let sentences = verdict(&overview(12).run(Some(RunStatus::Partial)));
    assert!((3..=8).contains(&sentences.len()), "{sentences:#?}");
}

#[test]
fn the_choice_is_among_the_kernels_mechanisms_and_a_runtime_is_compared_with_the_best_of_them() {
    let delay = |subject: &str, ns: f64| (messaging(subject, CANDIDATE, "rtt", 64), ns);
    check(
        &[
            stream("pipe", 64, 1e6),
            stream("fifo", 64, 1.5e6),
            stream("streams-pipe", 64, 6e6),
            stream("streams-fifo", 64, 6.01e6),
            stream("pipe", 65_536, 5e4),
            stream("fifo", 65_536, 2e4),
            stream("streams-pipe", 65_536, 2.5e4),
            delay("pipe", 12_000.0),
            delay("tcp", 12_030.0),
            delay("streams-pipe", 4_000.0),
        ],
        expect![[r#"
            A stream of messages (two CPUs, the kernel's mechanisms): at 64 B fifo is fastest (1.50 M messages/s); pipe is 1.5 times slower. At 64 KiB pipe is fastest (3.28 GB/s); fifo is 2.5 times slower.
            Request and answer (two CPUs, the kernel's mechanisms): at 64 B pipe and tcp are equally fast (within 10 %; 12.0 us).
            What STREAMS brings (two CPUs): while both ends run, a stream of messages is at 64 B 4.0 times as fast over streams-fifo as over fifo and at 64 KiB 2.0 times slower over streams-pipe than over pipe; request and answer is at 64 B 3.0 times as fast over streams-pipe as over pipe. `headwater run` measures how much of this remains in an event loop and with a sleeping reader.
        "#]],
    );
}

#[test]
fn the_harness_is_a_share_of_the_kernels_fastest_row_even_if_a_runtime_is_faster() {
    check(
        &[
            stream("pipe", 64, 1e6),
            stream("streams-pipe", 64, 2e7),
            (messaging("null", Standing::Null, "stream", 64), 1e8),
        ],
        expect![[r#"
            A stream of messages (two CPUs, the kernel's mechanisms): pipe moves 1.00 M messages/s at 64 B.
            What STREAMS brings (two CPUs): while both ends run, a stream of messages is at 64 B 20 times as fast over streams-pipe as over pipe. `headwater run` measures how much of this remains in an event loop and with a sleeping reader.
            The measuring loop itself takes at most 1.0 % of the time of the kernel's fastest row (stream).
        "#]],
    );
}

#[test]
fn external_programs_are_chosen_among_and_a_runtime_alone_is_judged_by_itself() {
    let external = (messaging("c-pipe", Standing::External, "stream", 64), 3e6);
    check(
        &[stream("pipe", 64, 1e6), stream("streams-pipe", 64, 6e6), external],
        expect![[r#"
            A stream of messages (two CPUs, without STREAMS): at 64 B c-pipe is fastest (3.01 M messages/s); pipe is 3.0 times slower.
            What STREAMS brings (two CPUs): while both ends run, a stream of messages is at 64 B 6.0 times as fast over streams-pipe as over pipe. `headwater run` measures how much of this remains in an event loop and with a sleeping reader.
        "#]],
    );
    check(
        &[stream("streams-pipe", 64, 6e6), stream("streams-eager", 64, 6e5)],
        expect![[r#"
            A stream of messages (two CPUs): at 64 B streams-pipe is fastest (6.00 M messages/s); streams-eager is 9.9 to 10 times slower.
        "#]],
    );
}

#[test]
fn what_each_mechanism_is_worth_is_said_with_the_rate_without_it() {
    let mut rows = Vec::new();
    for (size, scale) in [(64, 1.0), (65_536, 1e-3)] {
        rows.push(stream("pipe", size, 1e6 * scale));
        rows.push(stream("streams-pipe", size, 5e7 * scale));
        rows.push(stream("streams-no-lane", size, if size == 64 { 6e5 } else { 4e7 * scale }));
        rows.push(stream("streams-no-wake-once", size, if size == 64 { 1.5e6 } else { 5e7 * scale }));
        rows.push(stream("streams-no-hysteresis", size, 5.01e7 * scale));
        rows.push(stream("streams-eager", size, 4e5 * scale));
    }
    check(
        &rows,
        expect![[r#"
            A stream of messages (two CPUs, the kernel's mechanisms): pipe moves 1.00 M messages/s at 64 B and 65.1 MB/s at 64 KiB.
            What STREAMS brings (two CPUs): while both ends run, a stream of messages is at every size (64 B to 64 KiB) 50 times as fast over streams-pipe as over pipe. `headwater run` measures how much of this remains in an event loop and with a sleeping reader.
            What makes streams-pipe fast (two CPUs): 50.1 M messages/s at 64 B, but 601 k without the lane (plain bytes without an allocated message) and 1.50 M without one wake-up for many (else a call per message); 399 k without any (streams-eager); as fast without hysteresis (within 10 %); at 64 KiB with the lane 1.3 times as fast.
        "#]],
    );
    check(
        &[stream("streams-pipe", 64, 1e6), stream("streams-no-lane", 64, 1.2e6)],
        expect![[r#"
            A stream of messages (two CPUs): at 64 B streams-no-lane is fastest (1.20 M messages/s); streams-pipe is 1.2 times slower.
            What makes streams-pipe fast (two CPUs): 1.00 M messages/s at 64 B; faster: 1.20 M without the lane (plain bytes without an allocated message).
        "#]],
    );
}

#[test]
fn an_advantage_is_the_ratio_of_tables_and_charts() {
    let mut made = TestRun::new(12);
    made.measure(&messaging("pipe", CANDIDATE, "stream", 64), &[1e6], 0.3);
    made.measure(&messaging("fifo", CANDIDATE, "stream", 64), &[2e6], 0.3);
    let mut run = made.run(Some(RunStatus::Complete));
    // Twice as fast in two blocks, nine times in two; the ratio of the medians would be 7.5.
    for (result, of) in run.results.iter_mut().zip([[1.0, 1.0, 1.0, 3.0], [2.0, 9.0, 9.0, 6.0]]) {
        result.metrics[0].blocks = vec![0, 1, 2, 3];
        result.metrics[0].launches = of.map(|value| value * 1e6).to_vec();
    }
    let [pipe, fifo] = &run.results[..] else { panic!("two rows") };
    let advantage = crate::judge::advantage(fifo, pipe).expect("both were measured");
    // Hodges and Lehmann, of the logarithms.
    assert!((advantage - 18f64.sqrt()).abs() < 1e-9, "{advantage}");
    assert_eq!(crate::judge::ratio(fifo, pipe, true).map(|ratio| ratio.median), Some(advantage));
}

#[test]
fn a_run_of_overhead_says_what_tracing_costs_each_workload() {
    // And nothing of which configuration is the fastest mechanism.
    expect![[r#"
        Tracing compile, wall time: flight costs +10 %; user-drain costs less than 2.0 %.
        Tracing 1 row of LMbench: flight slows 1, null-call most (2.39 x); user-drain slows none. The rest changes less than counts, or is undecided.
        1 of 13 rows has no figure (1 skipped); the list of rows gives the reasons.
    "#]]
    .assert_eq(&(verdict(&crate::testing::overhead(12)).join("\n") + "\n"));
    expect![[r#"
        3 launches show what was, not what to choose: an interval covers only 75 %. Measure 12 or more.
        Tracing compile, wall time: flight and user-drain are undecided (about 3 more blocks would tell).
        Tracing 1 row of LMbench: flight slows none; user-drain slows none. The rest changes less than counts, or is undecided.
        1 of 13 rows has no figure (1 skipped); the list of rows gives the reasons.
    "#]]
    .assert_eq(&(verdict(&crate::testing::overhead(3)).join("\n") + "\n"));
    assert!(verdict(&crate::testing::overhead(1)).contains(&"One block shows no difference.".to_owned()));
}
