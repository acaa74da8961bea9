//! `headwater streams ls`: every stream that this user may look at.

use std::io::{IsTerminal, Write, stdout};

use clap::Args;

use super::columns::{cut, lines};
use super::filter::FilterArguments;
use super::rows::{self, Shown};
use super::{json, screen};
use crate::cli::output::{note, out};
use crate::cli::status;

/// List the streams of running processes: ends, processes, modules, queues, counters
///
/// A stream has a row for each of its ends; that of a device has one for the user's. It shows what the end's head has
/// queued for reading.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Columns:
  STREAM     the number of the stream's memory, which `top` and the tracer show too
  WHAT       pipe, the path of a FIFO, driver/minor of a device
  END        0 and 1 of a pipe, writer and reader of a FIFO, user of a device
  MODULES    pushed modules, the one next to the head first
  QUEUED     bytes that wait at this end's head, of at most HIWAT
  MSGS       messages with boundaries among them
  READ       bytes that were read at this end so far
  STATE      closed: no process has the end; full: above hiwat, and not yet at lowat again; reader polls: it is to be
             notified through its descriptor, and so of others
With --wide also:
  LOWAT      a full end takes more again from this many bytes down
  MAXPSZ     the most bytes of a message
  WRITTEN    bytes that were written at this end so far
  ALL MSGS   messages with boundaries that were written at this end so far
  BELLS      notifications that were sent to its descriptor
  HANDLES    handles in use, one for each thread that uses the end
  MEMORY     the bytes that the stream takes
  PROCESSES  with the descriptors of each process behind it: memory, end 0 and end 1, node of a FIFO, minor: file of the
             minor number, witness of a pair, driver: files of the driver
With --modules a row for each queue of a module or driver:
  READ       what has left the queue so far
  STATE      enabled, full, wanted: the flags QENAB, QFULL and QWANTW

Examples:
  headwater streams ls
  headwater streams ls --pid 4711 --wide
  headwater streams ls --modules echo          all streams of the driver echo, with their queues
  headwater streams ls /tmp/queue --json | jq .directions

Exit status: 0 all done, also if there is no stream; 1 streams were named or selected and there is none of them; 2 wrong
usage.")]
pub(super) struct LsArguments {
    #[command(flatten)]
    filter: FilterArguments,

    /// Show a row for each queue of a module or driver
    #[arg(long, help_heading = "Output")]
    modules: bool,

    /// Show more columns, and arguments and descriptors of processes; lines are not cut
    #[arg(long, help_heading = "Output")]
    wide: bool,

    /// Print one JSON object per stream
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(super) fn ls(arguments: &LsArguments) -> anyhow::Result<u8> {
    let LsArguments { filter, modules, wide, json } = arguments;
    let streams = filter.streams()?;
    let mut out = out();
    if *json {
        for stream in &streams {
            writeln!(out, "{}", json::stream(stream))?;
        }
    } else if !streams.is_empty() {
        let shown = Shown { wide: *wide, modules: *modules };
        let rows: Vec<_> = streams.iter().flat_map(|stream| rows::rows(stream, shown)).collect();
        let width = if *wide || !stdout().is_terminal() { usize::MAX } else { screen::size(stdout()).0 };
        for line in lines(&rows::columns(shown), &rows) {
            writeln!(out, "{}", cut(&line, width))?;
        }
    } else if filter.is_open() {
        writeln!(out, "{}", filter.nothing())?;
    } else {
        note!("headwater: {}", filter.nothing());
    }
    Ok(if streams.is_empty() && !filter.is_open() { status::NO_MATCH } else { status::OK })
}
