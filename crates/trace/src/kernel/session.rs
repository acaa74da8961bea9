//! A session from its start to its end.

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, memfd_create};

use super::capture::{Capture, Pages, Store};
use super::drain::{Drain, Mark};
use super::events::Selection;
use super::format::Format;
use super::instance::Instance;
use super::page::Layout;
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
        /// Where the files are, which are called `kernel-cpuN.pages`. Must exist.
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
    sinks: Vec<(u32, Store)>,
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
        let instance = Instance::create(&found)?;
        instance.set("trace_clock", clock.in_tracefs())?;
        instance.set("buffer_size_kb", &settings.buffer_kb_per_cpu.to_string())?;
        instance.option("overwrite", settings.overwrite)?;
        let layout = layout(&found, &instance)?;
        let kinds = kinds(&found, &events)?;
        let sinks = sinks(&instance, &settings.mode)?;
        if let Some(processes) = &settings.processes {
            instance.only(processes)?;
        }
        let readers = match settings.mode {
            Mode::Flight => Readers::default(),
            Mode::Drain { .. } => Readers::start(&instance, &sinks, &layout)?,
        };
        instance.never(&readers.threads)?;
        instance.enable(&events)?;
        instance.record(true)?;
        Ok(Session { readers, instance, sinks, layout, kinds, clock })
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
    /// [`Error::File`], [`Error::Unreadable`]. What went wrong with the file of one CPU is in the capture instead.
    pub fn stop(self) -> Result<Capture, Error> {
        let Session { readers, instance, sinks, layout, kinds, clock } = self;
        instance.record(false)?;
        let drained = match readers.handles.is_empty() {
            true => flight(&instance, &sinks, &layout)?,
            false => readers.stop(),
        };
        let cpus = sinks.into_iter().zip(drained).map(|((cpu, store), (marks, error))| {
            let stats = instance.stats(cpu)?;
            Ok(Pages { cpu, store, marks, stats, error })
        });
        let cpus = cpus.collect::<Result<Vec<_>, Error>>()?;
        Ok(Capture { cpus, layout, kinds, clock })
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
    fn start(instance: &Instance, sinks: &[(u32, Store)], layout: &Layout) -> Result<Readers, Error> {
        let failed = |what| move |source: std::io::Error| Error::Start { what, source };
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| failed("a stop signal")(error.into()))?);
        let mut readers = Readers::default();
        readers.stop = Some(stop.clone());
        for (cpu, store) in sinks {
            let file = store.file.try_clone().map_err(failed("a reader"))?;
            let mut drain = Drain::open(instance.path(), *cpu, file, layout.page_bytes())?;
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
fn flight(instance: &Instance, sinks: &[(u32, Store)], layout: &Layout) -> Result<Vec<Drained>, Error> {
    let one = |(cpu, store): &(u32, Store)| {
        let file = store.file.try_clone().map_err(|source| Error::Start { what: "a reader", source })?;
        let mut drain = Drain::open(instance.path(), *cpu, file, layout.page_bytes())?;
        let error = drain.rest().err();
        // When the losses were is not known: nobody looked.
        Ok((Vec::new(), error))
    };
    sinks.iter().map(one).collect()
}

fn sinks(instance: &Instance, mode: &Mode) -> Result<Vec<(u32, Store)>, Error> {
    let one = |cpu: u32| match mode {
        Mode::Flight => {
            let file = memfd_create(format!("headwater-cpu{cpu}"), MemfdFlags::CLOEXEC);
            let file = file.map_err(|error| Error::Start { what: "a file in memory", source: error.into() })?;
            Ok((cpu, Store { file: file.into(), path: None }))
        }
        Mode::Drain { directory } => {
            let path = directory.join(format!("kernel-cpu{cpu}.pages"));
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
            let file = file.map_err(|source| Error::file("make", &path, source))?;
            Ok((cpu, Store { file, path: Some(path) }))
        }
    };
    instance.cpus()?.into_iter().map(one).collect()
}

fn clock(found: &Tracefs, asked: Option<Clock>) -> Result<Clock, Error> {
    match (asked, support::tsc(found)) {
        (Some(Clock::Tsc), Err(why)) => Err(Error::Clock { clock: "x86-tsc", why }),
        (Some(clock), _) => Ok(clock),
        (None, sound) => Ok(if sound.is_ok() { Clock::Tsc } else { Clock::Monotonic }),
    }
}

fn layout(found: &Tracefs, instance: &Instance) -> Result<Layout, Error> {
    // An instance has one of its own where the size of its pages can be changed.
    let own = instance.path().join("events/header_page");
    let path = if own.exists() { own } else { found.path("events/header_page") };
    let text = tracefs::read(&path)?;
    Layout::parse(&text).ok_or(Error::Unreadable { path, what: text })
}

fn kinds(found: &Tracefs, events: &Selection) -> Result<Vec<(EventKind, Plan)>, Error> {
    // Whoever writes to trace_marker of the instance makes these without asking.
    let marker = found.path("events/ftrace/print/format").exists().then_some(("ftrace", "print"));
    let one = |(system, event): (&str, &str)| {
        let path = found.path(&format!("events/{system}/{event}/format"));
        let text = tracefs::read(&path)?;
        let format = Format::parse(&text).ok_or(Error::Unreadable { path, what: text })?;
        Ok(Plan::new(system, &format))
    };
    events.iter().chain(marker).map(one).collect()
}
