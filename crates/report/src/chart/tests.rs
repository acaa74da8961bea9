//! Tests of every chart with generated runs. They check the contents of a drawing, not the positions.

use expect_test::expect;
use headwater_results::schema::{RunStatus, Standing};

use super::{Figure, TABLE, figures, find, sample};
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
        performance: One way, same-size reads, two CPUs
        delay: One way, same-size reads, two CPUs | Round trip, two CPUs
        throughput: One way, same-size reads, two CPUs
        improvement: One way, same-size reads, two CPUs
        distribution: Round trip, two CPUs, 1 B | Round trip, two CPUs, 16 B | Round trip, two CPUs, 256 B | Round trip, two CPUs, 4 KiB | Round trip, two CPUs, 16 KiB | Round trip, two CPUs, 64 KiB
        heatmap: One way, same-size reads, two CPUs
        forest: new against old
        overhead: nothing
        dots: nothing
    "#]]
    .assert_eq(&headings(&sweep()));
    expect![[r#"
        performance: One way, same-size reads, two CPUs | One way, the sender never waits, two CPUs
        delay: One way, same-size reads, two CPUs | One way, the sender never waits, two CPUs
        throughput: One way, same-size reads, two CPUs | One way, the sender never waits, two CPUs
        improvement: One way, same-size reads, two CPUs
        distribution: Round trip, two CPUs, 64 B | Waking a sleeping reader, two CPUs, 64 B
        heatmap: One way, same-size reads, two CPUs | One way, the sender never waits, two CPUs
        forest: new against old
        overhead: nothing
        dots: One way, full reads, two CPUs | One way, within one process, two CPUs | Round trip, two CPUs | Waking a sleeping reader, two CPUs | Size by count, two CPUs | Synchronisation, two CPUs
    "#]]
    .assert_eq(&headings(&overview(6)));
}

#[test]
fn a_chart_describes_its_values_in_text() {
    let figures = drawn(&sweep(), "performance");
    assert_eq!(figures[0].drawing().title, "Messages per second over message size: One way, same-size reads, two CPUs");
    let desc = &figures[0].drawing().desc;
    assert!(desc.starts_with("2 lines. At 64 KiB: ring ") && desc.contains("messages/s and pipe "), "{desc}");
    let standalone = figures[0].drawing().standalone();
    assert!(standalone.contains("<title>Messages per second") && standalone.contains("<desc>2 lines."));
}

#[test]
fn intervals_are_bands_of_two_lines_and_bars_of_more() {
    let of = |made: &TestRun| drawn(made, "performance")[0].drawing().standalone();
    let two = of(&sweep());
    assert!(two.contains("class=\"band\"") && !two.contains("class=\"whisker\""));
    let mut made = sweep();
    for size in [1, 65_536] {
        made.measure(&messaging("tcp", Standing::Candidate, "stream", size), &[1e5], 0.2);
    }
    let three = of(&made);
    assert!(!three.contains("class=\"band\"") && three.contains("class=\"whisker\""));
}

#[test]
fn a_linear_delay_is_fitted_by_its_line() {
    let figures = drawn(&sweep(), "delay");
    let (_, table) = figures[0].table.as_ref().expect("six sizes make a line");
    let pipe = table.lines.iter().find(|line| line.label == "pipe").expect("the pipe's line");
    // The input was 1000 ns and 0.1 ns per byte.
    assert!(pipe.cells[1].value.starts_with("1.0") || pipe.cells[1].value.starts_with("99"), "{:?}", pipe.cells[1]);
    assert!(pipe.cells[3].value.ends_with("GB/s"), "{:?}", pipe.cells[3]);
    assert_eq!(figures[0].drawing().standalone().matches("class=\"fit\"").count(), 2);
}

#[test]
fn null_is_left_out_of_lines_with_a_note() {
    let figures = drawn(&sweep(), "performance");
    assert!(!figures[0].drawing().inline("wide").contains("data-label=\"null\""));
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
fn a_configuration_s_cost_has_a_line_for_each_row_beside_the_report_s() {
    let mut run = crate::testing::overhead(12);
    // By the name that the report's configuration has here.
    let of_flight = |row: &&mut headwater_results::schema::Row| row.variant.as_deref() == Some("flight");
    for row in run.results.iter_mut().map(|result| &mut result.row).filter(of_flight) {
        row.id = row.id.replace("flight", "drain");
        row.variant = Some("drain".to_owned());
    }
    let runs = [("run".to_owned(), &run)];
    let figures = figures(find("overhead").expect("a chart of the table"), &runs, &[], None);
    let headings: Vec<&str> = figures.iter().map(|figure| figure.heading.as_str()).collect();
    assert_eq!(headings, ["drain over off", "user-drain over off"]);
    let of = |figure: &Figure| {
        let [wide, narrow] = &figure.drawings.scales[0].1;
        [wide.inline("wide"), narrow.inline("narrow")]
    };
    let diamond = "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z";
    let [wide, narrow] = of(&figures[0]);
    for words in ["compile, wall", "null-call", ">2.39 x; 2002: 3.82 x<", ">+10 %; 2002: +2.0 %<"] {
        assert!(wide.contains(words), "{words}: {wide}");
    }
    assert!(narrow.contains(">2.39 x<") && !narrow.contains("compile, CPU"), "{narrow}");
    assert!([&wide, &narrow].iter().all(|svg| svg.matches(diamond).count() == 2 && svg.matches("worse").count() == 2));
    // The report had no tracer of programs.
    let [wide, _] = of(&figures[1]);
    assert!(wide.contains(">below 2.0 %<") && wide.contains("equivalent") && !wide.contains(diamond), "{wide}");
    assert!(TABLE.iter().all(|chart| chart.name == "overhead" || super::figures(chart, &runs, &[], None).is_empty()));
}

#[test]
fn a_forest_plot_has_a_different_mark_for_each_verdict() {
    let svg = drawn(&sweep(), "forest")[0].drawing().inline("wide");
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
            let narrow = figure.drawings.scales[0].1[1].inline("narrow");
            for text in [figure.drawing().standalone(), figure.drawing().inline("wide"), narrow] {
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
                for drawing in figure.drawings.scales.iter().flat_map(|(_, drawings)| drawings) {
                    let svg = drawing.inline("wide");
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{} {}", chart.name, figure.heading);
                    assert!(!svg.contains("style="), "the page's policy forbids style attributes: {}", chart.name);
                }
            }
        }
    }
}

