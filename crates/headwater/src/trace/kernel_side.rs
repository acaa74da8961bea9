//! The kernel half of a recording: a kernel session whose pages are converted to a trace at the end, or after a crash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::files::make_private_directory;
use headwater_trace_tools::consumer::parts::{Removed, Rotation, directory_of};
use headwater_trace_tools::ctf::{self, Packet, Writer};
use headwater_trace_tools::filter::Filter;
use headwater_trace_tools::kernel::{self, Capture, Clock, Mode, PartsFile, Session, Settings, Tracefs};
use headwater_trace_tools::schema::{self, EventKind, Schema};

use super::{KERNEL, PAGES, environment};

/// The ring of the functions' names: no CPU has that number.
const FUNCTIONS_RING: u32 = 1 << 16;

/// The configuration of the kernel half of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelConfig {
    /// Patterns of event names, see [`kernel::events::Selection::choose`].
    pub events: Vec<String>,
    /// Conditions on their values.
    pub filters: Vec<Filter>,
    /// Whether the events have the kernel's stack.
    pub stacks: bool,
    /// Whether events of every process are recorded, instead of those of the recorded process.
    pub system_wide: bool,
    /// Further processes to record.
    pub processes: Vec<u32>,
    /// The size of each CPU's buffer; `None` for the default of a kernel session.
    pub buffer_bytes: Option<usize>,
}

/// How events are recorded: the same for both halves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub flight: bool,
    pub rotation: Option<Rotation>,
    pub clock: Clock,
}

/// A running kernel session.
#[derive(Debug)]
pub(super) struct KernelSide {
    session: Session,
    /// The directory of its pages.
    pages: PathBuf,
    /// The first error of ending a part.
    trouble: Option<kernel::Error>,
}

/// A kernel session that has ended.
#[derive(Debug)]
pub(super) struct KernelStopped {
    capture: Result<Capture, kernel::Error>,
    pages: PathBuf,
    trouble: Option<kernel::Error>,
}

/// The result of the kernel half of a recording.
#[derive(Debug, Default)]
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
    /// What was removed with the oldest parts. The events and losses above contain it.
    pub removed: Removed,
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
        Manner { flight, rotation, clock }: Manner,
    ) -> Result<KernelSide, kernel::Error> {
        let pages = recording.join(PAGES);
        let mode = if flight { Mode::Flight } else { Mode::Drain { directory: pages.clone() } };
        make_private_directory(&pages).map_err(|error| kernel::Error::file("make the directory", &pages, error))?;
        let events: Vec<&str> = config.events.iter().map(String::as_str).collect();
        let mut settings = Settings::new(&events, mode);
        settings.clock = Some(clock);
        settings.filters = config.filters.clone();
        settings.stacks = config.stacks;
        settings.kept = Some(pages.clone());
        settings.rotation = rotation;
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
            Ok(session) => Ok(KernelSide { session, pages, trouble: None }),
            Err(error) => {
                let _ = fs::remove_dir(&pages);
                PartsFile::remove(&pages);
                Err(error)
            }
        }
    }

    /// Ends the current part if it is large enough, and removes the oldest. The first error is reported at the end.
    pub fn rotate(&mut self) {
        if let Err(error) = self.session.rotate() {
            self.trouble.get_or_insert(error);
        }
    }

    /// Ends the session.
    pub fn stop(self) -> KernelStopped {
        KernelStopped { capture: self.session.stop(), pages: self.pages, trouble: self.trouble }
    }
}

impl KernelStopped {
    /// Writes the trace.
    pub fn convert(self, recording: &Path, clock: &schema::Clock, command: &str) -> KernelEnd {
        let mut end = match self.capture {
            Ok(capture) => convert(capture, recording, clock, command),
            Err(error) => KernelEnd { troubles: vec![error.to_string()], ..KernelEnd::default() },
        };
        end.troubles.extend(self.trouble.map(|error| error.to_string()));
        // The directory is kept if it contains anything.
        let _ = fs::remove_dir(&self.pages);
        end.of(&self.pages)
    }
}

