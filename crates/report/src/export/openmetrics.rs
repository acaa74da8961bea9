//! OpenMetrics 1.0 text, for Prometheus' node exporter or a push gateway.
//!
//! One family per metric and unit, in base units (seconds, bytes): a gauge with the label `estimate` (`median`, `low`,
//! `high`). Percentiles of single durations are separate families. Every row has a gauge that tells whether it has a
//! figure.

use std::collections::BTreeMap;
use std::fmt::Write;

use headwater_results::foreign::printable;
use headwater_results::schema::{RowOutcome, RowResult, Run};

use super::{Format, NamedRun, Options, interval};

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "openmetrics",
    summary: "OpenMetrics text: gauges in base units, with the row's parameters as labels",
    has_launches: false,
    write,
};

/// A metric family: its unit, its help text and its samples.
#[derive(Default)]
struct Family {
    unit: String,
    help: String,
    samples: String,
}

fn write(runs: &[NamedRun], _: &Options) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for (name, run) in runs {
        for result in &run.results {
            add(&mut families, &labels(name, result), result);
        }
    }
    let mut text = infos(runs);
    for (name, family) in &families {
        push(&mut text, format_args!("# TYPE {name} gauge\n"));
        if !family.unit.is_empty() {
            push(&mut text, format_args!("# UNIT {name} {}\n", family.unit));
        }
        push(&mut text, format_args!("# HELP {name} {}\n{}", escaped(&family.help), family.samples));
    }
    text + "# EOF\n"
}

/// Returns the facts about each run.
fn infos(runs: &[NamedRun]) -> String {
    let mut text =
        "# TYPE headwater_run info\n# HELP headwater_run A run and the machine that measured it.\n".to_owned();
    for (name, Run { header, .. }) in runs {
        let environment = &header.environment;
        let labels = [
            ("run", name),
            ("run_id", &header.run_id),
            ("started_at", &header.started_at),
            ("host", &environment.host),
            ("cpu", &environment.cpu.model),
            ("kernel", &environment.kernel.release),
            ("headwater_version", &header.headwater_version),
        ];
        let labels = labels.map(|(name, value)| (name, value.clone()));
        push(&mut text, format_args!("headwater_run_info{{{}}} 1\n", joined(&labels)));
    }
    text
}

fn add(families: &mut BTreeMap<String, Family>, labels: &[(&'static str, String)], result: &RowResult) {
    let measured = families.entry("headwater_row_measured".to_owned()).or_default();
    measured.help = "Whether the row has a figure.".to_owned();
    let has_figure = u8::from(result.outcome == RowOutcome::Measured);
    push(&mut measured.samples, format_args!("headwater_row_measured{{{}}} {has_figure}\n", joined(labels)));
    for metric in &result.metrics {
        let (unit, scale) = base_unit(&metric.metric.unit);
        let name = family_name(&[&metric.metric.name], &unit);
        let family = families.entry(name.clone()).or_default();
        family.help = format!("Metric {} of a row: median over launches and its interval.", metric.metric.name);
        family.unit = unit;
        let mut values = vec![("median", metric.estimate.median)];
        values.extend(interval(metric).into_iter().flat_map(|(low, high)| [("low", low), ("high", high)]));
        for (estimate, value) in values {
            let labels = with(labels, ("estimate", estimate.to_owned()));
            push(&mut family.samples, format_args!("{name}{{{}}} {}\n", joined(&labels), value * scale));
        }
        let launches = families.entry("headwater_launches".to_owned()).or_default();
        launches.help = "Launches that gave a value of the metric.".to_owned();
        let labels = with(labels, ("metric", metric.metric.name.clone()));
        let n = metric.estimate.n;
        push(&mut launches.samples, format_args!("headwater_launches{{{}}} {n}\n", joined(&labels)));
    }
    for (metric, percentiles) in &result.percentiles {
        let name = family_name(&[metric, "percentile"], "seconds");
        let family = families.entry(name.clone()).or_default();
        family.help = format!("Percentiles of single durations of metric {metric}.");
        family.unit = "seconds".to_owned();
        for percentile in percentiles {
            let labels = with(labels, ("percent", percentile.percent.to_string()));
            let value = percentile.value_ns * 1e-9;
            push(&mut family.samples, format_args!("{name}{{{}}} {value}\n", joined(&labels)));
        }
    }
}

/// Returns the labels that identify a row.
fn labels(run: &str, result: &RowResult) -> Vec<(&'static str, String)> {
    let row = &result.row;
    let optional = [
        ("size_bytes", row.size_bytes.map(|size| size.to_string())),
        ("messages", row.messages.map(|messages| messages.to_string())),
        ("workers", row.workers.map(|workers| workers.to_string())),
        ("worker_kind", row.worker_kind.map(|kind| kind.name().to_owned())),
        ("policy", row.policy.clone()),
        ("variant", row.variant.clone()),
    ];
    let mut labels = vec![
        ("run", run.to_owned()),
        ("row", row.id.clone()),
        ("subject", row.subject.clone()),
        ("pattern", row.pattern.clone()),
        ("definition_version", row.definition_version.to_string()),
        ("placement", row.placement.name().to_owned()),
    ];
    labels.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    labels
}

fn with(labels: &[(&'static str, String)], more: (&'static str, String)) -> Vec<(&'static str, String)> {
    labels.iter().cloned().chain([more]).collect()
}

fn joined(labels: &[(&str, String)]) -> String {
    labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// Escapes a label value or help text as the ABNF requires. Other unfit characters have no escape there: the value says which
/// they are.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push(' '),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// Returns a name such as `headwater_rtt_seconds`. It must end with the unit.
fn family_name(parts: &[&str], unit: &str) -> String {
    let mut name = "headwater".to_owned();
    for part in parts.iter().copied().chain((!unit.is_empty()).then_some(unit)) {
        name.push('_');
        name.push_str(&word(part));
    }
    name
}

/// Replaces all characters but letters, digits and underscores.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// Returns the base unit, and the factor to it.
fn base_unit(unit: &str) -> (String, f64) {
    match unit {
        "s" => ("seconds".to_owned(), 1.0),
        "ms" => ("seconds".to_owned(), 1e-3),
        "us" => ("seconds".to_owned(), 1e-6),
        "ns" => ("seconds".to_owned(), 1e-9),
        "MB/s" => ("bytes_per_second".to_owned(), 1e6),
        "MHz" => ("hertz".to_owned(), 1e6),
        other => match other.strip_suffix("/s") {
            Some(counted) => (word(&format!("{counted}_per_second")), 1.0),
            None => (word(other), 1.0),
        },
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to memory does not fail");
}
