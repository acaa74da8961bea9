//! The states of the threads of a round's processes: for the report of a wait without end, and to distinguish it from a
//! machine that gives no CPU to runnable threads.

/// The threads of some processes, as they are at one moment.
#[derive(Debug)]
pub struct Threads(Vec<Thread>);

#[derive(Debug)]
struct Thread {
    number: String,
    /// R: it is runnable, S: it sleeps, T: it is stopped.
    state: String,
    /// CPU time.
    ticks: u64,
    call: String,
}

impl Threads {
    /// CPU time between two looks, in ticks of 10 ms, of threads that run without progress.
    const BUSY: u64 = 50;

    pub fn of(processes: impl Iterator<Item = u32>) -> Threads {
        let tasks =
            processes.flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten());
        let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let threads = tasks.map(|task| {
            let stat = read(task.path().join("stat"));
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            let number = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            Thread {
                number: task.file_name().to_string_lossy().into_owned(),
                state: fields.first().copied().unwrap_or_default().to_owned(),
                ticks: number(11) + number(12),
                call: read(task.path().join("syscall")).trim().to_owned(),
            }
        });
        Threads(threads.collect())
    }

    /// A line for each.
    pub fn describe(&self) -> String {
        let line = |Thread { number, state, ticks, call }: &Thread| {
            format!("\nthread {number}: {state}, {ticks} ticks, {call}")
        };
        self.0.iter().map(line).collect()
    }

    fn ticks(&self) -> u64 {
        self.0.iter().map(|thread| thread.ticks).sum()
    }

    /// Whether a thread is runnable, and the machine gives it no CPU: between two looks at threads that could run they
    /// had hardly any. At the first look it is not known yet.
    pub fn want_to_run(&self, before: Option<&Threads>) -> bool {
        let used = before.map_or(0, |before| self.ticks().saturating_sub(before.ticks()));
        self.0.iter().any(|thread| thread.state == "R") && used < Self::BUSY
    }
}
