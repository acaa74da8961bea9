//! A recording in progress: the memory into which programs write, the consumer that copies it into a trace, and the
//! kernel session. It does not start programs: `record` starts one, and any program may join.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use headwater_os::{clock, ticks};
use headwater_os_tools::bus_error;
use headwater_os_tools::own_file::{make_own_directory, own_directory};
use headwater_trace::WhenFull;
use headwater_trace::region::{Layout, Region};
use headwater_trace_tools::consumer::parts::{self, PartsFile, Removed, Rotation};
use headwater_trace_tools::consumer::{Consumer, Totals, Unfinished};
use headwater_trace_tools::ctf;
use headwater_trace_tools::kernel::{self, Support};
use headwater_trace_tools::schema::Clock;

use super::kernel_side::{self, KernelSide, Manner};
use super::{
    BUFFER_BYTES, DIRECTORY_MODE, HOME, KernelConfig, KernelEnd, SessionFile, USER, WaitsForRoom, environment,
    fresh_directory, memory,
};

/// How long the counter is compared with the clock; 50 ms give an accuracy of about a millionth.
const CALIBRATION: Duration = Duration::from_millis(50);

/// Why events are missing after a program has truncated the session's memory.
pub(super) const TRUNCATED: &str = "a program has truncated the session's memory, and with it what was not carried";

/// How often the lock of a new session's memory is tried: another process may hold it for a moment to check whether it
/// is held.
const CLAIMS: u32 = 100;

/// The clock for timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// The processor's counter if it is usable as a clock by programs and, if the kernel is recorded, by the kernel's
    /// tracer.
    #[default]
    Best,
    /// The processor's counter.
    Tsc,
    /// CLOCK_MONOTONIC.
    Monotonic,
}

/// The configuration of a recording.
#[derive(Clone, Debug)]
pub struct RecordingConfig {
    /// The directory of the recording; `None` for a new directory in the current one.
    pub directory: Option<PathBuf>,
    /// Patterns of event names, with `*`.
    pub events: Vec<String>,
    /// Conditions on the values of programs' events, as [`Filter::parse`] takes them.
    ///
    /// [`Filter::parse`]: headwater_trace_tools::filter::Filter::parse
    pub filters: Vec<String>,
    /// Patterns of those events of programs that are recorded with their stacks.
    pub stacks: Vec<String>,
    /// Whether as copies, in place of frames.
    pub stacks_copied: bool,
    /// What happens when a buffer is full.
    pub when_full: WhenFull,
    /// For how long an event that finds its buffer full waits for room, at most [`WAIT_MAX`]. Not with
    /// [`WhenFull::Overwrite`].
    ///
    /// [`WAIT_MAX`]: headwater_trace::region::WAIT_MAX
    pub wait: Duration,
    /// Bytes of each CPU's buffer: a power of two.
    pub buffer_bytes: usize,
    /// Whether the traces have parts: those of programs and those of the kernel, each for itself. Not with
    /// [`WhenFull::Overwrite`].
    pub rotation: Option<Rotation>,
    /// The directory for the memory of the session.
    pub memory: PathBuf,
    /// The clock for timestamps.
    pub clock: ClockChoice,
    /// The kernel half, if the kernel is recorded.
    pub kernel: Option<KernelConfig>,
    /// The recorded command, for the description of the trace.
    pub command: Vec<String>,
}

impl Default for RecordingConfig {
    /// All events of programs, copied while they arrive, into a new directory.
    fn default() -> RecordingConfig {
        RecordingConfig {
            directory: None,
            events: vec!["*".to_owned()],
            filters: Vec::new(),
            stacks: Vec::new(),
            stacks_copied: false,
            when_full: WhenFull::Refuse,
            wait: Duration::ZERO,
            buffer_bytes: BUFFER_BYTES,
            rotation: None,
            memory: HOME.into(),
            clock: ClockChoice::Best,
            kernel: None,
            command: Vec::new(),
        }
    }
}

