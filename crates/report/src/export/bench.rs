//! Go's benchmark text (golang.org/design/14313-benchmark-format): a line per launch, so that benchstat sees replicates.
//!
//! The package consists of the pattern and its definition's version, so that benchstat never compares two definitions.
//! The configuration contains only the keys that Go writes (`goos`, `goarch`, `pkg`, `cpu`): benchstat makes a separate
//! table for each different value of a key, so further facts that differ between an old and a new run would keep them
//! apart. All other facts are comments.

use std::fmt::Write;

use headwater_results::foreign::is_unfit;
use headwater_results::schema::{Better, Metric, MetricResult, Row, RowResult, Run};

use super::{Format, NamedRun, Options, status};

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "bench",
    summary: "Go benchmark text, a line per launch: `benchstat old.txt new.txt` reads it",
    has_launches: false,
    write,
};

fn write(runs: &[NamedRun], _: &Options) -> String {
    let mut text = String::new();
    for (name, run) in runs {
        add_run(&mut text, name, run);
    }
    text
}

fn add_run(text: &mut String, name: &str, run: &Run) {
    let environment = &run.header.environment;
    let about = [name, &environment.host, &environment.kernel.release, &run.header.started_at];
    push(text, format_args!("# {}\n", one_line(&about.join(", "))));
    text.push_str("goos: linux\n");
    for (key, value) in [("goarch", go_architecture(&environment.cpu.architecture)), ("cpu", &*environment.cpu.model)] {
        if !value.trim().is_empty() {
            push(text, format_args!("{key}: {}\n", one_line(value)));
        }
    }
    let mut units: Vec<Figure> = Vec::new();
    let figures = run.results.iter().flat_map(|result| &result.metrics).map(|metric| figure(&metric.metric));
    for figure in figures.chain([BYTES]) {
        if !units.contains(&figure) {
            push(text, format_args!("Unit {} better={}\n", figure.unit, figure.better.name()));
            units.push(figure);
        }
    }
    let mut package = String::new();
    for result in &run.results {
        let its_package = format!("headwater/{}/v{}", word(&result.row.pattern), result.row.definition_version);
        if its_package != package {
            push(text, format_args!("pkg: {its_package}\n"));
            package = its_package;
        }
        add_row(text, result);
    }
}

fn add_row(text: &mut String, result: &RowResult) {
    let (word, reason) = status(&result.outcome);
    if result.metrics.is_empty() {
        push(text, format_args!("# {word}: {}: {}\n", one_line(&result.row.id), one_line(reason)));
    }
    let name = name(&result.row);
    let mut blocks: Vec<u32> = result.metrics.iter().flat_map(|metric| metric.blocks.iter().copied()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    // The stored number of operations is the median over launches.
    let operations = result.counters.get("operations").map_or(1.0, |count| count.round().max(1.0));
    for block in blocks {
        push(text, format_args!("{name}\t{operations}"));
        for metric in &result.metrics {
            let Some(value) = in_block(metric, block) else { continue };
            let figure = figure(&metric.metric);
            push(text, format_args!("\t{} {}", value * figure.scale, figure.unit));
            if let (Some(size), "rate") = (result.row.size_bytes, &*metric.metric.name) {
                push(text, format_args!("\t{} {}", value * size as f64, BYTES.unit));
            }
        }
        text.push('\n');
    }
}

fn in_block(metric: &MetricResult, block: u32) -> Option<f64> {
    let at = metric.blocks.iter().position(|found| *found == block)?;
    metric.launches.get(at).copied()
}

/// Returns `BenchmarkStream/subject=pipe/size=64/placement=two-cpus`. The placement is last, because a name that ends
/// with a minus sign and a number would be taken for a number of processors.
fn name(row: &Row) -> String {
    let mut name = format!("Benchmark{}", capital(&word(&row.pattern)));
    let parameters = [
        ("subject", Some(row.subject.clone())),
        ("size", row.size_bytes.map(|size| size.to_string())),
        ("messages", row.messages.map(|messages| messages.to_string())),
        ("workers", row.workers.map(|workers| workers.to_string())),
        ("kind", row.worker_kind.map(|kind| kind.name().to_owned())),
        ("policy", row.policy.clone()),
        ("variant", row.variant.clone()),
        ("placement", Some(row.placement.name().to_owned())),
    ];
    for (key, value) in parameters {
        if let Some(value) = value {
            push(&mut name, format_args!("/{key}={}", word(&value)));
        }
    }
    name
}

/// The unit in the output, and the factor to it.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    unit: std::borrow::Cow<'static, str>,
    better: Better,
    scale: f64,
}

/// Bytes per second, for a rate of messages with a size.
const BYTES: Figure = Figure { unit: std::borrow::Cow::Borrowed("B/s"), better: Better::Higher, scale: 1.0 };

/// If Go has no unit for the metric, the unit includes its name: `rtt-ns/op` and `one-way-ns/op` differ from `ns/op`.
fn figure(metric: &Metric) -> Figure {
    let name = word(&metric.name).replace('_', "-");
    let (unit, scale) = match (&*metric.name, &*metric.unit) {
        ("rate", "messages/s") => ("msg/s".to_owned(), 1.0),
        (_, "messages/s") => (format!("{}-msg/s", name.trim_end_matches("-rate")), 1.0),
        (_, "s") => (format!("{name}-ns/op"), 1e9),
        (_, "ms") => (format!("{name}-ns/op"), 1e6),
        (_, "us") => (format!("{name}-ns/op"), 1e3),
        (_, "ns") => (format!("{name}-ns/op"), 1.0),
        (_, "MB/s") => (format!("{name}-MB/s"), 1.0),
        (_, other) => (format!("{name}-{}", word(other)), 1.0),
    };
    Figure { unit: unit.into(), better: metric.better, scale }
}

/// Replaces blanks, slashes and equals signs, which have a meaning in names, and unfit characters.
fn word(text: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || is_unfit(c) || "/=".contains(c) { '_' } else { c };
    text.chars().map(plain).collect()
}

/// Capitalises a word and removes a character that cannot begin a benchmark's name.
fn capital(word: &str) -> String {
    let mut characters = word.chars();
    match characters.next() {
        Some(first) if !first.is_lowercase() && !first.is_uppercase() => format!("X{word}"),
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => "X".to_owned(),
    }
}

/// Replaces line breaks and other unfit characters.
fn one_line(text: &str) -> String {
    text.split(is_unfit).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns Go's name of an architecture.
fn go_architecture(uname: &str) -> &str {
    match uname {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i686" | "i586" | "i386" => "386",
        other => other,
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to memory does not fail");
}
