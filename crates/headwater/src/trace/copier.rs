//! Copies events into the trace while they arrive: a thread that sleeps until a program has filled a quarter of a buffer,
//! or for a while.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::anyhow;
use headwater_trace::region::Region;

use super::Recording;

/// The pause between two copies while events arrive.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// The longest pause, while no events arrive. What programs have written is at most that much later in the trace.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The pause after a wake-up without events: any program of the session can cause as many as it wants.
const PAUSE_WITHOUT_EVENTS: Duration = Duration::from_millis(1);

/// A recording whose events are copied, until [`Copier::stop`]. Dropping it stops copying too, and leaves the recording as
/// dropping a [`Recording`] does.
#[derive(Debug)]
pub struct Copier {
    /// `None` after it was stopped.
    thread: Option<JoinHandle<Box<Recording>>>,
    shared: Arc<Shared>,
    region: Region,
    memory: PathBuf,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    /// The recording, until the thread has taken it.
    recording: Mutex<Option<Box<Recording>>>,
    /// The first error, until it is taken.
    trouble: Mutex<Option<String>>,
}

impl Copier {
    /// Starts copying. The thread has the signal mask of the caller.
    ///
    /// # Errors
    /// Errors of `pthread_create(3)`; the recording is undone then.
    pub fn start(recording: Recording) -> anyhow::Result<Copier> {
        let (region, memory) = (recording.region().clone(), recording.memory().to_owned());
        let shared = Arc::new(Shared { recording: Mutex::new(Some(Box::new(recording))), ..Shared::default() });
        let (of_thread, of_session) = (shared.clone(), region.clone());
        let thread = thread::Builder::new()
            .name("copier".to_owned())
            .spawn(move || of_thread.copy(taken(&of_thread.recording).expect("it was put there"), &of_session));
        match thread {
            Ok(thread) => Ok(Copier { thread: Some(thread), shared, region, memory }),
            Err(error) => {
                taken(&shared.recording).expect("there is no thread to take it").undo();
                Err(anyhow!("cannot start the thread that copies events: {error}"))
            }
        }
    }

    /// Returns the file by which programs join the session.
    pub fn memory(&self) -> &Path {
        &self.memory
    }

    /// Returns the first error for which events could not be copied into the trace, once. A later attempt may have
    /// succeeded.
    pub fn take_trouble(&self) -> Option<String> {
        taken(&self.shared.trouble)
    }

    /// Stops copying; the events that have arrived last may not have been copied yet.
    pub fn stop(mut self) -> Box<Recording> {
        let stopped = self.join().expect("it is stopped once");
        stopped.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn join(&mut self) -> Option<thread::Result<Box<Recording>>> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.region.wake_consumer();
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        // A panic of the thread has been printed.
        let _ = self.join();
    }
}

impl Shared {
    fn copy(&self, mut recording: Box<Recording>, region: &Region) -> Box<Recording> {
        let (mut is_told, mut pause) = (false, PAUSE_MIN);
        loop {
            let wake_ups = region.wake_ups();
            if self.is_over.load(Ordering::Relaxed) {
                return recording;
            }
            match recording.carry() {
                Ok(0) => {
                    pause = (pause * 2).min(PAUSE_MAX);
                    thread::sleep(PAUSE_WITHOUT_EVENTS);
                }
                Ok(_) => pause = PAUSE_MIN,
                Err(error) => {
                    if !std::mem::replace(&mut is_told, true) {
                        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                    }
                    // There may be space again later.
                    pause = PAUSE_MAX;
                }
            }
            if region.wait_for_wake_up(wake_ups, pause).is_err() {
                thread::sleep(pause);
            }
        }
    }
}

fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ClockChoice, HOME, RecordingConfig};

    #[test]
    fn a_copier_that_is_dropped_lets_others_recover_its_session() {
        let (files, memory) = (tempfile::tempdir().expect("room"), tempfile::tempdir_in(HOME).expect("room"));
        let config = RecordingConfig {
            directory: Some(files.path().join("r")),
            buffer_bytes: 1 << 16,
            memory: memory.path().to_owned(),
            clock: ClockChoice::Monotonic,
            ..RecordingConfig::default()
        };
        let copier = Copier::start(Recording::begin(&config).expect("a recording")).expect("a thread");
        let session = Region::open(copier.memory()).expect("a session");
        assert!(!session.claim().expect("flock"), "the copier has it");
        drop(copier);
        assert!(session.claim().expect("flock"), "it was released");
    }
}
