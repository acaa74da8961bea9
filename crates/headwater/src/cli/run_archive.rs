//! `headwater run --archive`: the run is added to an archive when it is over. Called by `run`, before the first launch and
//! after the last one.
//!
//! The run directory is the truth. A marker in the spool of `headwater-archive` is written before the run begins, so a run
//! whose adding fails, or is killed, is added by the next call.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::output::note;
use crate::sources::archive::{self, Said};

/// The option's name.
const OPTION: &str = "--archive";

/// Writes the marker of a run that begins. What is wrong with the archive's name is said before anything is measured; the
/// archive itself is not asked, because it may be there when the run is over.
///
/// # Errors
/// If `headwater-archive` is missing, or refuses the name.
pub(super) fn begin(place: &str, directory: &Path) -> anyhow::Result<()> {
    let status = command(place, "spool")?.arg("--").arg(directory).status();
    let status = status.with_context(|| format!("{} does not start", archive::PROGRAM))?;
    if status.success() { Ok(()) } else { Err(Said.into()) }
}

/// Adds the run, and what is in the spool. Returns whether the run is in the archive; why not has been said in one line.
pub(super) fn end(place: &str, directory: &Path) -> bool {
    let added = command(place, "add").and_then(|mut command| {
        let status = command.args(["--spool", "--quiet", "--"]).arg(directory).stdout(Stdio::null()).status();
        status.with_context(|| format!("{} does not start", archive::PROGRAM))
    });
    match added {
        Ok(status) => status.success(),
        Err(error) => {
            note!("headwater: not added to the archive: {error:#}; `headwater archive add --spooled` adds it");
            false
        }
    }
}

fn command(place: &str, subcommand: &str) -> anyhow::Result<Command> {
    archive::command([OPTION, place, subcommand])
}

/// Removes the option from a command line: where a run is kept does not belong to what reproduces it, and the name of a
/// server to no record.
pub(super) fn without(command: &mut Vec<String>) {
    let end = command.iter().position(|word| word == "--").unwrap_or(command.len());
    let mut at = 0;
    let mut kept = Vec::with_capacity(command.len());
    while at < command.len() {
        match &command[at] {
            word if at < end && word == OPTION => at += 2,
            word if at < end && word.starts_with("--archive=") => at += 1,
            word => {
                kept.push(word.clone());
                at += 1;
            }
        }
    }
    *command = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_does_not_say_where_the_run_is_kept() {
        for (words, expected) in [
            ("headwater run --archive postgres://db/x pipe", "headwater run pipe"),
            ("headwater run --archive=x -- pipe --archive y", "headwater run -- pipe --archive y"),
            ("headwater run --archive", "headwater run"),
        ] {
            let mut command: Vec<String> = words.split(' ').map(str::to_owned).collect();
            without(&mut command);
            assert_eq!(command.join(" "), expected);
        }
    }
}
