//! `headwater streams`: streams of this machine. Each subcommand has its own file.

use clap::{Args, Subcommand};

mod attach;
mod detach;

/// Streams of this machine: names for them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater streams attach /run/echo --driver echo       programs that open the file get the device
  headwater streams attach server --connld -- ./server   a connection to ./server for each open
  headwater streams detach server                        the file is plain again")]
pub(super) struct StreamsArguments {
    #[command(subcommand)]
    command: StreamsCommand,
}

#[derive(Debug, Subcommand)]
enum StreamsCommand {
    Attach(attach::AttachArguments),
    Detach(detach::DetachArguments),
}

pub(super) fn streams(arguments: StreamsArguments) -> anyhow::Result<u8> {
    match arguments.command {
        StreamsCommand::Attach(arguments) => attach::attach(&arguments),
        StreamsCommand::Detach(arguments) => detach::detach(&arguments),
    }
}
