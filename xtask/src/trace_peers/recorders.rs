//! Records the program with each tool. All have buffers of 4 MiB for each CPU, and otherwise their default settings.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use headwater_os::clock;
use headwater_os_tools::usage::Usage;

use crate::lttng::{Daemon, lttng};
use crate::shell;

/// The event in the output of all tools.
const EVENT: &str = "cost:event";
/// The probe, as perf names it.
const PROBE: &str = "sdt_headwater_cost:event";
/// The session of LTTng.
const SESSION: &str = "headwater-trace-peers";

/// A program: its number of events, how many of them a second (0: as many as it can), and the rounds of work before each.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub count: u64,
    pub rate: u64,
    pub work: u64,
}

/// How long a program may take after its recorder was killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tool that records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Ours,
    /// Ours, with programs that wait for room.
    OursWaiting,
    Lttng,
    Perf,
}

impl Tool {
    pub const ALL: [Tool; 4] = [Tool::Ours, Tool::OursWaiting, Tool::Lttng, Tool::Perf];

    /// Returns its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Ours => "headwater",
            Tool::OursWaiting => "headwater, --wait",
            Tool::Lttng => "LTTng-UST",
            Tool::Perf => "perf, uprobe",
        }
    }
}

/// One recording of the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recorded {
    /// From the start of recorder and program to the program's first event.
    pub start_ns: f64,
    /// From there to its last.
    pub wall_ns: f64,
    /// What bursts with events took, and bursts without: time, or CPU time if there is a rate.
    pub with_ns: f64,
    pub without_ns: f64,
    /// CPU time of all processes of the recorder, from its start to its end.
    pub recorder_ns: f64,
    pub emitted: u64,
    /// Events in the recording.
    pub found: u64,
    /// Events that it says were lost.
    pub reported: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

/// A recording whose recorder was killed.
#[derive(Debug, Clone, Copy)]
pub struct Killed {
    /// Events that the tool's commands find afterwards.
    pub found: Option<u64>,
    /// Events that are found if files of the tool are put together by hand.
    pub found_by_hand: Option<u64>,
}

/// The programs, and a directory for recordings.
pub struct Bench {
    headwater: PathBuf,
    programs: PathBuf,
    place: PathBuf,
    daemon: Option<Daemon>,
}

impl Bench {
    /// Starts LTTng's daemon, and tells perf of the probe.
    pub fn new(headwater: &Path, programs: &Path, place: &Path) -> Result<Bench> {
        let bench = Bench {
            headwater: headwater.to_owned(),
            programs: programs.to_owned(),
            place: place.to_owned(),
            daemon: Some(Daemon::start()?),
        };
        let program = bench.program("paced_sdt");
        quietly(shell::command("perf").args(["buildid-cache", "--update"]).arg(&program))?;
        // One of an earlier comparison may be of another build.
        let _ = quietly(shell::command("perf").args(["probe", "--del", PROBE]));
        quietly(shell::command("perf").args(["probe", PROBE]))?;
        Ok(bench)
    }

    /// Records the program once.
    pub fn record(&self, tool: Tool, load: Load) -> Result<Recorded> {
        let trace = self.fresh()?;
        let (before, daemon_before) = (Usage::of_children(), self.daemon_ns());
        let started = clock::now_ns();
        if tool == Tool::Lttng {
            self.start_lttng(&trace)?;
        }
        let printed = shell::output(&mut self.command(tool, &trace, load))?;
        if tool == Tool::Lttng {
            lttng(&["destroy", SESSION])?;
        }
        let (used, daemon_ns) = (Usage::of_children().since(&before), self.daemon_ns() - daemon_before);
        let numbers: Vec<f64> = printed.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [first, wall_ns, cpu_ns, with_ns, without_ns] = numbers[..] else {
            bail!("the program printed {printed:?}")
        };
        let (found, reported) = count_events(tool, &trace)?;
        Ok(Recorded {
            start_ns: first - started as f64,
            wall_ns,
            with_ns,
            without_ns,
            recorder_ns: (used.user_s + used.system_s) * 1e9 - cpu_ns + daemon_ns,
            emitted: load.count,
            found,
            reported,
            bytes: bytes(&trace)?,
        })
    }

