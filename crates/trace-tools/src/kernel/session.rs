//! A session from its start to its end.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use super::calls::{self, Signature};
use super::capture::{Capture, Pages};
use super::drain::{Drain, LossMark, Pipe};
use super::events::Selection;
use super::format::Format;
use super::instance::{self, Instance};
use super::page::Layout;
use super::pages::{self, Description, Store};
use super::parts::{CutLine, PartCpu, Parts};
use super::plan::{Plan, RAW_ENTER};
use super::stacks::{self, Stacks};
use super::{Error, Tracefs, support, tracefs};
use crate::consumer::parts::Rotation;
use crate::filter::Filter;
use crate::schema::EventKind;

/// The settings of a session.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Patterns of events for [`Selection::choose`].
    pub events: Vec<String>,
    /// Conditions on the values of events; the kernel evaluates them.
    pub filters: Vec<Filter>,
    /// Whether the events have the kernel's stack.
    pub stacks: bool,
    /// Where the events go.
    pub mode: Mode,
    /// Size of each CPU's buffer in KiB. The kernel rounds it up to pages, and to at least two.
    pub buffer_kb_per_cpu: u32,
    /// Whether new events overwrite old ones in a full buffer. Otherwise new events are discarded.
    pub overwrite: bool,
    /// The processes to trace, with all that they start from now on; `None` for all processes.
    pub processes: Option<Vec<u32>>,
    /// The clock of the time stamps; `None` for the processor's counter if it is reliable.
    pub clock: Option<Clock>,
    /// An existing directory for the pages of a flight recorder, for [`super::snapshot`], and for [`super::recover`] if
    /// the process is killed. With `None` the pages are in memory, and are lost with the process.
    pub kept: Option<PathBuf>,
    /// Whether the pages of a [`Mode::Drain`] have parts, of which the oldest are removed: [`Session::rotate`].
    pub rotation: Option<Rotation>,
    /// Whether the events are enabled, but nothing is recorded until [`Session::record`].
    pub paused: bool,
}

impl Settings {
    /// Settings for these events on the whole machine, with buffers of 8 MiB per CPU that overwrite old events.
    pub fn new(events: &[&str], mode: Mode) -> Settings {
        Settings {
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            filters: Vec::new(),
            stacks: false,
            mode,
            buffer_kb_per_cpu: 8 << 10,
            overwrite: true,
            processes: None,
            clock: None,
            kept: None,
            rotation: None,
            paused: false,
        }
    }
}

/// Where events go during a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// They stay in the buffers until the end.
    Flight,
    /// Into a file for each CPU, copied by a thread for each CPU.
    Drain {
        /// An existing directory for the files `kernel-cpuN.pages` and their description.
        directory: PathBuf,
    },
}

/// The clock of time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The processor's counter.
    Tsc,
    /// Nanoseconds of CLOCK_MONOTONIC.
    Monotonic,
}

impl Clock {
    /// Returns its name in a [`crate::schema::Clock`].
    pub fn name(self) -> &'static str {
        match self {
            Clock::Tsc => "tsc",
            Clock::Monotonic => "monotonic",
        }
    }

    fn in_tracefs(self) -> &'static str {
        match self {
            Clock::Tsc => "x86-tsc",
            Clock::Monotonic => "mono",
        }
    }
}

/// A running session. Dropping it without [`Session::stop`] removes everything.
#[derive(Debug)]
pub struct Session {
    // Dropped in this order: an instance whose buffers are open cannot be removed.
    readers: Readers,
    instance: Instance,
    description: Option<Store>,
    sinks: Vec<(u32, Store)>,
    /// The pipes of a flight recorder; in a drain the readers have them.
    pipes: Vec<Pipe>,
    layout: Layout,
    kinds: Vec<(EventKind, Plan)>,
    clock: Clock,
    parts: Option<Parts>,
    stacks: Stacks,
}