/// A recording in progress. Dropping it without [`Recording::end`] leaves it as a crash would: `recover` completes it.
#[derive(Debug)]
pub struct Recording {
    directory: PathBuf,
    /// Whether the directory was made for it.
    is_new: bool,
    file: SessionFile,
    consumer: Consumer,
    kernel: Option<KernelSide>,
}

/// The result of a recording.
#[derive(Debug)]
pub struct RecordingOutcome {
    /// The directory of the recording.
    pub directory: PathBuf,
    /// Whether the newest events overwrote the oldest ones.
    pub flight: bool,
    /// Whether any program has written an event.
    pub joined: bool,
    /// Whether programs defined more event types than a session can have. All events of the others are lost.
    pub is_table_full: bool,
    /// How long programs waited for room, if any did.
    pub waited: Option<WaitsForRoom>,
    /// What was removed with the oldest parts of the trace of programs.
    pub removed: Removed,
    /// The result for the events of programs.
    pub user: Result<Totals, Unfinished>,
    /// The result for the events of the kernel.
    pub kernel: Option<KernelEnd>,
    /// Other errors, in words.
    pub troubles: Vec<String>,
}

impl Recording {
    /// Sets everything up except the kernel session.
    ///
    /// # Errors
    /// The reason, with a remedy. Nothing is left behind.
    pub fn begin(config: &RecordingConfig) -> anyhow::Result<Recording> {
        // Every program of the session may truncate its memory.
        bus_error::survive().context("SIGBUS")?;
        let clock = choose_clock(config)?;
        let directory = config.directory.clone().unwrap_or_else(|| fresh_directory("headwater-trace"));
        let is_new = make_directory(&directory)?;
        let made = Recording::in_directory(config, &directory, is_new, clock);
        if made.is_err() {
            clean(&directory, is_new);
        }
        made
    }

