//! `getppid`, `getppid-filtered`, `getppid-armed`, `getppid-flight`, `getppid-drain`: a system call without a kernel
//! session, beside one that records another process, beside one that is off, and recorded by one as two events. The
//! session has only one process and does not slow down others.

use std::fs;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;

use headwater_trace_tools::kernel::stats::Stats;
use headwater_trace_tools::kernel::{Mode, Session, Settings, Support};
use rustix::process::getppid;

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// A process that calls `getppid(2)`, recorded or not.
#[derive(Debug)]
pub struct Getppid {
    session: Option<Session>,
    /// Directory for the pages of a drain.
    directory: Option<PathBuf>,
    /// Whether the calls become events.
    is_recorded: bool,
}

impl Operation for Getppid {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("getppid", "getppid() without a session"),
        ("getppid-filtered", "getppid() beside a kernel session that records another process only"),
        ("getppid-armed", "getppid() with a kernel session whose events are enabled and recording is off"),
        ("getppid-flight", "getppid() recorded by a kernel session without a reader: two events"),
        ("getppid-drain", "getppid() recorded by a kernel session into files"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.18);

    fn prepare(job: &Job) -> Result<Getppid, Unavailable> {
        let mut this = Getppid { session: None, directory: None, is_recorded: false };
        let mode = match job.row.subject.as_str() {
            "getppid" => return Ok(this),
            "getppid-filtered" | "getppid-armed" | "getppid-flight" => Mode::Flight,
            _ => {
                let directory = job.directory.join(format!("{}-pages", job.token));
                fs::create_dir(&directory).map_err(|error| Unavailable::call("mkdir", error))?;
                this.directory = Some(directory.clone());
                Mode::Drain { directory }
            }
        };
        if let Some(why) = Support::look().obstacle() {
            return Err(Unavailable(why.to_owned()));
        }
        this.is_recorded = !["getppid-filtered", "getppid-armed"].contains(&job.row.subject.as_str());
        let own = std::process::id();
        let process = match job.row.subject.as_str() {
            // The harness, which sleeps meanwhile.
            "getppid-filtered" => getppid().map_or(1, |parent| parent.as_raw_nonzero().get().unsigned_abs()),
            _ => own,
        };
        let settings = Settings {
            processes: Some(vec![process]),
            paused: job.row.subject == "getppid-armed",
            ..Settings::new(&["raw_syscalls:*"], mode)
        };
        this.session = Some(Session::start(&settings).map_err(|error| Unavailable(error.to_string()))?);
        Ok(this)
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(100)?;
        let Some(session) = &self.session else { return Ok(()) };
        let cpus = fs::read_dir(session.path().join("per_cpu"))?;
        let stats = cpus.flatten().filter_map(|cpu| Stats::parse(&fs::read_to_string(cpu.path().join("stats")).ok()?));
        match stats.map(|stats| stats.happened()).sum::<u64>() {
            200.. if self.is_recorded => Ok(()),
            ..200 if !self.is_recorded => Ok(()),
            many if !self.is_recorded => {
                Err(io::Error::other(format!("100 calls that are not recorded made {many} events")))
            }
            few => Err(io::Error::other(format!("100 calls made only {few} events"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(getppid());
        }
        Ok(())
    }
}

impl Drop for Getppid {
    fn drop(&mut self) {
        // The session must end before its pages are removed.
        drop(self.session.take());
        if let Some(directory) = &self.directory {
            let _ = fs::remove_dir_all(directory);
        }
    }
}
