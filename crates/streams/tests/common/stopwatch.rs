//! Time as a test may take it for a proof on a loaded machine.

use std::time::{Duration, Instant};

/// Measures the time that passes while no thread of this process waits for a CPU.
///
/// Other programs lengthen every wait; what they take is in the run delay of the threads (`/proc/*/schedstat`, second field), also
/// of those that a waiter waits for. A kernel without that file gives plain time.
pub struct Stopwatch {
    begin: Instant,
    delayed: Duration,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch { delayed: run_delay(), begin: Instant::now() }
    }

    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed().saturating_sub(run_delay().saturating_sub(self.delayed))
    }
}

/// How long the living threads of this process have waited for a CPU, in total.
fn run_delay() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc");
    let delays = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(delays.sum())
}
