//! `getppid`, `getppid-flight`, `getppid-drain`: a system call without a kernel session, and recorded by one, as two
//! events. The session records only this process and does not slow down others.

use std::fs;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;

use headwater_trace_tools::kernel::stats::Stats;
use headwater_trace_tools::kernel::{Mode, Session, Settings, Support};
use rustix::process::getppid;

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process that calls `getppid(2)`, recorded or not.
#[derive(Debug)]
pub struct Getppid {
    session: Option<Session>,
    /// Directory for the pages of a drain.
    directory: Option<PathBuf>,
}

impl Operation for Getppid {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("getppid", "getppid() without a session"),
        ("getppid-flight", "getppid() recorded by a kernel session without a reader: two events"),
        ("getppid-drain", "getppid() recorded by a kernel session into files"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Getppid, Unavailable> {
        let mut this = Getppid { session: None, directory: None };
        let mode = match job.row.subject.as_str() {
            "getppid" => return Ok(this),
            "getppid-flight" => Mode::Flight,
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
        let settings =
            Settings { processes: Some(vec![std::process::id()]), ..Settings::new(&["raw_syscalls:*"], mode) };
        this.session = Some(Session::start(&settings).map_err(|error| Unavailable(error.to_string()))?);
        Ok(this)
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(100)?;
        let Some(session) = &self.session else { return Ok(()) };
        let cpus = fs::read_dir(session.path().join("per_cpu"))?;
        let stats = cpus.flatten().filter_map(|cpu| Stats::parse(&fs::read_to_string(cpu.path().join("stats")).ok()?));
        match stats.map(|stats| stats.happened()).sum::<u64>() {
            200.. => Ok(()),
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
