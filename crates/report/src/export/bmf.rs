//! Bencher Metric Format: benchmark, measure, value with its bounds (bencher.dev, "Bencher Metric Format").
//!
//! Measures are named by metric and unit (`rtt_ns`) instead of `latency` and `throughput`, because a round trip is
//! neither.

use headwater_results::foreign::printable;
use headwater_results::schema::Metric;
use serde_json::{Map, Value, json};

use super::{Format, NamedRun, Options, interval};

/// The entry in the table of formats.
pub(super) const FORMAT: Format = Format {
    name: "bmf",
    summary: "Bencher Metric Format (JSON): benchmark, measure, value with bounds",
    has_launches: false,
    write,
};

fn write(runs: &[NamedRun], _: &Options) -> String {
    let mut benchmarks = Map::new();
    for (name, run) in runs {
        for result in run.results.iter().filter(|result| !result.metrics.is_empty()) {
            let measures: Map<String, Value> = result
                .metrics
                .iter()
                .map(|metric| {
                    let mut value = json!({ "value": metric.estimate.median });
                    if let Some((low, high)) = interval(metric) {
                        value["lower_value"] = json!(low);
                        value["upper_value"] = json!(high);
                    }
                    (measure(&metric.metric), value)
                })
                .collect();
            // With several runs, the benchmarks' names include the run.
            let id = &result.row.id;
            let key = if runs.len() > 1 { format!("{name}: {id}") } else { id.clone() };
            benchmarks.insert(key, Value::Object(measures));
        }
    }
    printable(&serde_json::to_string_pretty(&benchmarks).expect("a map of numbers is plain data")).into_owned() + "\n"
}

/// Returns a name such as `rate_messages_per_s`.
fn measure(metric: &Metric) -> String {
    let text = format!("{}_{}", metric.name, metric.unit.replace('/', "_per_"));
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).take(64).collect()
}
