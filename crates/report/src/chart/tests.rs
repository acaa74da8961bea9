//! Tests of every chart with generated runs. They check the contents of a drawing, not the positions.

use expect_test::expect;
use headwater_results::schema::{RunStatus, Standing};

use super::{Figure, TABLE, figures, find};
use crate::testing::{HOSTILE, TestRun, comparison, messaging, overview};

/// Returns a sweep of pipe and of a ring that is twice as fast, over six sizes.
fn sweep() -> TestRun {
    let mut made = TestRun::new(12);
    for size in [1, 16, 256, 4096, 16_384, 65_536] {
        let rate = 1e9 / (1000.0 + 0.1 * size as f64);
        made.measure(&messaging("pipe", Standing::Candidate, "stream", size), &[rate], 0.02);
        made.measure(&messaging("ring", Standing::Candidate, "stream", size), &[2.0 * rate], 0.02);
        made.measure(&messaging("null", Standing::Null, "stream", size), &[1e8], 0.02);
        made.measure(&messaging("pipe", Standing::Candidate, "rtt", size), &[9000.0], 0.02);
    }
    made
}

fn drawn(made: &TestRun, chart: &str) -> Vec<Figure> {
    let run = made.run(Some(RunStatus::Complete));
    let runs = [("run".to_owned(), &run)];
    figures(find(chart).expect("a chart of the table"), &runs, &[comparison()], None)
}

/// Lists the figures of each chart.
fn headings(made: &TestRun) -> String {
    let of = |chart: &super::Chart| {
        let headings: Vec<String> = drawn(made, chart.name).into_iter().map(|figure| figure.heading).collect();
        let headings = if headings.is_empty() { "nothing".to_owned() } else { headings.join(" | ") };
        format!("{}: {headings}\n", chart.name)
    };
    TABLE.iter().map(of).collect()
}

#[test]
fn each_chart_draws_the_panels_that_it_can_show() {
    expect![[r#"
        performance: stream, two CPUs
        delay: stream, two CPUs | rtt, two CPUs
        throughput: stream, two CPUs
        improvement: stream, two CPUs
        distribution: rtt, two CPUs, 1 B | rtt, two CPUs, 16 B | rtt, two CPUs, 256 B | rtt, two CPUs, 4 KiB | rtt, two CPUs, 16 KiB | rtt, two CPUs, 64 KiB
        heatmap: stream, two CPUs
        forest: new against old
        dots: nothing
    "#]]
    .assert_eq(&headings(&sweep()));
    expect![[r#"
        performance: stream, two CPUs | flood, two CPUs
        delay: stream, two CPUs | flood, two CPUs
        throughput: stream, two CPUs | flood, two CPUs
        improvement: stream, two CPUs
        distribution: rtt, two CPUs, 64 B | wake, two CPUs, 64 B
        heatmap: stream, two CPUs | flood, two CPUs
        forest: new against old
        dots: stream-full, two CPUs | single, two CPUs | rtt, two CPUs | wake, two CPUs | matrix, two CPUs | sync, two CPUs
    "#]]
    .assert_eq(&headings(&overview(6)));
}

#[test]
fn a_chart_describes_its_values_in_text() {
    let figures = drawn(&sweep(), "performance");
    assert_eq!(figures[0].drawing.title, "Messages per second over message size: stream, two CPUs");
    let desc = &figures[0].drawing.desc;
    assert!(desc.starts_with("2 lines. At 64 KiB: ring ") && desc.contains("messages/s and pipe "), "{desc}");
    let standalone = figures[0].drawing.standalone();
    assert!(standalone.contains("<title>Messages per second") && standalone.contains("<desc>2 lines."));
}

#[test]
fn a_linear_delay_is_fitted_by_its_line() {
    let figures = drawn(&sweep(), "delay");
    let (_, table) = figures[0].table.as_ref().expect("six sizes make a line");
    let pipe = table.lines.iter().find(|line| line.label == "pipe").expect("the pipe's line");
    // The input was 1000 ns and 0.1 ns per byte.
    assert!(pipe.cells[1].value.starts_with("1.0") || pipe.cells[1].value.starts_with("99"), "{:?}", pipe.cells[1]);
    assert!(pipe.cells[3].value.ends_with("GB/s"), "{:?}", pipe.cells[3]);
    assert_eq!(figures[0].drawing.standalone().matches("class=\"fit\"").count(), 2);
}

#[test]
fn null_is_left_out_of_lines_with_a_note() {
    let figures = drawn(&sweep(), "performance");
    assert!(!figures[0].drawing.inline().contains("data-subject=\"null\""));
    assert!(figures[0].caption.contains("null, the harness alone"), "{}", figures[0].caption);
}

#[test]
fn twice_as_fast_is_a_hundred_percent() {
    let figures = drawn(&sweep(), "improvement");
    let (_, table) = figures[0].table.as_ref().expect("a table");
    let column = table.heads.iter().position(|head| head == "ring").expect("the ring's column");
    for line in &table.lines {
        let percent: f64 = line.cells[column].value.trim_matches(['+', '%', ' ']).parse().expect("a percentage");
        assert!((90.0..112.0).contains(&percent), "{line:?}");
    }
}

#[test]
fn a_forest_plot_has_a_different_mark_for_each_verdict() {
    let svg = drawn(&sweep(), "forest")[0].drawing.inline();
    for class in ["better", "worse", "equivalent", "inconclusive"] {
        assert_eq!(svg.matches(&format!("<g class=\"{class}\">")).count(), 1, "{class}");
    }
    assert!(svg.contains("1.080 better, higher better"), "{svg}");
}

#[test]
fn hostile_names_stay_text_in_every_chart() {
    let mut made = sweep();
    for size in [64, 128, 256] {
        for pattern in ["stream", "rtt"] {
            made.measure(&messaging(HOSTILE, Standing::Candidate, pattern, size), &[1e6], 0.02);
        }
        made.measure(&messaging("pipe", Standing::Candidate, HOSTILE, size), &[1e6], 0.02);
        made.measure(&messaging(HOSTILE, Standing::Candidate, HOSTILE, size), &[1e6], 0.02);
    }
    for chart in TABLE {
        for figure in drawn(&made, chart.name) {
            for text in [figure.drawing.standalone(), figure.drawing.inline()] {
                assert_eq!(text.matches("</svg>").count(), 1, "{}", chart.name);
                assert!(!text.contains("<script"), "{}", chart.name);
                // Every attribute must be closed by its own quote: an odd number would mean that a name opened one.
                assert_eq!(text.matches('"').count() % 2, 0, "{}", chart.name);
            }
        }
    }
}

#[test]
fn every_position_in_a_drawing_is_a_number() {
    for made in [sweep(), overview(6), overview(1)] {
        for chart in TABLE {
            for figure in drawn(&made, chart.name) {
                let svg = figure.drawing.inline();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{} {}", chart.name, figure.heading);
                assert!(!svg.contains("style="), "the page's policy forbids style attributes: {}", chart.name);
            }
        }
    }
}
