//! `headwater trace record` and `attach`: records a command or a running process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use headwater_gauge::plan::duration::{Seconds, words};
use headwater_gauge::plan::sizes;
use headwater_gauge::plan::suggest::there_are;
use headwater_trace::WhenFull;
use headwater_trace::region::{EVENTS_MAX, WAIT_MAX};
use headwater_trace_tools::consumer::Totals;
use headwater_trace_tools::consumer::parts::{Removed, Rotation};
use headwater_trace_tools::filter::Filter;

use super::super::in_words;
use super::{events, filter, grouped, size};
use crate::cli::output::note;
use crate::trace::record::{self, Note, Recorded, Refusal, Remaining};
use crate::trace::{BUFFER_BYTES, ClockChoice, HOME, KernelConfig, KernelEnd, RecordingConfig, RecordingOutcome};

/// The largest buffer of a CPU that is advised, bytes: several of them have to find room in memory.
const ADVISED_MAX: u64 = 256 << 20;

/// How long an event waits for room if no time is given: longer than a recorder is ever held up by other programs, and short
/// enough for a program that waits once for a recorder that is gone.
const WAIT: Duration = Duration::from_secs(1);

/// The options for recordings of commands and of processes.
#[derive(Debug, Args)]
struct RecordingArguments {
    /// Directory of the recording, new or empty [default: headwater-trace-<time>]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Events of programs, such as `shop:*`, without those after `!`; several with commas, or repeated
    #[arg(short, long, value_name = "PATTERNS", value_delimiter = ',', default_value = "*")]
    events: Vec<String>,

    /// Events of the kernel: `sched:*`, `irq`, `syscalls:sys_enter_read`; several with commas, or repeated; needs root
    #[arg(short, long, value_name = "PATTERNS", value_delimiter = ',', help_heading = "Kernel")]
    kernel: Vec<String>,

    /// Record the kernel's events with the kernel's stack, and the names of its functions: 256 bytes more for each, and 64 to 300 in the
    /// buffers
    #[arg(long, requires = "kernel", help_heading = "Kernel")]
    kernel_stack: bool,

    /// Only events whose values meet a condition: `'shop:put if len > 100 && path ~ "/cart*"'`; several by repeating it. Events
    /// that no FILTER names are recorded whatever their values
    #[arg(short, long = "filter", value_name = "FILTER", value_parser = filter)]
    filters: Vec<Filter>,

    /// Events of programs that are recorded with their stacks: the last 32 return addresses, by frame pointers. For programs
    /// that are compiled with these (`-C force-frame-pointers=yes`, `-fno-omit-frame-pointer`)
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    stack: Vec<String>,

    /// Record 3 KiB of each stack in place of its addresses; `show` finds them, by the tables for exceptions in the program's
    /// files. For programs that are compiled without frame pointers
    #[arg(long, requires = "stack")]
    stack_copy: bool,

    /// Bytes of each CPU's buffer, a power of two from 16k to 1g [default: 4m; of the kernel's 8m]
    #[arg(long, value_name = "SIZE", value_parser = buffer, help_heading = "How")]
    buffer: Option<usize>,

    /// Begin a new part of the trace after each SIZE, and keep the last COUNT parts [default: all]; for events of programs and of the
    /// kernel, each by themselves
    #[arg(long, value_name = "SIZE[xCOUNT]", value_parser = rotation, conflicts_with = "flight", help_heading = "How")]
    rotate: Option<Rotation>,

    /// Keep the newest events in the buffers and write them at the end, or by `trace snapshot`
    #[arg(long, visible_alias = "overwrite", help_heading = "How")]
    flight: bool,

    /// Where a buffer is full, let the program wait until the recorder has made room, for at most TIME [default: 1s; at most 1m], in
    /// place of losing the event. The kernel's events do not wait
    #[arg(
        long,
        value_name = "TIME",
        value_parser = wait,
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "flight",
        help_heading = "How"
    )]
    wait: Option<Option<Duration>>,

    /// The clock of timestamps: tsc, monotonic [default: tsc where it is usable as a clock]
    #[arg(long, value_name = "CLOCK", value_parser = clock, help_heading = "How")]
    clock: Option<ClockChoice>,

    /// The directory of the buffers: a file system in memory
    #[arg(long, value_name = "DIR", default_value = HOME, help_heading = "How")]
    logs: PathBuf,

    /// Print only errors and lost events
    #[arg(short, long)]
    quiet: bool,
}