/// Returns what the drawing writes.
fn texts(drawing: &super::Drawing) -> Vec<String> {
    let svg = drawing.inline("");
    let texts = svg.split("<text ").skip(1).filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
    texts.map(|(text, _)| text.to_owned()).collect()
}

#[test]
fn every_drawing_has_a_narrow_form_with_the_same_figures() {
    for made in [sweep(), overview(6)] {
        for chart in TABLE {
            for figure in drawn(&made, chart.name) {
                for (scale, [wide, narrow]) in &figure.drawings.scales {
                    assert!(narrow.width < 380.0, "{} {scale}", chart.name);
                    let of = |drawing: &super::Drawing| {
                        let svg = drawing.inline("");
                        (svg.matches("<path class=\"line\"").count(), svg.matches("<rect class=\"cell\"").count())
                    };
                    assert_eq!(of(wide), of(narrow), "{} {}", chart.name, figure.heading);
                }
            }
        }
    }
}

#[test]
fn every_line_is_named_at_its_end_and_has_words_for_each_point() {
    for figure in drawn(&sweep(), "performance") {
        let names = texts(figure.drawing());
        for line in &figure.drawings.lines {
            assert!(names.contains(&line.name), "{} in {names:?}", line.name);
            assert_eq!(line.readings.len(), 6);
        }
        let first = &figure.drawings.lines[0].readings[0];
        assert_eq!(first.lines[0], "pipe, 1 B");
        assert!(first.lines[1].ends_with("k/s") && first.lines[3] == "12 launches", "{first:?}");
    }
}

#[test]
fn ticks_of_sizes_are_powers_of_two_in_one_system_of_units() {
    for chart in ["performance", "delay", "throughput", "improvement"] {
        for (scale, drawings) in drawn(&sweep(), chart).iter().flat_map(|figure| &figure.drawings.scales) {
            for text in drawings.iter().flat_map(texts).filter(|text| text.ends_with('B')) {
                let (digits, unit) = text.split_once(' ').expect("a size and its unit");
                assert!(["B", "KiB"].contains(&unit), "{chart} {scale}: {text}");
                assert!(digits.parse::<u64>().is_ok_and(u64::is_power_of_two), "{chart} {scale}: {text}");
            }
        }
    }
}

#[test]
fn throughput_has_the_unit_of_tables_and_sentences() {
    let figure = &drawn(&sweep(), "throughput")[0];
    // 16 B at 998 thousand messages/s.
    let pipe = figure.drawings.lines.iter().find(|line| line.name == "pipe").expect("a line");
    let value = &pipe.readings[1].lines[1];
    assert!(value.starts_with("16.") || value.starts_with("15."), "{value}");
    assert!(value.ends_with(" MB/s") && figure.drawing().desc.contains("GB/s"), "{value}, {}", figure.drawing().desc);
}

#[test]
fn a_wide_range_is_drawn_on_logarithmic_axes_at_first_and_a_close_one_from_zero() {
    let scales = |rate: f64| {
        let mut made = TestRun::new(6);
        for size in [64, 128, 256] {
            made.measure(&messaging("pipe", Standing::Candidate, "stream", size), &[1e6], 0.0);
            made.measure(&messaging("tcp", Standing::Candidate, "stream", size), &[rate], 0.0);
        }
        let figure = drawn(&made, "performance").remove(0);
        figure.drawings.scales.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    };
    assert_eq!(scales(5e5), ["linear", "log"]);
    assert_eq!(scales(5e7), ["log", "linear"]);
}