/// Returns what was removed with the oldest parts of a recording's events of the kernel; `None` if nothing was.
pub(super) fn removed(recording: &Path) -> Option<Removed> {
    let file = PartsFile::read(&recording.join(PAGES)).ok().flatten()?;
    Some(file.removed).filter(|removed| removed.parts > 0)
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
    if let Err(error) = remove_partly_converted(&to.join(KERNEL)) {
        capture.keep();
        return Err(error.into());
    }
    let end = convert(capture, to, clock, command);
    let _ = fs::remove_dir(&pages);
    Ok(Some(end.of(&pages)))
}

/// Removes a trace whose writer was killed: its pages are converted again.
fn remove_partly_converted(trace: &Path) -> io::Result<()> {
    match fs::remove_dir_all(trace) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(error.kind(), format!("{}: {error}", trace.display())))
        }
        _ => Ok(()),
    }
}

/// Writes the trace of a capture into a recording, or one for each of its parts. If that fails the pages are kept.
pub(super) fn convert(mut capture: Capture, recording: &Path, clock: &schema::Clock, command: &str) -> KernelEnd {
    let (removed, converted) = capture.gone();
    let mut end = KernelEnd {
        written: removed.events + converted.events,
        lost: removed.lost + converted.lost,
        is_counted: capture.is_counted(),
        bytes: 0,
        removed,
        troubles: capture.errors().map(ToString::to_string).collect(),
        left: None,
    };
    let schema = Schema { clock: clock.clone(), streams: vec![capture.stream()], environment: environment(command) };
    let done = match capture.parts() {
        None => end.write(&mut capture, &recording.join(KERNEL), &schema),
        Some(mut parts) => parts.try_for_each(|part| {
            capture.choose(part);
            let (written, lost) = (end.written, end.lost);
            let trace = directory_of(recording, KERNEL, part);
            remove_partly_converted(&trace)?;
            end.write(&mut capture, &trace, &schema)?;
            capture.remove_converted(end.written - written, end.lost - lost).map_err(io::Error::other)
        }),
    };
    if let Err(error) = done {
        end.troubles.push(error.to_string());
        capture.keep();
    }
    end
}

impl KernelEnd {
    /// Writes what is to be converted to a trace.
    fn write(&mut self, capture: &mut Capture, trace: &Path, schema: &Schema) -> io::Result<()> {
        let mut writer = Writer::create(trace, schema).map_err(io::Error::other)?;
        let mut begin = u64::MAX;
        let totals = capture.convert(&mut |packet| {
            if !packet.records.is_empty() {
                begin = begin.min(packet.begin);
            }
            self.bytes += write(&mut writer, packet).map_err(io::Error::other)?;
            self.written += headwater_trace_tools::record::records(packet.records).count() as u64;
            Ok(())
        });
        if let Some((kind, records, count)) = capture.functions(begin).filter(|_| totals.is_ok()) {
            self.bytes += write_functions(&mut writer, kind, &records, begin).map_err(io::Error::other)?;
            self.written += count;
        }
        writer.close().map_err(io::Error::other)?;
        self.lost += totals?.iter().map(|totals| totals.lost.all()).sum::<u64>();
        Ok(())
    }

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

/// Writes the names of the functions in stacks into a ring of their own, behind those of CPUs.
fn write_functions(writer: &mut Writer, kind: EventKind, records: &[u8], time: u64) -> Result<u64, ctf::Error> {
    writer.add_events(0, [kind])?;
    let parts = &[records][..];
    let (ring, begin, end) = (FUNCTIONS_RING, time, time);
    writer.packet(Packet { stream: 0, ring, cpu: u32::MAX, begin, end, discarded: 0, position: 0, parts })
}

fn write(writer: &mut Writer, packet: kernel::Packet<'_>) -> Result<u64, ctf::Error> {
    let kernel::Packet { ring, begin, end, discarded, records, kinds } = packet;
    writer.add_events(0, kinds.iter().map(|kind| (*kind).clone()))?;
    // A trace of the kernel is never continued.
    writer.packet(Packet { stream: 0, ring, cpu: ring, begin, end, discarded, position: 0, parts: &[records] })
}