    /// Records the program, and kills the recorder when half of the time is over. The program continues.
    pub fn kill(&mut self, tool: Tool, load: Load) -> Result<Killed> {
        let trace = self.fresh()?;
        if tool == Tool::Lttng {
            self.start_lttng(&trace)?;
        }
        // A file, because the program outlives the process that reads a pipe.
        let printed = self.place.join("printed");
        let mut command = self.command(tool, &trace, load);
        let mut child = command.stdout(fs::File::create(&printed)?).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_secs_f64(load.count as f64 / load.rate as f64 / 2.0));
        match tool {
            Tool::Lttng => {
                let consumer = self.daemons().into_iter().find(|pid| name(*pid) == "lttng-consumerd");
                let consumer = consumer.context("LTTng has no consumer")?;
                quietly(shell::command("kill").args(["-9", &consumer.to_string()]))?;
            }
            _ => child.kill()?,
        }
        let start = Instant::now();
        while fs::read_to_string(&printed)?.is_empty() {
            ensure!(start.elapsed() < PATIENCE, "the program has not ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        child.wait()?;
        let killed = self.found_after_kill(tool, &trace);
        if tool == Tool::Lttng {
            // The session has lost its consumer, and cannot be destroyed.
            self.daemon = None;
            self.daemon = Some(Daemon::start()?);
        }
        killed
    }

    fn found_after_kill(&self, tool: Tool, trace: &Path) -> Result<Killed> {
        match tool {
            Tool::Ours | Tool::OursWaiting => {
                quietly(Command::new(&self.headwater).args(["trace", "recover"]).arg(trace))?
            }
            Tool::Lttng => return self.lttng_after_kill(trace),
            Tool::Perf => {}
        }
        // What cannot be read has no events.
        let found = count_events(tool, trace).map_or(0, |(found, _)| found);
        Ok(Killed { found: Some(found), found_by_hand: None })
    }

    /// The events that are in LTTng's memory are extracted by `lttng-crash`; those that its consumer had written are in a trace
    /// whose metadata may be missing, and are in what was extracted.
    fn lttng_after_kill(&self, trace: &Path) -> Result<Killed> {
        let extracted = self.place.join("extracted");
        let _ = fs::remove_dir_all(&extracted);
        quietly(shell::command("lttng-crash").arg("--extract").arg(&extracted).arg(self.memory()))?;
        let (in_memory, _) = count_events(Tool::Lttng, &extracted)?;
        let readable = count_events(Tool::Lttng, trace).map_or(0, |(found, _)| found);
        let (from, to) = (metadata(&extracted)?, metadata(trace)?);
        fs::copy(from, to)?;
        let (written, _) = count_events(Tool::Lttng, trace)?;
        Ok(Killed { found: Some(in_memory + readable), found_by_hand: Some(in_memory + written) })
    }

    fn command(&self, tool: Tool, trace: &Path, Load { count, rate, work }: Load) -> Command {
        let [ours, lttng, sdt] = ["paced_ours", "paced_lttng", "paced_sdt"].map(|name| self.program(name));
        let mut command = match tool {
            Tool::Lttng => Command::new(lttng),
            Tool::Ours | Tool::OursWaiting => {
                let mut command = Command::new(&self.headwater);
                command.args(["trace", "record", "--quiet", "-o"]).arg(trace);
                command.args((tool == Tool::OursWaiting).then_some("--wait")).arg("--").arg(ours);
                command
            }
            Tool::Perf => {
                let mut command = Command::new("perf");
                command
                    .args(["record", "--quiet", "-m", "4M", "-e", PROBE, "-o"])
                    .arg(trace.join("perf.data"))
                    .arg(sdt);
                command
            }
        };
        command.args([count, rate, work].map(|number| number.to_string())).stdin(Stdio::null());
        command
    }

    fn start_lttng(&self, trace: &Path) -> Result<()> {
        let output = format!("--output={}", trace.display());
        let memory = format!("--shm-path={}", self.memory().display());
        lttng(&["create", SESSION, &output, &memory])?;
        let channel =
            ["enable-channel", "--userspace", "--session", SESSION, "--num-subbuf=4", "--subbuf-size=1M", "all"];
        lttng(&channel)?;
        lttng(&["enable-event", "--userspace", "--session", SESSION, "--channel", "all", "headwater_cost:event"])?;
        lttng(&["start", SESSION])
    }

    fn memory(&self) -> PathBuf {
        PathBuf::from("/dev/shm").join(format!("{SESSION}-{}", std::process::id()))
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Returns an empty directory.
    fn fresh(&self) -> Result<PathBuf> {
        let trace = self.place.join("trace");
        for old in [&trace, &self.memory()] {
            let _ = fs::remove_dir_all(old);
        }
        fs::create_dir_all(&trace)?;
        Ok(trace)
    }

    /// Returns LTTng's daemon and the processes that it has started.
    fn daemons(&self) -> Vec<u32> {
        let daemon = self.daemon.as_ref().map(Daemon::id);
        daemon.into_iter().chain(daemon.map(descendants).unwrap_or_default()).collect()
    }

    /// Returns the CPU time of LTTng's daemon and of the processes that it has started.
    fn daemon_ns(&self) -> f64 {
        let threads = self
            .daemons()
            .into_iter()
            .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten());
        let time = |thread: fs::DirEntry| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        };
        threads.filter_map(time).sum()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = lttng(&["destroy", SESSION]);
        let _ = quietly(shell::command("perf").args(["probe", "--del", PROBE]));
        let _ = fs::remove_dir_all(self.memory());
    }
}