#[test]
fn runs_differ_in_the_dash_and_nothing_is_hollow() {
    let run = sweep().run(Some(RunStatus::Complete));
    let runs = [("a".to_owned(), &run), ("b".to_owned(), &run)];
    for figure in figures(find("performance").expect("a chart"), &runs, &[], None) {
        let lines = &figure.drawings.lines;
        let of = |name: &str| lines.iter().find(|line| line.name == name).expect("a line").look;
        let (one, other) = (of("pipe \u{b7} a"), of("pipe \u{b7} b"));
        assert_eq!((one.colour, one.shape), (other.colour, other.shape));
        assert_ne!(one.dash, other.dash);
        // Wherever a line has its name, beside its end and in the legend, there is its dash.
        let drawn = figure.drawing().inline("");
        let dashed = |text: &str| text.matches("stroke-dasharray=\"7 3\"").count();
        let of_second = lines.iter().filter(|line| line.look.dash == 1).count();
        assert!(of_second > 0);
        let names = drawn.split("class=\"ends").skip(1).map(dashed).sum::<usize>();
        assert!(names >= of_second, "{names} of {of_second} names have the dash");
        assert_eq!((dashed(&sample(other, true)), dashed(&sample(one, true))), (1, 0));
        assert!(!figure.drawing().inline("").contains("hollow"));
    }
}

#[test]
fn a_reading_is_written_as_on_the_terminal() {
    let run = sweep().run(Some(RunStatus::Complete));
    let runs = [("run".to_owned(), &run)];
    for (chart, pattern) in [("performance", "stream"), ("delay", "rtt")] {
        let figures = figures(find(chart).expect("a chart"), &runs, &[], None);
        let figure = figures.iter().find(|figure| figure.pattern == pattern).expect("a figure");
        let line = figure.drawings.lines.iter().find(|line| line.name == "pipe").expect("a line");
        let rows = run.results.iter().filter(|result| result.row.subject == "pipe" && result.row.pattern == pattern);
        for (reading, result) in line.readings.iter().zip(rows) {
            let own = crate::rows::own(result).expect("a figure");
            assert_eq!(reading.lines[1], crate::units::quantity(own.estimate.median, &own.metric.unit), "{reading:?}");
        }
    }
}

/// The name, its left end and its right end, and its base line, of each text of a drawing by the estimate of widths.
fn placed(drawing: &super::Drawing) -> Vec<(String, f64, f64, f64)> {
    let svg = drawing.inline("");
    let one = |rest: &str| {
        let (attributes, rest) = rest.split_once('>')?;
        let text = rest.split_once('<')?.0.replace("&#39;", "'");
        let of = |name: &str| attributes.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value);
        let (x, y): (f64, f64) = (of(" x")?.parse().ok()?, of(" y")?.parse().ok()?);
        let width = super::names::width(&text);
        let left = match of("text-anchor") {
            Some("middle") => x - width / 2.0,
            Some(_) => x - width,
            None => x,
        };
        Some((text, left, left + width, y))
    };
    svg.split("<text ").skip(1).filter_map(one).collect()
}

#[test]
fn long_names_of_two_runs_are_whole_and_touch_nothing() {
    let mut made = TestRun::new(6);
    for subject in ["pipe", "unix-seqpacket", "streams-pipe", "sysv-semaphore-undo"] {
        // The longest subjects count with locks, and have no sizes.
        for size in [64, 4096, 65_536].into_iter().filter(|_| !subject.starts_with("sysv")) {
            made.measure(&messaging(subject, Standing::Candidate, "stream", size), &[1e6], 0.02);
        }
        made.measure(&messaging(subject, Standing::Candidate, "single", 4096), &[1e6], 0.02);
    }
    let run = made.run(Some(RunStatus::Complete));
    let runs = [("r1".to_owned(), &run), ("r2".to_owned(), &run)];
    let mut compared = comparison();
    let labels = [
        "memory-semaphore/sync/process-2/two-cpus",
        "sysv-semaphore-undo/sync/thread-2/two-cpus",
        "pipe/rtt/64/two-cpus",
    ];
    for (row, label) in compared.rows.iter_mut().zip(labels.into_iter().cycle()) {
        row.label = label.to_owned();
    }
    for chart in TABLE {
        for figure in figures(chart, &runs, std::slice::from_ref(&compared), None) {
            for drawing in figure.drawings.scales.iter().flat_map(|(_, drawings)| drawings) {
                let texts = placed(drawing);
                for (place, (text, left, right, y)) in texts.iter().enumerate() {
                    assert!(!text.contains('\u{2026}'), "{}: {text}", chart.name);
                    assert!(*left >= -1.0 && *right <= drawing.width + 1.0, "{}: {text} is cut", chart.name);
                    // The names of lines are written once for those that are drawn at first and once for all.
                    for (other, from, to, line) in texts[..place].iter().filter(|_| chart.name == "forest") {
                        let apart = (y - line).abs() > 10.0 || right < from || to < left;
                        assert!(apart, "{}: {text} touches {other}", chart.name);
                    }
                }
            }
        }
    }
}