impl Session {
    /// Creates an instance and starts recording, unless the settings say `paused`.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn start(settings: &Settings) -> Result<Session, Error> {
        support::own_pids()?;
        let found = Tracefs::find()?;
        let available = tracefs::read(&found.path("available_events"))?;
        let events = Selection::choose(&available, &settings.events)?;
        let clock = clock(&found, settings.clock)?;
        let directory = match &settings.mode {
            Mode::Drain { directory } => Some(directory),
            Mode::Flight => settings.kept.as_ref(),
        };
        // Other readers of the files, such as the guard, may have another working directory.
        let absolute = |path| std::path::absolute(path).map_err(|source| Error::file("find", path, source));
        let directory = directory.map(|path| absolute(path)).transpose()?;
        let sinks = sinks(&found, directory.as_deref())?;
        if let (Some(_), Some((_, first, _))) = (&directory, sinks.first()) {
            pages::lock(first)?;
        }
        let instance = Instance::create(&found, &sinks)?;
        instance.set("trace_clock", clock.in_tracefs())?;
        instance.set("buffer_size_kb", &settings.buffer_kb_per_cpu.to_string())?;
        instance.option("overwrite", settings.overwrite)?;
        if settings.stacks {
            instance.option("stacktrace", true)?;
        }
        let description = Description {
            instance: instance.name(),
            clock,
            buffer_bytes: u64::from(settings.buffer_kb_per_cpu) << 10,
            header_page: header_page(&found, &instance)?,
            formats: formats(&found, &events, settings.stacks)?,
            filters: settings.filters.clone(),
            calls: calls(&found, &events)?,
            boot: stacks::boot(),
        };
        let (layout, kinds, stacks) = (description.layout()?, description.kinds()?, description.stacks());
        let parts = match (settings.rotation, &directory, &settings.mode, sinks.first()) {
            (Some(rotation), Some(directory), Mode::Drain { .. }, Some((_, first, _))) => {
                Some(Parts::begin(rotation, directory, &first.file, layout.page_bytes() as u64)?)
            }
            _ => None,
        };
        let description = directory.map(|directory| description.write(&directory)).transpose()?;
        if let Some(processes) = &settings.processes {
            instance.only(processes)?;
        }
        let (sinks, pipes): (Vec<_>, Vec<_>) = sinks.into_iter().map(|(cpu, store, pipe)| ((cpu, store), pipe)).unzip();
        let (readers, pipes) = match settings.mode {
            Mode::Flight => (Readers::default(), pipes),
            Mode::Drain { .. } => (Readers::start(&instance, &sinks, pipes, &layout)?, Vec::new()),
        };
        instance.never(&readers.threads)?;
        instance.filter(&events, &settings.filters)?;
        instance.enable(&events)?;
        instance.record(!settings.paused)?;
        Ok(Session { readers, instance, description, sinks, pipes, layout, kinds, clock, parts, stacks })
    }

    /// Returns the instance's directory.
    pub fn path(&self) -> &Path {
        self.instance.path()
    }

    /// Returns the clock of the time stamps.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Traces another process too, with its threads and all that it starts.
    ///
    /// # Errors
    /// [`Error::NoProcess`], [`Error::File`].
    pub fn add(&self, process: u32) -> Result<(), Error> {
        self.instance.only(&[process])
    }

    /// Excludes a thread from now on, for example one that displays the progress of this session.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn exclude(&self, thread: u32) -> Result<(), Error> {
        self.instance.never(&[thread])
    }

    /// Pauses or continues. Events during a pause are neither recorded nor counted.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn record(&self, on: bool) -> Result<(), Error> {
        self.instance.record(on)
    }

    /// Returns the ids of the threads that copy pages; none for a flight recorder.
    pub fn threads(&self) -> &[u32] {
        &self.readers.threads
    }

    /// Returns the bytes in the file of each CPU, ascending; none for a flight recorder.
    pub fn progress(&self) -> Vec<u64> {
        self.readers.carried.iter().map(|carried| carried.load(Ordering::Relaxed)).collect()
    }

    /// Ends the current part if it is large enough, and removes the oldest ([`Settings::rotation`]). To be called again and
    /// again: the readers are woken to say where the part ends.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unreadable`]; then the current part is continued, and the next call may succeed.
    pub fn rotate(&mut self) -> Result<(), Error> {
        let Session { readers, instance, sinks, parts: Some(parts), .. } = self else { return Ok(()) };
        let mut cpus = Vec::with_capacity(sinks.len());
        for (at, (cpu, store)) in sinks.iter().enumerate() {
            // Asked first: then the bytes of a reader that has ended are all.
            let has_ended = readers.handles[at].is_finished();
            let carried_bytes = readers.carried[at].load(Ordering::Relaxed);
            cpus.push(PartCpu { cpu: *cpu, line: &readers.lines[at], file: &store.file, carried_bytes, has_ended });
        }
        parts.rotate(&cpus, |cpu| instance.stats(cpu))
    }

    /// Stops recording, reads the buffers, and removes the instance.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unreadable`]. Errors with the file of one CPU are in the capture instead. If another
    /// process keeps reading the buffers, their contents remain for [`super::recover`] until this process has ended.
    pub fn stop(self) -> Result<Capture, Error> {
        let Session { readers, instance, mut description, mut sinks, pipes, layout, mut kinds, clock, parts, stacks } =
            self;
        instance.record(false)?;
        // Another process may have switched on more events.
        let directory = description.as_ref().and_then(|store| store.path.as_deref()?.parent());
        if let Some(now) = directory.map(Description::read).transpose()?.flatten() {
            kinds = now.kinds()?;
        }
        let drained = match readers.handles.is_empty() {
            true => {
                let directory = description.as_ref().and_then(|store| store.path.as_deref()?.parent());
                // A snapshot may be in progress.
                let _sole = match directory.map(pages::sole_reader).transpose() {
                    Ok(sole) => sole,
                    Err(error) => {
                        // When this process ends, the guard saves the buffers, and `recover` finds them.
                        instance.leave();
                        let stores = sinks.iter_mut().map(|(_, store)| store).chain(&mut description);
                        stores.for_each(|store| store.path = None);
                        return Err(error);
                    }
                };
                flight(&instance, &sinks, pipes, &layout)?
            }
            false => readers.stop(),
        };
        let cpus = sinks.into_iter().zip(drained).map(|((cpu, store), (marks, error))| {
            let (stats, unwritten) = pages::note_stats(instance.path(), cpu, store.path.as_deref())?;
            Ok(Pages::new(cpu, store, marks, Some(stats), error.or(unwritten)))
        });
        let cpus = cpus.collect::<Result<Vec<_>, Error>>()?;
        let parts = parts.map(Parts::end);
        Ok(Capture { description, cpus, layout, kinds, clock, parts, stacks })
    }
}

