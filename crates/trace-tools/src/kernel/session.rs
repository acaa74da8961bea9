//! A session from its start to its end.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use super::capture::{Capture, Pages};
use super::drain::{Drain, Mark, Pipe};
use super::events::Selection;
use super::instance::{self, Instance};
use super::page::Layout;
use super::pages::{self, Description, Store};
use super::plan::Plan;
use super::{Error, Tracefs, support, tracefs};
use crate::schema::EventKind;

/// What a session is to be.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Patterns as [`Selection::choose`] takes them.
    pub events: Vec<String>,
    /// Where the events go.
    pub mode: Mode,
    /// Of each CPU's buffer, KiB; the kernel rounds it up to pages, and has two at least.
    pub buffer_kb_per_cpu: u32,
    /// Whether new events overwrite old ones in a full buffer; otherwise new ones are discarded.
    pub overwrite: bool,
    /// Trace these processes with all that they start from now on; None traces everything on the machine.
    pub processes: Option<Vec<u32>>,
    /// What the time stamps are; None takes the processor's counter where it is sound.
    pub clock: Option<Clock>,
    /// Mount tracefs where it is nowhere.
    pub may_mount: bool,
    /// Of a flight recorder, a directory for its pages, which must exist: with one [`super::snapshot`] finds them, and
    /// [`super::recover`] if the process is killed. None: they are in memory, and go with the process.
    pub kept: Option<PathBuf>,
}

impl Settings {
    /// These events, of the whole machine, in buffers of 8 MiB for each CPU that overwrite old events.
    pub fn new(events: &[&str], mode: Mode) -> Settings {
        Settings {
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            mode,
            buffer_kb_per_cpu: 8 << 10,
            overwrite: true,
            processes: None,
            clock: None,
            may_mount: false,
            kept: None,
        }
    }
}

/// Where events go while a session runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Nowhere: what is in the buffers at the end is taken then.
    Flight,
    /// Into a file for each CPU, by a thread for each CPU.
    Drain {
        /// Where the files are, which are called `kernel-cpuN.pages`, with what else is to be known of them. Must exist.
        directory: PathBuf,
    },
}

/// What time stamps count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The processor's counter.
    Tsc,
    /// Nanoseconds of CLOCK_MONOTONIC.
    Monotonic,
}

impl Clock {
    /// Its name in a [`crate::schema::Clock`].
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

/// A session that runs. Dropped without [`Session::stop`], it leaves nothing.
#[derive(Debug)]
pub struct Session {
    // The order matters when it is dropped: an instance whose buffers are open cannot be removed.
    readers: Readers,
    instance: Instance,
    description: Option<Store>,
    sinks: Vec<(u32, Store)>,
    /// Of a flight recorder; a drain's are its readers'.
    pipes: Vec<Pipe>,
    layout: Layout,
    kinds: Vec<(EventKind, Plan)>,
    clock: Clock,
}

impl Session {
    /// Makes an instance and switches it on as the last thing.
    ///
    /// # Errors
    /// Whatever [`Error`] says.
    pub fn start(settings: &Settings) -> Result<Session, Error> {
        support::own_pids()?;
        let found = Tracefs::find(settings.may_mount)?;
        let available = tracefs::read(&found.path("available_events"))?;
        let events = Selection::choose(&available, &settings.events)?;
        let clock = clock(&found, settings.clock)?;
        let directory = match &settings.mode {
            Mode::Drain { directory } => Some(directory),
            Mode::Flight => settings.kept.as_ref(),
        };
        // Whoever else reads the files may be elsewhere, such as the guard.
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
        let description = Description {
            instance: instance.path().to_owned(),
            clock,
            buffer_bytes: u64::from(settings.buffer_kb_per_cpu) << 10,
            header_page: header_page(&found, &instance)?,
            formats: formats(&found, &events)?,
        };
        let (layout, kinds) = (description.layout()?, description.kinds()?);
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
        instance.enable(&events)?;
        instance.record(true)?;
        Ok(Session { readers, instance, description, sinks, pipes, layout, kinds, clock })
    }

