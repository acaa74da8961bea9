//! `headwater streams`: tools for the streams and devices of the runtime. Each subcommand has its own file.

use clap::{Args, Subcommand};

mod autopush;

/// Configure the runtime's devices
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater streams autopush                    which modules are pushed on which devices
  headwater streams autopush -f devices.conf    push what a file says")]
pub(super) struct StreamsArguments {
    #[command(subcommand)]
    command: StreamsCommand,
}

#[derive(Debug, Subcommand)]
enum StreamsCommand {
    Autopush(autopush::AutopushArguments),
}

pub(super) fn streams(arguments: StreamsArguments) -> anyhow::Result<u8> {
    match arguments.command {
        StreamsCommand::Autopush(arguments) => autopush::autopush(&arguments),
    }
}