/// The result of copying the pages of one CPU.
type Drained = (Vec<LossMark>, Option<Error>);

/// The threads that copy pages, in the order of their CPUs.
#[derive(Debug, Default)]
struct Readers {
    handles: Vec<JoinHandle<Drained>>,
    /// Their thread ids.
    threads: Vec<u32>,
    carried: Vec<Arc<AtomicU64>>,
    lines: Vec<Arc<CutLine>>,
    /// Readable when they are to end. `None` without readers.
    stop: Option<Arc<OwnedFd>>,
}

impl Readers {
    fn start(instance: &Instance, sinks: &[(u32, Store)], pipes: Vec<Pipe>, layout: &Layout) -> Result<Readers, Error> {
        let failed = |what| move |source: std::io::Error| Error::Start { what, source };
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| failed("a stop signal")(error.into()))?);
        let mut readers = Readers::default();
        readers.stop = Some(stop.clone());
        for ((cpu, store), pipe) in sinks.iter().zip(pipes) {
            let mut drain = Drain::open(instance.path(), *cpu, store, pipe, layout.page_bytes())?;
            let line = Arc::new(CutLine::new().map_err(failed("a reader's line"))?);
            let carried = drain.carried();
            drain.answer_on(line.clone());
            let (tell, told) = mpsc::channel();
            let stop = stop.clone();
            let body = move || {
                let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
                let error = drain.run(&*stop).err();
                (drain.into_marks(), error)
            };
            let name = format!("headwater-cpu{cpu}");
            let handle = std::thread::Builder::new().name(name).spawn(body).map_err(failed("a reader"))?;
            readers.handles.push(handle);
            readers.threads.push(told.recv().expect("it sends before anything can go wrong"));
            readers.carried.push(carried);
            readers.lines.push(line);
        }
        Ok(readers)
    }

    /// Lets the threads copy the rest, and waits for them.
    fn stop(mut self) -> Vec<Drained> {
        self.end();
        let handles = std::mem::take(&mut self.handles);
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    }

    fn end(&self) {
        if let Some(stop) = &self.stop {
            // The counter cannot overflow: it is written at most twice.
            let _ = rustix::io::write(&**stop, &1u64.to_ne_bytes());
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.end();
        self.handles.drain(..).for_each(|handle| drop(handle.join()));
    }
}

