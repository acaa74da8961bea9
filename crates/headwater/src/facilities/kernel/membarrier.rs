//! `membarrier`, `membarrier-busy`: `membarrier(2)` GLOBAL_EXPEDITED, by which one side of a stream spares the other its fences:
//! while no other process that takes part runs, and while one runs on another CPU, which the kernel has to interrupt.

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

/// How long the other may take until it is seen to run.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process that calls, and the one that runs meanwhile, if any.
#[derive(Debug)]
pub struct Membarrier {
    _runner: Option<Child>,
    fence: Fence,
    /// What the other counts up as long as it runs.
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
                // Relaxed: only that it changes is of interest.
                turns.fetch_add(1, Ordering::Relaxed);
                spin_loop();
            }
        })?;
        Ok(Membarrier { _runner: Some(runner), fence, turns: Some(turns) })
    }

    fn check(&mut self) -> io::Result<()> {
        self.fence.heavy()?;
        let Some(turns) = &self.turns else { return Ok(()) };
        // It must be seen to run while this process runs too.
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
