use std::collections::BTreeSet;

use headwater_results::foreign::is_unfit;
use headwater_results::parse::parse_run;
use headwater_results::published;
use headwater_results::schema::{Run, RunStatus, Standing};

use super::{NamedRun, Options, TABLE, find};
use crate::testing::{TestRun, messaging, overview, sync};

/// All characters that could end a field, a line, a string, a cell, a name or a label, or do something to a terminal; a spreadsheet
/// takes it for a formula.
const HOSTILE: &str = "=\u{1b}\u{7f}\u{9b}\u{202e}\u{200f}a\"b\\c|d,e;f{g}h=i/j#k\nl\tm\r n<o>&`*_[p]\u{1}\u{e9}-7";

/// Returns a run in which every free text is hostile.
fn hostile() -> Run {
    let mut made = TestRun::new(3);
    let mut row = messaging(HOSTILE, Standing::External, "stream", 64);
    row.variant = Some(HOSTILE.to_owned());
    made.measure(&row, &[1e6], 0.1);
    let mut odd = messaging("plain", Standing::Candidate, HOSTILE, 64);
    odd.policy = Some(HOSTILE.to_owned());
    odd.metrics[0].name = HOSTILE.to_owned();
    odd.metrics[0].unit = HOSTILE.to_owned();
    made.measure(&odd, &[1e6], 0.1);
    made.skip(&messaging(HOSTILE, Standing::Candidate, "rtt", 64), HOSTILE);
    made.header(|header| {
        header.environment.host = HOSTILE.to_owned();
        header.environment.cpu.model = HOSTILE.to_owned();
        header.environment.kernel.release = HOSTILE.to_owned();
        header.started_at = HOSTILE.to_owned();
    });
    made.run(Some(RunStatus::Complete))
}

/// Returns a usual run, a hostile one, one without an interval, and one with the name of an earlier one.
fn runs() -> Vec<NamedRun> {
    let fc6 = published::run("pipes", "fc6").expect("the dataset exists");
    vec![
        ("monday".to_owned(), overview(12).run(Some(RunStatus::Partial))),
        (HOSTILE.to_owned(), hostile()),
        ("published:pipes/fc6".to_owned(), fc6),
        ("monday".to_owned(), overview(3).run(Some(RunStatus::Partial))),
    ]
}

fn export(format: &str, runs: &[NamedRun], launches: bool) -> String {
    find(format).expect("the format exists").export(runs, &Options { launches })
}

/// Returns how many figures the runs have.
fn figures(runs: &[NamedRun]) -> usize {
    runs.iter().flat_map(|(_, run)| &run.results).map(|result| result.metrics.len()).sum()
}

#[test]
fn every_format_ends_with_a_newline_and_accepts_no_runs() {
    for format in TABLE {
        assert!(format.export(&runs(), &Options::default()).ends_with('\n'), "{}", format.name);
        let _ = format.export(&[], &Options::default());
    }
}

#[test]
fn csv_reads_back_to_the_last_bit() {
    let runs = runs();
    let text = export("csv", &runs, false);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().expect("there is a head").clone();
    let column = |name: &str| heads.iter().position(|head| head == name).expect("there is such a column");
    let lines: Vec<::csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("every line is as long");
    let without: usize = runs.iter().flat_map(|(_, run)| &run.results).filter(|row| row.metrics.is_empty()).count();
    assert_eq!(lines.len(), figures(&runs) + without);
    let escaped = &*super::csv::cell(HOSTILE);
    let hostile = lines.iter().find(|line| &line[column("run")] == escaped).expect("the hostile run is there");
    assert_eq!(
        (&hostile[column("subject")], &hostile[column("variant")], &hostile[column("host")]),
        (escaped, escaped, escaped)
    );
    let skipped = lines.iter().find(|line| &line[column("status")] == "skipped" && &line[column("reason")] == escaped);
    assert!(skipped.is_some_and(|line| line[column("median")].is_empty()));
    let first = &runs[0].1.results[0].metrics[0];
    let stored: Vec<f64> = ["median", "low", "high", "confidence", "launches"]
        .map(|name| lines[0][column(name)].parse().expect("a number"))
        .into();
    let estimate = first.estimate;
    assert_eq!(stored, [estimate.median, estimate.low, estimate.high, estimate.confidence, f64::from(estimate.n)]);
}

