//! `headwater trace switch`: events of a running recording, on and off.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::super::output::out;
use super::super::status;
use crate::trace::switch::{self, Switches};

/// Switch events of a running recording on or off, or show which are on
///
/// A program notices the change at its next event that is not recorded, and of events that are recorded when it has
/// written 4 KiB of them; at once if it accepts recorders (HEADWATER_TRACE_LISTEN=1). The kernel notices it at once. The
/// recording says what was switched when, by the event headwater:switched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater trace switch server-trace                             what is on
  headwater trace switch server-trace --on 'shop:*' --off shop:put
  headwater trace switch server-trace --off '*'                   no event of programs
  sudo headwater trace switch server-trace --kernel-on sched --kernel-off raw_syscalls

Of two patterns that match an event, the one that was switched last decides; with one command, --on.")]
pub(super) struct SwitchArguments {
    /// The directory of the recording
    #[arg(value_name = "DIR")]
    recording: PathBuf,

    /// Events of programs to record from now on; several with commas, or repeated
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    on: Vec<String>,

    /// Events of programs to record no longer
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    off: Vec<String>,

    /// Events of the kernel to record from now on: the recording must have been begun with -k
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = "Kernel")]
    kernel_on: Vec<String>,

    /// Events of the kernel to record no longer
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = "Kernel")]
    kernel_off: Vec<String>,
}

pub(super) fn switch(arguments: SwitchArguments) -> anyhow::Result<u8> {
    let SwitchArguments { recording, on, off, kernel_on, kernel_off } = arguments;
    let switched = switch::switch(&recording, &Switches { on, off, kernel_on, kernel_off })?;
    let mut out = out();
    let listed = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    writeln!(out, "of programs: {}", listed(&switched.patterns))?;
    if let Some(kernel) = switched.kernel {
        writeln!(out, "of the kernel: {}", listed(&kernel))?;
    }
    Ok(status::OK)
}