/// Returns the processes that a process has started, and those that these have.
fn descendants(pid: u32) -> Vec<u32> {
    // Each thread has children of its own.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect();
    children.into_iter().flat_map(|child| std::iter::once(child).chain(descendants(child))).collect()
}

fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// Returns the number of events in a recording, as the tool's own reader or babeltrace2 print them, and the number of those
/// that it says were lost.
fn count_events(tool: Tool, trace: &Path) -> Result<(u64, u64)> {
    let mut command = match tool {
        Tool::Perf => {
            let mut command = Command::new("perf");
            command.args(["script", "--show-lost-events", "-i"]).arg(trace.join("perf.data"));
            command
        }
        _ => {
            let mut command = Command::new("babeltrace2");
            command.arg(trace);
            command
        }
    };
    let log = tempfile::NamedTempFile::new()?;
    let mut child: Child = command.stdout(Stdio::piped()).stderr(log.reopen()?).spawn()?;
    let (mut found, mut lost) = (0, 0);
    for line in BufReader::new(child.stdout.take().context("no output")?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        found += u64::from(line.contains(EVENT));
        lost += number_after(&line, "PERF_RECORD_LOST lost ");
    }
    ensure!(child.wait()?.success(), "{}: it cannot be read", trace.display());
    let said = fs::read_to_string(log.path())?;
    lost += said.lines().map(|line| number_after(line, "discarded ")).sum::<u64>();
    Ok((found, lost))
}

fn number_after(line: &str, words: &str) -> u64 {
    let rest = line.split_once(words).map_or("", |(_, rest)| rest);
    rest.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the bytes of the files in a directory and below.
fn bytes(directory: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() { bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(sum)
}

/// Returns the file `metadata` of the trace below a directory.
fn metadata(directory: &Path) -> Result<PathBuf> {
    let mut rest = vec![directory.to_owned()];
    while let Some(directory) = rest.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.ends_with("metadata") {
                return Ok(path);
            }
            rest.extend(path.is_dir().then_some(path));
        }
    }
    bail!("{}: it has no metadata", directory.display())
}

/// Runs a command whose output does not matter.
fn quietly(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
