//! Import of results of other benchmarks as runs: one file per format, and the table below. Called by `headwater
//! import`, which reads the files and stores the run; parsing itself reads no file.
//!
//! Each result of a launch of the other program becomes a launch of a row. A value that a file does not contain is
//! absent, and never guessed. A line that is not understood is left out and reported with its number, and the next line
//! is read; an import ends where it has no result at all, or results of two machines.

use std::fmt;

use headwater_results::foreign::{is_name, is_unfit};
use headwater_results::schema::{
    Environment, Event, LaunchRecord, Placement, Row, RunHeader, RunStatus, SCHEMA_VERSION, Settings,
};

mod lmbench;
mod netperf;

/// A file's name and its text.
pub type File = (String, String);

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    parse: fn(&[File], &Options, &mut Imported) -> Result<(), ImportError>,
}

/// The user's answers for files that lack them.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The test to which results without a banner belong.
    pub test: Option<String>,
    /// The column selectors of comma-separated values without a header.
    pub columns: Option<String>,
}

/// All formats, in the order of the help text.
pub static TABLE: &[Format] = &[netperf::FORMAT, lmbench::FORMAT];

/// Returns the format with that name.
pub fn find(name: &str) -> Option<&'static Format> {
    TABLE.iter().find(|format| format.name == name)
}

/// The contents of the files.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The rows, each with the metric values of its launches.
    pub rows: Vec<(Row, Vec<Launch>)>,
    /// The lines that were not imported, in the order of the files.
    pub left_out: Vec<LeftOut>,
    /// Remarks on results that were imported and differ a little from the definition of their row; each appears once.
    pub notes: Vec<String>,
    /// The description of the machine in the files.
    pub environment: Environment,
    /// The measured time of a launch, s; 0 if the files do not state it.
    pub time_s: f64,
}

/// One launch: a value per metric, in the order of the row's.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The index of the replicate, from 0.
    pub block: u32,
    /// The values; `None` for a metric that the file does not contain.
    pub values: Vec<Option<f64>>,
    /// Event counts.
    pub counters: Vec<(&'static str, f64)>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file's name.
    pub file: String,
    /// The line number, from 1.
    pub number: usize,
    /// The text of the line.
    pub text: String,
}

/// A line that was not imported, with the reason or the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The line.
    pub line: Line,
    /// The reason.
    pub why: String,
    /// Whether nothing shows that the line belongs to a result.
    pub is_stray: bool,
}

/// The error of an import, with the place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The name of the file; empty if the error is not in a file.
    pub file: String,
    /// The line number, from 1; 0 for the whole file.
    pub line: usize,
    /// The problem and the remedy.
    pub message: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 if self.file.is_empty() => formatter.write_str(&self.message),
            0 => write!(formatter, "{}: {}", self.file, self.message),
            line => write!(formatter, "{}:{line}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<LeftOut> for ImportError {
    fn from(left: LeftOut) -> ImportError {
        ImportError { file: left.line.file, line: left.line.number, message: left.why }
    }
}

impl ImportError {
    /// Makes the error for a wrong option.
    fn usage(message: String) -> ImportError {
        ImportError { file: String::new(), line: 0, message }
    }
}

impl Format {
    /// Parses `files`, which must be of one machine.
    ///
    /// # Errors
    /// Files of several machines; or that there is no result, with the reason of the first line that looks like one.
    pub fn import(&self, files: &[File], options: &Options) -> Result<Imported, ImportError> {
        let mut imported = Imported::default();
        (self.parse)(files, options, &mut imported)?;
        imported.check_names().map_err(|message| ImportError {
            file: files.first().map(|(name, _)| name.clone()).unwrap_or_default(),
            line: 0,
            message,
        })?;
        if !imported.rows.is_empty() {
            return Ok(imported);
        }
        let left_out = &imported.left_out;
        let mut error = match left_out.iter().find(|left| !left.is_stray).or(left_out.first()) {
            Some(left) => ImportError::from(left.clone()),
            None => ImportError {
                file: files.first().map(|(name, _)| name.clone()).unwrap_or_default(),
                line: 0,
                message: format!("no result of {}", self.name),
            },
        };
        error.message += &format!("; what is read: {}", self.summary);
        Err(error)
    }
}

impl Imported {
    /// Checks the names that the files gave. From here on they are in paths, tables and exports.
    fn check_names(&self) -> Result<(), String> {
        let Environment { host, kernel, .. } = &self.environment;
        if !host.is_empty() && !is_name(host) {
            return Err(format!(
                "the host is {host:?}; a host's name is of letters, digits, '.', '-', '_' and '+': correct it in the file"
            ));
        }
        if let Some(text) = [&kernel.release, &kernel.version].into_iter().find(|text| text.contains(is_unfit)) {
            return Err(format!("the kernel is {text:?}, which has control characters: correct it in the file"));
        }
        match self.rows.iter().find(|(row, _)| !row.id.split('/').all(is_name)) {
            Some((row, _)) => Err(format!("{:?} is no name of a row: correct it in the file", row.id)),
            None => Ok(()),
        }
    }

