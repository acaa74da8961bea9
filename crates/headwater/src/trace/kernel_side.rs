//! The kernel's half of a recording: a session of its own beside, whose pages become a trace at the end, or after a crash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::files::make_private_directory;
use headwater_trace_tools::ctf::{self, Packet, Writer};
use headwater_trace_tools::kernel::{self, Capture, Clock, Mode, Session, Settings, Tracefs};
use headwater_trace_tools::schema::{self, Schema};

use super::{KERNEL, PAGES, environment};

/// What is recorded of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    /// Patterns, see [`kernel::events::Selection::choose`].
    pub events: Vec<String>,
    /// Of every process instead of those that are recorded.
    pub system_wide: bool,
    /// Of these processes too.
    pub processes: Vec<u32>,
    /// Of each CPU's buffer; None for what a kernel session has by itself.
    pub buffer_bytes: Option<usize>,
}

/// A kernel session that runs.
#[derive(Debug)]
pub(super) struct KernelSide {
    session: Session,
    /// Where its pages are.
    pages: PathBuf,
}

/// What became of the kernel's events.
#[derive(Debug)]
pub struct KernelEnd {
    /// In the trace.
    pub written: u64,
    /// Not there.
    pub lost: u64,
    /// Whether that is all: otherwise nobody could ask the kernel any more, and more may be lost.
    pub is_counted: bool,
    /// Of the trace.
    pub bytes: u64,
    /// What went wrong, in words.
    pub troubles: Vec<String>,
    /// Pages that are still to be converted, since the trace found no room.
    pub left: Option<PathBuf>,
}

impl KernelSide {
    /// Begins to record.
    ///
    /// # Errors
    /// Those of a session; what the file system reports of the recording.
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
        settings.kept = Some(pages.clone());
        if let Some(bytes) = config.buffer_bytes {
            settings.buffer_kb_per_cpu = (bytes >> 10) as u32;
        }
        if !config.system_wide {
            settings.processes = Some(command.into_iter().chain(config.processes.iter().copied()).collect());
        }
        // What a killed recorder left, whose guard was killed too, would go on recording.
        let _ = kernel::sweep(&Tracefs::find(false)?);
        let started = Session::start(&settings).and_then(|session| {
            // Each of our calls would be an event that makes another call necessary.
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
        // Not, if something is in it.
        let _ = fs::remove_dir(&self.pages);
        end.of(&self.pages)
    }
}

/// Writes the trace of what a recorder that has died left of the kernel's events into `to`; None if it left nothing.
///
/// # Errors
/// In words; then the pages are there still.
pub(super) fn recover(
    recording: &Path,
    to: &Path,
    clock: &schema::Clock,
    command: &str,
) -> anyhow::Result<Option<KernelEnd>> {
    let pages = recording.join(PAGES);
    let Some(capture) = kernel::recover(&pages)? else {
        // A recorder that was killed when everything was converted.
        let _ = fs::remove_dir_all(&pages);
        return Ok(None);
    };
    let trace = to.join(KERNEL);
    match fs::remove_dir_all(&trace) {
        // What was half converted is converted again.
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

/// Writes a trace. If that fails the pages stay.
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
    /// What the trace neither holds nor counts, in words.
    pub fn missing(&self) -> Vec<String> {
        let uncounted = (!self.is_counted).then(|| "of the kernel more was lost, unknown how much".to_owned());
        self.troubles.iter().map(|trouble| format!("kernel: {trouble}")).chain(uncounted).collect()
    }

    /// With what is left in a directory of pages.
    fn of(self, pages: &Path) -> KernelEnd {
        KernelEnd { left: pages.exists().then(|| pages.to_owned()), ..self }
    }
}

fn write(writer: &mut Writer, packet: kernel::Packet<'_>) -> Result<u64, ctf::Error> {
    let kernel::Packet { ring, begin, end, discarded, records } = packet;
    // Nobody goes on with a trace of the kernel.
    writer.packet(Packet { stream: 0, ring, cpu: ring, begin, end, discarded, position: 0, parts: &[records] })
}
