//! How often a recorder checks for events. Long pauses lose events, short ones take CPU time from the recorded
//! programs.

use std::time::Duration;

use headwater_trace_tools::ctf::Error;

use super::Recording;

/// The pause between two checks while events arrive. At a million events of 32 bytes per second, a CPU fills a
/// thirteenth of a default buffer in that time.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest pause, while no events arrive: a burst that begins within it must fit the buffer.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The pause until the next check.
#[derive(Debug)]
pub struct Pace(Duration);

impl Default for Pace {
    fn default() -> Pace {
        Pace(PAUSE_MIN)
    }
}

impl Pace {
    /// Returns the time until the next check.
    pub fn pause(&self) -> Duration {
        self.0
    }

    /// Copies the available events into the trace.
    ///
    /// # Errors
    /// The errors of [`Recording::carry`]; the next attempt may succeed.
    pub fn carry(&mut self, recording: &mut Recording) -> Result<(), Error> {
        let carried = recording.carry();
        self.0 = match carried {
            Ok(0) => (self.0 * 2).min(PAUSE_MAX),
            Ok(_) => PAUSE_MIN,
            Err(_) => PAUSE_MAX,
        };
        carried.map(drop)
    }
}
