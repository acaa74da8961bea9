//! The kernel half of a launch: a session from when the command is about to begin until it has ended, and its counts.

use std::path::Path;

use headwater_trace_tools::kernel::{Error, Mode, Session, Settings};

use super::arms::Kind;

/// What a workload is traced with unless an option says otherwise: what the old tracer recorded too, as far as it has a name
/// today.
pub const EVENTS: &[&str] = &["raw_syscalls:*", "sched:*", "irq:*", "exceptions:*", "signal:*", "timer:*"];

/// What the probe is traced with: two events for each call.
const PROBE_EVENTS: &[&str] = &["raw_syscalls:*"];

/// How kernel sessions are set up.
#[derive(Clone, Debug)]
pub struct Tracing {
    /// Patterns of events.
    pub events: Vec<String>,
    /// Of each CPU's buffer, KiB.
    pub buffer_kb: u32,
    /// Only the command and what it starts, instead of the whole machine.
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
    /// The same for the probe.
    #[must_use]
    pub fn of_probe(&self) -> Tracing {
        Tracing { events: PROBE_EVENTS.iter().map(|event| (*event).to_owned()).collect(), ..self.clone() }
    }

    /// A session in memory, of the whole machine.
    pub(super) fn settings(&self) -> Settings {
        let events: Vec<&str> = self.events.iter().map(String::as_str).collect();
        Settings { buffer_kb_per_cpu: self.buffer_kb, ..Settings::new(&events, Mode::Flight) }
    }

    /// Begins to record if the configuration does; `process` is who will start the command.
    ///
    /// # Errors
    /// What the session says.
    pub fn start(&self, kind: Kind, process: u32, directory: &Path) -> Result<Option<Recording>, Error> {
        let mode = match kind {
            Kind::Flight => Mode::Flight,
            Kind::Drain => Mode::Drain { directory: directory.to_owned() },
            _ => return Ok(None),
        };
        let processes = self.command_only.then(|| vec![process]);
        let session = Session::start(&Settings { mode, processes, ..self.settings() })?;
        Ok(Some(Recording(session)))
    }
}

/// A session that runs.
#[derive(Debug)]
pub struct Recording(Session);

/// What became of the events of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Recorded or lost.
    pub events: u64,
    /// Lost: overwritten, discarded, nested.
    pub lost: u64,
}

impl Recording {
    /// No event is recorded any more.
    ///
    /// # Errors
    /// What tracefs reports.
    pub fn pause(&self) -> Result<(), Error> {
        self.0.record(false)
    }

    /// Ends it and counts; its pages are removed.
    ///
    /// # Errors
    /// What tracefs reports; a file that could not be written.
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
