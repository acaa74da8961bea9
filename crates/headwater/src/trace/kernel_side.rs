//! The kernel half of a recording: a kernel session whose pages are converted to a trace at the end, or after a crash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::files::make_private_directory;
use headwater_trace_tools::ctf::{self, Packet, Writer};
use headwater_trace_tools::filter::Filter;
use headwater_trace_tools::kernel::{self, Capture, Clock, Mode, Session, Settings, Tracefs};
use headwater_trace_tools::schema::{self, Schema};

use super::{KERNEL, PAGES, environment};

/// The configuration of the kernel half of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelConfig {
    /// Patterns of event names, see [`kernel::events::Selection::choose`].
    pub events: Vec<String>,
    /// Conditions on their values.
    pub filters: Vec<Filter>,
    /// Whether events of every process are recorded, instead of those of the recorded process.
    pub system_wide: bool,
    /// Further processes to record.
    pub processes: Vec<u32>,
    /// The size of each CPU's buffer; `None` for the default of a kernel session.
    pub buffer_bytes: Option<usize>,
}

/// A running kernel session.
#[derive(Debug)]
pub(super) struct KernelSide {
    session: Session,
    /// The directory of its pages.
    pages: PathBuf,
}

/// The result of the kernel half of a recording.
#[derive(Debug)]
pub struct KernelEnd {
    /// Events in the trace.
    pub written: u64,
    /// Lost events.
    pub lost: u64,
    /// Whether the counts are complete. They are not if the kernel could not be asked any more; further events may be
    /// lost then.
    pub is_counted: bool,
    /// Bytes of the trace.
    pub bytes: u64,
    /// The errors, in words.
    pub troubles: Vec<String>,
    /// The pages that are not converted yet, because there was no space for the trace.
    pub left: Option<PathBuf>,
}

impl KernelSide {
    /// Starts recording.
    ///
    /// # Errors
    /// Errors of the session, and of the file system of the recording.
    pub fn start(
        config: &KernelConfig,
        command: Option<u32>,
        recording: &Path,
        flight: bool,
        clock: Clock,
    ) -> Result<KernelSide, kernel::Error> {
        let pages = recording.join(PAGES);
        let mode = if flight { Mode::Flight } else { Mode::Drain { directory: pages.clone() } };
        make_private_directory(&pages).map_err(|error| kernel::Error::file("make the directory", &pages, error))?;
        let events: Vec<&str> = config.events.iter().map(String::as_str).collect();
        let mut settings = Settings::new(&events, mode);
        settings.clock = Some(clock);
        settings.filters = config.filters.clone();
        settings.kept = Some(pages.clone());
        if let Some(bytes) = config.buffer_bytes {
            settings.buffer_kb_per_cpu = (bytes >> 10) as u32;
        }
        if !config.system_wide {
            settings.processes = Some(command.into_iter().chain(config.processes.iter().copied()).collect());
        }
        // The session of a killed recorder whose guard was killed too would go on recording.
        let _ = kernel::sweep(&Tracefs::find()?);
        let started = Session::start(&settings).and_then(|session| {
            // Each system call of this process would be an event, whose processing makes another call.
            session.exclude(headwater_os::thread::id())?;
            Ok(session)
        });
        match started {
            Ok(session) => Ok(KernelSide { session, pages }),
            Err(error) => {
                let _ = fs::remove_dir(&pages);
                Err(error)
            }
        }
    }

    /// Ends the session and writes its trace.
    pub fn end(self, recording: &Path, clock: &schema::Clock, command: &str) -> KernelEnd {
        let end = match self.session.stop() {
            Ok(capture) => convert(capture, &recording.join(KERNEL), clock, command),
            Err(error) => {
                let troubles = vec![error.to_string()];
                KernelEnd { written: 0, lost: 0, is_counted: false, bytes: 0, troubles, left: None }
            }
        };
        // The directory is kept if it contains anything.
        let _ = fs::remove_dir(&self.pages);
        end.of(&self.pages)
    }
}

/// Writes the kernel events of a dead recorder to `to`; returns `None` if it left none.
///
/// # Errors
/// The reason; the pages are kept then.
pub(super) fn recover(
    recording: &Path,
    to: &Path,
    clock: &schema::Clock,
    command: &str,
) -> anyhow::Result<Option<KernelEnd>> {
    let pages = recording.join(PAGES);
    let Some(capture) = kernel::recover(&pages)? else {
        // The recorder was killed after everything had been converted.
        let _ = fs::remove_dir_all(&pages);
        return Ok(None);
    };
    let trace = to.join(KERNEL);
    match fs::remove_dir_all(&trace) {
        // A partly converted trace is converted again.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            capture.keep();
            return Err(anyhow::Error::from(error).context(trace.display().to_string()));
        }
        _ => {}
    }
    let end = convert(capture, &trace, clock, command);
    let _ = fs::remove_dir(&pages);
    Ok(Some(end.of(&pages)))
}

/// Writes a trace. If that fails the pages are kept.
pub(super) fn convert(mut capture: Capture, trace: &Path, clock: &schema::Clock, command: &str) -> KernelEnd {
    let happened: u64 = capture.stats().map(|(_, stats)| stats.happened()).sum();
    let troubles = capture.errors().map(ToString::to_string).collect();
    let is_counted = capture.is_counted();
    let mut end = KernelEnd { written: 0, lost: 0, is_counted, bytes: 0, troubles, left: None };
    let schema = Schema { clock: clock.clone(), streams: vec![capture.stream()], environment: environment(command) };
    let written = Writer::create(trace, &schema).map_err(io::Error::other).and_then(|mut writer| {
        let totals = capture.convert(&mut |packet| {
            end.bytes += write(&mut writer, packet).map_err(io::Error::other)?;
            end.written += headwater_trace_tools::record::records(packet.records).count() as u64;
            Ok(())
        });
        writer.close().map_err(io::Error::other)?;
        totals
    });
    match written {
        Ok(totals) => end.lost = totals.iter().map(|totals| totals.lost.all()).sum(),
        Err(error) => {
            end.lost = happened.saturating_sub(end.written);
            end.troubles.push(error.to_string());
            capture.keep();
        }
    }
    end
}

impl KernelEnd {
    /// Describes the events that the trace neither contains nor counts.
    pub fn missing(&self) -> Vec<String> {
        let uncounted = (!self.is_counted).then(|| "of the kernel more was lost, unknown how much".to_owned());
        self.troubles.iter().map(|trouble| format!("kernel: {trouble}")).chain(uncounted).collect()
    }

    /// Describes what is left in a directory of pages.
    fn of(self, pages: &Path) -> KernelEnd {
        KernelEnd { left: pages.exists().then(|| pages.to_owned()), ..self }
    }
}

fn write(writer: &mut Writer, packet: kernel::Packet<'_>) -> Result<u64, ctf::Error> {
    let kernel::Packet { ring, begin, end, discarded, records, kinds } = packet;
    writer.add_events(0, kinds.iter().map(|kind| (*kind).clone()))?;
    // A trace of the kernel is never continued.
    writer.packet(Packet { stream: 0, ring, cpu: ring, begin, end, discarded, position: 0, parts: &[records] })
}
