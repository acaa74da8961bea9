//! `headwater streams detach`: fdetach.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use crate::cli::status;

/// Detach the stream that is attached to a file: the file is plain again
///
/// Programs that have opened the file keep the stream. Only the owner of the file, and root, may detach a stream.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater streams attach /run/echo --driver echo --create &
  headwater streams detach /run/echo     the file is plain again, and the command above has ended")]
pub(super) struct DetachArguments {
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

pub(super) fn detach(arguments: &DetachArguments) -> anyhow::Result<u8> {
    headwater_streams::attach::detach(&arguments.path).map_err(|error| anyhow!("{error}"))?;
    Ok(status::OK)
}
