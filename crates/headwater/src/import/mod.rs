//! Results of other benchmarks as runs: one file per format, and the table below. Called by `headwater import`, which
//! reads the files and stores the run; parsing itself touches no file.
//!
//! Each result of a program's launch becomes a launch of a row. What a file does not say is absent. A line that is not
//! understood is kept with its number and said; a line that should be a result and is not ends the import.

use std::fmt;

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
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    parse: fn(&[File], &Options, &mut Imported) -> Result<(), ImportError>,
}

/// What the user says of files that do not say it themselves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The test that results without a banner are of.
    pub test: Option<String>,
    /// The selectors of comma-separated values without a head.
    pub columns: Option<String>,
}

/// Every format, in the order of the help.
pub static TABLE: &[Format] = &[netperf::FORMAT, lmbench::FORMAT];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    TABLE.iter().find(|format| format.name == name)
}

/// What the files hold.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The rows, each with the metrics' values of its launches.
    pub rows: Vec<(Row, Vec<Launch>)>,
    /// What was not taken in, in the order of the files.
    pub left_out: Vec<LeftOut>,
    /// What was taken in and is not quite what its row is, each said once.
    pub notes: Vec<String>,
    /// What the files say of the machine.
    pub environment: Environment,
    /// How long a launch measured, s; 0 where the files do not say.
    pub time_s: f64,
}

/// One launch: a value per metric, in the order of the row's.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The replicate that it belongs to, from 0.
    pub block: u32,
    /// The values; none of a metric that the file does not say.
    pub values: Vec<Option<f64>>,
    /// What was counted.
    pub counters: Vec<(&'static str, f64)>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file's name.
    pub file: String,
    /// From 1.
    pub number: usize,
    /// Its text.
    pub text: String,
}

/// A line that was not taken in, and why not or what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The line.
    pub line: Line,
    /// The reason.
    pub why: String,
}

/// Why files are not imported, with the place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file's name; empty where no file is to blame.
    pub file: String,
    /// From 1; 0 where it is the whole file.
    pub line: usize,
    /// What is wrong and what can be done.
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

impl ImportError {
    /// That an option is wrong.
    fn usage(message: String) -> ImportError {
        ImportError { file: String::new(), line: 0, message }
    }
}

impl Format {
    /// The results of `files`, which must be those of one machine.
    ///
    /// # Errors
    /// The first line that cannot be, or that there is no result at all.
    pub fn import(&self, files: &[File], options: &Options) -> Result<Imported, ImportError> {
        let mut imported = Imported::default();
        (self.parse)(files, options, &mut imported)?;
        if !imported.rows.is_empty() {
            return Ok(imported);
        }
        match imported.left_out.first() {
            Some(LeftOut { line, why }) => Err(line.error(format!("no result of {}: {why}", self.name))),
            None => Err(ImportError {
                file: files.first().map(|(name, _)| name.clone()).unwrap_or_default(),
                line: 0,
                message: format!("no result of {}: {}", self.name, self.summary),
            }),
        }
    }
}

impl Imported {
    /// Keeps a line that was not taken in.
    fn leave(&mut self, line: &Line, why: impl Into<String>) {
        self.left_out.push(LeftOut { line: line.clone(), why: why.into() });
    }

    /// Says once what the user should know of results that were taken in.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a launch of a row; `block` is the next of that row where it is not given.
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

    /// The events of a run that measured this, for the store and the fold.
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
                    // Nobody knows, and nobody says that it was not.
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

/// The lines of a file with their numbers.
fn numbered((name, text): &File) -> impl Iterator<Item = Line> {
    let name = name.clone();
    text.lines().enumerate().map(move |(at, text)| Line { file: name.clone(), number: at + 1, text: text.to_owned() })
}

impl Line {
    /// That this line is wrong.
    fn error(&self, message: impl Into<String>) -> ImportError {
        ImportError { file: self.file.clone(), line: self.number, message: message.into() }
    }

    /// A number that may stand in a result: finite and not negative.
    fn number(&self, field: &str, what: &str) -> Result<f64, ImportError> {
        match field.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(self.error(format!("{what} is {field:?}, which is no number of that kind"))),
        }
    }

    /// As [`Line::number`], and not zero.
    fn positive(&self, field: &str, what: &str) -> Result<f64, ImportError> {
        match self.number(field, what)? {
            0.0 => Err(self.error(format!("{what} is 0: this result says nothing; remove it"))),
            value => Ok(value),
        }
    }
}

#[cfg(test)]
mod tests;
