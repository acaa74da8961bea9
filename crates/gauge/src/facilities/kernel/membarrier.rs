//! `membarrier`, `membarrier-busy`: `membarrier(2)` GLOBAL_EXPEDITED, with which one side of a stream saves the other
//! side its fences. In the first row no other registered process runs; in the second one runs on another CPU, and the
//! kernel has to interrupt it.

use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_os::cpu;
use headwater_os::fence::Fence;
use headwater_os_tools::shared::Shared;

use crate::facilities::operation::{Figure, Operation, fork_peer};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// How long the check waits until it sees the other process run.
const PATIENCE: Duration = Duration::from_secs(2);

/// The calling process, and the process that runs meanwhile, if any.
#[derive(Debug)]
pub struct Membarrier {
    _runner: Option<Child>,
    fence: Fence,
    /// Incremented by the other process as long as it runs.
    turns: Option<Shared<AtomicU64>>,
}

impl Operation for Membarrier {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("membarrier", "membarrier() GLOBAL_EXPEDITED, no other process that takes part runs"),
        ("membarrier-busy", "membarrier() GLOBAL_EXPEDITED, one that takes part runs on another CPU"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Membarrier, Unavailable> {
        let fence = Fence::Asymmetric;
        fence.join().map_err(|error| Unavailable::call("membarrier", error))?;
        if job.row.subject == "membarrier" {
            return Ok(Membarrier { _runner: None, fence, turns: None });
        }
        let cpus = cpu::allowed().map_err(|error| Unavailable::call("sched_getaffinity", error))?;
        let is_alone = job.cpus.is_some_and(|(first, second)| first == second);
        if is_alone || job.cpus.is_none() && cpus.len() < 2 {
            return Err(Unavailable("the other process needs a CPU of its own".to_owned()));
        }
        let turns = Shared::new(AtomicU64::new(0)).map_err(|error| Unavailable::call("mmap", error))?;
        let runner = fork_peer(job, || {
            fence.join()?;
            loop {
                // Relaxed: only the fact that it changes matters.
                turns.fetch_add(1, Ordering::Relaxed);
                spin_loop();
            }
        })?;
        Ok(Membarrier { _runner: Some(runner), fence, turns: Some(turns) })
    }

    fn check(&mut self) -> io::Result<()> {
        self.fence.heavy()?;
        let Some(turns) = &self.turns else { return Ok(()) };
        // The other process must make progress while this process runs too.
        let (started, first) = (Instant::now(), turns.load(Ordering::Relaxed));
        while started.elapsed() < PATIENCE {
            if turns.load(Ordering::Relaxed) != first {
                return Ok(());
            }
            spin_loop();
        }
        Err(io::Error::other("the other process does not run"))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            self.fence.heavy()?;
        }
        Ok(())
    }
}
