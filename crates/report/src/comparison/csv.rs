//! Comparisons as tidy CSV: a line per row, and if hosts are the replicates a line per row and host behind it. Called by
//! `headwater compare --csv`. Fields are those of `headwater export csv`.

use headwater_results::compare::{Comparison, Ratio};

use crate::export::csv::cell;

const HEAD: [&str; 17] = [
    "baseline",
    "candidate",
    "row",
    "metric",
    "unit",
    "better",
    "host",
    "ratio",
    "low",
    "high",
    "confidence",
    "replicates",
    "p_adjusted",
    "verdict",
    "differs_from_rest",
    "between_hosts",
    "reason",
];

/// Returns the text in UTF-8. The line of a row has no host, and one without a ratio has the reason. That of
/// the geometric mean over rows has no row.
pub fn comparison_csv<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut add = |fields: [String; 17]| writer.write_record(fields).expect("every line has the fields of the head");
    add(HEAD.map(str::to_owned));
    for comparison in comparisons {
        let names = comparison.hosts.as_ref().map_or(&[][..], |hosts| &hosts.names);
        let line = |row: &str, [metric, unit, better]: [&str; 3], host: &str, figures: [String; 10]| {
            let mut fields = [comparison.baseline.as_str(), &comparison.candidate, row, metric, unit, better, host]
                .map(|name| cell(name).into_owned())
                .into_iter()
                .chain(figures);
            std::array::from_fn(|_| fields.next().unwrap_or_default())
        };
        for row in &comparison.rows {
            let metric = [row.metric.name.as_str(), row.metric.unit.as_str(), row.metric.better.name()];
            let of = |value: fn(&Ratio) -> String| row.ratio.as_ref().map_or_else(String::new, value);
            let between = row.hosts.as_ref().map_or_else(String::new, |over| over.between.to_string());
            add(line(
                &row.label,
                metric,
                "",
                [
                    of(|ratio| ratio.value.to_string()),
                    of(|ratio| ratio.low.to_string()),
                    of(|ratio| ratio.high.to_string()),
                    of(|ratio| ratio.confidence.to_string()),
                    of(|ratio| ratio.n.to_string()),
                    row.p_adjusted.map_or_else(String::new, |p| p.to_string()),
                    row.verdict.name().to_owned(),
                    String::new(),
                    between,
                    String::new(),
                ],
            ));
            for host in row.hosts.iter().flat_map(|over| &over.ratios) {
                let name = names.get(host.host as usize).map_or("", String::as_str);
                let [value, low, high] = [host.value, host.low, host.high].map(|end| end.to_string());
                let odd = if host.odd { "yes" } else { "no" };
                let none = String::new;
                add(line(
                    &row.label,
                    metric,
                    name,
                    [value, low, high, none(), host.n.to_string(), none(), none(), odd.to_owned(), none(), none()],
                ));
            }
        }
        if let Some(mean) = &comparison.geometric_mean {
            let Ratio { value, low, high, confidence, n, .. } = mean.ratio;
            let mut figures: [String; 10] = Default::default();
            let known = [value, low, high, confidence, f64::from(n)].map(|figure| figure.to_string());
            figures[..5].clone_from_slice(&known);
            add(line("", ["geometric_mean", "ratio", mean.better.name()], "", figures));
        }
        for left in &comparison.left_out {
            let mut figures: [String; 10] = Default::default();
            figures[9] = cell(&left.reason).into_owned();
            add(line(&left.row, [""; 3], "", figures));
        }
    }
    String::from_utf8(writer.into_inner().expect("writing to memory does not fail")).expect("fields are text")
}