/// Reads the buffers of a flight recorder.
fn flight(
    instance: &Instance,
    sinks: &[(u32, Store)],
    pipes: Vec<Pipe>,
    layout: &Layout,
) -> Result<Vec<Drained>, Error> {
    let one = |((cpu, store), pipe): (&(u32, Store), Pipe)| {
        let mut drain = Drain::open(instance.path(), *cpu, store, pipe, layout.page_bytes())?;
        let error = drain.copy_rest().err();
        // The times of losses are unknown: the counts were not read during the session.
        Ok((Vec::new(), error))
    };
    sinks.iter().zip(pipes).map(one).collect()
}

/// Returns, for each CPU, the file of its pages and a pipe.
fn sinks(found: &Tracefs, directory: Option<&Path>) -> Result<Vec<(u32, Store, Pipe)>, Error> {
    let one = |cpu: u32| {
        let store = directory.map_or_else(|| Store::in_memory(cpu), |directory| Store::create(directory, cpu));
        Ok((cpu, store?, Pipe::new()?))
    };
    instance::cpus(found)?.into_iter().map(one).collect()
}

fn clock(found: &Tracefs, asked: Option<Clock>) -> Result<Clock, Error> {
    match (asked, support::tsc(found)) {
        (Some(Clock::Tsc), Err(why)) => Err(Error::Clock { clock: "x86-tsc", why }),
        (Some(clock), _) => Ok(clock),
        (None, sound) => Ok(if sound.is_ok() { Clock::Tsc } else { Clock::Monotonic }),
    }
}

fn header_page(found: &Tracefs, instance: &Instance) -> Result<String, Error> {
    // Kernels with a variable page size have one per instance.
    let own = instance.path().join("events/header_page");
    tracefs::read(&if own.exists() { own } else { found.path("events/header_page") })
}

/// Returns system and description of each event, and of the kernel's stacks.
pub(super) fn formats(found: &Tracefs, events: &Selection, stacks: bool) -> Result<Vec<(String, String)>, Error> {
    // Writes to the instance's trace_marker make events that no setting selects.
    let marker = found.path("events/ftrace/print/format").exists().then_some(("ftrace", "print"));
    let one = |(system, event): (&str, &str)| {
        let text = tracefs::read(&found.path(&format!("events/{system}/{event}/format")))?;
        Ok((system.to_owned(), text))
    };
    let stacks = stacks.then_some(("ftrace", "kernel_stack"));
    events.iter().chain(marker).chain(stacks).map(one).collect()
}

/// Returns the calls that the kernel describes, if entries to any call are recorded; none if it describes no calls.
pub(super) fn calls(found: &Tracefs, events: &Selection) -> Result<Vec<Signature>, Error> {
    let home = found.path("events").join(calls::SYSTEM);
    if !events.iter().any(|(system, event)| format!("{system}:{event}") == RAW_ENTER) || !home.exists() {
        return Ok(Vec::new());
    }
    let names = tracefs::directories(&home)?;
    let entries = names.iter().filter(|name| name.starts_with(calls::ENTER));
    let texts = entries.map(|name| tracefs::read(&home.join(name).join("format")));
    let signature = |text: Result<String, Error>| text.map(|text| Signature::of(&Format::parse(&text)?));
    texts.map(signature).filter_map(Result::transpose).collect()
}
