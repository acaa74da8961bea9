//! The kernel half of a launch: a session from just before the command starts until it has ended, and its counts.

use std::path::Path;

use headwater_trace_tools::kernel::{Error, Mode, Session, Settings};

use super::arms::Kind;

/// The default events of a workload: those that the old tracer recorded, as far as they exist today.
pub const EVENTS: &[&str] = &["raw_syscalls:*", "sched:*", "irq:*", "exceptions:*", "signal:*", "timer:*"];

/// The events of the probe: two for each call.
const PROBE_EVENTS: &[&str] = &["raw_syscalls:*"];

/// The settings of kernel sessions.
#[derive(Clone, Debug)]
pub struct Tracing {
    /// Patterns of event names.
    pub events: Vec<String>,
    /// The size of each CPU's buffer, KiB.
    pub buffer_kb: u32,
    /// Whether only the command and its children are recorded, instead of the whole machine.
    pub command_only: bool,
}

impl Default for Tracing {
    fn default() -> Tracing {
        Tracing {
            events: EVENTS.iter().map(|event| (*event).to_owned()).collect(),
            buffer_kb: 8 << 10,
            command_only: false,
        }
    }
}

impl Tracing {
    /// Returns the settings for the probe.
    #[must_use]
    pub fn of_probe(&self) -> Tracing {
        Tracing { events: PROBE_EVENTS.iter().map(|event| (*event).to_owned()).collect(), ..self.clone() }
    }

    /// Returns the settings of a session in memory, for the whole machine.
    pub(super) fn settings(&self) -> Settings {
        let events: Vec<&str> = self.events.iter().map(String::as_str).collect();
        Settings { buffer_kb_per_cpu: self.buffer_kb, ..Settings::new(&events, Mode::Flight) }
    }

    /// Starts recording if the configuration does; `process` is the process that will start the command.
    ///
    /// # Errors
    /// Errors of the session.
    pub fn start(&self, kind: Kind, process: u32, directory: &Path) -> Result<Option<Recording>, Error> {
        let mode = match kind {
            Kind::Armed | Kind::Flight => Mode::Flight,
            Kind::Drain => Mode::Drain { directory: directory.to_owned() },
            _ => return Ok(None),
        };
        let processes = self.command_only.then(|| vec![process]);
        let paused = matches!(kind, Kind::Armed);
        let session = Session::start(&Settings { mode, processes, paused, ..self.settings() })?;
        Ok(Some(Recording(session)))
    }
}

/// A running session.
#[derive(Debug)]
pub struct Recording(Session);

/// The event counts of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events recorded or lost.
    pub events: u64,
    /// Events lost: overwritten, discarded or nested.
    pub lost: u64,
}

impl Recording {
    /// Stops recording.
    ///
    /// # Errors
    /// Errors of tracefs.
    pub fn pause(&self) -> Result<(), Error> {
        self.0.record(false)
    }

    /// Ends the session and returns its counts; its pages are removed.
    ///
    /// # Errors
    /// Errors of tracefs, or a file that could not be written.
    pub fn stop(self) -> Result<Counts, String> {
        let capture = self.0.stop().map_err(|error| error.to_string())?;
        if let Some(error) = capture.errors().next() {
            return Err(error.to_string());
        }
        let add = |counts: Counts, (_, stats): (u32, headwater_trace_tools::kernel::stats::Stats)| Counts {
            events: counts.events + stats.happened(),
            lost: counts.lost + stats.lost(),
        };
        Ok(capture.stats().fold(Counts::default(), add))
    }
}