#[test]
fn no_format_passes_a_character_that_a_terminal_obeys() {
    for format in TABLE {
        let text = format.export(&runs(), &Options::default());
        let unfit = text.find(|one| is_unfit(one) && !matches!(one, '\n' | '\t'));
        assert_eq!(unfit.map(|at| &text[at.saturating_sub(40)..]), None, "{}", format.name);
    }
    let json: Run = serde_json::from_str(&export("json", &runs()[1..2], false)).expect("a run");
    assert_eq!(json, runs()[1].1, "in JSON no value is altered");
}

#[test]
fn no_field_of_csv_is_a_formula_and_no_number_is_altered() {
    for formula in ["=1+1", "+1+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", "\u{ff1d}1"] {
        assert_eq!(super::csv::cell(formula), format!("'{formula}"));
    }
    assert_eq!(super::csv::cell("\t=1"), "\\u0009=1");
    for plain in ["-0.5", "-1e-9", "+1", "-inf", "a=b", "a-1", ""] {
        assert_eq!(super::csv::cell(plain), plain);
    }
}

#[test]
fn csv_gives_a_single_launch_no_interval() {
    let runs = [runs().remove(2)];
    let text = export("csv", &runs, false);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    for line in reader.records().map(|line| line.expect("a line")) {
        assert_eq!(line.iter().skip(21).take(5).collect::<Vec<_>>()[1..4], ["", "", ""], "{line:?}");
    }
}

#[test]
fn csv_of_launches_has_a_line_per_launch() {
    let runs = runs();
    let text = export("csv", &runs, true);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let lines: Vec<::csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("every line is as long");
    let all = runs.iter().flat_map(|(_, run)| &run.results).flat_map(|result| &result.metrics);
    assert_eq!(lines.len(), all.map(|metric| metric.launches.len()).sum::<usize>());
    let values: Vec<f64> = lines.iter().take(12).map(|line| line[21].parse().expect("a number")).collect();
    assert_eq!(values, runs[0].1.results[0].metrics[0].launches);
}

#[test]
fn json_is_the_document() {
    let run = hostile();
    let text = export("json", &[("x".to_owned(), run.clone())], false);
    assert_eq!(parse_run(&text).expect("a run.json"), run);
}

#[test]
fn bmf_has_values_and_existing_bounds() {
    let runs = runs();
    let text = export("bmf", &runs, false);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let benchmarks = value.as_object().expect("an object");
    let measured = runs.iter().flat_map(|(_, run)| &run.results).filter(|result| !result.metrics.is_empty());
    assert_eq!(benchmarks.len(), measured.count(), "no benchmark hides another");
    for (name, measures) in benchmarks {
        for (measure, value) in measures.as_object().expect("an object") {
            assert!(measure.len() <= 64 && measure.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{measure}");
            assert!(value["value"].is_f64());
            assert_eq!(value.get("lower_value").is_some(), !name.starts_with("published:"), "{name}");
        }
    }
    let one = export("bmf", &runs[..1], false);
    let one: serde_json::Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(one["pipe/rtt/64/two-cpus"]["rtt_ns"]["value"], runs_median(&runs[0].1, "pipe/rtt/64/two-cpus"));
}

fn runs_median(run: &Run, id: &str) -> f64 {
    let result = run.results.iter().find(|result| result.row.id == id).expect("the row exists");
    result.metrics[0].estimate.median
}

#[test]
fn markdown_keeps_every_line_in_its_table() {
    let text = export("markdown", &runs(), false);
    let pipes = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!([8, 3].contains(&pipes(line)), "{line}");
    }
    assert!(
        text.lines()
            .all(|line| line.is_empty() || line.starts_with(['|', '#']) || !line.contains('|') || line.contains("\\|"))
    );
    assert_eq!(text.lines().filter(|line| line.starts_with("## ")).count(), 4);
    assert!(!text.contains("<o>"), "markup of others is not markup of the page");
}

