//! `headwater streams`: looks at the streams of running processes. Each subcommand has its own file.

use clap::{Args, Subcommand};

mod attach;
mod autopush;
mod columns;
mod detach;
mod filter;
mod json;
mod log;
mod ls;
mod rates;
mod rows;
mod screen;
mod top;
mod words;

/// Look at the streams of running processes: their ends, modules, queues and counters, and what they log
///
/// A user sees the streams of the user's own processes, root those of all. Looking changes nothing in them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater streams ls                     every stream, with what waits in it and who has it
  headwater streams ls --modules /tmp/q    the modules of a FIFO, and their queues
  headwater streams top                    bytes and messages per second, live
  headwater streams log --trace 42 all 3   what module 42 logs, up to level 3
  headwater streams autopush --file FILE   push modules on devices when they are opened, as a file says
  headwater streams attach /run/echo --driver echo   programs that open the file get the device")]
pub(super) struct StreamsArguments {
    #[command(subcommand)]
    command: StreamsCommand,
}

#[derive(Debug, Subcommand)]
enum StreamsCommand {
    Ls(ls::LsArguments),
    Top(top::TopArguments),
    Log(log::LogArguments),
    Autopush(autopush::AutopushArguments),
    Attach(attach::AttachArguments),
    Detach(detach::DetachArguments),
}

pub(super) fn streams(arguments: StreamsArguments) -> anyhow::Result<u8> {
    match arguments.command {
        StreamsCommand::Ls(arguments) => ls::ls(&arguments),
        StreamsCommand::Top(arguments) => top::top(&arguments),
        StreamsCommand::Log(arguments) => log::log(&arguments),
        StreamsCommand::Autopush(arguments) => autopush::autopush(&arguments),
        StreamsCommand::Attach(arguments) => attach::attach(&arguments),
        StreamsCommand::Detach(arguments) => detach::detach(&arguments),
    }
}
