//! Prints and stores the events of a run as they happen. Called by `run`, `perftest` and `overhead`.

use std::io::Write;
use std::path::PathBuf;

use headwater_gauge::harness::run::{Observer, Share};
use headwater_results::schema::{Event, LaunchRecord, Row, Run};
use headwater_results::summary::Fold;

use super::output::out;
use super::progress::Progress;
use crate::store::{Store, StoreError};

/// Makes a line from the figures of a launch.
pub(super) type LaunchLine = fn(&Row, &LaunchRecord) -> Option<String>;

/// A run whose measurement is over.
pub(super) struct Closed<E> {
    /// The run.
    pub run: Run,
    /// Where it is kept.
    pub directory: PathBuf,
    /// How the measurement ended, or why the run could not be stored.
    pub end: anyhow::Result<E>,
}

/// Passes events to the store, the tables, the event stream and the progress.
pub(super) struct RunReporter {
    store: Store,
    /// The events so far.
    pub fold: Fold,
    json: bool,
    /// The progress on standard error.
    pub progress: Progress,
    /// The line that is printed after each launch.
    pub launch_line: Option<LaunchLine>,
}

impl RunReporter {
    /// Makes a reporter for a run that is stored in `store`.
    pub(super) fn new(store: Store, json: bool, quiet: bool, budget_s: Option<f64>) -> RunReporter {
        RunReporter { store, fold: Fold::new(), json, progress: Progress::new(quiet, budget_s), launch_line: None }
    }

    /// Ends the progress and writes the document. `end` is how the measurement ended. A run that could not be stored is
    /// returned too, with the error in place of its end, because what was measured can still be printed.
    ///
    /// # Errors
    /// The measurement's, unless it is one of the store.
    pub(super) fn close<E>(self, end: anyhow::Result<E>) -> anyhow::Result<Closed<E>> {
        self.progress.end();
        let snapshot = self.fold.snapshot();
        let published = snapshot.as_ref().ok().map(|run| self.store.publish(run));
        let (end, run) = match (end, snapshot) {
            (Err(error), _) if !error.is::<StoreError>() => return Err(error),
            (end, Ok(run)) => (end, run),
            (Err(error), Err(_)) => return Err(error),
            (Ok(_), Err(error)) => return Err(error.into()),
        };
        // Why the run ended comes first: a disk that is full for an event is full for the document too.
        let end = match (end, published) {
            (Ok(_), Some(Err(error))) => Err(error.into()),
            (end, _) => end,
        };
        Ok(Closed { run, directory: self.store.directory().to_owned(), end })
    }
}

impl RunReporter {
    /// Prints the line of a launch on standard output, beside the progress.
    fn print_launch(&self, record: &LaunchRecord) -> anyhow::Result<()> {
        let Some(line) = self.launch_line else { return Ok(()) };
        let row = self.fold.row(&record.row);
        match row.and_then(|row| line(row, record)) {
            Some(text) => Ok(self.progress.print(&text)?),
            None => Ok(()),
        }
    }
}

impl Observer for RunReporter {
    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        self.store.append(event)?;
        if self.json {
            let mut out = out();
            serde_json::to_writer(&mut out, event)?;
            writeln!(out)?;
        }
        match event {
            Event::LaunchFailed { row, reason, .. } => self.progress.say(&format!("failed: {row}: {reason}")),
            Event::RowSkipped { row, reason } => self.progress.say(&format!("skipped: {}: {reason}", row.id)),
            Event::LaunchFinished(record) => self.print_launch(record)?,
            _ => {}
        }
        self.fold.push(event.clone())?;
        Ok(())
    }

    fn launch(&mut self, row: &Row, block: u32, share: Share) {
        self.progress.launch(row, block, share);
    }
}
