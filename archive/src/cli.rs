//! The command line of `headwater-archive`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use headwater_results::foreign::printable;

use crate::database::{Retry, WAIT, retry};
use crate::place::Place;

mod add;
mod check;
mod list;
mod migrate;
mod remove;
mod show;
mod stream;

/// Keeps runs of many machines in a database, and finds them again.
///
/// The archive is one SQLite file, $XDG_DATA_HOME/headwater/archive.sqlite, unless --archive or HEADWATER_ARCHIVE names
/// another file, or a PostgreSQL database: postgres://USER@HOST:PORT/DATABASE. Its password comes from ~/.pgpass, PGPASSFILE
/// or PGPASSWORD. A run of the archive stands wherever headwater takes a run, as archive:QUERY. An archive that other processes use
/// is waited for, for two minutes or the time in HEADWATER_ARCHIVE_WAIT, such as 10s.
///
/// QUERY is a list of terms with commas, all of which hold: host=NAME, kernel=RELEASE (or its beginning), cpu=MODEL,
/// program=VERSION, run=NAME, digest=BEGINNING, status=STATUS, since=TIME, until=TIME, last=COUNT, first=COUNT, and NAME=VALUE for
/// a label. The same term twice means either; NAME!=VALUE excludes; * and ? stand for characters.
#[derive(Debug, Parser)]
#[command(
    name = "headwater-archive",
    bin_name = "headwater archive",
    version,
    propagate_version = true,
    max_term_width = 120,
    after_help = "Examples:
  headwater archive add headwater-runs/*
  headwater archive list host=a,since=7d
  headwater show archive:last=1
  headwater archive --archive postgres://db.example/runs migrate --roles

Exit status: 0 all done, 1 check has found something wrong, 2 wrong usage, or an error."
)]
struct Cli {
    /// The archive: a file, or postgres://USER@HOST:PORT/DATABASE [default: HEADWATER_ARCHIVE, or the usual file]
    #[arg(long, value_name = "PLACE", global = true)]
    archive: Option<String>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::AddArguments),
    List(list::ListArguments),
    Show(show::ShowArguments),
    Remove(remove::RemoveArguments),
    Check(check::CheckArguments),
    Migrate(migrate::MigrateArguments),
    /// Write a marker into the spool for a run that is beginning
    #[command(hide = true)]
    Spool {
        run: PathBuf,
    },
    /// Print whole runs: a line with the name as JSON, a line with the document
    #[command(hide = true)]
    Runs {
        query: String,
    },
    /// Print the figures of rows, line by line
    #[command(hide = true)]
    Figures {
        query: String,
    },
    /// Write the man pages into a directory
    #[command(hide = true)]
    Man {
        directory: PathBuf,
    },
}

/// Exit status of an error.
const ERROR: u8 = 2;

/// Runs the command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { ERROR } else { 0 });
        }
    };
    let result = Place::of(cli.archive.as_deref()).and_then(|place| match cli.command {
        Command::Add(arguments) => add::add(&place, &arguments),
        Command::List(arguments) => list::list(&place, &arguments),
        Command::Show(arguments) => show::show(&place, &arguments),
        Command::Remove(arguments) => remove::remove(&place, &arguments),
        Command::Check(arguments) => check::check(&place, &arguments),
        Command::Migrate(arguments) => migrate::migrate(&place, &arguments),
        Command::Spool { run } => add::spool(&place, &run),
        Command::Runs { query } => stream::runs(&place, &query),
        Command::Figures { query } => stream::figures(&place, &query),
        Command::Man { directory } => man(&directory),
    });
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(&in_words(&error));
            ExitCode::from(ERROR)
        }
    }
}

/// Says something on standard error, with what names of hosts and files could do to a terminal made harmless.
fn say(words: &str) {
    let _ = writeln!(io::stderr().lock(), "headwater archive: {}", printable(words));
}

/// Whether the reader of standard output has left.
fn is_closed(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}

/// Returns an error with its causes, except those that another one repeats.
fn in_words(error: &anyhow::Error) -> String {
    let said = error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match cause {
        cause if said.is_empty() => cause,
        cause if said.contains(&cause) => said,
        cause => format!("{said}: {cause}"),
    });
    match retry(error) {
        Retry::Busy => format!(
            "{said}; other processes hold the archive, and one of them may be stopped: `fuser FILE` names them for a file, \
             pg_stat_activity for a server; {WAIT}=10m waits longer"
        ),
        Retry::Lost | Retry::Never => said,
    }
}

fn man(directory: &std::path::Path) -> anyhow::Result<u8> {
    clap_mangen::generate_to(Cli::command(), directory)?;
    Ok(0)
}

#[cfg(test)]
mod tests;