/// Checks Go's grammar according to the format's design document.
#[test]
fn bench_has_only_valid_lines() {
    let runs = runs();
    let text = export("bench", &runs, false);
    let mut results = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with("Benchmark") {
            let fields: Vec<&str> = line.split_whitespace().collect();
            assert!(fields[0].chars().nth(9).is_some_and(|c| !c.is_lowercase()), "{line}");
            assert!(fields[0].ends_with("/placement=two-cpus") || fields[0].ends_with("/placement=same-cpu"), "{line}");
            assert!(fields[1].parse::<u64>().is_ok_and(|count| count > 0), "{line}");
            assert!(fields.len() >= 4 && fields.len().is_multiple_of(2), "{line}");
            let units: BTreeSet<&&str> = fields[3..].iter().step_by(2).collect();
            assert_eq!(units.len(), (fields.len() - 2) / 2, "a unit stands once in a line: {line}");
            assert!(fields[2..].iter().step_by(2).all(|value| value.parse::<f64>().is_ok()), "{line}");
            results += 1;
        } else if let Some(rest) = line.strip_prefix("Unit ") {
            assert!(rest.ends_with(" better=higher") || rest.ends_with(" better=lower"), "{line}");
            assert_eq!(rest.split_whitespace().count(), 2, "{line}");
        } else {
            let key = line.split_once(": ").map(|(key, _)| key);
            assert!(key.is_some_and(|key| ["goos", "goarch", "cpu", "pkg"].contains(&key)), "{line}");
        }
    }
    let launches =
        |run: &Run| run.results.iter().filter_map(|row| Some(row.metrics.first()?.launches.len())).sum::<usize>();
    assert_eq!(results, runs.iter().map(|(_, run)| launches(run)).sum::<usize>());
}

#[test]
fn bench_names_the_duration_and_converts_to_ns() {
    let mut made = TestRun::new(1);
    made.measure(&messaging("pipe", Standing::Candidate, "wake", 64), &[1000.0], 0.0);
    made.measure(&sync("mutex", 2, headwater_results::schema::WorkerKind::Process), &[2.0], 0.0);
    made.measure(&messaging("pipe", Standing::Candidate, "stream", 8), &[1000.0], 0.0);
    let run = made.run(Some(RunStatus::Complete));
    let text = export("bench", &[("x".to_owned(), run.clone())], false);
    let value = |at: usize| run.results[at].metrics[0].launches[0];
    let lines = [
        format!("BenchmarkWake/subject=pipe/size=64/placement=two-cpus\t21000\t{} one-way-ns/op", value(0)),
        format!(
            "BenchmarkSync/subject=mutex/workers=2/kind=process/placement=two-cpus\t21000\t{} total-ns/op",
            value(1) * 1e3
        ),
        format!(
            "BenchmarkStream/subject=pipe/size=8/placement=two-cpus\t21000\t{} msg/s\t{} B/s",
            value(2),
            value(2) * 8.0
        ),
    ];
    for line in lines {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.contains("pkg: headwater/wake/v1\n"));
}

/// Checks the grammar of OpenMetrics 1.0 for gauges and infos.
#[test]
fn openmetrics_is_well_formed() {
    let text = export("openmetrics", &runs(), false);
    assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    let (mut families, mut series) = (BTreeSet::new(), BTreeSet::new());
    let mut family = String::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().expect("a name").to_owned();
            assert!(families.insert(family.clone()), "{family} stands in one place");
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').expect("a name and a unit");
            assert!(name == family && name.ends_with(&format!("_{unit}")), "{line}");
        } else if line.starts_with("# HELP ") {
            assert!(line.starts_with(&format!("# HELP {family} ")), "{line}");
        } else {
            let (name, rest) = line.split_once('{').expect("every sample has labels");
            assert_eq!(name.strip_suffix("_info").unwrap_or(name), family);
            let value = after_labels(rest).strip_prefix(' ').expect("a blank before the value");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            assert!(series.insert(&line[..line.len() - value.len()]), "{line} stands twice");
        }
    }
    assert!(families.contains("headwater_rtt_seconds") && families.contains("headwater_rate_messages_per_second"));
    assert!(families.contains("headwater_rtt_percentile_seconds"));
}

/// Returns the text after the closing brace; panics if the labels are not `name="escaped",...`.
fn after_labels(mut rest: &str) -> &str {
    let mut names = BTreeSet::new();
    loop {
        let (name, value) = rest.split_once("=\"").expect("a name and a quote");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_') && names.insert(name), "{name}");
        let mut escaped = false;
        let end = value.char_indices().find(|&(_, c)| {
            let ends = c == '"' && !escaped;
            assert!(!escaped || ['\\', '"', 'n'].contains(&c), "{value}");
            escaped = c == '\\' && !escaped;
            ends
        });
        rest = &value[end.expect("a closing quote").0 + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return rest.strip_prefix('}').expect("a closing brace"),
        }
    }
}

#[test]
fn runs_of_one_name_are_numbered() {
    let text = export("markdown", &runs(), false);
    assert!(text.contains("## monday\n") && text.contains("## monday\\#2\n"));
}
