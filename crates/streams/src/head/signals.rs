//! I_SETSIG and its family: registering for signals. The registrations and the sending are in `process::listeners`.

use std::sync::atomic::Ordering;

use headwater_os::watch::{ProcessId, may_signal};

use super::handle::Handle;
use crate::error::{Error, Result, Text, fixed};
use crate::process::listeners::{SignalEvents, Target, end_registration, register, registration, signal};

impl Handle {
    pub(crate) fn set_signals(&mut self, events: SignalEvents) -> Result<()> {
        self.register(Target::Own, events)
    }

    pub(crate) fn signals(&self) -> Result<SignalEvents> {
        registration(&self.end.region, self.end.side, Target::Own)
    }

    pub(crate) fn set_signals_of(&mut self, pid: i32, events: SignalEvents) -> Result<()> {
        let target = target(pid)?;
        may_signal(pid.unsigned_abs(), pid < 0)?;
        self.register(target, events)
    }

    pub(crate) fn signals_of(&self, pid: i32) -> Result<SignalEvents> {
        registration(&self.end.region, self.end.side, target(pid)?)
    }

    fn register(&mut self, target: Target, events: SignalEvents) -> Result<()> {
        let unknown = events.bits() & !SignalEvents::all().bits();
        if unknown != 0 {
            return Err(Error::numbered(Text::SignalBits, unknown.into(), 0));
        }
        self.attach()?;
        let end = &self.end;
        if events.is_empty() {
            end_registration(&end.region, end.side, target)?;
        } else {
            register(&end.region, end.side, target, events.bits())?;
            // The program does something else meanwhile: what its driver's files have is sent up by the library's thread.
            self.serve_in_background();
        }
        // Makes writers leave the fast path, which sends no signals.
        self.back.announce();
        Ok(())
    }

    /// Notes that a writer was refused for lack of room in a band: a signal is sent when there is room.
    pub(super) fn note_refused(&self, band: u8) {
        let word = &self.end.words().refused[usize::from(band) / 64];
        word.fetch_or(1 << (band % 64), Ordering::AcqRel);
    }

    /// Sends signals to the writers of a direction that were refused, if there is room now.
    pub(super) fn signal_room(&self, outward: bool) {
        let direction = if outward { &self.out } else { &self.back };
        let (region, writers) = (&self.end.region, direction.direction());
        let end = &region.fixed.ends[writers].0;
        let mut events = SignalEvents::empty();
        for (at, word) in end.refused.iter().enumerate() {
            let refused = word.load(Ordering::Acquire);
            for bit in (0..64).filter(|bit| refused >> bit & 1 == 1) {
                let band = (64 * at + bit) as u8;
                if direction.may_write(region, band) && word.fetch_and(!(1 << bit), Ordering::AcqRel) >> bit & 1 == 1 {
                    events |= if band == 0 { SignalEvents::OUTPUT } else { SignalEvents::WRBAND };
                }
            }
        }
        signal(region, writers, events);
    }
}

/// The process to be signalled, or the group.
fn target(pid: i32) -> Result<Target> {
    match pid {
        0 => Err(fixed!(Inval, "0 is no process")),
        // kill(2) takes it for every process that there is.
        -1 => Err(fixed!(Inval, "the process group 1 cannot be signalled")),
        ..0 => Ok(Target::Group(pid.unsigned_abs())),
        pid => match ProcessId::from_pid(pid.unsigned_abs()) {
            Some(process) if process == ProcessId::own() => Ok(Target::Own),
            process => process.map(Target::Process).ok_or_else(|| fixed!(Srch, "there is no such process")),
        },
    }
}
