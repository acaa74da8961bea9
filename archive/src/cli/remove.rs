//! `headwater archive remove`: removes runs, after saying which.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::bail;
use clap::Args;
use headwater_results::foreign::line;

use super::list::parsed;
use crate::archive::{self, short};
use crate::place::Place;
use crate::query::heads;

/// Remove runs
///
/// Without --yes it only says which they are. In PostgreSQL it takes the right to delete, which who may add does not have.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater archive remove host=a,until=2025-01-01         which runs it would remove
  headwater archive remove host=a,until=2025-01-01 --yes   remove them")]
pub struct RemoveArguments {
    /// Which runs
    #[arg(value_name = "QUERY", required = true)]
    queries: Vec<String>,

    /// Remove them
    #[arg(long)]
    yes: bool,
}

pub fn remove(place: &Place, arguments: &RemoveArguments) -> anyhow::Result<u8> {
    let mut database = archive::open(place, false)?;
    let mut ids = BTreeSet::new();
    let mut out = std::io::stdout().lock();
    for query in &arguments.queries {
        let found = heads(database.as_mut(), &parsed(query)?)?;
        if found.is_empty() {
            bail!("{query}: no run of the archive is meant; `headwater archive list` lists them");
        }
        for head in found.iter().filter(|head| ids.insert(head.id)) {
            let verb = if arguments.yes { "remove" } else { "would remove" };
            writeln!(out, "{verb} {} {} of {}", short(&head.digest), line(&head.run_id), line(&head.host))?;
        }
    }
    if arguments.yes {
        archive::remove(database.as_mut(), &ids)?;
        writeln!(out, "{} removed", ids.len())?;
    } else {
        writeln!(out, "{} would be removed; --yes does it", ids.len())?;
    }
    Ok(0)
}
