//! The figures of the report of 2002 on the Linux Trace Toolkit, beside those of a run.

use headwater_results::overhead::Line;
use headwater_results::published;
use headwater_results::schema::{Better, Metric, RowResult, Run};

/// The report's datasets of one machine: of that whose number of CPUs is like the run's.
#[derive(Debug)]
pub(crate) struct Report {
    /// Describes the machine.
    pub machine: &'static str,
    /// By the report's name of a configuration.
    datasets: Vec<(&'static str, Run)>,
}

/// The report's configurations: vanilla; patched and off; on without a daemon; all events on disk.
const CONFIGURATIONS: [&str; 4] = ["a", "b", "c", "d"];

impl Report {
    /// Returns the datasets for a run.
    pub fn beside(run: &Run) -> Report {
        let (name, machine) = match run.header.environment.cpu.affinity.len() {
            1 => ("up", "on its machine with one CPU"),
            _ => ("smp4", "on its machine with four"),
        };
        let read = |configuration| Some((configuration, published::run("ltt", &format!("{name}-{configuration}"))?));
        Report { machine, datasets: CONFIGURATIONS.into_iter().filter_map(read).collect() }
    }

    /// Returns the figure of a row in one of the report's configurations.
    pub fn figure(&self, row: &Line, configuration: &str) -> Option<(f64, &Metric)> {
        if row.metric.name == "cpu" {
            return None;
        }
        let (_, run) = self.datasets.iter().find(|(name, _)| *name == configuration)?;
        let is_it = |result: &&RowResult| result.row.subject == row.subject && result.row.pattern == row.pattern;
        let own = run.results.iter().find(is_it)?.metrics.first()?;
        Some((own.estimate.median, &own.metric))
    }

    /// Returns the cost of a row in one of the report's configurations, relative to A.
    pub fn cost(&self, row: &Line, configuration: &str) -> Option<f64> {
        let (off, metric) = self.figure(row, "a")?;
        let (on, _) = self.figure(row, configuration)?;
        Some(if metric.better == Better::Lower { on / off } else { off / on })
    }

    /// As [`Report::cost`], by our name of the configuration; `None` for one that the report did not have.
    pub fn cost_of(&self, row: &Line, ours: &str) -> Option<f64> {
        let theirs = match ours {
            "built" => "b",
            "armed" => "c",
            "drain" => "d",
            _ => return None,
        };
        self.cost(row, theirs)
    }

    /// Whether it has any of the rows.
    pub fn has(&self, rows: &[&Line]) -> bool {
        rows.iter().any(|row| self.figure(row, "a").is_some())
    }
}