/// Record a running process until it ends or this command is interrupted; the process keeps running then
///
/// The process must accept tracers: by `headwater_trace::listen()`, or because it was started with
/// HEADWATER_TRACE_LISTEN=1. Only its own user and root may record it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace attach 4711
  headwater trace attach $(pidof server) -o out -e 'shop:*'
  sudo headwater trace attach 4711 -k sched          with what the kernel does for it")]
pub(super) struct AttachArguments {
    #[command(flatten)]
    recording: RecordingArguments,

    /// The process id
    #[arg(value_name = "PID")]
    pid: u32,
}

/// Record a command from its first instruction to its end
///
/// Its child processes are recorded too. The exit status is that of the command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace record -- ./server --port 80
  headwater trace record -o out -e 'shop:*' --buffer 16m -- ./server     some events, larger buffers
  headwater trace record -e '*,!shop:put' -- ./server         all events but one
  headwater trace record -f 'shop:put if len > 4096 || path ~ \"/cart*\"' -- ./server
  headwater trace record --rotate 100mx10 -- ./server         the newest gigabyte, in parts
  headwater trace record --wait -- ./server          no event is lost: where a buffer is full the program waits
  headwater trace record --stay -- ./daemon --fork   after the command has ended, what it left running
  headwater trace record --flight -- ./server        keep the newest events; `trace snapshot` writes them
  sudo headwater trace record -k sched -k syscalls:sys_enter_futex -- ./server
  sudo headwater trace record -k sched --rotate 100mx10 -- ./server      the newest gigabyte of each
  sudo headwater trace record -k raw_syscalls -f 'raw_syscalls:sys_exit if ret < 0' -- ls
  sudo headwater trace record -k raw_syscalls -- ls  its system calls with their arguments
  sudo headwater trace record -k irq --system-wide -- sleep 10           the whole machine, for 10 s

Exit status: that of the command, 128 and the signal's number if it was killed; 125 if nothing could be recorded (the command
was not started), 126 if it cannot be executed, 127 if it is not found, 2 for wrong usage.")]
pub(super) struct RecordArguments {
    #[command(flatten)]
    recording: RecordingArguments,

    /// Also record the kernel's events of these processes
    #[arg(long, value_name = "PID", value_delimiter = ',', requires = "kernel", help_heading = "Kernel")]
    pid: Vec<u32>,

    /// Record the kernel's events of every process
    #[arg(long, requires = "kernel", conflicts_with = "pid", help_heading = "Kernel")]
    system_wide: bool,

    /// When the command has ended, continue until all processes that it started have ended, for at most TIME, or until a signal
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, help_heading = "How")]
    stay: Option<Option<Seconds>>,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn buffer(text: &str) -> Result<usize, String> {
    let bytes = sizes::bytes(text).ok_or_else(|| format!("{text:?} is no size; write it like 512k or 4m"))?;
    let (least, most) = (16 << 10, 1 << 30);
    if !bytes.is_power_of_two() || !(least..=most).contains(&bytes) {
        let near = short(bytes.clamp(least, most).next_power_of_two());
        return Err(format!("it takes a power of two from 16k to 1g, such as {near}"));
    }
    Ok(bytes as usize)
}

/// A power of two as [`buffer`] takes it.
fn short(bytes: u64) -> String {
    match bytes {
        0x4000_0000.. => format!("{}g", bytes >> 30),
        0x10_0000.. => format!("{}m", bytes >> 20),
        _ => format!("{}k", bytes >> 10),
    }
}

/// The least size of a part: a packet of each of many CPUs fits.
const PART_MIN: u64 = 64 << 10;

fn rotation(text: &str) -> Result<Rotation, String> {
    let wrong = || format!("{text:?} is no size and number of parts; write it like 100m or 100mx10");
    let (size, count) = text.split_once('x').map_or((text, None), |(size, count)| (size, Some(count)));
    let bytes = sizes::bytes(size).ok_or_else(wrong)?;
    let keep = count.map(|count| count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)).transpose()?;
    if bytes < PART_MIN {
        return Err(format!("a part has at least {}", short(PART_MIN)));
    }
    Ok(Rotation { bytes, keep })
}

fn wait(text: &str) -> Result<Duration, String> {
    let time = Duration::from_secs_f64(text.parse::<Seconds>()?.0);
    if time > WAIT_MAX {
        return Err(format!("a program waits for at most {} s", WAIT_MAX.as_secs()));
    }
    Ok(time)
}

fn clock(text: &str) -> Result<ClockChoice, String> {
    match text {
        "tsc" => Ok(ClockChoice::Tsc),
        "monotonic" => Ok(ClockChoice::Monotonic),
        _ => Err(there_are(text, ["tsc", "monotonic"])),
    }
}