    /// Records a line that was not imported.
    fn leave(&mut self, line: &Line, why: impl Into<String>) {
        self.left_out.push(line.error(why));
    }

    /// Records a line that shows nothing of a result.
    fn leave_stray(&mut self, line: &Line, why: &str) {
        self.left_out.push(LeftOut { is_stray: true, ..line.error(why) });
    }

    /// Records a remark on imported results, once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a launch of a row; without `block`, it is the next launch of that row.
    fn add(&mut self, row: Row, block: Option<u32>, values: Vec<Option<f64>>, counters: Vec<(&'static str, f64)>) {
        let at = match self.rows.iter().position(|(known, _)| known.id == row.id) {
            Some(at) => at,
            None => {
                self.rows.push((row, Vec::new()));
                self.rows.len() - 1
            }
        };
        let launches = &mut self.rows[at].1;
        let block = block.unwrap_or(launches.len() as u32);
        launches.push(Launch { block, values, counters });
    }

    /// Returns the events of a run with these results, for the store and the fold.
    pub fn events(self, run_id: &str, started_at: &str, command: Vec<String>) -> Vec<Event> {
        let launches = self.rows.iter().map(|(_, launches)| launches.len() as u32).max().unwrap_or(0);
        let header = RunHeader {
            schema_version: SCHEMA_VERSION,
            headwater_version: env!("CARGO_PKG_VERSION").into(),
            run_id: run_id.into(),
            started_at: started_at.into(),
            command,
            program: None,
            variant_programs: std::collections::BTreeMap::new(),
            labels: std::collections::BTreeMap::new(),
            settings: Settings {
                selection: Vec::new(),
                launches,
                time_s: self.time_s,
                warm_up_s: 0.0,
                budget_s: None,
                seed: 0,
                placements: vec![Placement::Free],
                transport_commands: Vec::new(),
                variants: Vec::new(),
            },
            rows: self.rows.iter().map(|(row, _)| row.clone()).collect(),
            environment: self.environment.clone(),
            clock_read_ns: 0.0,
            clock_resolution_ns: 0.0,
        };
        let mut events = vec![Event::RunStarted(Box::new(header))];
        for (position, (row, launches)) in self.rows.into_iter().enumerate() {
            events.extend(launches.into_iter().map(|launch| {
                let known = row.metrics.iter().zip(launch.values);
                let series = known.filter_map(|(metric, value)| Some((metric, value?)));
                Event::LaunchFinished(Box::new(LaunchRecord {
                    row: row.id.clone(),
                    block: launch.block,
                    position: position as u32,
                    series: series.map(|(metric, value)| (metric.name.clone(), vec![value])).collect(),
                    counters: launch.counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                    // The files do not state it, so the run does not claim that the launch was not steady.
                    steady: true,
                    ..LaunchRecord::default()
                }))
            }));
        }
        let environment = Box::new(self.environment);
        events.push(Event::RunFinished { status: RunStatus::Complete, environment });
        events
    }
}

/// Returns the lines of a file with their numbers. A byte-order mark is no part of the first.
fn numbered((name, text): &File) -> impl Iterator<Item = Line> {
    let (name, text) = (name.clone(), text.trim_start_matches('\u{feff}'));
    text.lines().enumerate().map(move |(at, text)| Line { file: name.clone(), number: at + 1, text: text.to_owned() })
}

impl Line {
    /// Makes the reason for which this line is left out.
    fn error(&self, why: impl Into<String>) -> LeftOut {
        LeftOut { line: self.clone(), why: why.into(), is_stray: false }
    }

    /// Parses a number that is valid in a result: finite and not negative.
    fn number(&self, field: &str, what: &str) -> Result<f64, LeftOut> {
        match field.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(self.error(format!("{what} is {field:?}, which is no number of that kind"))),
        }
    }

    /// Parses a number as [`Line::number`] does, and refuses zero.
    fn positive(&self, field: &str, what: &str) -> Result<f64, LeftOut> {
        match self.number(field, what)? {
            0.0 => Err(self.error(format!("{what} is 0: this result says nothing"))),
            value => Ok(value),
        }
    }

    /// Parses a number of bytes, which is whole and at least 1.
    fn bytes(&self, field: &str, what: &str) -> Result<u64, LeftOut> {
        match field.parse::<u64>() {
            Ok(value) if value > 0 => Ok(value),
            _ => Err(self.error(format!("{what} is {field:?}, which is no number of bytes"))),
        }
    }
}

#[cfg(test)]
mod tests;