    fn in_directory(
        config: &RecordingConfig,
        directory: &Path,
        is_new: bool,
        clock: Clock,
    ) -> anyhow::Result<Recording> {
        // A process that uses the path later may have another working directory.
        let directory =
            own_directory(directory).with_context(|| format!("cannot record to {}", directory.display()))?;
        let home = fs::canonicalize(&config.memory).with_context(|| config.memory.display().to_string())?;
        let path = home.join(memory::fresh_name());
        let flight = config.when_full == WhenFull::Overwrite;
        let mut file = SessionFile::new(config.command.clone(), path.clone(), flight, &clock.name);
        file.events = config.events.clone();
        file.kernel_events = config.kernel.iter().flat_map(|kernel| kernel.events.clone()).collect();
        file.write(&directory).with_context(|| format!("cannot write to {}", directory.display()))?;
        let layout = Layout {
            patterns: config.events.clone(),
            when_full: config.when_full,
            cpu_bytes: config.buffer_bytes,
            clock,
        };
        let region = Region::create(&path, &layout).map_err(|error| no_memory(&home, config.buffer_bytes, &error))?;
        let consumer = claim(&region).context("cannot claim the session's memory").and_then(|()| {
            region.set_home(&directory);
            region.set_filters(&config.filters)?;
            region.set_stacks(&config.stacks, config.stacks_copied)?;
            region.set_wait(config.wait)?;
            let environment = environment(&config.command.join(" "));
            Ok(match config.rotation {
                Some(rotation) => Consumer::begin_parts(region, &directory, environment, rotation)?,
                None => Consumer::begin(region, &directory.join(USER), environment)?,
            })
        });
        match consumer {
            Ok(consumer) => Ok(Recording { directory, is_new, file, consumer, kernel: None }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    /// Returns the memory of the session.
    pub(super) fn region(&self) -> &Region {
        self.consumer.region()
    }

    /// Returns the file by which programs join the session.
    pub fn memory(&self) -> &Path {
        &self.file.memory
    }

    /// Sets the recorded process, and starts recording the kernel if the configuration says so.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn watch(&mut self, process: u32, config: &RecordingConfig) -> anyhow::Result<()> {
        self.file.pid = Some(process);
        self.file.write(&self.directory).with_context(|| self.directory.display().to_string())?;
        if let Some(kernel) = &config.kernel {
            let clock = kernel_clock(self.consumer.region().clock());
            let manner = Manner { flight: self.file.flight, rotation: config.rotation, clock };
            let side = KernelSide::start(kernel, Some(process), &self.directory, manner);
            self.kernel = Some(side.map_err(no_kernel)?);
        }
        Ok(())
    }

    /// Copies the events that programs have written into the trace. Returns the number of bytes.
    ///
    /// # Errors
    /// Errors of the file system. Events that were not copied stay in the memory as long as it has room.
    pub fn carry(&mut self) -> Result<u64, ctf::Error> {
        if let Some(kernel) = &mut self.kernel {
            kernel.rotate();
        }
        self.consumer.carry()
    }

    /// Ends the recording: copies the remaining events, and removes the session's memory if nothing is left in it.
    pub fn end(mut self) -> RecordingOutcome {
        let region = self.consumer.region().clone();
        let command = self.file.command.join(" ");
        let kernel = self.kernel.take().map(KernelSide::stop);
        let removed = self.consumer.removed();
        // Programs may run on: their buffers would overflow while many pages are converted.
        let user = self.consumer.finish();
        let kernel = kernel.map(|kernel| kernel.convert(&self.directory, region.clock(), &command));
        // In a flight recorder, threads are known even if their programs have written nothing.
        let written = |id| region.kind(id).is_some_and(|kind| kind.name != "headwater:thread");
        let (joined, is_table_full) = ((0..region.kinds_end(0)).any(written), region.is_table_full());
        let truncated = bus_error::has_happened().then(|| TRUNCATED.to_owned());
        let mut troubles: Vec<String> = truncated.iter().cloned().collect();
        self.file.events = region.patterns();
        let waited = WaitsForRoom::of(&region);
        self.file.waited = waited;
        if let Ok(totals) = &user {
            let missing = kernel.iter().flat_map(KernelEnd::missing).chain(truncated).collect();
            self.file.removed = Some(removed).filter(|removed| removed.parts > 0).map(Into::into);
            self.file.kernel_removed = kernel_side::removed(&self.directory).map(Into::into);
            let noted = self.file.write_end(&self.directory, totals.written, totals.lost, missing);
            troubles.extend(noted.err().map(|error| format!("{}: {error}", self.directory.display())));
            let removed = fs::remove_file(&self.file.memory);
            troubles.extend(removed.err().map(|error| format!("{}: {error}", self.file.memory.display())));
        }
        RecordingOutcome {
            directory: self.directory,
            flight: self.file.flight,
            joined,
            is_table_full,
            waited,
            removed,
            user,
            kernel,
            troubles,
        }
    }

    /// Removes the recording again: nothing was recorded.
    pub fn undo(self) {
        let Recording { directory, is_new, file, consumer, kernel } = self;
        drop((consumer, kernel));
        let _ = fs::remove_file(&file.memory);
        clean(&directory, is_new);
    }
}

/// Removes the files of a recording whose directory was empty before, and the directory if it is new.
fn clean(directory: &Path, is_new: bool) {
    let _ = fs::remove_file(directory.join(super::FILE));
    let _ = fs::remove_dir_all(directory.join(USER));
    parts::directories(directory).unwrap_or_default().iter().for_each(|part| drop(fs::remove_dir_all(part)));
    PartsFile::remove(directory);
    kernel::PartsFile::remove(&directory.join(super::PAGES));
    let _ = fs::remove_dir_all(directory.join(super::PAGES));
    if is_new {
        let _ = fs::remove_dir(directory);
    }
}

/// Makes the directory. Returns whether it is new.
fn make_directory(directory: &Path) -> anyhow::Result<bool> {
    match fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(ctf::Error::NotEmpty { path: directory.to_owned() }.into()),
        Ok(false) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = make_own_directory(directory, DIRECTORY_MODE);
            made.with_context(|| format!("cannot make {}; name another directory with -o", directory.display()))?;
            Ok(true)
        }
        Err(error) => Err(anyhow!("cannot record to {}: {error}", directory.display())),
    }
}

