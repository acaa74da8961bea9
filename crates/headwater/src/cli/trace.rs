//! `headwater trace`: records programs and the kernel, and shows recordings.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output::{note, out};
use headwater_os_tools::bus_error;
use headwater_trace_tools::filter::{Filter, Misunderstood};

use super::status;
use crate::trace;

mod record;
mod switch;
mod view;

/// Record events of programs and the kernel, and view them
///
/// A program has events if it is linked with headwater-trace and defines them; the kernel has about 2000. A recording
/// is a directory with traces in the Common Trace Format, which babeltrace2, Trace Compass and (by `show --format
/// chrome`) ui.perfetto.dev can open.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace record -- ./server                 every event of a program
  headwater trace attach 4711                        of one that runs already and listens
  headwater trace record -k sched -k raw_syscalls -- make     of the kernel, for what make starts
  headwater trace switch DIR --on 'shop:*'           record more events from now on
  headwater trace stat headwater-trace-*             what there is, and what was lost
  headwater trace show headwater-trace-* --count 20  the first events
  headwater trace show DIR --format chrome -o trace.json      for ui.perfetto.dev
  headwater trace recover DIR                        after a crash")]
pub(super) struct TraceArguments {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    Record(record::RecordArguments),
    Attach(record::AttachArguments),
    Switch(switch::SwitchArguments),
    Snapshot(SnapshotArguments),
    Recover(RecoverArguments),
    Show(view::ShowArguments),
    Stat(view::StatArguments),
    List(view::ListArguments),
}

/// Write the current contents of a flight recorder, which keeps recording
///
/// A snapshot takes the kernel's events out of the kernel's buffers, and keeps them for later snapshots and for the end
/// of the recording, which contains all of them.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  headwater trace record --flight -o server-trace -- ./server &
  headwater trace snapshot server-trace -o slow-request")]
struct SnapshotArguments {
    /// The directory of the recording made with `record --flight`
    #[arg(value_name = "DIR")]
    recording: PathBuf,

    /// Directory of the snapshot [default: headwater-snapshot-<time>]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Complete a recording whose recorder was killed: copy the events that programs and the kernel had written, and repair
/// the trace
///
/// Every event whose call had returned is in the trace once, whichever process was killed, unless the machine was
/// restarted. The same holds for events of the kernel, unless the recorder's guard was killed too: then the events in
/// the kernel's buffers are lost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace recover server-trace
  headwater trace recover /dev/shm/headwater-trace-1000-4711-5eed1234   as `headwater doctor` says it

Exit status: 0 if all that was recorded is there, 4 if something was lost (of a flight recorder, more than what newer events
have overwritten).")]
struct RecoverArguments {
    /// The directory of the recording, or the memory file of the session
    #[arg(value_name = "DIR|FILE")]
    from: PathBuf,

    /// Write the events that were not copied yet to a new trace, instead of completing that of the recording
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn trace(arguments: TraceArguments) -> anyhow::Result<u8> {
    // Sessions that run are mapped, and every program of a session may truncate its memory.
    bus_error::survive()?;
    match arguments.command {
        TraceCommand::Record(arguments) => record::record(arguments),
        TraceCommand::Attach(arguments) => record::attach(arguments),
        TraceCommand::Switch(arguments) => switch::switch(arguments),
        TraceCommand::Snapshot(arguments) => snapshot(&arguments),
        TraceCommand::Recover(arguments) => recover(&arguments),
        TraceCommand::Show(arguments) => view::show(&arguments),
        TraceCommand::Stat(arguments) => view::stat(&arguments),
        TraceCommand::List(arguments) => view::list(&arguments),
    }
}

fn snapshot(arguments: &SnapshotArguments) -> anyhow::Result<u8> {
    let taken = trace::snapshot::snapshot(&arguments.recording, arguments.output.as_deref())?;
    let (written, older) = (events(taken.totals.written), grouped(taken.totals.lost));
    let mut out = out();
    writeln!(out, "{written} in {}; {older} before them were overwritten", taken.directory.display())?;
    let Some(kernel) = taken.kernel else { return Ok(status::OK) };
    kernel.troubles.iter().for_each(|trouble| note!("headwater: kernel: {trouble}"));
    writeln!(out, "of the kernel {}; {} were overwritten or are older", events(kernel.written), grouped(kernel.lost))?;
    Ok(if kernel.troubles.is_empty() { status::OK } else { status::PARTIAL })
}

fn recover(arguments: &RecoverArguments) -> anyhow::Result<u8> {
    let recovered = trace::recover::recover(&arguments.from, arguments.output.as_deref())?;
    let mut out = out();
    let trace::recover::Recovered { carried, written, lost, .. } = recovered;
    if recovered.had_memory {
        writeln!(
            out,
            "{} recovered; {} has {}, {} lost",
            events(carried),
            recovered.directory.display(),
            grouped(written),
            grouped(lost)
        )?;
    } else if let Some(repaired) = recovered.repaired {
        let cut = repaired.bytes_cut;
        writeln!(
            out,
            "The session's memory has gone or is damaged, and with it what was not carried. {} has {}, {} lost; {cut} \
             bytes of a half-written packet were cut off",
            recovered.directory.display(),
            events(written),
            grouped(lost)
        )?;
    }
    if recovered.spoiled_bytes > 0 {
        writeln!(
            out,
            "{} bytes of the buffers held no sound events: a program has spoiled them",
            recovered.spoiled_bytes
        )?;
    }
    if let Some(kernel) = &recovered.kernel {
        record::print_kernel(kernel, false);
    }
    Ok(if recovered.is_whole() { status::OK } else { status::PARTIAL })
}

/// Parses the value of `--filter`.
fn filter(text: &str) -> Result<Filter, Misunderstood> {
    Filter::parse(text)
}

/// `1,234,567 events`.
fn events(count: u64) -> String {
    format!("{} event{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A count with commas between thousands.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `9.6 MB`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes_can_be_read() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 999, 1000, 9_640_000, 2_000_000_000].map(size), ["0 B", "999 B", "1.0 kB", "9.6 MB", "2.0 GB"]);
        assert_eq!([1, 2].map(events), ["1 event", "2 events"]);
    }
}
