//! `headwater archive`: becomes `headwater-archive`, which knows databases.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use anyhow::Context;
use clap::Args;

use crate::sources::archive;

/// Keep runs of many machines in a database, and find them again: add, list, show, remove, check, migrate
///
/// It is a program of its own, headwater-archive, with a manual of its own. Without further words the archive is one SQLite
/// file of this user; HEADWATER_ARCHIVE or --archive names another file, or a PostgreSQL database as postgres://HOST/NAME.
/// A run of the archive stands wherever a run may, as archive:QUERY.
#[derive(Clone, Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  headwater archive add headwater-runs/*          add runs; those that are there already are left alone
  headwater archive list host=a,since=7d          which runs there are
  headwater show archive:last=1                   the newest run
  headwater compare archive:kernel=6.12,last=1 archive:kernel=6.18,last=1
  headwater history pipe/rtt/64 archive:host=a    a row over all runs of a host
  headwater run --archive postgres://db.example/runs   add a run when it is over"
)]
pub(crate) struct ArchiveArguments {
    /// The command of headwater-archive with its options
    #[arg(value_name = "ARCHIVE-COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub(super) fn archive(arguments: &ArchiveArguments) -> anyhow::Result<u8> {
    let error = archive::command(&arguments.words)?.arg0("headwater archive").exec();
    Err(error).with_context(|| format!("{} does not start", archive::PROGRAM))
}