fn claim(region: &Region) -> io::Result<()> {
    for _ in 0..CLAIMS {
        if region.claim()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn no_memory(home: &Path, buffer_bytes: usize, error: &io::Error) -> anyhow::Error {
    let needed = Layout::file_bytes(buffer_bytes) >> 20;
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => anyhow!(
            "no room for buffers in {}: they take {needed} MiB; choose smaller ones with --buffer, or another file system \
             with --logs DIR",
            home.display()
        ),
        _ => anyhow!("cannot make the session's memory in {}: {error}; --logs names another directory", home.display()),
    }
}

pub(super) fn no_kernel(error: kernel::Error) -> anyhow::Error {
    match error {
        kernel::Error::UnknownEvent { .. } => {
            anyhow!("{error}; `headwater trace list --kernel` shows all of them")
        }
        error => anyhow!("cannot record events of the kernel: {error}; events of programs can be recorded without -k"),
    }
}

fn kernel_clock(clock: &Clock) -> kernel::Clock {
    if clock.name == "tsc" { kernel::Clock::Tsc } else { kernel::Clock::Monotonic }
}

/// Chooses the clock of a recording. Programs and the kernel use the same one, so that their events can be ordered.
fn choose_clock(config: &RecordingConfig) -> anyhow::Result<Clock> {
    let unsound = match config.clock {
        ClockChoice::Monotonic => return Ok(monotonic()),
        ClockChoice::Tsc => ticks::unsound(),
        ClockChoice::Best => ticks::unsound().or_else(|| {
            let kernel_has_it = config.kernel.is_none() || Support::look().has("x86-tsc");
            (!kernel_has_it).then(|| "the kernel's tracer has it not".to_owned())
        }),
    };
    match unsound {
        None => {
            let ticks::Calibration { frequency_hz, ticks, realtime_ns } = ticks::calibrate(CALIBRATION)?;
            Ok(at("tsc", frequency_hz, ticks, realtime_ns))
        }
        Some(why) if config.clock == ClockChoice::Tsc => {
            Err(anyhow!("the processor's counter is no clock here: {why}; choose --clock monotonic"))
        }
        Some(_) => Ok(monotonic()),
    }
}

fn monotonic() -> Clock {
    let realtime = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    at("monotonic", 1_000_000_000, clock::now_ns(), realtime.as_nanos() as u64)
}

/// Returns a clock that shows `ticks` at the given time.
fn at(name: &str, frequency_hz: u64, ticks: u64, realtime_ns: u64) -> Clock {
    let frequency = i128::from(frequency_hz);
    // The time at which the clock showed 0, in ticks since 1970.
    let zero = i128::from(realtime_ns) * frequency / 1_000_000_000 - i128::from(ticks);
    Clock {
        name: name.to_owned(),
        frequency_hz,
        offset_s: zero.div_euclid(frequency) as i64,
        offset_ticks: zero.rem_euclid(frequency) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_the_time_of_the_day() {
        for (frequency, ticks) in [(2_100_000_000, 7_000_000_000_000_000), (1_000_000_000, 5), (3, 1)] {
            let now = 1_700_000_000_123_456_789;
            let clock = at("tsc", frequency, ticks, now);
            assert!(clock.offset_ticks < frequency);
            let off = i128::from(now) - clock.nanoseconds(ticks) as i128;
            assert!(off.unsigned_abs() <= u128::from(1_000_000_000 / frequency + 1), "{off} ns at {frequency} Hz");
        }
    }
}
