//! How often a recorder looks for events: who sleeps too long loses them, who looks too often takes their CPU.

use std::time::Duration;

use headwater_trace_tools::ctf::Error;

use super::Recording;

/// The pause between two looks while some come: at a million events a second of 32 bytes a CPU writes a thirteenth of a default
/// buffer in it.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest pause, when none come: a burst that begins in it has to find room.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// When the next look is due.
#[derive(Debug)]
pub struct Pace(Duration);

impl Default for Pace {
    fn default() -> Pace {
        Pace(PAUSE_MIN)
    }
}

impl Pace {
    /// Until the next look.
    pub fn pause(&self) -> Duration {
        self.0
    }

    /// Carries what has come.
    ///
    /// # Errors
    /// As those of [`Recording::carry`]; the next look may succeed.
    pub fn look(&mut self, recording: &mut Recording) -> Result<(), Error> {
        let carried = recording.carry();
        self.0 = match carried {
            Ok(0) => (self.0 * 2).min(PAUSE_MAX),
            Ok(_) => PAUSE_MIN,
            Err(_) => PAUSE_MAX,
        };
        carried.map(drop)
    }
}