    /// The instance's directory.
    pub fn path(&self) -> &Path {
        self.instance.path()
    }

    /// The clock of its time stamps.
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

    /// Records nothing of a thread from now on, such as one that shows the progress of this session.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn exclude(&self, thread: u32) -> Result<(), Error> {
        self.instance.never(&[thread])
    }

    /// Stops for a while, or goes on. What happens meanwhile is neither recorded nor counted.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn record(&self, on: bool) -> Result<(), Error> {
        self.instance.record(on)
    }

    /// The threads that carry pages, by the kernel's ids; none for a flight recorder.
    pub fn threads(&self) -> &[u32] {
        &self.readers.threads
    }

    /// Bytes in the file of each CPU, ascending; none for a flight recorder.
    pub fn progress(&self) -> Vec<u64> {
        self.readers.carried.iter().map(|carried| carried.load(Ordering::Relaxed)).collect()
    }

    /// Stops, takes what is in the buffers, and removes the instance.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unreadable`]. What went wrong with the file of one CPU is in the capture instead. If somebody
    /// else reads the buffers and does not end, what they hold is there for [`super::recover`] when this process has ended.
    pub fn stop(self) -> Result<Capture, Error> {
        let Session { readers, instance, mut description, mut sinks, pipes, layout, kinds, clock } = self;
        instance.record(false)?;
        let drained = match readers.handles.is_empty() {
            true => {
                let directory = description.as_ref().and_then(|store| store.path.as_deref()?.parent());
                // A snapshot may be under way.
                let _sole = match directory.map(pages::sole_reader).transpose() {
                    Ok(sole) => sole,
                    Err(error) => {
                        // The guard takes what is in the buffers when this process ends, and somebody recovers it.
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
        Ok(Capture { description, cpus, layout, kinds, clock })
    }
}

/// What came of carrying the pages of one CPU.
type Drained = (Vec<Mark>, Option<Error>);

/// The threads that carry pages, in the order of their CPUs.
#[derive(Debug, Default)]
struct Readers {
    handles: Vec<JoinHandle<Drained>>,
    /// Their ids in the kernel.
    threads: Vec<u32>,
    carried: Vec<Arc<AtomicU64>>,
    /// Readable when they are to end. None without readers.
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
            let carried = drain.carried();
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
        }
        Ok(readers)
    }

    /// Lets them carry what is left and waits for them.
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
            // The count cannot be full: one is written at most twice.
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

/// Takes what a flight recorder holds.
fn flight(
    instance: &Instance,
    sinks: &[(u32, Store)],
    pipes: Vec<Pipe>,
    layout: &Layout,
) -> Result<Vec<Drained>, Error> {
    let one = |((cpu, store), pipe): (&(u32, Store), Pipe)| {
        let mut drain = Drain::open(instance.path(), *cpu, store, pipe, layout.page_bytes())?;
        let error = drain.rest().err();
        // When the losses were is not known: nobody looked.
        Ok((Vec::new(), error))
    };
    sinks.iter().zip(pipes).map(one).collect()
}

/// For each CPU the file of its pages, and the way there.
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
    // An instance has one of its own where the size of its pages can be changed.
    let own = instance.path().join("events/header_page");
    tracefs::read(&if own.exists() { own } else { found.path("events/header_page") })
}

/// System and description of each event.
fn formats(found: &Tracefs, events: &Selection) -> Result<Vec<(String, String)>, Error> {
    // Whoever writes to trace_marker of the instance makes these without asking.
    let marker = found.path("events/ftrace/print/format").exists().then_some(("ftrace", "print"));
    let one = |(system, event): (&str, &str)| {
        let text = tracefs::read(&found.path(&format!("events/{system}/{event}/format")))?;
        Ok((system.to_owned(), text))
    };
    events.iter().chain(marker).map(one).collect()
}
