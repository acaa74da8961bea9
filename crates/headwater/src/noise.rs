//! The noise record of a machine: the result of `noise`, stored with the runs, and read by `compare`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use headwater_os::plain_file;
use headwater_results::compare::noise::{Assessment, Drift};
use headwater_results::foreign::file_name;
use serde::{Deserialize, Serialize};

use crate::replace::replace;

/// The differences between identical rows on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The machine.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// When the run began, RFC 3339.
    pub started_at: String,
    /// The run's name.
    pub run: String,
    /// What identical rows showed in the same blocks.
    pub assessment: Assessment,
    /// The drift to expect between runs that are made one after the other.
    pub apart: Drift,
    /// What was found before, the newest first, [`KEPT`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<PreviousNoise>,
}

/// The result of an earlier measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreviousNoise {
    /// When its run began, RFC 3339.
    pub started_at: String,
    /// The deviation in the same blocks.
    pub within: f64,
    /// The deviation between runs that are made one after the other.
    pub apart: f64,
}

/// The maximum number of earlier measurements in a record.
const KEPT: usize = 8;

/// The noise floor of a machine, from all measurements in its record.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseFloor {
    /// The deviation.
    pub deviation: f64,
    /// How many measurements it is the median of.
    pub measurements: usize,
    /// When the oldest and the newest of them began.
    pub from_to: [String; 2],
}

impl Record {
    /// Returns this record with an older one of the same machine appended.
    #[must_use]
    pub fn after(mut self, older: Record) -> Record {
        let last = PreviousNoise {
            started_at: older.started_at,
            within: older.assessment.drift.deviation,
            apart: older.apart.deviation,
        };
        self.earlier = std::iter::once(last).chain(older.earlier).take(KEPT).collect();
        self
    }

    /// Returns the floor in the same blocks, or between runs: the median over the measurements, so that one bad day
    /// does not decide. For an even number the larger of the two middle values counts.
    pub fn floor(&self, paired: bool) -> NoiseFloor {
        let own = if paired { self.assessment.drift } else { self.apart }.deviation;
        let earlier = self.earlier.iter().map(|earlier| if paired { earlier.within } else { earlier.apart });
        let mut deviations: Vec<f64> = std::iter::once(own).chain(earlier).collect();
        deviations.sort_by(f64::total_cmp);
        let oldest = self.earlier.last().map_or(&self.started_at, |earlier| &earlier.started_at);
        NoiseFloor {
            deviation: deviations[deviations.len() / 2],
            measurements: deviations.len(),
            from_to: [oldest.clone(), self.started_at.clone()],
        }
    }
}

impl NoiseFloor {
    /// Returns the origin in words: `measured 2025-01-01`, `median of 5 measurements, 2025-01-01 to 2025-02-01`.
    pub fn words(&self) -> String {
        let [from, to] = self.from_to.each_ref().map(|time| time.split('T').next().unwrap_or(time));
        match self.measurements {
            1 => format!("measured {to}"),
            many => format!("median of {many} measurements, {from} to {to}"),
        }
    }
}

/// The record of `host` in the directory of runs.
pub fn path(runs: &Path, host: &str) -> PathBuf {
    runs.join(format!("noise-{}.json", file_name(host)))
}

/// The most bytes of a record; a row has 200.
const BYTES_MAX: u64 = 64 << 20;

/// Reads a record.
///
/// # Errors
/// One line that names the file and what is wrong with it.
pub fn read(path: &Path) -> anyhow::Result<Record> {
    let text = plain_file::read_text(path, BYTES_MAX).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: not a noise record (`headwater noise` makes one)", path.display()))
}

/// Writes a record in the place of an older one.
///
/// # Errors
/// Where the directory cannot be written.
pub fn write(path: &Path, record: &Record) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(record)? + "\n";
    replace(path, |file| file.write_all(text.as_bytes())).with_context(|| path.display().to_string())
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