impl RecordingArguments {
    fn config(self, system_wide: bool, processes: Vec<u32>, command: Vec<String>) -> RecordingConfig {
        let kernel = (!self.kernel.is_empty()).then_some(KernelConfig {
            events: self.kernel,
            filters: self.filters.clone(),
            stacks: self.kernel_stack,
            system_wide,
            processes,
            buffer_bytes: self.buffer,
        });
        RecordingConfig {
            directory: self.output,
            events: self.events,
            filters: self.filters.iter().map(ToString::to_string).collect(),
            stacks: self.stack,
            stacks_copied: self.stack_copy,
            when_full: if self.flight { WhenFull::Overwrite } else { WhenFull::Refuse },
            wait: self.wait.map_or(Duration::ZERO, |wait| wait.unwrap_or(WAIT)),
            buffer_bytes: self.buffer.unwrap_or(BUFFER_BYTES),
            rotation: self.rotate,
            memory: self.logs,
            clock: self.clock.unwrap_or_default(),
            kernel,
            command,
        }
    }
}

pub(super) fn attach(arguments: AttachArguments) -> anyhow::Result<u8> {
    let (quiet, pid) = (arguments.recording.quiet, arguments.pid);
    let config = arguments.recording.config(false, Vec::new(), vec![format!("process {pid}")]);
    let Recorded { ended, command } = record::attach(&config, pid, &mut |note| say(&note))?;
    print(&ended, quiet, &config);
    if command.is_none() && !quiet {
        note!("headwater: process {pid} goes on");
    }
    Ok(super::status::OK)
}

pub(super) fn record(arguments: RecordArguments) -> anyhow::Result<u8> {
    let (quiet, command) = (arguments.recording.quiet, arguments.command);
    let words = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let config = arguments.recording.config(arguments.system_wide, arguments.pid, words);
    let limit = |most: Option<Seconds>| Remaining::Stay(most.map(|most| Duration::from_secs_f64(most.0)));
    let remaining = arguments.stay.map_or(Remaining::Leave, limit);
    match record::record(&config, &command, remaining, &mut |note| say(&note)) {
        Ok(Recorded { ended, command }) => {
            print(&ended, quiet, &config);
            Ok(command.map_or(super::status::INTERRUPTED, record::End::status))
        }
        Err(Refusal { status, why }) => {
            note!("headwater: {}", in_words(&why));
            Ok(status)
        }
    }
}

fn say(note: &Note) {
    match note {
        Note::Trouble(why) => {
            note!("headwater: {why}; the program goes on, and what finds no room in the buffers is lost and counted");
        }
        Note::Remain(count) => {
            let processes = if *count == 1 { "a process" } else { "processes" };
            note!(
                "headwater: the command has ended; {processes} that it started will be recorded to the end, or until \
                 `kill {}`",
                std::process::id()
            );
        }
        Note::Lingers(pid) => {
            note!("headwater: process {pid} goes on; interrupt again to end the recording without it")
        }
    }
}

/// Prints the result to standard error: standard output belongs to the command.
fn print(ended: &RecordingOutcome, quiet: bool, config: &RecordingConfig) {
    let directory = ended.directory.display();
    match &ended.user {
        Ok(totals) => print_user(ended, totals, quiet, config),
        Err(unfinished) => {
            note!("headwater: the trace is not whole: {unfinished}");
            note!(
                "headwater: {} written, {} lost; {} of events are still in the buffers: make room, then `headwater trace \
                 recover {directory}`",
                events(unfinished.totals.written),
                grouped(unfinished.totals.lost),
                size(unfinished.left_bytes)
            );
        }
    }
    if let Some(kernel) = &ended.kernel {
        print_kernel(kernel, quiet);
    }
    ended.troubles.iter().for_each(|trouble| note!("headwater: {trouble}"));
    if !quiet {
        note!("headwater: in {directory} (`headwater trace show {directory}`)");
    }
}

