//! `headwater archive show`: becomes `headwater show archive:QUERY`, which knows the tables.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::Args;

use super::list::parsed;
use crate::place::{Place, VARIABLE};

/// Print runs: tables and a verdict; the same as headwater show archive:QUERY
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater archive show last=1
  headwater archive show digest=1a2b3c")]
pub struct ShowArguments {
    /// Which runs
    #[arg(value_name = "QUERY", required = true)]
    queries: Vec<String>,
}

pub fn show(place: &Place, arguments: &ShowArguments) -> anyhow::Result<u8> {
    arguments.queries.iter().try_for_each(|query| parsed(query).map(drop))?;
    let caller = std::env::var_os("HEADWATER_COMMAND").map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.with_file_name("headwater")).filter(|path| path.exists());
    let program = caller.or_else(beside).unwrap_or_else(|| PathBuf::from("headwater"));
    let mut command = Command::new(&program);
    command.arg("show");
    for query in &arguments.queries {
        command.arg(format!("archive:{}", query.strip_prefix("archive:").unwrap_or(query)));
    }
    // A server's name may hold a password in the environment, where it stays.
    if let Place::File(_) = place {
        command.env(VARIABLE, place.absolute()?);
    } else if std::env::var_os(VARIABLE).is_none() {
        command.env(VARIABLE, place.to_string());
    }
    Err(command.exec()).with_context(|| {
        format!("{} does not start; `cargo install --path crates/headwater` installs it", program.display())
    })
}