fn print_user(ended: &RecordingOutcome, totals: &Totals, quiet: bool, config: &RecordingConfig) {
    let Totals { written, lost, bytes, spoiled_bytes, .. } = *totals;
    if !ended.joined && lost == 0 {
        // With the kernel's events a program needs none of its own.
        if ended.kernel.is_none() {
            note!(
                "headwater: no events: no program that ran has any of those names, or is linked with headwater-trace \
                 (docs/tracing.md); -k records events of the kernel"
            );
        }
        return;
    }
    let what = if ended.flight { "overwritten" } else { "lost" };
    if !quiet || lost > 0 {
        note!("headwater: {} written, {} {what}, {}", events(written), grouped(lost), size(bytes));
    }
    if totals.filtered > 0 && !quiet {
        note!("headwater: {} more met no condition (--filter)", events(totals.filtered));
    }
    if let Some(waited) = ended.waited.filter(|_| !quiet) {
        note!(
            "headwater: programs waited for room {} time{}, {} in total (--wait)",
            grouped(waited.count),
            if waited.count == 1 { "" } else { "s" },
            words(waited.time().as_secs_f64())
        );
    }
    if ended.is_table_full {
        note!(
            "headwater: there are more kinds of events than a session can have ({EVENTS_MAX}); those of the others are lost, and \
             counted: choose events with -e"
        );
    } else if lost > 0 && !ended.flight {
        let lost = grouped(lost);
        match totals.buffer_needed.next_power_of_two() {
            // What was lost was lost where the size of a buffer cannot be chosen.
            needed if needed <= config.buffer_bytes as u64 => note!(
                "headwater: {lost} found no room, but not because a CPU's buffer was too small: the program went on when the recording \
                 ended, more threads than there are logs for, or events in a signal handler (docs/tracing.md)"
            ),
            _ if !config.wait.is_zero() => note!(
                "headwater: for some of the {lost} no room was made within {}: the recorder was held up, or could not write \
                 (--wait)",
                words(config.wait.as_secs_f64())
            ),
            needed if needed <= ADVISED_MAX => note!(
                "headwater: the buffers were too small for {lost} of them: --buffer {} would have held them, or fewer events (-e), or \
                 programs that wait for room (--wait)",
                short(needed)
            ),
            _ => note!(
                "headwater: more events came than can be carried, for so long that no buffer would have held the {lost}: fewer \
                 events (-e), or programs that wait for room (--wait)"
            ),
        }
    }
    print_removed(ended.removed, quiet);
    if spoiled_bytes > 0 {
        note!("headwater: {} of the buffers held no sound events: a program has spoiled them", size(spoiled_bytes));
    }
}

fn print_removed(Removed { parts, events, .. }: Removed, quiet: bool) {
    if parts > 0 && !quiet {
        note!("headwater: the oldest {} of them are gone with {parts} parts (--rotate)", grouped(events));
    }
}

pub(super) fn print_kernel(kernel: &KernelEnd, quiet: bool) {
    kernel.troubles.iter().for_each(|trouble| note!("headwater: kernel: {trouble}"));
    let (written, lost, bytes) = (events(kernel.written), grouped(kernel.lost), size(kernel.bytes));
    if let Some(pages) = &kernel.left {
        let recording = pages.parent().unwrap_or(pages).display();
        note!(
            "headwater: of the kernel {written} written, and not all; its pages are still in {}: make room, then `headwater \
             trace recover {recording}`",
            pages.display()
        );
        return;
    }
    if !quiet || kernel.lost > 0 {
        note!("headwater: of the kernel {written} written, {lost} lost, {bytes}");
    }
    print_removed(kernel.removed, quiet);
    if !kernel.is_counted {
        note!(
            "headwater: of the kernel more was lost, unknown how much: the recorder's guard was killed too, or the machine was \
             restarted, and with it went what was in the kernel's buffers"
        );
    } else if kernel.lost > 0 {
        note!("headwater: of the kernel: larger buffers (--buffer), or fewer events (-k), lose less");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Rotation, buffer, rotation, wait};

    #[test]
    fn a_rotation_is_a_size_and_perhaps_a_number() {
        assert_eq!(rotation("100m"), Ok(Rotation { bytes: 100 << 20, keep: None }));
        assert_eq!(rotation("64kx2"), Ok(Rotation { bytes: 64 << 10, keep: Some(2) }));
        for wrong in ["", "x3", "100mx", "100mx0", "100mx-1", "1k", "10mx2x3"] {
            assert!(rotation(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wait_has_an_end() {
        assert_eq!(wait("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(wait("1m"), Ok(Duration::from_secs(60)));
        for (wrong, why) in [("61", "at most 60 s"), ("0", "more than 0"), ("inf", "no")] {
            assert!(wait(wrong).expect_err(wrong).contains(why), "{wrong}");
        }
    }

    #[test]
    fn a_buffer_is_a_power_of_two_and_a_wrong_one_is_answered_with_the_next() {
        assert_eq!(buffer("4m"), Ok(4 << 20));
        for (wrong, near) in [("3m", "4m"), ("1k", "16k"), ("20k", "32k"), ("2g", "1g"), ("0", "16k")] {
            assert!(buffer(wrong).expect_err("no power of two").ends_with(near), "{wrong}");
        }
        assert!(buffer("much").expect_err("no size").contains("like 512k"));
    }
}
